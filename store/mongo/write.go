package mongo

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// add stages a write to a collection. Those to one are done in their order.
func (x *tx) add(collection string, model mongo.WriteModel) {
	x.models[collection] = append(x.models[collection], model)
}

func (x *tx) insert(collection string, f fields) {
	x.add(collection, mongo.NewInsertOneModel().SetDocument(bson.D(f)))
}

func (x *tx) delete(collection string, where ...bson.E) {
	x.add(collection, mongo.NewDeleteManyModel().SetFilter(x.t.about(where...)))
}

// change stages an update of one document by its _id.
func (x *tx) change(collection string, id bson.Binary, update any) {
	filter := x.t.about(bson.E{Key: fID, Value: id})
	x.add(collection, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update))
}

func (x *tx) changeAll(collection string, update bson.D, where ...bson.E) {
	x.add(collection, mongo.NewUpdateManyModel().SetFilter(x.t.about(where...)).SetUpdate(update))
}

// document begins one of the tenant.
func (x *tx) document(id bson.Binary, more ...bson.E) fields {
	return append(fields{{Key: fID, Value: id}, {Key: fTenant, Value: binaryOf(x.t.key)}}, more...)
}

// emit stages a part.
func (x *tx) emit(ops *batch.Ops) {
	for i := range ops.Places {
		x.place(&ops.Places[i])
	}
	for _, s := range ops.Spaces {
		x.insert(cSpace, x.document(keyed(x.t.key, number(s.N)),
			bson.E{Key: "n", Value: s.N}, bson.E{Key: "dims", Value: int64(s.Space.Dims)},
			bson.E{Key: "dropped", Value: int64(0)}, bson.E{Key: "model", Value: binaryOf(s.Space.Model)},
		))
	}
	if len(ops.Erased) > 0 {
		x.erased = true
		x.erase(ops.Erased)
	}
	if len(ops.Freed) > 0 {
		freed := bson.D{{Key: "slot_hash", Value: ""}, {Key: "slot", Value: ""}}
		x.changeAll(cRecord, is("$unset", freed), bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, ops.Freed))})
	}
	spaces := map[loci.ID][]int64{}
	for i := range ops.Vectors {
		id := ops.Vectors[i].Record
		spaces[id] = append(spaces[id], ops.Vectors[i].Space)
	}
	for i := range ops.Updates {
		x.update(&ops.Updates[i], spaces)
	}
	for i := range ops.Records {
		r := &ops.Records[i]
		x.insert(cRecord, newRecord(x.t.key, r, spaces[r.ID]))
		x.text(r.Record)
		x.remember(r.Record, false)
		delete(spaces, r.ID)
	}
	for id, numbers := range spaces { // of vectors that came after their records
		x.change(cRecord, keyed(x.t.key, id[:]), is("$addToSet", is("spaces", is("$each", numbers))))
	}
	for i := range ops.Revisions {
		v := &ops.Revisions[i]
		tags, _ := batch.EncodeTags(v.Tags).([]byte)
		state := revision(v.Version, v.UpdatedAt.UnixMilli(), tags, v.Attributes)
		x.revise(v.Record, v.Version, state, []byte(v.Text), v.ReplacedAt.UnixMilli())
		x.before[v.Record].versions = append(x.before[v.Record].versions, v.Version)
	}
	x.emitRest(ops)
}

