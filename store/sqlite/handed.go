package sqlite

import (
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
)

// What this process commits is handed to its index, which would otherwise read it from
// the file again. A change is not handed over unless all of its records are at hand: the
// index then reads all that came since, as it does after another process has written.

// maxHanded bounds the records that wait for the next search.
const maxHanded = 1024

// Up to how many bytes of texts, and records, wait for the next search. What is more is taken in behind the commit,
// beside the calls that follow: else one search would pay for all that others have written since the last one, some
// seconds for some large imports. Who commits while much more waits, waits for that.
const (
	mostWaiting        = 256 << 10
	mostWaitingRecords = maxHanded / 4
	tooMuchWaiting     = 8 // times as much
	tooManyWaiting     = 3
)

// A handed record is what one change did to the index: it left, or came as it is.
type handed struct {
	id        loci.ID
	namespace int64        // that it left for good
	record    *loci.Record // as it came; nil: it left
	number    int64        // of its row; 0: not known
	place     int64        // of its namespace; 0: not known
	vectors   []coded
}

// coded are the vectors of a record in a space as the file has them.
type coded struct {
	space loci.Space
	data  []byte
}

// A handedBatch is what a transaction did.
type handedBatch struct {
	seq     int64
	records []handed
	whole   bool // and that is all that the index must know
}

// size is how many bytes of texts are in a batch.
func (b *handedBatch) size() (n int) {
	for i := range b.records {
		if r := b.records[i].record; r != nil {
			n += len(r.Text)
		}
	}
	return n
}

// handover holds batches until the index takes them in.
type handover struct {
	mu      sync.Mutex
	wanted  bool // there is an index
	batches []handedBatch
	held    int
	size    int // bytes of texts

	settling sync.Mutex // of who takes in what waits, though nobody searches
}

// want begins to hold batches, from the next commit on.
func (h *handover) want() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = true
}

// wants reports whether there is an index that takes in what is committed.
func (h *handover) wants() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted
}

func (h *handover) add(b handedBatch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wanted {
		return
	}
	if h.held += len(b.records); h.held > maxHanded { // nobody searches: the file has it all
		h.batches, h.held, h.size, h.wanted = nil, 0, 0, false
		return
	}
	h.batches, h.size = append(h.batches, b), h.size+b.size()
}

// heavy reports whether more waits than one search should pay for, and whether it is much more.
func (h *handover) heavy() (heavy, tooHeavy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.size > mostWaiting || h.held > mostWaitingRecords,
		h.size > tooMuchWaiting*mostWaiting || h.held > tooManyWaiting*mostWaitingRecords
}

// take takes all that waits, and takeFirst the first batch of it.
func (h *handover) take() []handedBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.batches
	h.batches, h.held, h.size = nil, 0, 0
	return out
}

func (h *handover) takeFirst() []handedBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.batches) == 0 {
		return nil
	}
	out := h.batches[:1:1]
	h.batches = h.batches[1:]
	h.held, h.size = h.held-len(out[0].records), h.size-out[0].size()
	return out
}

// takeInMuch takes in what waits if it is much, beside the calls that follow. The caller has the file.
func (s *Store) takeInMuch(f *file) {
	h := &f.search.handover
	heavy, tooHeavy := h.heavy()
	if heavy && h.settling.TryLock() {
		s.mu.Lock()
		f.users++
		s.mu.Unlock()
		go func() {
			defer s.release(f)
			defer h.settling.Unlock()
			f.takeInWaiting()
		}()
	}
	if tooHeavy { // somebody takes it in
		h.settling.Lock()
		h.settling.Unlock() //nolint:staticcheck // it is waited for
	}
}

// takeInWaiting takes in what waits until that is little. Searches run between one batch and the next. What fails
// is no failure of a commit, which is done: a search that has it fails, too, and says so.
func (f *file) takeInWaiting() {
	x := &f.search
	for heavy, _ := x.handover.heavy(); heavy; heavy, _ = x.handover.heavy() {
		err := f.mapping(func() error {
			x.mu.Lock()
			defer x.mu.Unlock()
			defer x.leaveWhole()
			if batches := x.handover.takeFirst(); x.index != nil {
				x.takeIn(batches)
			}
			return nil
		})
		if err != nil {
			return
		}
		x.budget.makeRoom(0)
	}
}

// takeHanded takes in what this process committed since the index's state, as far as
// nothing is missing in between.
func (x *searchIndex) takeHanded() { x.takeIn(x.handover.take()) }

func (x *searchIndex) takeIn(batches []handedBatch) {
	defer x.account()
	for _, b := range batches {
		if b.seq <= x.seq {
			continue
		}
		if b.seq != x.seq+1 || !b.whole || !x.knows(b) {
			return
		}
		for _, h := range b.records {
			if h.record == nil {
				x.index.Remove(x.names[h.namespace], h.id)
				continue
			}
			var codes [][]byte
			for _, v := range h.vectors {
				if v.space == x.index.Space() {
					codes = form.SplitVectors(v.data, v.space.Dims)
				}
			}
			x.index.UpsertPlaced(h.record, codes, h.number, h.place)
		}
		x.seq, x.grown = b.seq, x.grown+len(b.records)
	}
}

// knows reports whether all of a batch is of shards and namespaces that are known.
func (x *searchIndex) knows(b handedBatch) bool {
	for _, h := range b.records {
		if h.record == nil {
			if _, known := x.names[h.namespace]; !known && len(x.groups) == 0 {
				return false
			}
		} else if len(h.record.Passages) > 0 && !x.knowsShard(index.KeyOf(h.record), h.place) {
			return false
		}
	}
	return true
}

// stored is a record as it is read back, with nothing that its caller may change.
func stored(r *loci.Record) *loci.Record {
	out := *r
	for _, at := range []*time.Time{
		&out.CreatedAt, &out.UpdatedAt, &out.ExpiresAt, &out.UsedAt, &out.EndsAt, &out.DueAt, &out.Decay.From,
	} {
		if !at.IsZero() {
			*at = milli(at.UnixMilli())
		}
	}
	if out.Sequence == "" {
		out.Position = 0
	}
	out.Tags, out.Passages, out.Body = slices.Clone(r.Tags), slices.Clone(r.Passages), nil
	out.Attributes = slices.Clone(r.Attributes)
	return &out
}

// handErased says that a record left.
func (t *tx) handErased(id loci.ID, namespace int64) {
	t.unhanded--
	t.handed = append(t.handed, handed{id: id, namespace: namespace})
}

// handPut says that a record came, if the change has all of it.
func (t *tx) handPut(p *loci.Put, number int64, vectors []coded) {
	r := &p.Record
	if p.SameText && r.Version > 1 && p.History == nil && r.Live {
		return // its text and vectors are in the file alone
	}
	t.unhanded--
	place := t.places[r.Namespace.Key()].n
	t.handed = append(t.handed, handed{record: stored(r), number: number, place: place, vectors: vectors})
}
