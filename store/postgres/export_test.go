package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
)

// These are the inner parts that the tests of this package may see.
var (
	OfAll   = []string{listTenants, listDue}      // the statements that are about all tenants
	OfShard = []string{takenBehind, takenByRange} // those that read a part of a shard
	OfIDs   = takenByID                           // the one that reads records that changed
	Tables  = tables
	KeyOf   = batch.KeyOf
	Version = len(migrations)

	Guessed = raiseTenant // the first statement of a write that is guessed
	Asked   = &lockTenant // that of any other

	Followed  = selectChanges // how a search reads what was written
	Measuring = selectHolding // the statement that reads all records of a tenant for what it holds
)

// Looks are the statements that read rows by their keys, with the column that each goes by.
var Looks = func() (looks []struct {
	SQL, Column string
	Many        bool
}) {
	add := func(sql, column string, many bool) {
		looks = append(looks, struct {
			SQL, Column string
			Many        bool
		}{sql, column, many})
	}
	for column, l := range map[string]look{
		"id": lookHeld, "slot_hash": lookSlots, "key_hash": lookReplies, "mark": lookPlaces,
	} {
		add(l.one, column, false)
		add(l.many, column, true)
	}
	add(selectSealed, "seq", false)
	return looks
}()

// Inserted says how many rows each statement has that inserts some.
func Inserted(n int, unprepared bool) (split []int) {
	x := &tx{s: &Store{opts: Options{Unprepared: unprepared}}}
	x.t = &tenant{}
	x.insert(rowsOf(insertChange, make([]any, n), func(w *rows, _ *any) { w.row(nil, nil, nil, nil, nil) }))
	for _, s := range x.written {
		split = append(split, strings.Count(s.sql, "($1"))
	}
	return split
}

// Spare are the columns that an INSERT may leave out.
func Spare() (columns []string) {
	for _, in := range []*insertion{
		insertNamespace, insertSpace, insertRevision, insertVector, insertLink, insertReply, insertEvent, insertChange,
		insertRecord,
	} {
		for _, set := range in.spare {
			for _, column := range set {
				columns = append(columns, in.table+"."+in.columns[column])
			}
		}
	}
	return columns
}

// Shelve makes a store keep the index of each shard that has at least this many records, in
// segments of so many while one is loaded; now: before the search answers.
func (o *Options) Shelve(from, book int, now bool) *Options {
	o.keep.From, o.keep.Book, o.keep.Now = from, book, now
	return o
}

// Stream makes lists read each namespace with more than so many records by itself.
func (o *Options) Stream(from int) *Options {
	o.streamFrom = from
	return o
}

// Join makes so many small shards share an image.
func (o *Options) Join(least int) *Options {
	o.keep.Join = least
	return o
}

// Forget makes every search take up what is kept.
func (o *Options) Forget() *Options {
	o.keep.Forget = true
	return o
}

// Stale makes searches go without a look at other servers' writes for so long, by a clock.
func (o *Options) Stale(most time.Duration, clock func() time.Duration) *Options {
	o.MaxStaleness, o.clock = most, clock
	return o
}

// Load makes a store read so many records of a shard in a transaction, and tells of each by the
// key of its namespace before it begins.
func (o *Options) Load(part int, reading func(namespace string)) *Options {
	o.keep.Part, o.keep.Reading = part, reading
	return o
}

// Idle waits until nothing is loaded.
func (s *Store) Idle() { s.crew.Wait() }

// Hasty makes loads end at once when nobody waits for them.
func (s *Store) Hasty() { s.crew.Grace = 0 }

// Shelf is what keeps the indexes of a store.
func (s *Store) Shelf() *follow.Shelf { return s.shelf }

// NameKey is the key of a tenant's marks.
func (s *Store) NameKey(ctx context.Context, t loci.Tenant) (key loci.NameKey) {
	_ = s.read(ctx, t, "look", func(r *reading) error {
		err := r.last()
		key = r.state.NameKey
		return err
	})
	return key
}

// Observe shows every statement to a function, from now on.
func Observe(see func(sql string, args []any)) { observe = see }

// Unlock makes writes of this process leave out the lock on the tenant's row.
func Unlock() {
	guessing = false
	lockTenant = "SELECT seq + 1" + strings.TrimPrefix(stateColumns, "seq") + " FROM loci.tenant WHERE tenant = $1"
}

