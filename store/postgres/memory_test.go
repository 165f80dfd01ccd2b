package postgres_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// What was not searched for longest makes room when indexes take more than they may, and what a
// search needs stays.
func TestIndexMemoryIsBounded(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	const limit = 500_000
	s := openWith(t, d.Server, &postgres.Options{IndexMemory: limit})
	tn := locitest.Tenant(t, "t")
	places := []loci.Namespace{{"a"}, {"b"}}
	for _, place := range places {
		var c loci.Change
		for i := range 300 {
			one := creation(loci.NewID())
			r := &one.Put[0].Record
			r.Namespace, r.Text = place, "walrus"
			for n := range 60 {
				r.Text += fmt.Sprintf(" word%d", i*60+n)
			}
			r.Passages = []loci.Span{{End: len(r.Text)}}
			c.Put = append(c.Put, one.Put...)
		}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	search := func(in ...loci.Namespace) {
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, loci.Filter{Within: in}, 1000)
		if err != nil || len(hits) != 300*len(in) {
			t.Errorf("%v: %d hits, %v", in, len(hits), err)
		}
	}
	search(places[0])
	one := s.Work()
	search(places[1])
	w := s.Work()
	if one.IndexBytes < limit/2 || w.ShardsDropped != 1 || w.IndexBytes > one.IndexBytes*3/2 || w.IndexLimit != limit {
		t.Errorf("after one namespace %+v, after two %+v", one, w)
	}
	search(places...)
	search(places[0])
}

// A segment is counted where it lies in memory, and not where it is mapped.
func TestIndexMemoryCountsSegments(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 100)
	s.answers()
	var size []int64
	query(t, d.Super, "SELECT sum(length(data)) FROM loci.piece", &size)
	mapped := openKept(t, d)
	mapped.answers()
	none := keptStore{openWith(t, d.Server, (&postgres.Options{}).Shelve(20, 16, true)), t, d, ""}
	none.answers()
	of, in := mapped.Work().IndexBytes, none.Work().IndexBytes
	if in < size[0] || of >= in-size[0]/2 {
		t.Errorf("%d bytes of segments: %d are counted where they are mapped, %d in memory", size[0], of, in)
	}
}
