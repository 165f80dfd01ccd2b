// Package rowcache holds rows that were read of files, for as long as each file is as it was when they were read.
//
// What is kept of a file belongs to one state of it. A reader looks at the state first, under the lock: if another
// process has changed the file, all that is kept of it goes. What this process changes goes row by row: the
// writer says which rows a transaction touched, and between its commit and that nothing is answered from here.
package rowcache

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// An ID names a row for readers. Writers name it by its number.
type ID [16]byte

// Sizes in bytes, as they are counted.
const (
	rowCost  = 160 // of a row, beside its data: its place, and entries of two maps
	listCost = 200
	mostOf   = 64 // a row larger than this part of all memory is not kept
)

// maxTouched is how many rows of a transaction are known one by one; of more, nothing is kept.
const maxTouched = 1024

// A list that is kept while rows change is told which. Of more than these it is not mended, and more than those are
// not remembered.
const (
	mostChanged = 128
	maxChanged  = 4 * maxTouched
)

// A Pool bounds what is kept of all files of a store together.
type Pool struct {
	// Without is a list without rows of some numbers, rising, in memory of its own if it has some of them. Nil: it is not
	// to be kept, since what it or its key says may be that of one of them. Unless set, no list is kept when rows go.
	Without func(key string, list []byte, gone []int64) []byte

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
	f := &File{pool: p, look: look, at: map[ID]int{}, numbered: map[int64]int{}, lists: map[string]*list{}}
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
	lists      map[string]*list
	clock      atomic.Int64 // of lists
	changed    []int64      // rows by their numbers, in the order of commits, since the oldest list was read
	forgotten  int64        // how many there were before these

	// Of the transaction under way. The writer alone uses these.
	touched []int64
	all     bool    // more was touched than these
	listed  bool    // what lists show was
	gone    []int64 // those that it has removed
	hidden  bool    // what is touched now is shown by no list
	stood   bool    // the state was known when it began
}

type row struct {
	id     ID
	number int64
	data   []byte // nil: no row is here
	used   atomic.Bool
}

// A list is rows in an order, as they were found at a moment.
type list struct {
	data  []byte
	from  int64 // which of the rows that have changed is the first that it does not show
	since int64 // the moment: before, there may have been more
	until int64 // from then on one of the rows may be gone
	used  atomic.Int64
}

func (r *row) cost() int64 { return dataCost(r.data) + rowCost }

func (l *list) cost(key string) int64 { return dataCost(l.data) + int64(len(key)) + listCost }

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

// A List is a list that is kept.
type List struct {
	Data    []byte  // nil: it is not kept
	Changed []int64 // rows that may have changed, come or gone since, by their numbers, rising
	Until   int64   // as it was kept
}

// FindList looks for a list as of a moment.
func (f *File) FindList(key []byte, moment int64) (found List, now State, known bool) {
	f.mu.RLock()
	now, known, stands := f.stands(false)
	if l := f.lists[string(key)]; stands && l != nil && l.since <= moment && moment < l.until {
		changed := slices.Clone(f.changed[l.from-f.forgotten:])
		slices.Sort(changed)
		if changed = slices.Compact(changed); len(changed) <= mostChanged {
			found = List{l.data, changed, l.until}
			l.used.Store(f.clock.Add(1))
		}
	}
	f.mu.RUnlock()
	if known && !stands {
		f.mu.Lock()
		defer f.mu.Unlock()
		now, known, _ = f.stands(true)
	}
	return found, now, known
}

// KeepList takes in a list that was read since FindList, unless the file has changed.
func (f *File) KeepList(then State, key, data []byte, since, until int64) {
	if f.keepList(then, string(key), &list{data: data, since: since, until: until}) {
		f.pool.makeRoom()
	}
}

func (f *File) keepList(then State, key string, l *list) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now, _, stands := f.stands(true); !stands || now != then || l.cost(key) > f.pool.limit/8 {
		return false
	}
	f.removeList(key)
	l.used.Store(f.clock.Add(1))
	l.from = f.forgotten + int64(len(f.changed))
	f.lists[key] = l
	f.count(l.cost(key))
	return true
}

