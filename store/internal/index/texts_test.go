package index

import (
	"testing"

	"github.com/loci-memory/loci"
)

// What many hits say is read in parts: databases take so many ids at once and no more.
func TestTextsOfManyHitsAreReadInParts(t *testing.T) {
	c := &corpus{records: map[loci.ID]*loci.Record{}}
	x := New(space)
	x.AddShard(Key{Namespace: loci.Namespace{"u"}.Key(), Kind: "item"}) // whose texts are not kept in memory
	for i := range 2*mostLoaded + 1 {
		r := record(i, loci.Namespace{"u"}, "a zebra")
		r.Kind = "item"
		c.records[r.ID] = r
		x.Upsert(r, nil)
	}
	load := func(ids []loci.ID) ([]loci.Record, error) {
		if len(ids) > mostLoaded {
			t.Errorf("%d ids at once", len(ids))
		}
		return c.load(ids)
	}
	f := loci.Filter{Within: []loci.Namespace{{"u"}}}
	hits, err := x.Match(loci.Probe{Text: "zebra", Texts: true}, f, len(c.records), load)
	if err != nil || len(hits) != len(c.records) {
		t.Fatalf("%d hits of %d, %v", len(hits), len(c.records), err)
	}
	for _, h := range hits {
		if h.Text == "" {
			t.Fatalf("a hit without its text: %+v", h)
		}
	}
}
