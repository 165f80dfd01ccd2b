package mongo

import (
	"bytes"
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// tx is a transaction that writes to one tenant. Nothing can change under the lock it
// holds: it reads what its jobs need, decides here, and writes each collection in one go.
type tx struct {
	batch.Batch
	*trans

	t      *tenant
	ctx    context.Context
	broken error // an operation failed before the end: nothing of the transaction can stay
	erased bool  // something was

	pieced map[loci.ID]bool              // records with pieces
	before map[loci.ID]*earlier          // states that may become earlier ones
	models map[string][]mongo.WriteModel // what is to be written, by collection
}

// earlier is the state of a record as a revision has it, and the versions of those there are,
// newest first.
type earlier struct {
	state    fields // all but the text, and when it was replaced
	text     []byte
	version  int64
	versions []int64
	pieced   bool // one of them has pieces
}

func newTx(ctx context.Context, s *Store, t *tenant) (*tx, error) {
	in, err := s.begin()
	if err != nil {
		return nil, err
	}
	x := &tx{
		trans: in, t: t, ctx: ctx,
		pieced: map[loci.ID]bool{}, before: map[loci.ID]*earlier{}, models: map[string][]mongo.WriteModel{},
	}
	x.Batch = batch.New(t.name, x.emit)
	x.Handing = t.search.Handing()
	return x, nil
}

// lockTenant is the first operation of every write: it orders the writes of a tenant, since
// whoever comes while it is not committed fails at once and waits. It is a variable for the
// test of that, which must notice a build without it.
var lockTenant = is("$inc", is("seq", int64(1)))

// lock begins the transaction and reads what is needed. there: the tenant has a document.
func (x *tx) lock(n *batch.Needs) (there bool, err error) {
	raw, err := x.s.db.Collection(cTenant).FindOneAndUpdate(
		x.in(x.ctx), x.t.self(), lockTenant, options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.Found, err = takeState(x.t, raw); err != nil {
		return false, err
	}
	x.Begin()
	if err := x.t.names.Check(&x.Found); err != nil && !errors.Is(err, batch.ErrStale) {
		return false, err
	}
	if n.Usage && x.Used == nil {
		if err := x.measure(); err != nil {
			return true, err
		}
	}
	return true, x.look(n)
}

// measure finds out what the tenant holds, from its records.
func (x *tx) measure() error {
	x.Used = &loci.Holding{}
	return x.aggregate(x.ctx, cRecord, x.t.holding(), takeHolding(x.Used))
}

// create gives the tenant a document.
func (s *Store) create(ctx context.Context, t *tenant) error {
	_, err := s.db.Collection(cTenant).UpdateOne(ctx, t.self(), is("$setOnInsert", bson.D{
		{Key: "seq", Value: int64(0)},
		{Key: "head", Value: bson.Binary{Data: make([]byte, len(loci.Hash{}))}},
		{Key: "name_key", Value: bson.Binary{Data: loci.NewNameKey()}},
		{Key: "held_seq", Value: int64(0)},
		{Key: "tally", Value: bson.Binary{Data: batch.EmptyTally(0)}},
	}), options.UpdateOne().SetUpsert(true))
	if hasCode(err, codeDuplicate) {
		return nil // another one did it
	}
	return err
}

// look reads what is needed of records, slots, replies, events, spaces and namespaces.
func (x *tx) look(n *batch.Needs) error {
	if err := x.lookAtRecords(n); err != nil {
		return err
	}
	if len(n.Replies) > 0 {
		if err := x.find(x.ctx, cReply, x.t.replies(n.Replies...), func(d *doc) error {
			x.Replies[string(d.behind())] = d.int("expires_at")
			return nil
		}, options.Find().SetProjection(is("expires_at", 1))); err != nil {
			return err
		}
	}
	if len(n.Told) > 0 {
		told := x.t.telling(n.Told)
		if err := x.find(x.ctx, cEvent, told, func(d *doc) error {
			x.Told[d.id("entity")] = true
			return nil
		}, options.Find().SetProjection(is("entity", 1))); err != nil {
			return err
		}
	}
	if n.Spaces {
		if err := x.find(x.ctx, cSpace, x.t.about(), func(d *doc) error {
			x.Spaces[loci.Space{Model: d.string("model"), Dims: int(d.int("dims"))}] = d.int("n")
			return nil
		}); err != nil {
			return err
		}
	}
	if len(n.Places) == 0 {
		return nil
	}
	marks := bson.A{}
	for _, mark := range n.Marks(x.Found.NameKey) {
		marks = append(marks, inOrder(string(mark)))
	}
	return x.find(x.ctx, cNamespace, x.t.about(bson.E{Key: "mark", Value: is("$in", marks)}), func(d *doc) error {
		w := &batch.Place{
			N:     d.int("n"),
			Mark:  loci.Mark(d.sorted("mark")),
			Key:   d.sorted("key"),
			Named: d.has("key"),
			Kinds: batch.DecodeKinds(d.bytes("kinds")),
		}
		x.Places[w.Mark] = w
		return nil
	})
}

// heldFields are those by which a change is decided, with sizes in the place of what is long.
var heldFields = bson.D{
	{Key: "version", Value: 1}, {Key: "namespace", Value: 1}, {Key: "kind", Value: 1}, {Key: "slot_hash", Value: 1},
	{Key: "passage_count", Value: 1}, {Key: "pieces", Value: 1}, {Key: "live", Value: 1}, {Key: "status", Value: 1},
	{Key: "spaces", Value: 1}, {Key: "text_bytes", Value: 1},
	{Key: "text_size", Value: is("$add", bson.A{"$text_bytes", sizeOf("heading")})},
	{Key: "data_size", Value: is("$add", bson.A{sizeOf("attributes"), sizeOf("body")})},
}

// sizeOf is the number of bytes that a field has; 0: it is not there.
func sizeOf(field string) bson.D {
	return is("$binarySize", is("$ifNull", bson.A{"$" + field, bson.Binary{}}))
}

// holding are the stages that measure what the tenant holds.
func (t *tenant) holding() []bson.D {
	parts := bson.A{"$text_bytes", sizeOf("heading"), sizeOf("attributes"), sizeOf("body")}
	return []bson.D{
		is("$match", t.about()),
		is("$group", bson.D{
			{Key: fID, Value: nil},
			{Key: "records", Value: is("$sum", 1)},
			{Key: "bytes", Value: is("$sum", is("$add", parts))},
		}),
	}
}

// takeHolding reads what they bring.
func takeHolding(h *loci.Holding) func(*doc) error {
	return func(d *doc) error {
		*h = loci.Holding{Records: d.int("records"), Bytes: d.int("bytes")}
		return nil
	}
}

// lookAtRecords reads what is there of records and slots, and of the states that may become
// earlier ones.
func (x *tx) lookAtRecords(n *batch.Needs) error {
	if len(n.IDs) > 0 {
		filter := x.t.about(bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, n.IDs))})
		stages := []bson.D{is("$match", filter), is("$project", heldFields)}
		if err := x.aggregate(x.ctx, cRecord, stages, func(d *doc) error {
			if d.bool("pieces") {
				x.pieced[d.recordID()] = true
			}
			x.Records[d.recordID()] = &batch.Held{
				Version: d.int("version"), Namespace: d.int("namespace"), Kind: loci.Kind(d.string("kind")),
				Slot: d.string("slot_hash"), Passages: d.int("passage_count"),
				Text: d.int("text_size"), Data: d.int("data_size"),
				Live: d.bool("live"), Status: d.string("status"), Bytes: d.int("text_bytes"), Spaces: d.ints("spaces"),
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if len(n.Slots) > 0 {
		filter := x.t.about(bson.E{Key: "slot_hash", Value: is("$in", binaries(n.Slots))})
		if err := x.find(x.ctx, cRecord, filter, func(d *doc) error {
			x.Slots[d.string("slot_hash")] = d.recordID()
			return nil
		}, options.Find().SetProjection(is("slot_hash", 1))); err != nil {
			return err
		}
	}
	if len(n.Before) == 0 {
		return nil
	}
	filter := x.t.about(bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, n.Before))})
	if err := x.find(x.ctx, cRecord, filter, func(d *doc) error {
		old := &earlier{version: d.int("version"), text: bytes.Clone(d.bytes("text"))}
		old.state = revision(
			old.version, d.int("updated_at"), bytes.Clone(d.bytes("tags")), bytes.Clone(d.bytes("attributes")),
		)
		x.before[d.recordID()] = old
		return nil
	}, options.Find().SetProjection(revisionFields)); err != nil {
		return err
	}
	for id, old := range x.before {
		if x.pieced[id] {
			rest, err := x.rest(x.ctx, x.t, id, 0)
			if err != nil {
				return err
			}
			old.text = append(old.text, rest...)
		}
	}
	filter = x.t.about(bson.E{Key: "record", Value: is("$in", idList(n.Before))})
	return x.find(x.ctx, cRevision, filter, func(d *doc) error {
		if old := x.before[d.id("record")]; old != nil {
			old.versions = append(old.versions, d.int("version"))
			old.pieced = old.pieced || d.bool("pieces")
		}
		return nil
	}, options.Find().SetSort(is("version", -1)).SetProjection(revisionKey))
}

