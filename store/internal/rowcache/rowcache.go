// Package rowcache holds rows that were read of files, for as long as each file is as it was when they were read.
//
// What is kept of a file belongs to one state of it. A reader looks at the state first, under the lock: if another
// process has changed the file, all that is kept of it goes. What this process changes goes row by row: the
// writer says which rows a transaction touched, and between its commit and that nothing is answered from here.
package rowcache

import (
	"sync"
	"sync/atomic"
)

// An ID names a row for readers. Writers name it by its number.
type ID [16]byte

// Sizes in bytes, as they are counted.
const (
	rowCost = 160 // of a row, beside its data: its place, and entries of two maps
	mostOf  = 64  // a row larger than this part of all memory is not kept
)

// maxTouched is how many rows of a transaction are known one by one; of more, nothing is kept.
const maxTouched = 1024

// A Pool bounds what is kept of all files of a store together.
type Pool struct {
	limit int64
	used  atomic.Int64

	mu    sync.Mutex
	files map[*File]struct{}
}

// NewPool makes one that holds so many bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit, files: map[*File]struct{}{}} }

// Bytes is what is kept takes, about.
func (p *Pool) Bytes() int64 { return p.used.Load() }

// Open begins to keep rows of a file. look says in what state the file is, or that it is not known.
func (p *Pool) Open(look func() (State, bool)) *File {
	f := &File{pool: p, look: look, at: map[ID]int{}, numbered: map[int64]int{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[f] = struct{}{}
	return f
}

// makeRoom lets the file that holds most drop rows until there is room, as long as one holds any.
func (p *Pool) makeRoom() {
	for p.used.Load() > p.limit {
		var most *File
		p.mu.Lock()
		for f := range p.files {
			if most == nil || f.bytes.Load() > most.bytes.Load() {
				most = f
			}
		}
		p.mu.Unlock()
		if most == nil || most.bytes.Load() == 0 {
			return // what is still counted is on its way out
		}
		most.shed(p.used.Load() - p.limit + p.limit/64) // more than is needed, so that it is not done for each row
	}
}

// A File is what is kept of one file. Data that it returns is not to be changed.
type File struct {
	pool  *Pool
	look  func() (State, bool)
	bytes atomic.Int64

	mu         sync.RWMutex
	closed     bool
	state      State // of all that is kept
	committing bool  // a commit of this process may have changed it
	cutting    int   // calls of Cut that run
	at         map[ID]int
	numbered   map[int64]int // the same, by the number of the row
	rows       []row
	free       []int // places without a row
	hand       int   // where the search for what is to go goes on

	// Of the transaction under way. The writer alone uses these.
	touched []int64
	all     bool // more was touched than these
	stood   bool // the state was known when it began
}

type row struct {
	id     ID
	number int64
	data   []byte // nil: no row is here
	used   atomic.Bool
}

func (r *row) cost() int64 { return dataCost(r.data) + rowCost }

// dataCost counts what memory for data is larger than it.
func dataCost(data []byte) int64 { return int64(len(data) + len(data)/8) }

// A Row is one to be kept.
type Row struct {
	ID     ID
	Number int64
	Data   []byte // not nil
}

// stands reports whether what is kept is that of the file now. The caller holds the lock, for writing if it
// may drop what is not.
func (f *File) stands(mayDrop bool) (now State, known, stands bool) {
	if f.closed || f.committing {
		return now, false, false
	}
	now, known = f.look()
	if known && now != f.state && mayDrop {
		if f.cutting == 0 || !isCut(f.state, now) {
			f.drop()
		}
		f.state = now
	}
	return now, known, known && now == f.state
}

// Look says in which state the file is, also while a commit is on its way.
func (f *File) Look() (now State, known bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return now, false
	}
	return f.look()
}

// Again is found for a row that was found already.
var Again = []byte{}

// Find looks for rows, puts the data of those that are kept into found, and says which state they are of. Not
// known: nothing can be said.
func (f *File) Find(ids []ID, found [][]byte) (now State, known bool) {
	f.mu.RLock()
	now, known, stands := f.stands(false)
	if stands {
		f.find(ids, found)
	}
	f.mu.RUnlock()
	if known && !stands {
		f.mu.Lock()
		defer f.mu.Unlock()
		now, known, _ = f.stands(true)
	}
	return now, known
}

func (f *File) find(ids []ID, found [][]byte) {
	were := make([]uint64, len(f.rows)/64+1) // a bit for each row
	for i := range ids {
		at, kept := f.at[ids[i]]
		if !kept {
			continue
		}
		if were[at/64]>>(at%64)&1 != 0 {
			found[i] = Again
			continue
		}
		were[at/64] |= 1 << (at % 64)
		r := &f.rows[at]
		if found[i] = r.data; !r.used.Load() {
			r.used.Store(true)
		}
	}
}

// Keep takes rows in that were read since Find. It reports whether the file is still as it was then: only then are
// they of that state.
func (f *File) Keep(then State, rows []Row) bool {
	if !f.keep(then, rows) {
		return false
	}
	f.pool.makeRoom()
	return true
}

func (f *File) keep(then State, rows []Row) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now, _, stands := f.stands(true); !stands || now != then {
		return false
	}
	for _, r := range rows {
		if at, kept := f.at[r.ID]; kept { // as less of it, or by another reader meanwhile
			f.remove(at)
		}
		if int64(len(r.Data)) > f.pool.limit/mostOf {
			continue
		}
		at := len(f.rows)
		if n := len(f.free); n > 0 {
			at, f.free = f.free[n-1], f.free[:n-1]
		} else {
			f.rows = append(f.rows, row{})
		}
		place := &f.rows[at]
		place.id, place.number, place.data = r.ID, r.Number, r.Data
		place.used.Store(false)
		f.at[r.ID], f.numbered[r.Number] = at, at
		f.count(place.cost())
	}
	return true
}

