package rowcache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// A disk is a file whose state a test says.
type disk struct {
	mu    sync.Mutex
	state State
	lost  bool
}

func (d *disk) look() (State, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state, !d.lost
}

// commit goes to the next state.
func (d *disk) commit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state[0], d.state[changes] = d.state[0]+rand.Uint32()|1, d.state[changes]+1
}

func newFile(limit int64) (*Pool, *disk, *File) {
	p, d := NewPool(limit), &disk{state: State{1}}
	return p, d, p.Open(d.look)
}

func id(n int) ID { return ID{byte(n), byte(n >> 8), 1} }

func keepRow(t *testing.T, f *File, n int, data string) {
	t.Helper()
	found := make([][]byte, 1)
	now, known := f.Find([]ID{id(n)}, found)
	if !known || !f.Keep(now, []Row{{ID: id(n), Number: int64(n), Data: []byte(data)}}) {
		t.Fatalf("row %d is not kept; the state is known: %v", n, known)
	}
}

func find(f *File, n int) string {
	found := make([][]byte, 1)
	f.Find([]ID{id(n)}, found)
	return string(found[0])
}

// inMemory reports whether anything that is kept holds a text.
func inMemory(f *File, text string) bool {
	for i := range f.rows[:cap(f.rows)] {
		if r := &f.rows[:cap(f.rows)][i]; bytes.Contains(r.data, []byte(text)) {
			return true
		}
	}
	return false
}

// What a transaction of this process touched is gone when it is committed, in memory, too; all else stays.
func TestOwnCommitDropsWhatItTouched(t *testing.T) {
	p, d, f := newFile(1 << 20)
	keepRow(t, f, 1, "one")
	keepRow(t, f, 2, "two")
	f.Begin()
	f.Touched(1)
	if find(f, 1) != "one" {
		t.Error("what is not committed yet is gone")
	}
	f.Committing()
	if find(f, 1) != "" || find(f, 2) != "" {
		t.Error("something is found during a commit")
	}
	d.commit()
	f.Committed()
	if find(f, 1) != "" || len(f.at) != 1 {
		t.Error("the row that was touched is kept")
	}
	if find(f, 2) != "two" || p.Bytes() != (&row{data: []byte("two")}).cost() {
		t.Errorf("the other row is %q; %d bytes are counted", find(f, 2), p.Bytes())
	}
	f.Begin()
	f.Touched(2)
	f.Committing()
	d.commit()
	f.Committed()
	if inMemory(f, "one") || inMemory(f, "two") || p.Bytes() != 0 {
		t.Errorf("something is in memory when all rows have gone; %d bytes are counted", p.Bytes())
	}
}

// A commit of another process takes all, also where one of this process came with it.
func TestCommitsOfOthersDropAll(t *testing.T) {
	p, d, f := newFile(1 << 20)
	keepRow(t, f, 1, "one")
	d.commit()
	if find(f, 1) != "" || inMemory(f, "one") || p.Bytes() != 0 {
		t.Errorf("the row stays after a commit of another process; %d bytes are counted", p.Bytes())
	}
	keepRow(t, f, 1, "one")
	f.Begin()
	f.Committing()
	d.commit()
	d.commit() // another process was quicker than the look
	f.Committed()
	if find(f, 1) != "" || p.Bytes() != 0 {
		t.Error("the row stays after commits of this process and another one")
	}
	keepRow(t, f, 1, "one")
	d.lost = true
	f.Begin()
	d.lost = false
	f.Committing()
	d.commit()
	f.Committed()
	if find(f, 1) != "" {
		t.Error("the row stays though nobody knows what it was held against")
	}
	keepRow(t, f, 1, "one")
	d.commit()
	f.Begin() // sees it
	f.Committing()
	d.commit()
	f.Committed()
	if inMemory(f, "one") {
		t.Error("the row stays after a commit of another process before one of this one")
	}
}

// A transaction that came to nothing takes nothing that did not change.
func TestNoCommit(t *testing.T) {
	_, _, f := newFile(1 << 20)
	keepRow(t, f, 1, "one")
	f.Begin()
	f.Committing()
	f.Committed()
	if find(f, 1) != "one" {
		t.Error("the row is gone")
	}
}

// Of very many rows that were touched not each is known.
func TestManyTouched(t *testing.T) {
	_, d, f := newFile(1 << 20)
	keepRow(t, f, 5000, "one")
	f.Begin()
	for n := range 6000 {
		f.Touched(int64(n))
	}
	if len(f.touched) > maxTouched {
		t.Errorf("%d rows are remembered", len(f.touched))
	}
	f.Committing()
	d.commit()
	f.Committed()
	if find(f, 5000) != "" {
		t.Error("a row that was touched stays")
	}
	keepRow(t, f, 1, "one")
	f.Begin()
	f.TouchedAll()
	f.Committing()
	d.commit()
	f.Committed()
	if find(f, 1) != "" {
		t.Error("a row stays where all were touched")
	}
}

