package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// The small shards of a kind that lie below one namespace share an index, which is kept as that of a large shard is:
// a search above 100,000 namespaces of one note maps some segments, and does not even learn which namespaces there
// are (docs/adr/0190). They are a group. Which groups there are is planned, and written in the file.
//
// A group is all namespaces whose marks begin with one, so that nothing in the file names what may be erased, and a
// new namespace is in it without a word. It leaves out those that were large when it was planned. A search looks
// into its index if it reaches all of the group, and else at the shards by themselves.

// A groupPlan says which groups there are, and which shards are in none. One that is replaced has another id, in a row of
// its own.
type groupPlan struct {
	Sum    string         `json:"sum"`   // of the rest and of the names of the file
	Shard  int64          `json:"shard"` // the highest number of a shard then
	Rest   []int64        `json:"rest"`  // shards up to that which are in no group
	Groups []index.Joined `json:"groups"`
}

const planKeys = "key IN ('above.plan', 'above.id')"

// A group is one as the process knows it, and the shard that it is.
type group struct {
	*index.Group
	shard
}

// within is the condition of what is in the namespaces of a shard, given the column that has their numbers. The
// number decides for each row: to list the namespaces first would cost what all of them do.
func (s shard) within(column string) (condition string, args []any) {
	if !s.above {
		return column + " = ?", []any{s.namespace}
	}
	return s.marked("(SELECT mark FROM namespace WHERE n = " + column + ")")
}

// marked is the condition of a mark that begins with that of a shard above.
func (s shard) marked(column string) (condition string, args []any) {
	condition, args = column+" >= ?", []any{[]byte(s.mark)}
	if end := after([]byte(s.mark)); end != nil {
		condition, args = condition+" AND "+column+" < ?", append(args, end)
	}
	return condition, args
}

// planning is what the index knows of the plan, and of the shards that are in groups.
type planning struct {
	planned int64 // its id; 0: there is none
	upto    int64 // see [groupPlan].Shard
	groups  []*group
	members index.Keys // shards that are in a group, as far as a search has looked at some of one
	learnt  []learnt
	last    int64 // the highest number of a shard that was looked at; 0: none was
	tried   int64 // the same when somebody was to plan
}

// learnt is where all shards are known.
type learnt struct {
	namespace string
	exact     bool
}

// knowsAll reports whether all shards in a namespace, or from one on, are known.
func (p *planning) knowsAll(namespace string, exact bool) bool {
	return slices.ContainsFunc(p.learnt, func(l learnt) bool {
		return !l.exact && strings.HasPrefix(namespace, l.namespace) || l.exact && exact && namespace == l.namespace
	})
}

func (p *planning) groupOf(key index.Key) *group {
	for _, g := range p.groups {
		if g.Has(key) {
			return g
		}
	}
	return nil
}

// knowsShard reports whether a shard is known, or need not be.
func (x *searchIndex) knowsShard(key index.Key, place int64) bool {
	if x.known.Has(key) {
		return true
	}
	return place > 0 && x.groupOf(key) != nil && (x.members.Has(key) || !x.knowsAll(key.Namespace, true))
}

// loadOf is the load of a shard that has not begun.
func (x *searchIndex) loadOf(key index.Key) *load {
	one := &load{key: key, namespace: x.number[key.Namespace]}
	for _, g := range x.groups {
		if g.Key == key {
			one.namespace, one.group = 0, g
		}
	}
	return one
}

// covered lists the shards that a filter reaches, groups all of which it reaches as one. lacks are the namespaces
// whose shards must be known before.
func (x *searchIndex) covered(f *loci.Filter, quick bool) (keys []index.Key, lacks []loci.Namespace) {
	knows := func(n loci.Namespace) bool { return x.knowsAll(n.Key(), f.Exact) }
	return index.Covered(x.groups, &x.known, &x.members, f, quick, knows)
}

// searchedAbove notes when groups were searched.
func (x *searchIndex) searchedAbove(f *loci.Filter, at int64) {
	for _, g := range x.groups {
		if index.CoversAbove(f, g.Key) {
			x.searchedAt(g.Key, at)
		}
	}
}

// errPlan says that groups are to be planned before a search goes on.
var errPlan = errors.New("the shards are to be planned")

// shardsOf lists the shards that a search needs. The caller holds the index's lock.
func (f *file) shardsOf(ctx context.Context, tx *sql.Tx, filter *loci.Filter, quick bool) ([]index.Key, error) {
	x := &f.search
	keys, lacks := x.covered(filter, quick)
	for _, n := range lacks {
		if err := f.learnWithin(ctx, tx, n, filter.Exact); err != nil {
			return nil, err
		}
	}
	if len(lacks) > 0 {
		keys, _ = x.covered(filter, quick)
	}
	if quick || filter.Exact || x.last-max(x.upto, x.tried) < f.shelf.joinFrom(x.upto) {
		return keys, nil
	}
	alone := 0
	for _, key := range keys {
		if !key.Above && !x.index.HasShard(key) {
			alone++
		}
	}
	if alone < f.shelf.join {
		return keys, nil
	}
	x.tried = x.last
	return nil, errPlan
}

