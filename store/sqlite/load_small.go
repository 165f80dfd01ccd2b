package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// Many small shards are read together: to ask for each costs more than what is in it.

// Bounds of reading together.
const (
	smallShard  = 256 // records, by the kept counts
	leastShards = 4
)

// readSmall reads those of some loads that have not begun, are small by the kept counts and
// have no segments, with one query. Which these are is told by their being begun then. If
// there is more than was counted, none of it is taken: they are read one by one.
func (f *file) readSmall(ctx context.Context, tx *sql.Tx, batch []*asked, now *fileState) error {
	var fresh []*load
	for _, one := range batch {
		if !one.Of.begun && one.Of.group == nil && one.Of.key.Kind == batch[0].Of.key.Kind {
			fresh = append(fresh, one.Of)
		}
	}
	small, err := smallOf(ctx, tx, fresh)
	if err != nil || len(small) < leastShards {
		return err
	}
	all := index.New(small[0].index.Space())
	for _, one := range small {
		all.AddShard(one.key)
		if f.reading != nil {
			f.reading(one.key)
		}
	}
	condition := fmt.Sprintf("r.namespace IN (%s) AND r.kind = %s AND %s LIMIT %d",
		numbersOf(small), quoted(string(small[0].key.Kind)), searchable, loadRecords+1)
	n, _, full, err := f.take(ctx, tx, all, condition, loadBytes)
	if err != nil || full || n > loadRecords {
		return err
	}
	for _, one := range small {
		one.index = all.Detach(one.key)
		one.begun, one.whole, one.seq, one.after = true, true, now.seq, now.last
	}
	return nil
}

// smallOf are the loads that are small by the kept counts, and have no segments, as many as
// one transaction reads.
func smallOf(ctx context.Context, tx *sql.Tx, fresh []*load) (small []*load, err error) {
	if len(fresh) < leastShards {
		return nil, nil
	}
	kind := quoted(string(fresh[0].key.Kind))
	counted := "SELECT namespace, sum(searched) FROM tally WHERE namespace IN (" + numbersOf(fresh) + ") AND kind = " + kind +
		" GROUP BY namespace"
	records := map[int64]int64{}
	if err := eachRow(ctx, tx, counted, nil, func(rows *sql.Rows) error {
		var namespace, n int64
		err := rows.Scan(&namespace, &n)
		records[namespace] = n
		return err
	}); err != nil {
		return nil, err
	}
	manifests := map[string]bool{}
	var keys []string
	for _, one := range fresh {
		keys = append(keys, quoted(manifestKey(one.shard())))
	}
	kept := "SELECT key FROM meta WHERE key IN (" + strings.Join(keys, ", ") + ")"
	if err := eachRow(ctx, tx, kept, nil, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		manifests[key] = true
		return err
	}); err != nil {
		return nil, err
	}
	sum := int64(0)
	for _, one := range fresh {
		n := records[one.namespace]
		if n > smallShard || sum+n > loadRecords || manifests[manifestKey(one.shard())] {
			continue
		}
		sum += n
		small = append(small, one)
	}
	return small, nil
}

// numbersOf lists the numbers of the namespaces of loads.
func numbersOf(loads []*load) string {
	numbers := make([]string, len(loads))
	for i, one := range loads {
		numbers[i] = fmt.Sprint(one.namespace)
	}
	return strings.Join(numbers, ", ")
}

// quoted is a text in a statement. A value that is bound makes SQLite prepare the statement
// again when an index is for some values alone.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (one *load) shard() shard {
	if one.group != nil {
		return one.group.shard
	}
	return shard{namespace: one.namespace, kind: one.key.Kind}
}

// empty is an index of what is to be loaded, with nothing in it.
func (one *load) empty(space loci.Space) *index.Index {
	x := index.New(space)
	if one.group != nil {
		x.AddAbove(one.key, one.group.LeavesOut())
	} else {
		x.AddShard(one.key)
	}
	return x
}

// part is the condition of the next records of a load. Those of a group are read in the order of their numbers,
// since to look for each of its namespaces costs more than to pass over what others have.
func (one *load) part(most int64) (condition string, args []any) {
	if one.group == nil {
		return inPart, []any{one.namespace, string(one.key.Kind), one.after, most}
	}
	in, more := one.group.marked("+s.mark")
	args = append([]any{one.after, string(one.key.Kind)}, more...)
	condition = "r.n > ? AND +r.kind = ? AND " + in
	return condition + " AND +" + searchable + " ORDER BY r.n LIMIT +?", append(args, most)
}