// Begin is called when a transaction has the right to write: nobody else has it until it ends.
func (f *File) Begin() {
	f.touched, f.all = f.touched[:0], false
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stood = true
	if _, _, stands := f.stands(true); !stands { // what is kept cannot be held against what comes of it
		f.all, f.stood = true, false
	}
}

// Touched says that the transaction has changed a row or made one.
func (f *File) Touched(number int64) {
	switch {
	case f.all:
	case len(f.touched) == maxTouched:
		f.all = true
	case len(f.touched) == 0 || f.touched[len(f.touched)-1] != number:
		f.touched = append(f.touched, number)
	}
}

// TouchedAll says that the transaction has changed what any row shows.
func (f *File) TouchedAll() { f.all = true }

// Committing is called before a transaction is committed: until Committed nothing is found.
func (f *File) Committing() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committing = true
}

// Committed is called after a commit, or the attempt of one, and before anybody is told. What it touched is gone
// then. If another process has committed since, all is. alone: the file is as this commit left it, in the state now;
// nobody else has committed since the transaction began.
func (f *File) Committed() (now State, alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || !f.committing {
		return now, false
	}
	f.committing = false
	next := f.state
	next[changes]++
	now, known := f.look()
	if !known || f.all || now != f.state && now[changes] != next[changes] {
		f.drop()
	}
	alone = known && f.stood && now[changes] == next[changes]
	f.state = now
	for _, n := range f.touched {
		if at, kept := f.numbered[n]; kept {
			f.remove(at)
		}
	}
	return now, alone
}

// Close lets go of all that is kept. Nothing is kept or found from then on.
func (f *File) Close() {
	f.mu.Lock()
	f.closed = true
	f.drop()
	f.mu.Unlock()
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	delete(f.pool.files, f)
}

// count counts bytes that are kept, or not any more.
func (f *File) count(bytes int64) {
	f.bytes.Add(bytes)
	f.pool.used.Add(bytes)
}

func (f *File) remove(at int) {
	r := &f.rows[at]
	f.count(-r.cost())
	delete(f.at, r.id)
	delete(f.numbered, r.number)
	r.id, r.number, r.data = ID{}, 0, nil
	f.free = append(f.free, at)
}

// drop lets go of everything, and of its memory.
func (f *File) drop() {
	if len(f.at) > 0 {
		f.at, f.numbered, f.rows, f.free, f.hand = map[ID]int{}, map[int64]int{}, nil, nil, 0
	}
	f.count(-f.bytes.Load())
}

// shed drops what was not used for longest until so many bytes are free, or nothing is left.
func (f *File) shed(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	goal := max(0, f.bytes.Load()-bytes)
	for f.bytes.Load() > goal && len(f.at) > 0 {
		if f.hand++; f.hand >= len(f.rows) {
			f.hand = 0
		}
		if r := &f.rows[f.hand]; r.data != nil && !r.used.Swap(false) {
			f.remove(f.hand)
		}
	}
}
