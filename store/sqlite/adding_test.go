package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// adding makes jobs that only add records, with vectors and slots of their own.
func adding(n int) (changes []*loci.Change, batch []*job) {
	for i := range n {
		c := note(fmt.Sprintf("note %d", i))
		r := &c.Put[0].Record
		r.Slot = fmt.Sprintf("slot %d", i)
		c.Put[0].Vectors = []loci.Vectors{{Space: loci.Space{Model: "m", Dims: 2}, Rows: [][]float32{{1, 0}}}}
		changes = append(changes, &c)
		batch = append(batch, addingJob(&c))
	}
	return changes, batch
}

func addingJob(c *loci.Change) *job {
	return &job{run: func(tx *tx) error { return tx.apply(c) }, adds: adds(c), done: make(chan error, 1)}
}

// ownTx is a transaction of the writing connection, whose writer has nothing to do.
func ownTx(f *file) *tx {
	t := &tx{f: f, conn: f.writeConn, stmts: map[string]*statement{}}
	t.forget()
	return t
}

func outcomes(batch []*job) (all []error) {
	for _, j := range batch {
		all = append(all, <-j.done)
	}
	return all
}

// sound checks what the file counts, and how many notes it has.
func sound(t *testing.T, s *Store, notes int) {
	t.Helper()
	if findings, err := s.Check(t.Context(), testTenant); err != nil || len(findings) > 0 {
		t.Errorf("the file has %q, %v", findings, err)
	}
	all := loci.Filter{Within: []loci.Namespace{{}}}
	found, _, err := s.Records(t.Context(), testTenant, all, loci.Page{Limit: 500})
	if err != nil || len(found) != notes {
		t.Errorf("%d notes are there, %v; want %d", len(found), err, notes)
	}
}

// Changes that add records are counted once for all of them, what comes beside and after them by the triggers.
func TestWhatIsAddedTogetherIsCounted(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	_, batch := adding(40)
	erased, many := note("to be erased"), note("one of many")
	batch = append(batch, addingJob(&erased))
	for i := range manyInserted + 3 { // one statement for most of them
		more := note(fmt.Sprintf("more %d", i))
		many.Put, many.Events = append(many.Put, more.Put...), append(many.Events, more.Events...)
	}
	batch = append(batch, addingJob(&many))
	own := ownTx(f)
	for _, j := range batch {
		if !j.adds {
			t.Fatal("a job does not only add")
		}
	}
	var counted, triggers bool
	later := &job{done: make(chan error, 1), run: func(tx *tx) error { // is sorted behind all that add
		counted, triggers = tx.counted == nil, true
		erase := loci.Change{Erase: []loci.Erase{{ID: erased.Put[0].Record.ID, Version: 1}}}
		return tx.apply(&erase)
	}}
	batch = append([]*job{later}, batch...)
	f.commitBatch(own, batch)
	for _, err := range outcomes(batch) {
		must(t, err)
	}
	if !counted || !triggers {
		t.Error("another change came before what was added is counted")
	}
	if own.careful != 0 {
		t.Error("a transaction in which nothing failed was made twice")
	}
	sound(t, s, 1+40+1+manyInserted+3)
	save(t, s, "counted by the triggers again")
	sound(t, s, 1+40+1+manyInserted+3+1)
}