// emitRest stages what depends on nothing else.
func (x *tx) emitRest(ops *batch.Ops) {
	for i := range ops.Vectors {
		v := &ops.Vectors[i]
		id := keyed(x.t.key, v.Record[:], number(v.Space))
		x.add(cVector, mongo.NewReplaceOneModel().SetUpsert(true).SetFilter(x.t.about(bson.E{Key: fID, Value: id})).
			SetReplacement(bson.D(x.document(id, bson.E{Key: "record", Value: idOf(v.Record)},
				bson.E{Key: "space", Value: v.Space}, bson.E{Key: "data", Value: bson.Binary{Data: v.Data}}))))
	}
	for i := range ops.Links {
		l := &ops.Links[i]
		x.add(cLink, mongo.NewUpdateOneModel().SetUpsert(true).SetFilter(x.t.link(&l.Link)).
			SetUpdate(is("$setOnInsert", bson.D{
				{Key: "from_id", Value: idOf(l.From)}, {Key: "type", Value: binaryOf(l.Type)},
				{Key: "to_id", Value: idOf(l.To)}, {Key: "created_at", Value: l.At.UnixMilli()}, {Key: "seq", Value: l.Seq},
			})))
	}
	if len(ops.Replies) > 0 {
		x.delete(cReply, bson.E{Key: "expires_at", Value: is("$lte", ops.Expired)})
	}
	for i := range ops.Replies {
		r := &ops.Replies[i]
		id := keyed(x.t.key, r.Hash)
		x.add(cReply, mongo.NewReplaceOneModel().SetUpsert(true).SetFilter(x.t.about(bson.E{Key: fID, Value: id})).
			SetReplacement(bson.D(x.document(id,
				bson.E{Key: "at", Value: r.At.UnixMilli()}, bson.E{Key: "expires_at", Value: r.ExpiresAt.UnixMilli()},
				bson.E{Key: "record", Value: idOf(r.Record)}, bson.E{Key: "key", Value: binaryOf(r.Key)},
				bson.E{Key: "fingerprint", Value: binaryOf(r.Fingerprint)}, bson.E{Key: "value", Value: binaryOf([]byte(r.Value))},
			))))
	}
	for i := range ops.Events {
		x.event(&ops.Events[i])
	}
	x.writeTallies(ops.Tallies)
}

func (x *tx) event(e *batch.NewEvent) {
	f := x.document(keyed(x.t.key, number(e.Seq)),
		bson.E{Key: "seq", Value: e.Seq}, bson.E{Key: "id", Value: idOf(e.ID)}, bson.E{Key: "namespace", Value: e.Place},
		bson.E{Key: "occurred_at", Value: e.At.UnixMilli()}, bson.E{Key: "entity", Value: idOf(e.Entity)})
	f.string("type", string(e.Type))
	f.string("kind", string(e.Kind))
	f.string("actor", e.Actor)
	f.string("request_id", e.RequestID)
	f.bytes("digest", e.Digest[:])
	f.bytes("sealed", e.Hash[:])
	f.bytes("nonce", e.Nonce)
	f.bytes("payload", e.Payload)
	x.insert(cEvent, f)
}

// place stages the document of a namespace.
func (x *tx) place(w *batch.Place) {
	id := keyed(x.t.key, number(w.N))
	kinds := binaryOf(batch.EncodeKinds(w.Kinds))
	if w.Fresh {
		f := x.document(id, bson.E{Key: "n", Value: w.N}, bson.E{Key: "changed", Value: w.Changed},
			bson.E{Key: "mark", Value: inOrder(w.Mark)}, bson.E{Key: "kinds", Value: kinds})
		if w.Named {
			f.set("key", inOrder(w.Key))
		}
		x.insert(cNamespace, f)
		return
	}
	set := fields{{Key: "kinds", Value: kinds}}
	if w.Named {
		set.set("key", inOrder(w.Key))
	}
	x.change(cNamespace, id, append(updateOf(set, []string{"key"}), bson.E{Key: "$max", Value: is("changed", w.Changed)}))
}

// erase stages what an erase takes along.
func (x *tx) erase(ids []loci.ID) {
	list := is("$in", idList(ids))
	x.delete(cRecord, bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, ids))})
	x.delete(cPiece, bson.E{Key: "record", Value: list})
	x.delete(cRevision, bson.E{Key: "record", Value: list})
	x.delete(cVector, bson.E{Key: "record", Value: list})
	x.delete(cLink, bson.E{Key: "from_id", Value: list})
	x.delete(cLink, bson.E{Key: "to_id", Value: list})
	x.delete(cReply, bson.E{Key: "record", Value: list})
	told := bson.D{{Key: "payload", Value: ""}, {Key: "nonce", Value: ""}}
	x.add(cEvent, mongo.NewUpdateManyModel().SetFilter(x.t.telling(ids)).SetUpdate(is("$unset", told)))
	for _, id := range ids {
		delete(x.before, id)
		delete(x.pieced, id)
	}
}

