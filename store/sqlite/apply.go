package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// erasedKept is how many change numbers back the list of erased rows reaches; an
// index that is further behind is built again.
const erasedKept = 100_000

// largeChange is how many records a change may have that shares a transaction with others.
const largeChange = 100

// Apply implements [loci.RecordChanger].
func (s *Store) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if c.Settled && c.Empty() {
		if exists, err := s.exists(t); err != nil || !exists {
			return err
		}
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	if c.Settled && c.Empty() {
		return f.translate("apply", f.settle(ctx))
	}
	if err := c.Validate(); err != nil {
		return err
	}
	err = f.do(ctx, &job{
		run: func(tx *tx) error { return tx.apply(&c) }, erases: c.MakesRoom(),
		adds: adds(&c), large: len(c.Put)+len(c.Erase) > largeChange, more: c.More, done: make(chan error, 1),
	})
	if err == nil && len(c.Put) > 0 {
		s.takeInMuch(f)
		f.keepBehind(&c)
	}
	switch {
	case err != nil || c.More:
	case len(c.Erase) > 0:
		err = f.awaitScrub(ctx, c.Last)
	case c.Settled:
		err = f.settle(ctx)
	}
	return f.translate("apply", err)
}

func (t *tx) apply(c *loci.Change) error {
	if err := t.checkActive(c); err != nil {
		return err
	}
	quiet := c.Quiet()
	if err := t.checkTold(quiet); err != nil {
		return err
	}
	return t.bounded(c, func() error { return t.change(c, quiet) })
}

// change makes a change that may be made; quiet are the erases without an event.
func (t *tx) change(c *loci.Change, quiet []loci.ID) error {
	// What only adds records stores its reply last: mostly it is refused for a record, and then nothing is written.
	last := adds(c)
	if !last {
		if err := t.putReply(c); err != nil {
			return err
		}
	}
	if err := t.eraseAll(c.Erase, quiet); err != nil {
		return err
	}
	if err := t.freeSlots(c.Put); err != nil {
		return err
	}
	for put := c.Put; len(put) > 0; {
		n, err := t.moveMany(put)
		if err == nil && n == 0 {
			n, err = t.insertMany(put)
		}
		if err == nil && n == 0 {
			n, err = 1, t.put(&put[0])
		}
		if err != nil {
			return err
		}
		put = put[n:]
	}
	if t.counted != nil {
		for i := range c.Events {
			t.counted.events = append(t.counted.events, &c.Events[i])
		}
	} else if err := t.events(pointers(c.Events)); err != nil {
		return err
	}
	for i := range c.Links {
		if err := t.link(&c.Links[i]); err != nil {
			return err
		}
	}
	if last {
		return t.putReply(c)
	}
	return nil
}

