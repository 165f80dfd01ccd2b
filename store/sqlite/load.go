package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
)

// Shards are loaded beside the searches that do not need them: see package aside.

// Bounds of loading.
const (
	loadRecords = 2048    // read in one transaction, so that the log can be cut behind it
	loadBytes   = 4 << 20 // of texts in one transaction
)

// everyNumber is the last number that a record may have.
const everyNumber = math.MaxInt64

// errAgain says that a search is to look again at what it needs.
var errAgain = aside.ErrAgain

// A ticket is what a search needs.
type ticket = aside.Ticket[*load]

// A load is a shard on its way into the index.
type load struct {
	key       index.Key
	namespace int64
	group     *group // of a shard above

	index *index.Index // of the records up to a number, as a state of the file has them
	after int64        // the number
	seq   int64        // the state
	begun bool
	apart bool  // nobody searches it: see [keeper]
	whole bool  // those are all records
	read  int64 // records
	of    int64 // records in all
	size  int64 // that the budget counts

	shelving shelving
}

// loading is what is being loaded of one file, and asked is one of it.
type (
	loading = aside.Loads[*load]
	asked   = aside.Load[*load]
)

// beginLoading prepares to load.
func (f *file) beginLoading(turns chan struct{}) {
	l := &f.search.loading
	l.Crew, l.Work = aside.NewCrew(turns), f.loadTurn
	l.Begun = func(one *load) bool { return one.begun }
	l.Release = func(one *load) { one.release(&f.search) }
}

// join asks for shards: what is not in the index is loaded. The caller holds the index's lock.
func (f *file) join(keys []index.Key) ticket {
	x := &f.search
	need := x.loading.Join(keys, x.index.HasShard, func(key index.Key) *load {
		one := x.loadOf(key)
		one.index = one.empty(x.index.Space())
		return one
	})
	if need.Waits() {
		f.keeper.leave()
	}
	return need
}

func (one *load) release(x *searchIndex) {
	x.budget.add(x, -one.size)
	one.size, one.index = 0, nil
	one.shelving.abandon()
}

// shelved reports whether a load has made segments: no manifest may name these yet, so that what is
// erased would stay in them.
func (one *load) shelved() bool { return one.shelving.made }

// loadTurn reads a part of what is in the queue.
func (f *file) loadTurn() (more bool) {
	l := &f.search.loading
	defer l.Crew.Turn()()
	batch := l.Next()
	if len(batch) == 0 {
		return false
	}
	ctx := l.Crew.Context()
	var first, last []*asked
	var shelved []shelving
	fault, err := files.Faultless(func() (err error) {
		first, last, err = f.loadParts(ctx, batch, &shelved)
		return err
	})
	if fault != nil { // those who wait ask again, for what is read from the records
		f.faulted(fault)
		err = errAgain
	}
	for i := range shelved {
		if fault != nil {
			shelved[i].abandon()
		} else {
			f.endShelving(ctx, &shelved[i])
		}
	}
	if err != nil {
		l.Finish(err, batch...)
		return true
	}
	l.Later(first, last)
	return true
}

// loadParts reads the next part of each load and takes into the index what is whole. first are those
// it did not get to, last those of which there is more.
func (f *file) loadParts(
	ctx context.Context, batch []*asked, shelved *[]shelving,
) (first, last []*asked, err error) {
	first, last, whole, err := f.readParts(ctx, batch)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range slices.Concat(last, whole) {
		f.shelve(one.Of)
	}
	for _, one := range last {
		f.keepBegun(ctx, one.Of)
	}
	last, whole = f.reserve(last), f.reserve(whole)
	return first, last, f.install(ctx, whole, shelved)
}

// readParts reads the next part of each load, in one reading transaction. first are those
// it did not get to, last those of which there is more, whole the others.
func (f *file) readParts(ctx context.Context, batch []*asked) (first, last, whole []*asked, err error) {
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	now, err := f.state(ctx, tx, batch[0].Of.index.Space())
	if err != nil {
		return nil, nil, nil, err
	}
	if err := f.readSmall(ctx, tx, batch, &now); err != nil {
		return nil, nil, nil, err
	}
	var records int64
	for i, one := range batch {
		if records >= loadRecords {
			return batch[i:], last, whole, nil
		}
		if f.reading != nil && (!one.Of.whole || one.Of.seq < now.seq) {
			f.reading(one.Key)
		}
		before := one.Of.read
		if err := f.readPart(ctx, tx, one.Of, &now); err != nil {
			return nil, nil, nil, err
		}
		records += one.Of.read - before
		if one.Of.whole {
			whole = append(whole, one)
		} else {
			last = append(last, one)
		}
	}
	return nil, last, whole, nil
}

