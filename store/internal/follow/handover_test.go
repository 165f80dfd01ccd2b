package follow

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// A table is a database with one namespace, whose tenant's row is all that changes.
type table struct {
	Source
	st    batch.State
	reads atomic.Int64
}

func (s *table) State() (*batch.State, error) {
	s.reads.Add(1)
	st := s.st
	return &st, nil
}
func (s *table) Space(loci.Space) (number, dropped int64, err error)             { return 1, 0, nil }
func (s *table) Spaces() (map[int64]loci.Space, error)                           { return nil, nil }
func (s *table) Changes(int64, func(loci.ID, int64, loci.Kind, bool)) error      { return nil }
func (s *table) ByShard(int64, int64, loci.Kind, loci.ID, int, Take) (err error) { return nil }
func (s *table) Places(_ int64, below []string, take func(batch.Place)) error {
	if len(below) > 0 {
		take(batch.Place{N: 1, Key: place.Key(), Kinds: []loci.Kind{loci.KindFact}})
	}
	return nil
}

var (
	place = loci.Namespace{"u"}
	key   = bytes.Repeat([]byte{7}, 32)
)

// search is one for a word.
func (s *table) search() *Search {
	q := &Search{
		Probe: loci.Probe{Text: "walrus"}, Filter: loci.Filter{Within: []loci.Namespace{place}}, Limit: 1000,
		Meter: &meter.Meter{}, Crew: NewCrew(), Budget: math.MaxInt64, Trim: func(*Index) int64 { return 0 },
		Read: func(_ context.Context, do func(Source) error) error { return do(s) },
	}
	q.Begin()
	return q
}

func (s *table) look(func()) (batch.State, error) { return s.st, nil }

// commit is one that puts so many records.
func commit(seq int64, records int) *batch.Handed {
	c := &batch.Handed{NameKey: key, Line: 3, Seq: seq}
	for i := range records {
		c.Came = append(c.Came, batch.CameRecord{Record: &loci.Record{
			ID: loci.ID{byte(seq), byte(i >> 8), byte(i)}, Kind: loci.KindFact, Namespace: place, Live: true, Text: "walrus",
			Passages: []loci.Span{{End: 6}},
		}})
	}
	return c
}

// newIndex is one that shows an empty table at the counter 10.
func newIndex(t *testing.T) (*Index, *table) {
	t.Helper()
	s := &table{st: batch.State{There: true, Seq: 10, NameKey: key, Line: 3}}
	x := &Index{}
	if hits, err := x.MatchAfter(t.Context(), s.search()); err != nil || len(hits) != 0 || x.seq != 10 {
		t.Fatal(hits, err, x.seq)
	}
	s.reads.Store(0)
	return x, s
}

// A commit is taken in if it follows the state of the index and is the tenant's as it is; one that does not
// is read.
func TestCommitsAreTakenInThatFollow(t *testing.T) {
	for _, c := range []struct {
		name string
		seq  int64 // the tenant's counter
		hand []*batch.Handed
		want int64 // up to which commits are taken in
	}{
		{"the next one", 11, []*batch.Handed{commit(11, 1)}, 11},
		{"two", 12, []*batch.Handed{commit(11, 1), commit(12, 1)}, 12},
		{"one that the search did not see yet", 11, []*batch.Handed{commit(11, 1), commit(12, 1)}, 12},
		{"one before it that was read", 11, []*batch.Handed{commit(10, 1), commit(11, 1)}, 11},
		{"another one between", 12, []*batch.Handed{commit(12, 1)}, 10},
		{"another one between two", 13, []*batch.Handed{commit(11, 1), commit(13, 1)}, 10},
		{"another one behind", 12, []*batch.Handed{commit(11, 1)}, 11},
		{"of a tenant that was erased", 11, []*batch.Handed{{NameKey: bytes.Repeat([]byte{8}, 32), Line: 3, Seq: 11}}, 10},
		{"before the database went back", 11, []*batch.Handed{{NameKey: key, Line: 2, Seq: 11}}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, s := newIndex(t)
			for _, h := range c.hand {
				x.Hand(h)
				x.Wrote(h.Seq)
			}
			s.st.Seq = c.seq
			hits, served, err := x.MatchPresent(t.Context(), s.search(), s.look)
			if err != nil || served != (c.want >= c.seq) || x.seq != c.want || served && len(hits) != int(c.want-10) {
				t.Errorf("served %v by %d hits, at the counter %d, want %d; %v", served, len(hits), x.seq, c.want, err)
			}
			if x.shown.Load() != x.seq {
				t.Errorf("the index shows %d and says %d", x.seq, x.shown.Load())
			}
			s.st.Seq = max(c.seq, c.want)
			hits, err = x.MatchAfter(t.Context(), s.search())
			if err != nil || x.seq < c.seq || len(hits) != int(c.want-10) {
				t.Errorf("a search that reads is at the counter %d of %d and finds %d; %v", x.seq, c.seq, len(hits), err)
			}
			if len(x.handover.waiting) > 0 || x.handover.bytes.Load() != 0 {
				t.Errorf("%d commits wait, of %d bytes", len(x.handover.waiting), x.handover.bytes.Load())
			}
		})
	}
}