// update stages the next state of a record, a use or an expiry; spaces are those of vectors
// that come with records, from which it takes its own.
func (x *tx) update(u *batch.Update, spaces map[loci.ID][]int64) {
	p := u.Put
	if p == nil {
		x.use(u)
		return
	}
	r := &p.Record
	x.keep(p)
	set := head(r, u.Slot)
	if p.SameText {
		x.change(cRecord, keyed(x.t.key, r.ID[:]), updateOf(set, headNames))
	} else {
		set = append(set, whole(r, spaces[r.ID])...)
		delete(spaces, r.ID)
		x.change(cRecord, keyed(x.t.key, r.ID[:]), updateOf(set, headNames, wholeNames))
		x.delete(cVector, bson.E{Key: "record", Value: idOf(r.ID)})
		x.text(r)
	}
	x.remember(r, p.SameText)
}

// use stages uses that are counted or an expiry that moves.
func (x *tx) use(u *batch.Update) {
	update := is("$set", is("expires_at", u.ExpiresAt.UnixMilli()))
	if !u.UsedAt.IsZero() {
		update = counted(u)
	}
	x.changeAll(cRecord, update, bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, u.IDs))})
}

// counted is an update that counts a use.
func counted(u *batch.Update) bson.D {
	return bson.D{
		{Key: "$inc", Value: is("uses", int64(1))}, {Key: "$set", Value: is("used_at", u.UsedAt.UnixMilli())},
	}
}

// keep makes the state that a put replaces an earlier one, and drops those that are too many.
func (x *tx) keep(p *loci.Put) {
	r := &p.Record
	old := x.before[r.ID]
	if old == nil || p.Revisions < 0 {
		return
	}
	if p.Revisions > 0 {
		x.revise(r.ID, old.version, old.state, old.text, r.UpdatedAt.UnixMilli())
		old.pieced = old.pieced || len(old.text) > pieceBytes
		old.versions = slices.Insert(old.versions, 0, old.version)
	}
	if len(old.versions) > p.Revisions {
		gone := old.versions[p.Revisions]
		old.versions = old.versions[:p.Revisions]
		x.delete(cRevision, bson.E{Key: "record", Value: idOf(r.ID)}, bson.E{Key: "version", Value: is("$lte", gone)})
		if old.pieced {
			between := bson.D{{Key: "$gte", Value: int64(1)}, {Key: "$lte", Value: gone}}
			x.delete(cPiece, bson.E{Key: "record", Value: idOf(r.ID)}, bson.E{Key: "version", Value: between})
		}
	}
}

// text stages what the document of a record does not hold of its text.
func (x *tx) text(r *loci.Record) {
	if x.pieced[r.ID] {
		x.delete(cPiece, bson.E{Key: "record", Value: idOf(r.ID)}, bson.E{Key: "version", Value: int64(0)})
	}
	x.pieces(r.ID, 0, []byte(r.Text))
	x.pieced[r.ID] = len(r.Text) > pieceBytes
}

// revise stages an earlier state.
func (x *tx) revise(record loci.ID, version int64, state fields, text []byte, replacedAt int64) {
	f := x.document(keyed(x.t.key, record[:], number(version)),
		bson.E{Key: "record", Value: idOf(record)}, bson.E{Key: "replaced_at", Value: replacedAt})
	f.cut(text)
	x.insert(cRevision, append(f, state...))
	x.pieces(record, version, text)
}

// remember notes a state that the next put of the transaction may make an earlier one.
func (x *tx) remember(r *loci.Record, sameText bool) {
	old := x.before[r.ID]
	if old == nil {
		old = &earlier{}
		x.before[r.ID] = old
	}
	if !sameText {
		old.text = []byte(r.Text)
	}
	tags, _ := batch.EncodeTags(r.Tags).([]byte)
	old.version = r.Version
	old.state = revision(r.Version, r.UpdatedAt.UnixMilli(), tags, r.Attributes)
}

// bulk writes what is staged, a collection at a time.
func (x *tx) bulk() error {
	ctx := x.in(x.ctx)
	for _, collection := range written {
		models := x.models[collection]
		if len(models) == 0 {
			continue
		}
		delete(x.models, collection)
		ordered := options.BulkWrite().SetOrdered(true)
		if _, err := x.s.db.Collection(collection).BulkWrite(ctx, models, ordered); err != nil {
			return err
		}
	}
	return nil
}