// A job that is refused before it wrote anything takes nothing along, and no other is made again for it.
func TestWhatIsRefusedAtOnceIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	changes, batch := adding(6)
	changes[3].Put[0].Record.Slot = changes[1].Put[0].Record.Slot
	changes[3].Reply = &loci.Reply{Key: "k", Fingerprint: "f", Value: []byte("1"), Record: changes[3].Put[0].Record.ID}
	changes[3].Reply.At = changes[3].Put[0].Record.CreatedAt
	changes[3].Reply.ExpiresAt = changes[3].Reply.At.AddDate(0, 0, 1)
	runs := 0
	batch[0].run = func(tx *tx) error { runs++; return tx.apply(changes[0]) }
	own := ownTx(s.files[testTenant])
	s.files[testTenant].commitBatch(own, batch)
	for i, err := range outcomes(batch) {
		if refused := errors.Is(err, loci.ErrConflict); refused != (i == 3) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if runs != 1 || own.careful != 0 {
		t.Errorf("the first job was made %d times, and %d transactions are careful; want 1 and none", runs, own.careful)
	}
	if reply, err := s.Replied(t.Context(), testTenant, "k"); err != nil || reply != nil {
		t.Errorf("the refused change has the reply %v, %v", reply, err)
	}
	sound(t, s, 1+5)
}

// A job that fails on its way is taken back alone: all is made again, with savepoints, and so are the next transactions.
func TestWhatFailsOnItsWayIsTakenBackAlone(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	for name, fail := range map[string]func(c *loci.Change) func(*tx) error{
		"a link": func(c *loci.Change) func(*tx) error {
			c.Links = []loci.Link{{From: c.Put[0].Record.ID, To: loci.NewID(), Type: "related_to", At: c.Put[0].Record.CreatedAt}}
			return func(tx *tx) error { return tx.apply(c) }
		},
		"a panic": func(c *loci.Change) func(*tx) error {
			return func(tx *tx) error {
				must(t, tx.apply(c))
				panic("oops")
			}
		},
	} {
		changes, batch := adding(6)
		for i := range changes {
			changes[i].Put[0].Record.Slot = name + changes[i].Put[0].Record.Slot
		}
		batch[3].run = fail(changes[3])
		own := ownTx(f)
		f.commitBatch(own, batch)
		for i, err := range outcomes(batch) {
			if (err != nil) != (i == 3) {
				t.Errorf("%s: job %d: %v", name, i, err)
			}
		}
		if own.careful != carefully-1 { // the second try was one
			t.Errorf("%s: %d transactions are careful; want %d", name, own.careful, carefully-1)
		}
	}
	sound(t, s, 1+2*5)
	save(t, s, "counted by the triggers again")
	sound(t, s, 1+2*5+1)
}

// What changes or erases records, has earlier states, or a quota does not only add.
func TestWhatOnlyAdds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*loci.Change){
		"nothing":         func(c *loci.Change) { c.Put = nil },
		"an erase":        func(c *loci.Change) { c.Erase = []loci.Erase{{ID: loci.NewID(), Version: 1}} },
		"an update":       func(c *loci.Change) { c.Put[0].Record.Version = 2 },
		"earlier states":  func(c *loci.Change) { c.Put[0].History = []loci.Revision{{Version: 1}} },
		"a quota":         func(c *loci.Change) { c.Quota = &loci.Quota{Records: 5} },
		"a note, as such": nil,
	} {
		c := note("walrus")
		if change != nil {
			change(&c)
		}
		if got := adds(&c); got != (change == nil) {
			t.Errorf("%s only adds: %v", name, got)
		}
	}
}

// After a commit of its own a process knows the number of the last change, and after one of another it looks.
func TestOwnCommitsAreKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	save(t, s, "walrus")
	f := s.files[testTenant]
	at := func(s *Store) (seq int64) {
		t.Helper()
		must(t, s.files[testTenant].readRow(t.Context(), "SELECT value FROM meta WHERE key = 'seq'", nil, &seq))
		return seq
	}
	for range 3 {
		save(t, s, "seal")
		now, known := f.rows.Look()
		if last := f.last.Load(); !known || last == nil || last.state != now || last.seq != at(s) {
			t.Errorf("the last change that is known is %+v; want %d", last, at(s))
		}
		save(t, other, "otter")
		if seq, err := f.changed(t.Context()); err != nil || seq != at(other) {
			t.Errorf("after another process the last change is %d, %v; want %d", seq, err, at(other))
		}
	}
}