// A search that reads takes in no commit behind what it read, which the next one does.
func TestCommitsBehindWhatIsRead(t *testing.T) {
	x, s := newIndex(t)
	x.Hand(commit(12, 1)) // of 11 others
	x.Hand(commit(13, 1))
	s.st.Seq = 12
	hits, err := x.MatchAfter(t.Context(), s.search())
	if err != nil || len(hits) != 0 || x.seq != 12 {
		t.Fatal(hits, err, x.seq)
	}
	s.st.Seq = 13
	hits, served, err := x.MatchPresent(t.Context(), s.search(), s.look)
	if err != nil || !served || len(hits) != 1 {
		t.Fatal(hits, served, err)
	}
}

// Where the index is behind what this process committed and nothing waits that brings it there, a search does
// not ask by how much.
func TestNobodyLooksInVain(t *testing.T) {
	x, s := newIndex(t)
	looks := 0
	look := func(func()) (batch.State, error) { looks++; return s.look(nil) }
	for _, c := range []struct{ handed, wrote int64 }{{0, 11}, {12, 12}, {11, 12}} {
		x.handover.clear()
		if c.handed > 0 {
			x.Hand(commit(c.handed, 1))
		}
		x.Wrote(c.wrote)
		if _, served, err := x.MatchPresent(t.Context(), s.search(), look); served || err != nil || looks > 0 {
			t.Errorf("%+v: served %v after %d looks, %v", c, served, looks, err)
		}
	}
	c := commit(11, 1)
	c.Line = 2 // it cannot be taken in
	x.handover.clear()
	x.Hand(c)
	x.Wrote(11)
	for range 2 {
		x.mu.Lock()
		x.takeHanded(11)
		x.mu.Unlock()
	}
	if x.handover.brings(10, 11) {
		t.Error("a search looks though what was committed could not be taken in")
	}
	x.Hand(commit(11, 1))
	x.takeHanded(11)
	s.st.Seq, s.st.Line = 10, 4 // the database goes back
	if _, err := x.MatchAfter(t.Context(), s.search()); err != nil || x.seq != 10 || x.handover.brings(10, 11) {
		t.Error("what was taken into an index before is thought to be in this one", err)
	}
}

// While one search takes in commits others wait for that, and for what is committed meanwhile.
func TestCommitsThatAreBeingTakenIn(t *testing.T) {
	x, _ := newIndex(t)
	h := &x.handover
	x.Hand(commit(11, 1))
	h.take(11)
	if !h.brings(10, 11) || h.brings(10, 12) {
		t.Error("a search does not wait for what is being taken in")
	}
	x.Hand(commit(12, 1))
	if !h.brings(10, 12) {
		t.Error("a search does not wait for what comes behind that")
	}
	h.take(12)
	h.missed()
	if h.brings(10, 12) {
		t.Error("a search waits for what could not be taken in")
	}
}