// readPart reads the next part of a load.
func (f *file) readPart(ctx context.Context, tx *sql.Tx, one *load, now *fileState) error {
	if one.begun && one.seq < max(now.floor, now.dropped) { // too far behind to go on
		one.index = one.empty(one.index.Space())
		one.begun, one.after, one.read = false, 0, 0
	}
	one.whole = false
	if !one.begun {
		kept, err := f.takeShelved(ctx, tx, one, now)
		if err != nil {
			return err
		}
		if one.begun = true; !kept {
			one.seq = now.seq
		}
	}
	if one.seq < now.seq {
		upto, err := f.someChanges(ctx, tx, one, now)
		if err != nil {
			return err
		}
		if err := f.followOne(ctx, tx, one, changes{one.seq, upto, one.after}); err != nil {
			return err
		}
		if one.seq = upto; upto < now.seq {
			return nil
		}
	}
	if one.after == everyNumber { // nothing is behind it
		one.whole, one.after = true, now.last
		return nil
	}
	most := int64(min(loadRecords, f.shelf.book))
	condition, args := one.part(most)
	n, last, full, err := f.take(ctx, tx, one.index, condition, loadBytes, args...)
	if err != nil {
		return err
	}
	one.read += n
	if one.whole = n < most && !full; one.whole {
		one.after = now.last
		return nil
	}
	one.after = last
	if one.of > 0 {
		return nil
	}
	in, args := one.shard().within("namespace")
	searched := "SELECT coalesce(sum(searched), 0) FROM tally WHERE kind = ? AND " + in
	return tx.QueryRowContext(ctx, searched, append([]any{string(one.key.Kind)}, args...)...).Scan(&one.of)
}

// someChanges is the state up to which a load takes in what changed, as much as one part of it reads. Records that
// came meanwhile do not count: they are read behind those that the load has.
func (f *file) someChanges(ctx context.Context, tx *sql.Tx, one *load, now *fileState) (upto int64, err error) {
	upto = now.seq
	records, bytes := 0, int64(0)
	const query = "SELECT seq, octet_length(text) FROM record WHERE seq > ? AND +n <= ? ORDER BY seq"
	err = eachRow(ctx, tx, query, []any{one.seq, one.after}, func(rows *sql.Rows) error {
		var seq, size int64
		if err := rows.Scan(&seq, &size); err != nil {
			return err
		}
		if records, bytes = records+1, bytes+size; records < min(loadRecords, f.shelf.book) && bytes < loadBytes {
			return nil
		}
		upto = seq
		return errEnough
	})
	return upto, err
}

// inPart is the condition of the next records of a shard.
const inPart = inShard + " AND " + searchable + " AND r.n > ? ORDER BY r.n LIMIT +?"

// take reads records with their vectors into an index, until it has read so many bytes of
// texts. It returns how many, the number of the last one, and whether it stopped for the
// bytes. Reading and indexing cost about the same, so each has a goroutine.
func (f *file) take(
	ctx context.Context, tx *sql.Tx, x *index.Index, condition string, most int64, args ...any,
) (n, last int64, full bool, err error) {
	space := x.Space()
	read := make(chan []loaded, 4)
	var indexing sync.WaitGroup
	var fault error // of a segment that a record leaves
	indexing.Go(cores.Alike(func() {
		for batch := range read {
			if fault == nil {
				fault, _ = files.Faultless(func() error { return upsertAll(x, batch) })
			}
		}
	}))
	batch := make([]loaded, 0, 256)
	var bytesRead int64
	var data sql.RawBytes
	var place int64
	scan := newRecordScan(&data, &last, &place)
	err = eachRow(ctx, tx, taken(condition), append([]any{space.Model, space.Dims}, args...),
		func(rows *sql.Rows) error {
			r, err := scan.record(rows)
			if err != nil {
				return err
			}
			batch = append(batch, loaded{r, form.SplitVectors(bytes.Clone(data), space.Dims), last, place})
			if len(batch) == cap(batch) {
				read <- batch
				batch = make([]loaded, 0, 256)
			}
			n++
			aside.Breathe(int(n))
			if bytesRead += int64(len(r.Text)); bytesRead >= most {
				full = true
				return errEnough
			}
			return nil
		})
	read <- batch
	close(read)
	indexing.Wait()
	f.indexed.Add(n)
	if fault != nil {
		panic(fault) // to whoever has called files.Faultless
	}
	return n, last, full, err
}

