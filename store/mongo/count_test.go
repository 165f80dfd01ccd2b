package mongo_test

import (
	"maps"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A count in parts tells of each kind and status, also where none is kept; where Go has the last word, too.
func TestCountInParts(t *testing.T) {
	s, tenant, here := open(t), locitest.Tenant(t, "parts"), loci.Namespace{"u"}
	var c loci.Change
	for i, r := range []loci.Record{
		{Kind: "fact", Status: "active", Live: true, Tags: []string{"t"}}, {Kind: "fact", Status: "active", Live: true},
		{Kind: "fact", Status: "superseded", Tags: []string{"t"}}, {Kind: "rule", Live: true},
	} {
		r.ID, r.Namespace, r.Version, r.Text = loci.ID{byte(i + 1)}, here, 1, "abc"
		c.Put = append(c.Put, loci.Put{Record: r})
	}
	if err := s.Apply(t.Context(), tenant, c); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		tags []string
		want map[string]int64
	}{
		{nil, map[string]int64{"fact active": 2, "fact superseded": 1, "rule ": 1}},
		{[]string{"t"}, map[string]int64{"fact active": 1, "fact superseded": 1}},
	} {
		got, sum := map[string]int64{}, int64(0)
		f := loci.Filter{Within: []loci.Namespace{here}, NotLive: true, Tags: row.tags}
		f.Each = func(kind loci.Kind, status string, c loci.Counts) {
			got[string(kind)+" "+status] += c.Records
			sum += c.Records
		}
		n, err := s.Count(t.Context(), tenant, f)
		if err != nil || n.Records != sum || !maps.Equal(got, row.want) {
			t.Errorf("tags %q: %v of %d, %v; want %v", row.tags, got, n.Records, err, row.want)
		}
	}
}