// Events of changes that share a transaction stand in the log in the order of the changes, and in one chain, however
// many there are; vectors are those of their records.
func TestWhatIsAddedTogetherKeepsItsOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 31, 2*mostRows + 7} {
		s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
		save(t, s, "walrus")
		changes, batch := adding(n)
		for i := range changes {
			changes[i].Put[0].Vectors[0].Rows[0][1] = float32(i) / float32(n)
		}
		own := ownTx(s.files[testTenant])
		s.files[testTenant].commitBatch(own, batch)
		for _, err := range outcomes(batch) {
			must(t, err)
		}
		all := loci.EventFilter{Within: []loci.Namespace{{}}}
		events, _, err := s.Events(t.Context(), testTenant, all, loci.Page{Limit: 500})
		if err != nil || len(events) != n+1 {
			t.Fatalf("%d events, %v; want %d", len(events), err, n+1)
		}
		for i, e := range events[:n] { // newest first
			if want := changes[n-1-i].Put[0].Record.ID; e.Entity != want {
				t.Errorf("event %d of %d is of another change", i, n)
			}
		}
		for i := range changes {
			var data []byte
			const query = "SELECT data FROM vector WHERE record = (SELECT n FROM record WHERE id = ?)"
			id := changes[i].Put[0].Record.ID
			must(t, s.files[testTenant].readRow(t.Context(), query, []any{id[:]}, &data))
			if want := vector.Quantize(changes[i].Put[0].Vectors[0].Rows[0]); !bytes.Equal(data, want) {
				t.Errorf("note %d of %d has another vector", i, n)
			}
		}
		sound(t, s, n+1)
	}
}

// A record with a value that most lack keeps it, added alone and together with others.
func TestWhatMostRecordsLackIsKept(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_000).UTC()
	for name, set := range map[string]func(r *loci.Record){
		"nothing":     func(*loci.Record) {},
		"an expiry":   func(r *loci.Record) { r.ExpiresAt = at },
		"uses":        func(r *loci.Record) { r.Uses = 3 },
		"a use":       func(r *loci.Record) { r.UsedAt = at },
		"tags":        func(r *loci.Record) { r.Tags = []string{"a", "b"} },
		"attributes":  func(r *loci.Record) { r.Attributes = []byte(`{"a":1}`) },
		"an end":      func(r *loci.Record) { r.EndsAt = at },
		"a due time":  func(r *loci.Record) { r.DueAt = at },
		"a sequence":  func(r *loci.Record) { r.Sequence, r.Position = "s", 4 },
		"a heading":   func(r *loci.Record) { r.Heading = "user colour" },
		"a state":     func(r *loci.Record) { r.Scope, r.Status, r.Slot = "global", "active", "slot" },
		"a body":      func(r *loci.Record) { r.Body = []byte(`{"b":2}`) },
		"a decay":     func(r *loci.Record) { r.Decay = loci.Decay{Confidence: 0.5, Rate: 0.25, From: at} },
		"no passages": func(r *loci.Record) { r.Passages = nil },
	} {
		s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
		alone := note("alone")
		set(&alone.Put[0].Record)
		must(t, s.Apply(t.Context(), testTenant, alone))
		changes, batch := adding(4)
		r := &changes[2].Put[0].Record
		set(r)
		if r.Slot == "slot" {
			r.Slot = "another slot"
		}
		if r.Passages == nil {
			changes[2].Put[0].Vectors = nil
		}
		s.files[testTenant].commitBatch(ownTx(s.files[testTenant]), batch)
		for _, err := range outcomes(batch) {
			must(t, err)
		}
		for _, want := range []*loci.Record{&alone.Put[0].Record, r} {
			f := loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{want.ID}}
			f.At = want.CreatedAt
			got, _, err := s.Records(t.Context(), testTenant, f, loci.Page{Limit: 1})
			if err != nil || len(got) != 1 || !reflect.DeepEqual(&got[0], want) {
				t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
			}
		}
		sound(t, s, 5)
	}
}
