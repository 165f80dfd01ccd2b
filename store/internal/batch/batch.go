// Package batch is what the stores in databases share of writing: the writes of a tenant
// that wait together are decided one after the other in the process, from what a transaction
// found under the tenant's lock, and written in one go.
package batch

import (
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Needs is what a job must know before it decides.
type Needs struct {
	IDs     []loci.ID // of records
	Slots   []string  // their hashes
	Replies []string  // their keys
	Told    []loci.ID // of records that events may tell of
	Places  []loci.Namespace
	Spaces  bool
	Before  []loci.ID // of records whose state may become an earlier one
	Usage   bool      // of the tenant: a quota bounds it, so it is measured where it is not kept

	// New says that of records, slots and replies nothing is needed but that they are not there,
	// which the database sees by itself when they are written.
	New bool

	// Whole says that the batch tells all that the writes do to what searches find: [Batch.Handed].
	Whole bool
}

// Add takes in what another job needs.
func (n *Needs) Add(other *Needs) {
	n.IDs = append(n.IDs, other.IDs...)
	n.Slots = append(n.Slots, other.Slots...)
	n.Replies = append(n.Replies, other.Replies...)
	n.Told = append(n.Told, other.Told...)
	n.Places = append(n.Places, other.Places...)
	n.Before = append(n.Before, other.Before...)
	n.Spaces = n.Spaces || other.Spaces
	n.Usage = n.Usage || other.Usage
	n.New = n.New && other.New
	n.Whole = n.Whole && other.Whole
}

// Marks are those of the places, each once.
func (n *Needs) Marks(nameKey loci.NameKey) (marks [][]byte) {
	seen := map[string]bool{}
	for _, place := range n.Places {
		if key := place.Key(); !seen[key] {
			seen[key] = true
			marks = append(marks, []byte(nameKey.Mark(place)))
		}
	}
	return marks
}

// NeedsOf is what must be known to decide about a change.
func NeedsOf(c *loci.Change) (n Needs) {
	n.New, n.Whole = len(c.Erase)+len(c.Links) == 0, true
	for i := range c.Put {
		p := &c.Put[i]
		n.New = n.New && p.Record.Version == 1 && p.History == nil
		n.IDs = append(n.IDs, p.Record.ID)
		n.Places = append(n.Places, p.Record.Namespace)
		if p.Record.Slot != "" {
			n.Slots = append(n.Slots, SlotHash(&p.Record))
		}
		if p.Record.Version > 1 && p.History == nil && p.Revisions >= 0 {
			n.Before = append(n.Before, p.Record.ID)
		}
		n.Spaces = n.Spaces || len(p.Vectors) > 0
	}
	for _, e := range c.Erase {
		n.IDs = append(n.IDs, e.ID)
	}
	for i := range c.Events {
		n.Places = append(n.Places, c.Events[i].Namespace)
	}
	for _, l := range c.Links {
		n.IDs = append(n.IDs, l.From, l.To)
	}
	if c.Reply != nil {
		n.Replies = append(n.Replies, c.Reply.Key)
	}
	n.Told = c.Quiet()
	n.Spaces = n.Spaces || c.Active != nil
	n.Usage = c.Quota != nil
	return n
}

// A Batch is what a transaction found of a tenant under its lock, kept up to date with what
// was decided since.
type Batch struct {
	Tenant loci.Tenant

	Used    *loci.Holding // what the tenant holds, kept up to date; nil: not known
	Found   State         // as the transaction found it
	State   State         // as it will leave it
	Records map[loci.ID]*Held
	Slots   map[string]loci.ID // who holds which; those that are not here are free
	Replies map[string]int64   // when those that are there expire, by the hash of the key
	Told    map[loci.ID]bool   // events tell details of these
	Places  map[loci.Mark]*Place
	Spaces  map[loci.Space]int64

	Changes map[ChangeKey]ChangeRow // what searches must know
	Left    map[int64]bool          // namespaces that may have lost their last record
	Mark    Mark                    // tells the transaction when it is looked for

	Emit func(*Ops) // takes what is to be written, in order

	Handing bool // what the batch does to what searches find is noted, too

	marks   map[string]loci.Mark // that [Known.Join] has found, by the keys of their namespaces
	spaced  bool                 // Spaces are all there are
	tallies Tallies              // as the tenant's row will have them; nil: not known
	came    map[loci.ID]*coming  // records that came or changed, of which all is at hand
	named   []Place              // namespaces that readers must learn of
	ops     Ops
	touched map[mention]bool // records, slots and keys that ops is about
}

// New is a batch in which nothing is known yet.
func New(t loci.Tenant, emit func(*Ops)) Batch {
	return Batch{
		Tenant:  t,
		Records: map[loci.ID]*Held{},
		Slots:   map[string]loci.ID{},
		Replies: map[string]int64{},
		Told:    map[loci.ID]bool{},
		Places:  map[loci.Mark]*Place{},
		Spaces:  map[loci.Space]int64{},
		Changes: map[ChangeKey]ChangeRow{},
		Left:    map[int64]bool{},
		Emit:    emit,
		touched: map[mention]bool{},
		marks:   map[string]loci.Mark{},
	}
}

// Held is what a decision needs to know of a record that is there.
type Held struct {
	Version   int64
	Namespace int64
	Kind      loci.Kind
	Slot      string // its hash
	Passages  int64
	Text      int64 // bytes of its text and heading; known where what the tenant holds is
	Data      int64 // of the rest that a quota counts; the same

	// The rest is for the kept counts.
	Live   bool
	Status string
	Bytes  int64   // of its text
	Spaces []int64 // in which it has vectors
}

// A Place is a namespace.
type Place struct {
	N       int64
	Mark    loci.Mark
	Key     string
	Named   bool // its name is in the database
	Kinds   []loci.Kind
	Fresh   bool  // it has no row yet
	Changed int64 // the change counter, if readers must learn of it; else 0

	staged bool // its row is to be written
	signal bool // readers must learn of it
}

// A ChangeKey says which record a line of the list of changes is about, and whether it is gone.
type ChangeKey struct {
	ID   loci.ID
	Gone bool
}

// A ChangeRow is the rest of such a line.
type ChangeRow struct {
	Namespace int64
	Kind      loci.Kind
}

// A Mark is what tells a transaction that was committed: a row it wrote.
type Mark struct {
	Seq   int64
	ID    loci.ID
	Event bool // of the log; else of the list of changes
}

// Changed stages what search must know of a record.
func (b *Batch) Changed(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
	b.Changes[ChangeKey{id, gone}] = ChangeRow{namespace, kind}
	if gone { // unless it comes again
		delete(b.Changes, ChangeKey{id, false})
	}
}

// Begin takes in the state under the tenant's lock, which the transaction has raised.
func (b *Batch) Begin() {
	b.State, b.Used = b.Found, b.Found.Held(b.Found.Seq-1)
	t, _ := b.Found.Tallied(b.Found.Seq - 1)
	b.tallied(t)
}

// Finish flushes what is pending and makes sure that the transaction can be told.
func (b *Batch) Finish() {
	b.keepTally()
	b.Flush()
	b.State.Keep(b.Used)
	if b.Mark.Seq == 0 { // no event: a line of its own in the list of changes
		b.Mark = Mark{Seq: b.State.Seq, ID: loci.NewID()}
		b.Changes[ChangeKey{b.Mark.ID, true}] = ChangeRow{}
	}
}

// place finds or makes the row of a namespace.
func (b *Batch) place(n loci.Namespace) *Place {
	key := n.Key()
	mark, ok := b.marks[key]
	if !ok {
		mark = b.State.NameKey.Mark(n)
	}
	w := b.Places[mark]
	if w == nil {
		b.State.Namespaces++
		w = &Place{N: b.State.Namespaces, Mark: mark, Fresh: true, staged: true, Named: mark == "", signal: true}
		b.Places[mark] = w
		b.ops.places = append(b.ops.places, w)
	}
	w.Key = key
	return w
}

// left is the place as a batch leaves it, with nothing pending.
func (w *Place) left() Place { return Place{N: w.N, Mark: w.Mark, Named: w.Named, Kinds: w.Kinds} }

// stage makes sure that the row of a namespace is written before what stands in it.
func (b *Batch) stage(w *Place) {
	w.signal = true
	if !w.staged {
		w.staged = true
		b.ops.places = append(b.ops.places, w)
	}
}

// Number finds or makes the number of a vector space.
func (b *Batch) Number(s loci.Space) int64 {
	n, ok := b.Spaces[s]
	if !ok {
		b.State.Spaces++
		n = b.State.Spaces
		b.Spaces[s] = n
		b.ops.Spaces = append(b.ops.Spaces, NewSpace{n, s})
	}
	return n
}

// Active is the active space.
func (b *Batch) Active() (s loci.Space) {
	for space, n := range b.Spaces {
		if n == b.State.Active && n != 0 {
			return space
		}
	}
	return s
}

// Forget begins the tenant again, all that was of it being gone.
func (b *Batch) Forget() {
	b.Used = &loci.Holding{}
	b.tallied(Tallies{})
	st := &b.State
	st.Name, st.Active, st.Head, st.Floor = "", 0, loci.Hash{}, st.Seq
	st.ChainStart = 0
	st.NameKey = loci.NewNameKey()
	clear(b.Records)
	clear(b.Slots)
	clear(b.Replies)
	clear(b.Told)
	clear(b.Places)
	clear(b.Spaces)
	clear(b.Changes)
	clear(b.Left)
}

// Touches decides about uses that move expiry times, and counts them all.
func (b *Batch) Touches(touches []loci.Touch) {
	for _, touch := range touches {
		if touch.ExpiresAt.IsZero() {
			continue
		}
		b.touch(mentionOf(touch.ID))
		r := b.Records[touch.ID]
		if r == nil || touch.Version != 0 && touch.Version != r.Version {
			continue
		}
		b.ops.Updates = append(b.ops.Updates, Update{IDs: []loci.ID{touch.ID}, ExpiresAt: touch.ExpiresAt})
		b.Changed(touch.ID, r.Namespace, r.Kind, false)
	}
	b.ops.Updates = append(b.ops.Updates, Uses(touches)...)
}

// Uses lists updates that count each use, those of one moment together. A record that is
// used twice in the list is in two of them.
func Uses(touches []loci.Touch) (updates []Update) {
	for len(touches) > 0 {
		at, seen := touches[0].At, map[loci.ID]bool{}
		var ids []loci.ID
		n := 0
		for ; n < len(touches) && touches[n].At.Equal(at) && !seen[touches[n].ID]; n++ {
			id := touches[n].ID
			seen[id], ids = true, append(ids, id)
		}
		if !at.IsZero() {
			updates = append(updates, Update{IDs: ids, UsedAt: at})
		}
		touches = touches[n:]
	}
	return updates
}

// NeedsOfTouches is what must be known to move expiry times; moves: there is one to move.
func NeedsOfTouches(touches []loci.Touch) (n Needs, moves bool) {
	for _, touch := range touches {
		n.IDs = append(n.IDs, touch.ID)
		moves = moves || !touch.ExpiresAt.IsZero()
	}
	return n, moves
}

// NeedsOfVectors is what must be known to store vectors; Invalid: they are none.
func NeedsOfVectors(vectors []loci.RecordVectors) (n Needs, err error) {
	n.Spaces = true
	for i := range vectors {
		if err := vectors[i].Vectors.Validate(); err != nil {
			return n, err
		}
		n.IDs = append(n.IDs, vectors[i].ID)
	}
	return n, nil
}

// PutVectors stages vectors of the records whose version is still the given one.
func (b *Batch) PutVectors(vectors []loci.RecordVectors) {
	for i := range vectors {
		v := &vectors[i]
		b.touch(mentionOf(v.ID))
		r := b.Records[v.ID]
		if r == nil || r.Version != v.Version || r.Passages != int64(len(v.Vectors.Rows)) {
			continue
		}
		b.tally(r, -1)
		if space := b.Number(v.Vectors.Space); !slices.Contains(r.Spaces, space) {
			r.Spaces = append(slices.Clip(r.Spaces), space)
		}
		b.tally(r, 1)
		b.vectors(v.ID, &v.Vectors)
		b.Changed(v.ID, r.Namespace, r.Kind, false)
	}
}

// LargeTime is what a change takes on top of what every write may.
func LargeTime(c *loci.Change) time.Duration {
	return time.Duration(len(c.Put)+len(c.Erase)) * 10 * time.Millisecond
}

// learns reports whether a place has to remember a kind.
func (w *Place) learns(kind loci.Kind) bool {
	if slices.Contains(w.Kinds, kind) {
		return false
	}
	w.Kinds = append(w.Kinds, kind)
	return true
}