// A search that may be stale takes in what this process committed without a look at the database.
func TestStaleSearchesTakeInOwnCommits(t *testing.T) {
	x, s := newIndex(t)
	x.Hand(commit(11, 1))
	x.Wrote(11)
	q := s.search()
	q.Stale = time.Hour
	if hits, served, err := x.MatchStale(q); err != nil || !served || len(hits) != 1 {
		t.Error(hits, served, err)
	}
}

// What nobody takes in is bounded, and nothing is held for an index that is not there.
func TestWhatWaitsIsBounded(t *testing.T) {
	x, _ := newIndex(t)
	for seq := range int64(3 * maxHandedRecords) {
		x.Hand(commit(seq, 1))
		if len(x.handover.waiting) > maxHandedRecords {
			t.Fatalf("%d commits wait", len(x.handover.waiting))
		}
	}
	if x.Handing() || len(x.handover.waiting) > 0 {
		t.Error("after some were let go the rest waits")
	}
	for name, end := range map[string]func(x *Index){
		"many bytes":      func(x *Index) { x.Hand(&batch.Handed{Seq: 12, Bytes: maxHandedBytes}) },
		"a drop":          func(x *Index) { x.drop(&meter.Meter{}) },
		"a fault":         func(x *Index) { x.lose() },
		"too much memory": func(x *Index) { x.shrink(&meter.Meter{}, 0) },
		"a lost reading":  func(x *Index) { x.dirty = true; x.undo() },
		"an end of a first reading": func(x *Index) {
			x.index = nil
			_, _ = x.MatchAfter(context.Background(), &Search{
				Read: func(context.Context, func(Source) error) error { return errors.New("no database") },
			})
		},
	} {
		x, _ := newIndex(t)
		c := commit(11, 1)
		c.Bytes = 99
		before := x.Bytes()
		x.Hand(c)
		if x.Bytes() != before+99 {
			t.Errorf("%d bytes with what waits, %d without", x.Bytes(), before)
		}
		end(x)
		x.Hand(commit(12, 1))
		if x.Handing() || len(x.handover.waiting) > 0 || x.handover.bytes.Load() != 0 {
			t.Errorf("after %s %d commits wait, of %d bytes", name, len(x.handover.waiting), x.handover.bytes.Load())
		}
	}
}

// What waits is taken in beside the calls when it is much, as far as it follows.
func TestMuchIsTakenInBesideCalls(t *testing.T) {
	x, s := newIndex(t)
	closed := s.search()
	closed.Crew.Close()
	hand := func(seq int64, records int, bytes int64, much bool) {
		t.Helper()
		c := commit(seq, records)
		c.Bytes = bytes
		if x.Hand(c) != much {
			t.Errorf("commit %d: much waits: %v", seq, !much)
		}
		if !much {
			return
		}
		x.TakeMuch(closed)
		if x.seq >= seq {
			t.Errorf("a crew that is closed took in commit %d", seq)
		}
		q := s.search()
		x.TakeMuch(q)
		q.Crew.Wait()
	}
	shows := func(seq int64, waiting int) {
		t.Helper()
		if x.seq != seq || len(x.handover.waiting) != waiting {
			t.Errorf("the index shows %d and %d commits wait; want %d and %d", x.seq, len(x.handover.waiting), seq, waiting)
		}
	}
	hand(11, 1, mostWaiting/2, false)
	hand(12, 1, mostWaiting/2, false)
	shows(10, 2)
	hand(13, 1, 1, true)
	shows(11, 2) // what is left is little
	hand(14, mostWaitingRecords-2, 1, false)
	hand(15, mostWaitingRecords, 1, true)
	shows(14, 1)
	hand(17, 1, mostWaiting+1, true) // 16 is another server's
	shows(14, 1)
	if x.handover.settling.Load() {
		t.Error("somebody still takes in")
	}
}