// Begin is called when a transaction has the right to write: nobody else has it until it ends.
func (f *File) Begin() {
	f.touched, f.all, f.listed, f.gone = f.touched[:0], false, false, f.gone[:0]
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stood = true
	if _, _, stands := f.stands(true); !stands { // what is kept cannot be held against what comes of it
		f.all, f.stood = true, false
	}
}

// Removed says that the transaction has removed a row.
func (f *File) Removed(number int64) {
	if len(f.gone) < maxTouched { // of more, nothing is kept
		f.gone = append(f.gone, number)
	}
	f.Touched(number)
}

// Touched says that the transaction has changed a row or made one.
func (f *File) Touched(number int64) {
	f.listed = f.listed || !f.hidden
	switch {
	case f.all:
	case len(f.touched) == maxTouched:
		f.all = true
	case len(f.touched) == 0 || f.touched[len(f.touched)-1] != number:
		f.touched = append(f.touched, number)
	}
}

// Hidden runs a part of a transaction that changes nothing that a list shows or is chosen by.
func (f *File) Hidden(run func() error) error {
	f.hidden = true
	defer func() { f.hidden = false }()
	return run()
}

// TouchedAll says that the transaction has changed what any row shows.
func (f *File) TouchedAll() { f.all, f.listed = true, true }

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
	if len(f.gone) > 0 { // nothing shows any part of it from now on
		f.cutLists()
	}
	if f.listed {
		f.listChanges()
	}
	return now, alone
}

// cutLists takes the rows that a commit has removed out of lists.
func (f *File) cutLists() {
	if f.pool.Without == nil {
		f.dropLists()
		return
	}
	slices.Sort(f.gone)
	for key, l := range f.lists {
		f.count(-l.cost(key))
		if l.data = f.pool.Without(key, l.data, f.gone); l.data == nil {
			delete(f.lists, key)
			continue
		}
		f.count(l.cost(key))
	}
}

// listChanges remembers which rows a commit touched, for as long as there are lists that do not show it.
func (f *File) listChanges() {
	if len(f.lists) == 0 {
		return
	}
	f.changed = append(f.changed, f.touched...)
	if n := len(f.changed) - maxChanged/2; len(f.changed) > maxChanged {
		f.changed = slices.Delete(f.changed, 0, n)
		f.forgotten += int64(n)
		for key := range f.lists {
			if l := f.lists[key]; l.from < f.forgotten {
				f.removeList(key)
			}
		}
	}
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

func (f *File) removeList(key string) {
	if l := f.lists[key]; l != nil {
		f.count(-l.cost(key))
		delete(f.lists, key)
	}
}

func (f *File) dropLists() {
	for key := range f.lists {
		f.removeList(key)
	}
	f.forgotten += int64(len(f.changed))
	f.changed = nil
}

// drop lets go of everything, and of its memory.
func (f *File) drop() {
	if len(f.at) > 0 {
		f.at, f.numbered, f.rows, f.free, f.hand = map[ID]int{}, map[int64]int{}, nil, nil, 0
	}
	f.lists = map[string]*list{}
	f.forgotten += int64(len(f.changed))
	f.changed = nil
	f.count(-f.bytes.Load())
}

// shed drops what was not used for longest until so many bytes are free, or nothing is left: lists as long as they
// take a quarter of the room, then rows.
func (f *File) shed(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	goal := max(0, f.bytes.Load()-bytes)
	f.shedLists(goal, f.pool.limit/4)
	for f.bytes.Load() > goal && len(f.at) > 0 {
		if f.hand++; f.hand >= len(f.rows) {
			f.hand = 0
		}
		if r := &f.rows[f.hand]; r.data != nil && !r.used.Swap(false) {
			f.remove(f.hand)
		}
	}
	f.shedLists(goal, 0)
}

// shedLists drops lists while they take more than some bytes, and all more than the goal.
func (f *File) shedLists(goal, most int64) {
	var keys []string
	var take int64
	for key, l := range f.lists {
		keys, take = append(keys, key), take+l.cost(key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(f.lists[a].used.Load(), f.lists[b].used.Load()) })
	for i := 0; i < len(keys) && take > most && f.bytes.Load() > goal; i++ {
		take -= f.lists[keys[i]].cost(keys[i])
		f.removeList(keys[i])
	}
}