var (
	revisionKey    = bson.D{{Key: "record", Value: 1}, {Key: "version", Value: 1}, {Key: "pieces", Value: 1}}
	revisionFields = bson.D{
		{Key: "version", Value: 1}, {Key: "updated_at", Value: 1}, {Key: "text", Value: 1}, {Key: "tags", Value: 1},
		{Key: "attributes", Value: 1},
	}
)

// revision are the fields of a state, as a revision has them, all but the text.
func revision(version, updatedAt int64, tags, attributes []byte) (f fields) {
	f.set("version", version)
	f.set("updated_at", updatedAt)
	f.bytes("tags", tags)
	f.bytes("attributes", attributes)
	return f
}

// replies is the filter of stored replies by their keys.
func (t *tenant) replies(keys ...string) bson.D {
	ids := make(bson.A, len(keys))
	for i, key := range keys {
		ids[i] = keyed(t.key, batch.HashOf(key))
	}
	return t.about(bson.E{Key: fID, Value: is("$in", ids)})
}

// telling is the filter of events that tell details of records.
func (t *tenant) telling(ids []loci.ID) bson.D {
	return t.about(
		bson.E{Key: "entity", Value: is("$in", idList(ids))},
		oneOf(
			bson.D{{Key: "payload", Value: is("$exists", true)}},
			bson.D{{Key: "nonce", Value: is("$exists", true)}},
		),
	)
}