// Explain returns how a statement would be done behind the wall of a tenant: with arguments,
// of which the tenant replaces the first one, or, where they are nil, for any. settings are
// SET LOCAL before it.
func Explain(
	ctx context.Context, s loci.Store, t loci.Tenant, sql string, args []any, settings ...string,
) (plan []byte, err error) {
	c, err := s.(*Store).connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer c.release()
	stmts := []stmt{readWrite, behindWall(batch.KeyOf(t))}
	for _, setting := range settings {
		stmts = append(stmts, stmt{sql: "SET LOCAL " + setting, once: true})
	}
	if err := c.run(ctx, stmts...); err != nil {
		return nil, err
	}
	if args != nil {
		args = append([]any{batch.KeyOf(t)}, args[1:]...)
		err = c.run(ctx, stmt{sql: "EXPLAIN (FORMAT JSON) " + sql, args: args, once: true, row: func(r row) error {
			plan = r.bytes(0)
			return nil
		}})
	} else {
		plan, err = c.explainAny(ctx, sql)
	}
	return plan, errors.Join(err, c.run(ctx, rollback))
}

// explainAny explains the plan of a prepared statement that is used for all arguments.
func (c *conn) explainAny(ctx context.Context, sql string) (plan []byte, err error) {
	d, err := c.pg.Prepare(ctx, "explained", sql, nil)
	if err != nil {
		return nil, err
	}
	execute := "EXECUTE explained"
	if n := len(d.ParamOIDs); n > 0 {
		execute += "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	results, err := c.pg.Exec(ctx, "SET LOCAL plan_cache_mode = force_generic_plan; EXPLAIN (FORMAT JSON) "+execute).ReadAll()
	for _, result := range results {
		for _, r := range result.Rows {
			plan = r[0]
		}
	}
	return plan, errors.Join(err, c.pg.Deallocate(ctx, "explained"))
}

// ExplainOfAll is Explain for a statement that is about all tenants.
func ExplainOfAll(ctx context.Context, s loci.Store, sql string, args []any) (plan []byte, err error) {
	err = s.(*Store).maintain(ctx, func(c *conn) error {
		return c.run(ctx, readOnly, behindWall(everyone),
			stmt{sql: "SET LOCAL enable_seqscan = off", once: true}, stmt{sql: "SET LOCAL enable_sort = off", once: true},
			stmt{sql: "EXPLAIN (FORMAT JSON) " + sql, args: args, once: true, row: func(r row) error {
				plan = r.bytes(0)
				return nil
			}}, commit)
	})
	return plan, err
}

// SetPatience changes how long a write may take.
func SetPatience(d time.Duration) (old time.Duration) {
	old, writeTime = writeTime, d
	return old
}

// SetLeaseTime changes for how long a tenant is left to a server that has gone.
func SetLeaseTime(d time.Duration) (old time.Duration) {
	old, leaseTime = leaseTime, d
	return old
}

// ChangesKept is how far back the list of changes reaches.
const ChangesKept = batch.ChangesKept

// TakePlace gives a tenant the place of another one.
func TakePlace(s loci.Store, t, of loci.Tenant) {
	s.(*Store).lobby.Seat(t, &tenant{name: t, key: batch.KeyOf(of)})
}

// Committed looks whether a transaction was committed that never was.
func Committed(s loci.Store, name loci.Tenant) (bool, error) {
	store := s.(*Store)
	g, err := store.lobby.Enter(context.Background(), name)
	if err != nil {
		return false, err
	}
	defer store.lobby.Leave(g)
	return store.committed(g.Of, &batch.DoubtError{Mark: batch.Mark{Event: true}})
}

// ApplyTogether makes changes in one transaction and returns the outcome of each.
func ApplyTogether(s loci.Store, name loci.Tenant, changes ...loci.Change) []error {
	store := s.(*Store)
	g, err := store.lobby.Enter(context.Background(), name)
	if err != nil {
		return []error{err}
	}
	defer store.lobby.Leave(g)
	var jobs []*job
	for i := range changes {
		c := &changes[i]
		jobs = append(jobs, &job{Needs: batch.NeedsOf(c), Decide: func(x *tx) error { return x.Apply(c) }})
	}
	return store.committer(g).Together(jobs...)
}

// ApplyBehind makes two changes, of which the second is decided before the first is sent; between is
// called before the second is sent. It returns how both end.
func ApplyBehind(
	s loci.Store, name loci.Tenant, first, second loci.Change, between func(),
) (errs [2]error, err error) {
	store := s.(*Store)
	g, err := store.lobby.Enter(context.Background(), name)
	if err != nil {
		return errs, err
	}
	defer store.lobby.Leave(g)
	d := drafter{store, g.Of}
	decide := func(c *loci.Change, before *draft) (*job, *flight) {
		j := &job{Needs: batch.NeedsOf(c), Decide: func(x *tx) error { return x.Apply(c) }}
		x := d.Follow(before)
		if !d.Join(x, before, &j.Needs) {
			err = errors.Join(err, errors.New("a change takes a look at the database"))
		}
		f := &draft{X: x, Outcome: batch.Outcomes[*tx]{j: j.Decide(x)}}
		d.Close(x)
		return j, &flight{Draft: f}
	}
	one, f := decide(&first, nil)
	two, behind := decide(&second, f.Draft)
	if err != nil {
		return errs, err
	}
	for i, j := range []*job{one, two} {
		if i == 1 {
			between()
			f = behind
		}
		outcome, err := store.commitOnce(context.Background(), g.Of, []*job{j}, f)
		if errs[i] = err; err == nil {
			errs[i] = outcome[j]
		}
	}
	return errs, nil
}

// ApplyAndDrop makes a change and removes all vectors of a space, in one transaction.
func ApplyAndDrop(s loci.Store, name loci.Tenant, c loci.Change, space loci.Space) error {
	store := s.(*Store)
	g, err := store.lobby.Enter(context.Background(), name)
	if err != nil {
		return err
	}
	defer store.lobby.Leave(g)
	var dropped int64
	return errors.Join(store.committer(g).Together(
		&job{Needs: batch.NeedsOf(&c), Decide: func(x *tx) error { return x.Apply(&c) }},
		dropJob(space, 1000, &dropped),
	)...)
}

// ReadBack reads a record as a search does.
func ReadBack(
	s loci.Store, name loci.Tenant, space loci.Space, id loci.ID,
) (out *loci.Record, vectors []byte, err error) {
	store := s.(*Store)
	err = store.read(context.Background(), name, "look", func(r *reading) error {
		number, _, err := source{r}.Space(space)
		if err != nil {
			return err
		}
		return source{r}.ByID(number, []loci.ID{id}, func(r *loci.Record, _ int64, v []byte) { out, vectors = r, v })
	})
	return out, vectors, err
}

// FailCommit has the index of a tenant hear of a commit that was not made.
func FailCommit(s loci.Store, name loci.Tenant) error {
	lobby := &s.(*Store).lobby
	g, err := lobby.Enter(context.Background(), name)
	if err == nil {
		g.Of.search.Wrote(1 << 40)
		lobby.Leave(g)
	}
	return err
}

// SearchTogether lets one search take in what was written while n others begin, and returns how often all
// of them read the database.
func SearchTogether(s *Store, name loci.Tenant, p loci.Probe, f loci.Filter, n int) (reads int64, err error) {
	ctx := context.Background()
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return 0, err
	}
	defer s.lobby.Leave(g)
	var count atomic.Int64
	inside, release := make(chan struct{}), make(chan struct{})
	failed := make(chan error, n+1)
	search := func(wait func()) func() {
		q := s.searchFor(ctx, name, p, f, 1)
		read := q.Read
		q.Read = func(ctx context.Context, do func(follow.Source) error) error {
			count.Add(1)
			wait()
			return read(ctx, do)
		}
		q.Trim = func(*follow.Index) int64 { return 0 }
		q.Begin()
		return func() {
			hits, err := g.Of.search.MatchAfter(ctx, q)
			if err == nil && len(hits) != 1 {
				err = fmt.Errorf("%d hits", len(hits))
			}
			failed <- err
		}
	}
	go search(func() { close(inside); <-release })()
	<-inside
	for range n {
		go search(func() {})()
	}
	close(release)
	for range n + 1 {
		err = errors.Join(err, <-failed)
	}
	return count.Load(), err
}

// LookWhile looks at a tenant and does something while the answer is on its way.
func LookWhile(ctx context.Context, s *Store, name loci.Tenant, do func()) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	_, err = s.look(ctx, g.Of, do)
	return translate("search", err)
}

// Waiting is the context of a wait for a connection.
var Waiting = waiting

// An Alarm ends waits.
type Alarm struct{ alarm }

// Watch begins a wait.
func (a *Alarm) Watch(ctx context.Context, most time.Duration) context.Context {
	return a.watch(ctx, most)
}

// Ring is what its timer does.
func (a *Alarm) Ring() { a.ring() }

// Impatient makes stores that are opened from now on look sooner whether a silent server is there.
func Impatient(t interface{ Cleanup(func()) }, after time.Duration) {
	was, wait := silence, probeTime
	silence, probeTime = after, after
	t.Cleanup(func() { silence, probeTime = was, wait })
}
