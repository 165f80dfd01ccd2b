package postgres_test

import (
	"fmt"
	"strings"
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
	const limit = 12 << 20
	s := openWith(t, d.Server, (&postgres.Options{IndexMemory: limit}).Shelve(500, 1000, false))
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
	if one.IndexBytes < limit*3/5 || w.IndexBytes > one.IndexBytes*3/2 ||
		w.ShardsDropped != 1 || w.IndexLimit != limit {
		t.Errorf("after one namespace %+v, after two %+v", one, w)
	}
	match := func(in ...loci.Namespace) error {
		_, err := s.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, loci.Filter{Within: in}, 1000)
		return err
	}
	refuses := func(err error, code loci.Code) {
		t.Helper()
		locitest.WantCode(t, err, code)
		if err != nil && (!strings.Contains(err.Error(), "index.memory") || !strings.Contains(err.Error(), "is 12 MB") ||
			loci.AsError(err).Recovery == "") {
			t.Errorf("refused with %v", err)
		}
	}
	refuses(match(places...), loci.Unavailable)
	search(places[0])
	search(places[1])

	// The first records of a large one fit; what all of them will take is told all the same.
	c := loci.Change{}
	for i := range 32_000 {
		one := creation(loci.NewID())
		r := &one.Put[0].Record
		r.Namespace, r.Text = loci.Namespace{"large"}, "walrus"
		for n := range 8 {
			r.Text += fmt.Sprintf(" large%d", i*8+n)
		}
		r.Passages = []loci.Span{{End: len(r.Text)}}
		c.Put = append(c.Put, one.Put...)
	}
	if err := s.Apply(t.Context(), tn, c); err != nil {
		t.Fatal(err)
	}
	roomy := openWith(t, d.Server, (&postgres.Options{}).Shelve(500, 1000, false))
	of := loci.Filter{Within: []loci.Namespace{{"large"}}}
	if _, err := roomy.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, of, 10); err != nil {
		t.Fatal(err)
	}
	held := int(roomy.Work().IndexBytes >> 20)
	for range 2 {
		err := match(loci.Namespace{"large"})
		refuses(err, loci.TooLarge)
		var size int
		if _, after, found := strings.Cut(fmt.Sprint(err), "takes about "); found {
			_, _ = fmt.Sscan(after, &size)
		}
		if size < held*3/4 || size > held*3/2 {
			t.Errorf("refused with %v; it takes %d MB", err, held)
		}
		if w := s.Work(); w.IndexBytes > limit {
			t.Errorf("%d bytes are held; the limit is %d", w.IndexBytes, limit)
		}
		search(places[0])
	}
}

// A tenant that searches one memory after the other, more than there is room for, makes room
// itself: what others search meanwhile stays.
func TestWhoSearchesMuchMakesRoomItself(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openWith(t, d.Server, nil)
	tenants := []loci.Tenant{locitest.Tenant(t, "one"), locitest.Tenant(t, "two"), locitest.Tenant(t, "much")}
	place := func(i int) loci.Namespace { return loci.Namespace{fmt.Sprint("u", i)} }
	for i, tenant := range tenants {
		for j := range 1 + 7*(i/2) {
			var c loci.Change
			for n := range 300 {
				one := creation(loci.NewID())
				r := &one.Put[0].Record
				r.Namespace, r.Text = place(j), fmt.Sprint("walrus number ", n)
				r.Passages = []loci.Span{{End: len(r.Text)}}
				c.Put = append(c.Put, one.Put...)
			}
			if err := s.Apply(t.Context(), tenant, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	search := func(s *postgres.Store, tenant loci.Tenant, i int) {
		t.Helper()
		where := loci.Filter{Within: []loci.Namespace{place(i)}}
		if hits, err := s.Match(t.Context(), tenant, loci.Probe{Text: "walrus"}, where, 10); err != nil || len(hits) != 10 {
			t.Errorf("%v: %d hits, %v", tenant, len(hits), err)
		}
	}
	search(s, tenants[0], 0)
	narrow := openWith(t, d.Server, &postgres.Options{IndexMemory: 4 * s.Work().IndexBytes})
	for range 2 {
		search(narrow, tenants[0], 0)
		search(narrow, tenants[1], 0)
		before := narrow.Work().ShardsLoaded
		for i := range 8 {
			search(narrow, tenants[2], i)
		}
		between := narrow.Work().ShardsLoaded
		search(narrow, tenants[0], 0)
		search(narrow, tenants[1], 0)
		if after := narrow.Work().ShardsLoaded; between-before < 6 || after != between {
			t.Errorf("%d loads of eight memories, %d of what others had searched", between-before, after-between)
		}
	}
}