// What was read before a change is not kept after it.
func TestLateRows(t *testing.T) {
	_, d, f := newFile(1 << 20)
	then, _ := f.Find(nil, nil)
	row := []Row{{ID: id(1), Number: 1, Data: []byte("old")}}
	f.Begin()
	f.Touched(1)
	f.Committing()
	if f.Keep(then, row) {
		t.Error("a row is kept during a commit")
	}
	d.commit()
	f.Committed()
	if f.Keep(then, row) || find(f, 1) != "" {
		t.Error("a row of an earlier state is kept")
	}
}

// All files of a store together take no more than its bound, and the one that holds most gives way.
func TestPoolIsBounded(t *testing.T) {
	const limit = 64 << 10
	p, _, large := newFile(limit)
	small := p.Open((&disk{state: State{1}}).look)
	keepRow(t, small, 1, "small")
	for n := range 2000 {
		keepRow(t, large, n, fmt.Sprint(n, " has a text that takes some room"))
		if p.Bytes() > limit {
			t.Fatalf("%d bytes are kept; the limit is %d", p.Bytes(), limit)
		}
		find(large, 0) // which is used all the time
	}
	if find(small, 1) == "" || find(large, 0) == "" || find(large, 1999) == "" || find(large, 1) != "" {
		t.Errorf("kept are the small file %q, what is used %q, what is new %q and what is old %q",
			find(small, 1), find(large, 0), find(large, 1999), find(large, 1))
	}
	if p.Bytes() < limit/2 {
		t.Errorf("%d bytes are kept", p.Bytes())
	}
	before := p.Bytes()
	keepRow(t, large, 3000, string(make([]byte, limit/mostOf+1)))
	if find(large, 3000) != "" || p.Bytes() != before {
		t.Error("a row is kept that is too large")
	}
	keepRow(t, large, 1999, "again") // in place of itself
	if large.bytes.Load() > before || len(large.at) != len(large.numbered) {
		t.Errorf("%d bytes after a row has come again, %d before", large.bytes.Load(), before)
	}
	large.Close()
	if small.Close(); p.Bytes() != 0 || len(p.files) != 0 {
		t.Errorf("%d bytes of %d files are kept in the end", p.Bytes(), len(p.files))
	}
	if large.Keep(State{1}, nil) {
		t.Error("a closed file keeps rows")
	}
}

// Readers and a writer, beside another process: whoever reads finds what is committed, or nothing.
func TestConcurrentUse(t *testing.T) {
	const rows = 50
	_, d, f := newFile(20_000)
	var values [rows]int // in the file
	var mu sync.Mutex    // of values, with the state
	change := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		values[n]++
		d.commit()
	}
	read := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return values[n]
	}
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			found := make([][]byte, 1)
			for {
				select {
				case <-done:
					return
				default:
				}
				n := rand.IntN(rows)
				least := read(n)
				found[0] = nil
				now, known := f.Find([]ID{id(n)}, found)
				if found[0] != nil {
					var value int
					if _, err := fmt.Sscan(string(found[0]), &value); err != nil || value < least {
						t.Errorf("row %d is %s; it was %d before", n, found[0], least)
					}
				} else if known {
					f.Keep(now, []Row{{ID: id(n), Number: int64(n), Data: fmt.Append(nil, read(n))}})
				}
			}
		})
	}
	for i := range 3000 {
		n := rand.IntN(rows)
		if i%4 == 0 {
			change(n) // by another process
			continue
		}
		f.Begin()
		f.Touched(int64(n))
		f.Committing()
		change(n)
		f.Committed()
	}
	close(done)
	all.Wait()
}

// A commit is alone if the file was known when it began, and nobody else has committed since.
func TestWhoseCommitWasTheLast(t *testing.T) {
	_, d, f := newFile(1 << 20)
	for name, one := range map[string]struct {
		others int
		lost   bool
		alone  bool
	}{"own": {0, false, true}, "another behind it": {1, false, false}, "not known": {0, true, false}} {
		d.lost = one.lost
		f.Begin()
		d.lost = false
		f.Committing()
		d.commit()
		for range one.others {
			d.commit()
		}
		if now, alone := f.Committed(); alone != one.alone || now != d.state {
			t.Errorf("%s: the state is %v, by this commit alone %v; want %v, %v", name, now, alone, d.state, one.alone)
		}
	}
	f.Committing()
	if _, known := f.Look(); !known {
		t.Error("while a commit is on its way the state of the file is not known")
	}
	f.Committed()
	f.Close()
	if _, known := f.Look(); known {
		t.Error("the state of a closed file is known")
	}
}