// joinFrom is how many shards must have come for another plan.
func (s *shelf) joinFrom(planned int64) int64 { return index.JoinFrom(s.join, planned) }

// learnShards takes in the plan, and the shards that are in no group: all, or those that came since.
func (f *file) learnShards(ctx context.Context, tx *sql.Tx, now *fileState) error {
	x := &f.search
	if x.last == 0 && now.planned != 0 {
		x.placed.forget()
		if err := f.learnPlan(ctx, tx, now); err != nil {
			return err
		}
	}
	return f.learn(ctx, tx, "h.n > ? ORDER BY h.n", x.last)
}

func (f *file) learnPlan(ctx context.Context, tx *sql.Tx, now *fileState) error {
	x := &f.search
	p, groups, err := f.readPlan(ctx, tx)
	x.planned = now.planned
	if err != nil || p == nil {
		return err
	}
	rest, err := json.Marshal(p.Rest)
	if err != nil {
		return err
	}
	x.groups, x.upto = groups, p.Shard
	if err := f.learn(ctx, tx, "h.n IN (SELECT value FROM json_each(?))", string(rest)); err != nil {
		return err
	}
	x.last = max(x.last, p.Shard)
	return nil
}

// learnWithin takes in the shards in a namespace, or from one on.
func (f *file) learnWithin(ctx context.Context, tx *sql.Tx, n loci.Namespace, exact bool) error {
	x := &f.search
	mark := []byte(x.groups[0].Names.Mark(n))
	x.learnt = append(x.learnt, learnt{n.Key(), exact})
	condition, args := "s.mark = ?", []any{mark}
	if end := after(mark); !exact && end != nil {
		condition, args = "s.mark >= ? AND s.mark < ?", append(args, end)
	} else if !exact {
		condition = "s.mark >= ?"
	}
	return f.learn(ctx, tx, condition, args...)
}

func (f *file) learn(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	x := &f.search
	query := "SELECT h.n, h.kind, s.n, s.key FROM shard h JOIN namespace s ON s.n = h.namespace WHERE " + condition
	return eachRow(ctx, tx, query, args, func(rows *sql.Rows) error {
		var n, namespace int64
		var key []byte
		var kind string
		if err := rows.Scan(&n, &kind, &namespace, &key); err != nil {
			return err
		}
		x.last = max(x.last, n)
		if bytes.HasPrefix(key, []byte(unnamed)) { // nothing is there; what goes on to be known helps to remove it
			return nil
		}
		of := index.Key{Namespace: string(key), Kind: loci.Kind(kind)}
		if x.groupOf(of) == nil {
			x.known.Add(of)
		} else if x.knowsAll(of.Namespace, true) {
			x.members.Add(of)
			x.known.Touch()
		} else {
			return nil
		}
		x.names[namespace], x.number[of.Namespace] = of.Namespace, namespace
		return nil
	})
}

// sum is what a plan says of itself and the names of its file, which are others when all was erased.
func (p *groupPlan) sum(names loci.NameKey) string {
	q := *p
	q.Sum = ""
	return index.SumOf(names, q)
}

// readPlan reads the plan of the file; nil: there is none that can be used. A group in which nothing has
// a name has nothing to be found, and is left out.
func (f *file) readPlan(ctx context.Context, tx *sql.Tx) (*groupPlan, []*group, error) {
	var raw, names []byte
	const query = `SELECT (SELECT value FROM meta WHERE key = 'above.plan'), (SELECT value FROM meta WHERE key = 'name_key')`
	if err := tx.QueryRowContext(ctx, query).Scan(&raw, &names); err != nil {
		return nil, nil, err
	}
	p := new(groupPlan)
	if raw == nil || json.Unmarshal(raw, p) != nil || p.Sum != p.sum(names) {
		return nil, nil, nil // damaged, or of before the tenant was erased
	}
	var groups []*group
	for _, one := range p.Groups {
		mark, ok := one.BeginOf()
		if !ok {
			return nil, nil, nil // it is planned again
		}
		g := &group{&index.Group{Joined: one, Begin: mark, Names: names, Marks: map[string]bool{}},
			shard{kind: one.Kind, above: true, mark: mark}}
		in, args := g.marked("mark")
		var key []byte
		err := tx.QueryRowContext(ctx, "SELECT key FROM namespace WHERE "+in+" AND substr(key, 1, 2) <> x'0000' LIMIT 1", args...).
			Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		} else if err != nil {
			return nil, nil, err
		}
		g.Key = index.Key{Namespace: index.Root(mark, string(key)), Kind: one.Kind, Above: true}
		for _, n := range one.Apart {
			var apart []byte
			err := tx.QueryRowContext(ctx, "SELECT mark FROM namespace WHERE n = ?", n).Scan(&apart)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, nil, err
			}
			g.Marks[string(apart)] = true
		}
		groups = append(groups, g)
	}
	return p, groups, nil
}

