package sqlite

import (
	"errors"
	"runtime"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci"
)

// Changes that only add records, as most saves do, share a transaction without savepoints, and what they count for is
// added up once for all of them (docs/adr/0169). A savepoint has SQLite copy each page that is changed inside of it,
// and the triggers that count change three rows for each record. The triggers stay in the file, for whoever does not
// know of this, and for all other changes.
//
// A statement that is prepared while triggers rest runs without them. SQLite may prepare it again whenever it runs, so
// it runs only while they rest, and no other statement on the same tables does.

// maxYields bounds how often the writer lets others go ahead before it begins a transaction.
const maxYields = 4

// gather takes what else is waiting. Where several write at once, those that are about to do so come first: what a
// transaction costs is shared by all of it. It waits for none that is not ready to run.
func (f *file) gather(first *job) []*job {
	batch := f.waiting([]*job{first})
	for yields := 0; yields < maxYields && (len(batch) > 1 || f.several) && len(batch) < maxBatch; yields++ {
		before := len(batch)
		runtime.Gosched()
		if batch = f.waiting(batch); len(batch) == before {
			break
		}
	}
	f.several = len(batch) > 1
	return batch
}

// waiting adds to a batch what is in the queue.
func (f *file) waiting(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j := <-f.queue:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// manyAdding is from how many such changes on it pays to count them here.
const manyAdding = 3

// carefully is for how many transactions each job has a savepoint again, after one that needed it.
const carefully = 64

// errCarefully says that a transaction is to be made again, with savepoints.
var errCarefully = errors.New("a change in a transaction without savepoints failed on its way")

// adds reports whether a change only adds records. What it may do is to be known before the first row is written:
// it may be made twice.
func adds(c *loci.Change) bool {
	return len(c.Erase) == 0 && c.Quota == nil && len(c.Put) > 0 && len(c.Put) <= largeChange &&
		!slices.ContainsFunc(c.Put, func(p loci.Put) bool { return !isNew(&p) || p.History != nil })
}

// together lets jobs that only add come first, and reports whether there are enough of them for what they can share.
// What comes before all others is of an erase.
func (t *tx) together(batch []*job) bool {
	if t.careful > 0 {
		t.careful--
		return false
	}
	if t.f.handle == 0 {
		return false
	}
	n := 0
	for _, j := range batch {
		if j.first {
			return false
		}
		if j.adds {
			n++
		}
	}
	if n < manyAdding {
		return false
	}
	slices.SortStableFunc(batch, func(a, b *job) int {
		switch {
		case a.adds == b.adds:
			return 0
		case a.adds:
			return -1
		}
		return 1
	})
	return true
}

// addTogether runs a job that only adds, without a savepoint. If it is refused before it has written anything, as one
// with a slot that is taken, there is nothing to take back.
func (t *tx) addTogether(j *job) (err, broken error) {
	if t.counted == nil {
		t.counted = &counting{}
		t.f.restTriggers(true)
	}
	written, given, unhanded := t.written, len(t.handed), t.unhanded
	if err = t.run(j); err == nil {
		return nil, nil
	}
	if err = t.f.withCause(err); isFull(err) {
		return nil, err
	}
	if !errors.Is(err, loci.ErrConflict) || t.written != written {
		t.careful = carefully
		return nil, errCarefully
	}
	t.handed, t.unhanded = t.handed[:given], unhanded
	return err, nil
}

// countedHere marks a statement that has one without this mark beside it, which the triggers count.
const countedHere = " -- counted by its caller"

// restTriggers has SQLite leave triggers out of the statements that the writer prepares, or not. It has a call for
// that, which has it prepare all statements again each time.
func (f *file) restTriggers(rest bool) {
	if f.handle == 0 {
		return
	}
	flags := &(*sqlite3.Tsqlite3)(foreign(f.handle)).Fflags
	if rest {
		*flags &^= sqlite3.SQLITE_EnableTrigger
	} else {
		*flags |= sqlite3.SQLITE_EnableTrigger
	}
}

// resting runs a statement whose text is marked with countedHere, of a caller who does what triggers and foreign keys
// would do. SQLite leaves both out of what it prepares meanwhile.
func (f *file) resting(run func() error) error {
	if f.handle == 0 {
		return loci.Errorf(loci.Internal, "the writing connection is not known")
	}
	const both = sqlite3.SQLITE_EnableTrigger | sqlite3.SQLITE_ForeignKeys
	flags := &(*sqlite3.Tsqlite3)(foreign(f.handle)).Fflags
	before := *flags
	*flags &^= both
	defer func() { *flags |= before & both }()
	return run()
}

// endCounting adds up what was added, before anything else is changed or read.
func (t *tx) endCounting() error {
	c := t.counted
	if c == nil {
		return nil
	}
	if err := t.putBeside(c); err != nil {
		return err
	}
	t.counted = nil
	t.f.restTriggers(false)
	if err := t.listFiles(c.files); err != nil {
		return err
	}
	if err := t.events(c.events); err != nil {
		return err
	}
	for at, n := range c.rows {
		if err := t.exec(`INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET records = records + excluded.records, searched = searched + excluded.searched,
			passages = passages + excluded.passages, bytes = bytes + excluded.bytes`,
			at.namespace, at.kind, at.live, at.status, n.records, n.searched, n.passages, n.bytes); err != nil {
			return err
		}
	}
	for at, n := range c.vectors {
		if err := t.exec(`INSERT INTO tally_vector VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET embedded = embedded + excluded.embedded`,
			at.namespace, at.kind, at.space, n); err != nil {
			return err
		}
	}
	if c.held.Records == 0 {
		return nil
	}
	return t.exec("UPDATE holding SET records = records + ?, bytes = bytes + ?", c.held.Records, c.held.Bytes)
}

// A counting is what records count for that were added, and what is stored of all of them at once: each statement costs
// as much as to insert a row.
type counting struct {
	rows    map[tallied]*amounts
	vectors map[embedded]int64
	held    loci.Holding

	files  []any // as [listed] has them
	blobs  []any // of vectors: three columns of each
	events []*loci.Event
}

// putBeside stores the vectors of what was added.
func (t *tx) putBeside(c *counting) error {
	for rest := c.blobs; len(rest) > 0; {
		n := rowsAtOnce(len(rest) / vectorColumns)
		if err := t.exec(countedVectors.of(n), rest[:n*vectorColumns]...); err != nil {
			return err
		}
		rest = rest[n*vectorColumns:]
	}
	return nil
}

// put counts a new record and its vectors in spaces.
func (c *counting) put(r *loci.Record, namespace int64, spaces []int64) {
	if c.rows == nil {
		c.rows, c.vectors = map[tallied]*amounts{}, map[embedded]int64{}
	}
	at := tallied{namespace, string(r.Kind), r.Status, r.Live}
	row := c.rows[at]
	if row == nil {
		row = &amounts{}
		c.rows[at] = row
	}
	row.records++
	row.passages += int64(len(r.Passages))
	row.bytes += int64(len(r.Text))
	if r.Live && len(r.Passages) > 0 {
		row.searched++
		for _, space := range spaces {
			c.vectors[embedded{namespace, at.kind, space}]++
		}
	}
	c.held.Records++
	c.held.Bytes += int64(len(r.Text) + len(r.Heading) + len(r.Attributes) + len(r.Body))
}
