package index

import (
	"testing"

	"github.com/loci-memory/loci"
)

// A quick search finds nothing in a shard that is too large for it, whatever else it finds.
func TestQuickSearchOfALargeShard(t *testing.T) {
	t.Parallel()
	large, small := loci.Namespace{"u", "large"}, loci.Namespace{"u", "small"}
	x := New(loci.Space{})
	x.AddShard(Key{Namespace: large.Key(), Kind: loci.KindFact})
	x.AddShard(Key{Namespace: small.Key(), Kind: loci.KindFact})
	x.Upsert(record(0, small, "walrus"), nil)
	hits := func() int {
		t.Helper()
		found, err := x.Match(loci.Probe{Text: "walrus", Quick: true}, loci.Filter{Within: []loci.Namespace{{"u"}}}, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	x.Upsert(record(1, large, "walrus"), nil)
	for i := range loci.QuickRecords - 1 {
		x.Upsert(record(i+2, large, "harbour"), nil)
	}
	if n := hits(); n != 2 {
		t.Errorf("%d hits in as many records as are allowed; want 2", n)
	}
	x.Upsert(record(loci.QuickRecords+2, large, "harbour"), nil)
	if n := hits(); n != 1 {
		t.Errorf("%d hits beside a record too many; want 1", n)
	}
}