// dropUnplanned takes out the manifests of groups that are planned no more, and returns the others.
func (f *file) dropUnplanned(ctx context.Context, all []manifest) (left []manifest, err error) {
	if !slices.ContainsFunc(all, func(m manifest) bool { return m.shard.above }) {
		return all, nil
	}
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	p, _, err := f.readPlan(ctx, tx)
	if err = errors.Join(err, endRead(tx)); err != nil || p == nil { // it will be planned again, mostly the same
		return all, err
	}
	for _, m := range all {
		one := index.Joined{Mark: hex.EncodeToString([]byte(m.shard.mark)), Kind: m.shard.kind}
		if !m.shard.above || slices.ContainsFunc(p.Groups, func(g index.Joined) bool {
			return g.Mark == one.Mark && g.Kind == one.Kind
		}) {
			left = append(left, m)
		} else if err := f.dropManifest(ctx, &m); err != nil { // its segments are strays
			return nil, err
		}
	}
	return left, nil
}

// makePlan plans the groups, if it is time. What goes wrong is no failure of a search, which goes on without.
func (f *file) makePlan(ctx context.Context) {
	if err := f.replan(context.WithoutCancel(ctx), new(int64)); err != nil && !errors.Is(err, errMoved) {
		f.logError("plan the index", err)
	}
}

func (f *file) replan(ctx context.Context, tried *int64) error {
	next, old, err := f.nextPlan(ctx, tried)
	if err != nil || next == nil {
		return err
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return f.write(ctx, func(t *tx) error { return t.putPlan(old, raw) })
}

// nextPlan is what is to be planned now, and the id of what it replaces; nil: nothing is, as too few shards came
// since that was done, or tried.
func (f *file) nextPlan(ctx context.Context, tried *int64) (next *groupPlan, id int64, err error) {
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	var last int64
	const query = `SELECT coalesce((SELECT max(n) FROM shard), 0), coalesce((SELECT value FROM meta WHERE key = 'above.id'), 0)`
	if err := tx.QueryRowContext(ctx, query).Scan(&last, &id); err != nil {
		return nil, 0, err
	}
	old, groups, err := f.readPlan(ctx, tx)
	if err != nil {
		return nil, 0, err
	}
	old = cmp.Or(old, new(groupPlan))
	if last-max(old.Shard, *tried) < f.shelf.joinFrom(old.Shard) {
		return nil, 0, nil
	}
	*tried = last
	next, err = f.planAll(ctx, tx, old)
	if err != nil || len(groups)+len(next.Groups) == 0 || len(next.Rest) > index.MostRest {
		return nil, 0, err
	}
	return next, id, nil
}

// putPlan puts a plan in the place of another, unless that is there no more.
func (t *tx) putPlan(old int64, raw []byte) error {
	var id int64
	if err := t.row("SELECT coalesce((SELECT value FROM meta WHERE key = 'above.id'), 0)", nil, &id); err != nil {
		return err
	}
	if id != old {
		return errMoved
	}
	return t.exec("INSERT OR REPLACE INTO meta (key, value) VALUES ('above.plan', ?), ('above.id', ?)",
		raw, 1+rand.Int64N(math.MaxInt64-1))
}

// planAll plans what is there now.
func (f *file) planAll(ctx context.Context, tx *sql.Tx, old *groupPlan) (*groupPlan, error) {
	var names []byte
	if err := tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'name_key'").Scan(&names); err != nil {
		return nil, err
	}
	next := &groupPlan{Shard: old.Shard}
	var all []index.Small
	const query = `SELECT h.n, h.kind, s.n, s.mark,
		coalesce((SELECT sum(searched) FROM tally WHERE namespace = h.namespace AND kind = h.kind AND live), 0),
		coalesce((SELECT sum(bytes) FROM tally WHERE namespace = h.namespace AND kind = h.kind AND live), 0)
		FROM shard h JOIN namespace s ON s.n = h.namespace ORDER BY h.n`
	err := eachRow(ctx, tx, query, nil, func(r *sql.Rows) error {
		var one index.Small
		var mark []byte
		var bytes int64
		err := r.Scan(&one.Shard, &one.Kind, &one.Place, &mark, &one.Records, &bytes)
		one.Mark = string(mark)
		one.Large = one.Place > math.MaxUint32 || one.Records >= int64(f.shelf.from) ||
			one.Records > 0 && bytes >= keptBytes
		all, next.Shard = append(all, one), max(next.Shard, one.Shard)
		return err
	})
	if err != nil {
		return nil, err
	}
	next.Groups, next.Rest = index.Join(all, old.Groups, f.shelf.join, f.shelf.from)
	next.Sum = next.sum(names)
	return next, nil
}