// What is taken in is counted, and makes room like what is loaded; images that are ready then are written.
func TestWhatIsTakenInMakesRoom(t *testing.T) {
	x, s := newIndex(t)
	x.ready = []*publication{}
	x.Hand(commit(11, 100))
	s.st.Seq = 11
	q, trims := s.search(), 0
	q.Trim = func(*Index) int64 { trims++; return 0 }
	if _, served, err := x.MatchPresent(t.Context(), q, s.look); err != nil || !served || trims != 1 {
		t.Error(served, err, trims)
	}
	if x.ready != nil {
		t.Error("images that are ready wait for a search that reads")
	}
	if x.Bytes() != x.index.Bytes() {
		t.Errorf("%d bytes are counted of %d", x.Bytes(), x.index.Bytes())
	}
	x.Hand(commit(12, 1))
	s.st.Seq = 12
	q = s.search()
	q.Budget = 1
	if _, served, err := x.MatchPresent(t.Context(), q, s.look); err != nil || served || x.seq != 12 {
		t.Error("what is taken in takes more than there is room for", served, err)
	}
}

// Many callers who search after writes of this process look at the tenant's counter once together; where
// nobody writes each looks for itself.
func TestOneLooksForAllWhoWait(t *testing.T) {
	x, s := newIndex(t)
	x.Hand(commit(11, 1))
	x.Wrote(11)
	s.st.Seq = 11
	var looks atomic.Int64
	inside, release := make(chan struct{}), make(chan struct{})
	look := func(func()) (batch.State, error) {
		if looks.Add(1) == 1 {
			close(inside)
			<-release
		}
		return s.look(nil)
	}
	var callers sync.WaitGroup
	find := func(q *Search) {
		hits, served, err := x.MatchPresent(t.Context(), q, look)
		if err != nil || !served || len(hits) != 1 {
			t.Error(hits, served, err)
		}
	}
	first := s.search()
	callers.Go(func() { find(first) })
	<-inside
	for range 20 {
		q := s.search()
		callers.Go(func() { find(q) })
	}
	gone, end := context.WithCancel(t.Context())
	end()
	alone := s.search()
	left := make(chan error, 1)
	go func() {
		_, _, err := x.MatchPresent(gone, alone, look)
		left <- err
	}()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a search waits on whose caller has gone")
	}
	close(release)
	callers.Wait()
	if looks.Load() != 2 {
		t.Errorf("%d looks of 21 searches", looks.Load())
	}
	q := s.search() // the next one in turn need not look
	if _, err := x.lookInTurn(t.Context(), q, s.look, nil); err != nil || x.seen.Load() != int64(q.looked) {
		t.Error(err)
	}
	for range 2 * sharedLooks {
		find(s.search())
	}
	second := func(func()) (batch.State, error) {
		nested := false
		ctx, end := context.WithTimeout(t.Context(), 10*time.Second) // it does not wait
		defer end()
		_, _, err := x.MatchPresent(ctx, s.search(), func(func()) (batch.State, error) {
			nested = true
			return s.look(nil)
		})
		if err != nil || !nested {
			t.Error("searches wait for one another though nobody writes", err)
		}
		return s.look(nil)
	}
	if _, _, err := x.MatchPresent(t.Context(), s.search(), second); err != nil {
		t.Error(err)
	}
}

// What is handed over of a shard that is being loaded, or of a namespace that nobody searched, is passed over:
// whoever searches it reads it.
func TestCommitsToWhatIsNotLoaded(t *testing.T) {
	x, s := newIndex(t)
	c := commit(11, 2)
	c.Came[0].Record.Namespace = loci.Namespace{"v"}
	c.Came[1].Record.Kind = "sort"
	c.Places = []batch.Place{{N: 2, Key: loci.Namespace{"v"}.Key(), Kinds: []loci.Kind{loci.KindFact}}}
	c.Gone = []batch.GoneRecord{{ID: loci.ID{9}, Place: 3, Kind: loci.KindFact}}
	x.Hand(c)
	s.st.Seq = 11
	hits, served, err := x.MatchPresent(t.Context(), s.search(), s.look)
	if err != nil || !served || len(hits) != 0 {
		t.Fatal(hits, served, err)
	}
	name := loci.Namespace{"v"}.Key()
	if !x.known.Has(index.Key{Namespace: name, Kind: loci.KindFact}) || x.numbers[name] != 2 {
		t.Error("a namespace that came is not known")
	}
}