// freeSlots takes the slots of the records of a change from them, if one of them is to get
// the slot of another. That is seldom, and to take them costs as much as to put the records.
// Records that are all new have none to give.
func (t *tx) freeSlots(puts []loci.Put) error {
	if len(puts) < 2 || !slices.ContainsFunc(puts, func(p loci.Put) bool { return !isNew(&p) }) {
		return nil
	}
	pass := false
	for part := range slices.Chunk(puts, maxErased) {
		var err error
		if pass, err = t.slotsPass(part); err != nil {
			return err
		}
		if pass {
			break
		}
	}
	for i := 0; pass && i < len(puts); i++ {
		if r := &puts[i].Record; r.Version > 1 {
			if err := t.exec("UPDATE record SET slot = NULL WHERE id = ? AND slot IS NOT NULL", r.ID[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// slotsPass reports whether a record is to get a slot that another one has.
func (t *tx) slotsPass(puts []loci.Put) (pass bool, err error) {
	to := map[string]map[loci.ID]bool{}
	var slots []any
	for i := range puts {
		r := &puts[i].Record
		if r.Slot == "" {
			continue
		}
		if to[r.Slot] == nil {
			to[r.Slot] = map[loci.ID]bool{}
			slots = append(slots, []byte(r.Slot))
		}
		to[r.Slot][r.ID] = true
	}
	if len(slots) == 0 {
		return false, nil
	}
	places, kinds, err := t.placesOf(puts)
	if err != nil || len(places)*len(kinds) > 8 { // each slot is looked for in each place
		return true, err
	}
	slots = padded(slots)
	query := "SELECT slot, id FROM record INDEXED BY record_slot WHERE " + inList("namespace", len(places)) + " AND " +
		inList("kind", len(kinds)) + " AND slot IS NOT NULL AND " + inList("slot", len(slots))
	err = t.rows(query, slices.Concat(places, kinds, slots), 2, func(row []driver.Value) error {
		var slot, raw []byte
		var id loci.ID
		err := take(row, &slot, &raw)
		copy(id[:], raw)
		if owners := to[string(slot)]; len(owners) > 1 || !owners[id] {
			pass = true
		}
		return err
	})
	return pass, err
}

// placesOf are the numbers of the namespaces that records lie in, and their kinds.
func (t *tx) placesOf(puts []loci.Put) (places, kinds []any, err error) {
	for i := range puts {
		r := &puts[i].Record
		at, err := t.place(r.Namespace, true)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(places, any(at.n)) {
			places = append(places, at.n)
		}
		if !slices.Contains(kinds, any(string(r.Kind))) {
			kinds = append(kinds, string(r.Kind))
		}
	}
	return padded(places), padded(kinds), nil
}

// link stores a link between records that are there.
func (t *tx) link(l *loci.Link) error {
	var ends bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM record WHERE id = ?) AND EXISTS (SELECT 1 FROM record WHERE id = ?)",
		[]any{l.From[:], l.To[:]}, &ends); err != nil {
		return err
	}
	if !ends {
		return loci.Errorf(loci.Conflict, "an end of the link from %s to %s is not there", l.From, l.To)
	}
	return t.exec("INSERT OR IGNORE INTO link (from_id, type, to_id, created_at) VALUES (?, ?, ?, ?)",
		l.From[:], string(l.Type), l.To[:], l.At.UnixMilli())
}

// putReply stores the reply of the change, in place of an expired one.
func (t *tx) putReply(c *loci.Change) error {
	if c.Reply == nil {
		return nil
	}
	r := c.Reply
	if err := t.exec("DELETE FROM reply WHERE expires_at <= ?", r.At.UnixMilli()); err != nil {
		return err
	}
	return conflictOr(t.exec("INSERT INTO reply (key, fingerprint, value, record, at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
		[]byte(r.Key), []byte(r.Fingerprint), []byte(r.Value), r.Record[:], r.At.UnixMilli(), r.ExpiresAt.UnixMilli()))
}

// shard is a kind of record in a namespace, given by its number.
type shard struct {
	namespace int64
	kind      loci.Kind
	above     bool   // all namespaces whose marks begin with one: see [groupPlan]
	mark      string // that one
}

// putShard makes a record's shard known to those who search.
func (t *tx) putShard(r *loci.Record, namespace int64) error {
	s := shard{namespace: namespace, kind: r.Kind}
	if len(r.Passages) == 0 || t.shards[s] {
		return nil
	}
	err := t.exec("INSERT OR IGNORE INTO shard (namespace, kind) VALUES (?, ?)", namespace, string(r.Kind))
	if err == nil {
		t.shards[s] = true
	}
	return err
}

func (t *tx) put(p *loci.Put) error {
	r := &p.Record
	at, err := t.place(r.Namespace, true)
	if err != nil {
		return err
	}
	namespace := at.n
	if err := t.putShard(r, namespace); err != nil {
		return err
	}
	seq, err := t.nextSeq()
	if err != nil {
		return err
	}
	if isNew(p) {
		n, err := t.insertOne(r, namespace, seq)
		if err != nil {
			return conflictOr(err)
		}
		return t.beside(n, namespace, p)
	}
	n, err := t.update(p, namespace, seq)
	if err != nil {
		return err
	}
	_, err = t.putCoded(n, p)
	return err
}

// putCoded stores the vectors of a record, and hands it to the index. spaces are those of the vectors.
func (t *tx) putCoded(n int64, p *loci.Put) (spaces []int64, err error) {
	r := &p.Record
	var vectors []coded
	for i := range p.Vectors {
		if p.SameText && r.Version > 1 {
			break
		}
		v := &p.Vectors[i]
		space, data, err := t.putVectors(n, v)
		if err != nil {
			return nil, err
		}
		vectors, spaces = append(vectors, coded{v.Space, data}), append(spaces, space)
	}
	t.handPut(p, n, vectors)
	return spaces, nil
}

// putHistory files earlier states of an imported record.
func (t *tx) putHistory(n int64, history []loci.Revision) error {
	for i := range history {
		v := &history[i]
		c := columnsOf(&loci.Record{Tags: v.Tags, Attributes: v.Attributes})
		if err := t.exec("INSERT INTO revision (record, version, updated_at, replaced_at, text, tags, attributes) VALUES (?, ?, ?, ?, ?, ?, ?)",
			n, v.Version, v.UpdatedAt.UnixMilli(), v.ReplacedAt.UnixMilli(),
			[]byte(v.Text), c.tags, c.attributes); err != nil {
			return conflictOr(err)
		}
	}
	return nil
}

func (t *tx) update(p *loci.Put, namespace, seq int64) (n int64, err error) {
	r := &p.Record
	if p.Revisions >= 0 {
		if n, err = t.updatable(r, namespace); err == nil {
			err = t.keepRevision(n, r, p.Revisions)
		}
		if err != nil {
			return 0, err
		}
	}
	c := columnsOf(r)
	const query = `UPDATE record SET slot = ?, version = ?, seq = ?, live = ?, created_at = ?, updated_at = ?, expires_at = ?, tags = ?, attributes = ?, body = ?,
		scope = ?, status = ?, confidence = ?, decay_rate = ?, decay_from = ?, ends_at = ?, due_at = ?, sequence = ?, position = ?
		WHERE id = ? AND version = ? AND namespace = ? AND kind = ?`
	args := []any{c.slot, r.Version, seq, r.Live, r.CreatedAt.UnixMilli(), r.UpdatedAt.UnixMilli(), c.expiresAt, c.tags,
		c.attributes, c.body,
		c.scope, c.status, c.confidence, c.rate, c.from, c.endsAt, c.dueAt, c.sequence, c.position,
		r.ID[:], r.Version - 1, namespace, string(r.Kind)}
	if p.SameText { // then nobody asks for its number, and a row to read costs as much as the update
		changed, err := t.execCount(query, args...)
		if err == nil && changed == 0 {
			_, err = t.updatable(r, namespace)
			return 0, err
		}
		return n, conflictOr(err)
	}
	err = t.row(query+" RETURNING n", args, &n)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = t.updatable(r, namespace)
		return 0, err
	}
	if err != nil {
		return n, conflictOr(err)
	}
	if err := t.exec("UPDATE record SET text = ?, heading = ?, passages = ?, passage_count = ? WHERE n = ?",
		[]byte(r.Text), c.heading, form.EncodeSpans(r.Passages), len(r.Passages), n); err != nil {
		return 0, err
	}
	return n, t.exec("DELETE FROM vector WHERE record = ?", n)
}

// updatable returns the number of a record that is at the version before, and refuses any
// other one.
func (t *tx) updatable(r *loci.Record, namespace int64) (int64, error) {
	var n, version, oldNamespace int64
	var kind string
	err := t.row("SELECT n, version, namespace, kind FROM record WHERE id = ?", []any{r.ID[:]}, &n, &version, &oldNamespace, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, loci.Errorf(loci.Conflict, "record %s does not exist", r.ID)
	case err != nil:
		return 0, err
	case namespace != oldNamespace || kind != string(r.Kind):
		return 0, loci.Errorf(loci.Invalid, "record %s cannot change its kind or namespace", r.ID)
	case version != r.Version-1:
		return 0, loci.Errorf(loci.Conflict, "record %s is at version %d, not %d", r.ID, version, r.Version-1)
	}
	return n, nil
}

// keepRevision files the present state before it is replaced, and lets go of
// what is more than keep states old.
func (t *tx) keepRevision(n int64, r *loci.Record, keep int) error {
	if keep > 0 {
		if err := t.exec(`INSERT INTO revision (record, version, updated_at, replaced_at, text, tags, attributes)
			SELECT n, version, updated_at, ?, text, tags, attributes FROM record WHERE n = ?`, r.UpdatedAt.UnixMilli(), n); err != nil {
			return err
		}
	}
	return t.exec(`DELETE FROM revision WHERE record = ?1 AND version NOT IN
		(SELECT version FROM revision WHERE record = ?1 ORDER BY version DESC LIMIT +?2)`, n, keep)
}

// Touch implements [loci.RecordChanger].
func (s *Store) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) error {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	return f.translate("touch", f.write(ctx, func(tx *tx) error {
		for _, touch := range touches {
			if !touch.At.IsZero() {
				err := tx.exec("UPDATE record SET uses = uses + 1, used_at = ? WHERE id = ?", touch.At.UnixMilli(), touch.ID[:])
				if err != nil {
					return err
				}
			}
			if touch.ExpiresAt.IsZero() {
				continue
			}
			seq, err := tx.nextSeq()
			if err != nil {
				return err
			}
			if err := tx.exec("UPDATE record SET expires_at = ?1, seq = ?2 WHERE id = ?3 AND (?4 = 0 OR version = ?4)",
				touch.ExpiresAt.UnixMilli(), seq, touch.ID[:], touch.Version); err != nil {
				return err
			}
		}
		return nil
	}))
}

// columns are the nullable columns of a record as the driver takes them.
type columns struct {
	slot, expiresAt, usedAt, tags, attributes, body      any
	scope, status, confidence, rate, from, endsAt, dueAt any
	sequence, position, heading                          any
}

func columnsOf(r *loci.Record) (c columns) {
	if r.Slot != "" {
		c.slot = []byte(r.Slot)
	}
	c.expiresAt, c.usedAt = nullable(r.ExpiresAt), nullable(r.UsedAt)
	c.endsAt, c.dueAt = nullable(r.EndsAt), nullable(r.DueAt)
	if r.Scope != "" {
		c.scope = r.Scope
	}
	if r.Status != "" {
		c.status = r.Status
	}
	if r.Sequence != "" {
		c.sequence, c.position = []byte(r.Sequence), r.Position
	}
	if r.Heading != "" {
		c.heading = []byte(r.Heading)
	}
	if !r.Decay.IsZero() {
		c.confidence, c.rate, c.from = r.Decay.Confidence, r.Decay.Rate, nullable(r.Decay.From)
	}
	if len(r.Tags) > 0 {
		data, err := json.Marshal(r.Tags)
		if err != nil {
			panic(err) // strings always marshal
		}
		c.tags = string(data)
	}
	if len(r.Attributes) > 0 {
		c.attributes = []byte(r.Attributes)
	}
	if len(r.Body) > 0 {
		c.body = []byte(r.Body)
	}
	return c
}

// nullable is a time in milliseconds; nil for none.
func nullable(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}