// loaded is a record with its vectors.
type loaded struct {
	record loci.Record
	codes  [][]byte
	number int64
	place  int64 // of its namespace
}

func upsertAll(x *index.Index, batch []loaded) error {
	for i := range batch {
		aside.Breathe(i)
		x.UpsertPlaced(&batch[i].record, batch[i].codes, batch[i].number, batch[i].place)
	}
	return nil
}

// errEnough ends the reading of rows; it is no failure.
var errEnough = errors.New("enough is read")

// taken is the query for records with their vectors in a space, and their numbers.
func taken(condition string) string {
	return "SELECT " + recordColumns + `, v.data, r.n, r.namespace FROM record r JOIN namespace s ON s.n = r.namespace
		LEFT JOIN vector v ON v.record = r.n AND v.space = (SELECT n FROM space WHERE model = ? AND dims = ?) WHERE ` + condition
}

// followOne takes in changes of a shard that is read.
func (f *file) followOne(ctx context.Context, tx *sql.Tx, one *load, what changes) error {
	var names map[int64]string
	if one.group == nil {
		names = map[int64]string{one.namespace: one.key.Namespace}
	}
	return f.follow(ctx, tx, one.index, what, names, []any{string(one.key.Kind)}, one.group)
}

// reserve counts what was read. What does not fit is refused, with the size that it has, or
// will have; it returns the others.
func (f *file) reserve(loads []*asked) (fit []*asked) {
	x := &f.search
	for _, a := range loads {
		one := a.Of
		size := one.index.Bytes()
		expected := size
		if !one.whole && one.read > 0 {
			expected = max(size, int64(float64(size)*float64(one.of)/float64(one.read)))
		}
		if expected <= x.budget.limit && x.budget.reserve(x, size-one.size) {
			one.size = size
			fit = append(fit, a)
			continue
		}
		x.loading.Finish(aside.NoRoom(expected, x.budget.limit), a)
	}
	return fit
}

// install brings loads that are whole to the state of the index, and into it, and adds what they have to do with
// the folder to shelved.
func (f *file) install(ctx context.Context, whole []*asked, shelved *[]shelving) (err error) {
	if len(whole) == 0 {
		return nil
	}
	x := &f.search
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.leaveWhole()
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	if x.index != nil {
		if err := f.advance(ctx, tx, x.index.Space()); err != nil {
			return err
		}
	}
	for _, a := range whole {
		one := a.Of
		if x.loading.Gone(a) {
			x.loading.Finish(errAgain, a)
			continue
		}
		if one.seq < x.seq {
			if err := f.followOne(ctx, tx, one, since(one.seq)); err != nil {
				return err
			}
		}
		*shelved, one.shelving = append(*shelved, one.shelving), shelving{}
		x.index.Adopt(one.index)
		x.meter.Loaded(1)
		x.touch(one.key)
		x.account()
		x.loading.Finish(nil, a)
	}
	return nil
}

// detach takes a shard that is far behind the file out of the index, to be brought up to it
// beside the searches of others. The caller holds the index's lock.
func (x *searchIndex) detach(key index.Key) {
	if !x.index.HasShard(key) {
		return
	}
	one := x.loadOf(key)
	one.index, one.seq, one.begun, one.after = x.index.Detach(key), x.seq, true, everyNumber
	delete(x.used, key)
	x.account()
	one.size = one.index.Bytes()
	x.budget.add(x, one.size)
	x.loading.Put(key, one)
}

// endRead ends a reading transaction.
func endRead(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}
