package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// TestDatabaseThatWentBack: a standby that had not got everything takes over, or a backup is
// restored, while servers go on. What they remember of the writes that are lost, they forget:
// numbers of changes, of events and of namespaces are given out again, for something else.
func TestDatabaseThatWentBack(t *testing.T) {
	for again := range 4 { // with as many writes as were lost, fewer, or more
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			d, giveBack := database(t)
			t.Cleanup(giveBack)
			nodes := []loci.Store{openAt(t, d.Server), openAt(t, d.Server)}
			save := func(s loci.Store, who, text string) {
				locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "user", who), text)
			}
			tn := locitest.Tenant(t, "t")
			in := func(s loci.Store, who string) (texts []string) {
				within := loci.Filter{Within: []loci.Namespace{{"user", who}}, Exact: true}
				records, _, err := s.Records(t.Context(), tn, within, loci.Page{})
				if err != nil {
					t.Error(err)
				}
				for i := range records {
					texts = append(texts, records[i].Text)
				}
				return texts
			}
			finds := func(s loci.Store, word string) bool {
				everywhere := loci.Filter{Within: []loci.Namespace{{}}}
				hits, err := s.Match(t.Context(), tn, loci.Probe{Text: word}, everywhere, 3)
				if err != nil {
					t.Error(err)
				}
				return len(hits) > 0
			}
			save(nodes[0], "ada", "the harbour")
			for _, table := range postgres.Tables {
				execute(t, d.Super, "CREATE TABLE public."+table+" AS SELECT * FROM loci."+table)
			}
			t.Cleanup(func() {
				for _, table := range postgres.Tables {
					execute(t, d.Super, "DROP TABLE public."+table)
				}
			})
			for i := range 2 {
				save(nodes[0], "bob", fmt.Sprint("the walrus ", i))
			}
			for i, s := range nodes { // they remember all of it
				if !finds(s, "walrus") || !finds(s, "harbour") || len(in(s, "bob")) != 2 || len(in(s, "ada")) != 1 {
					t.Fatalf("before, node %d does not find what is there", i)
				}
			}
			var back strings.Builder
			for _, table := range postgres.Tables {
				fmt.Fprintf(&back, "TRUNCATE loci.%s; INSERT INTO loci.%[1]s SELECT * FROM public.%[1]s;", table)
			}
			execute(t, d.Super, back.String())
			after := openAt(t, d.Server)
			for i := range again {
				save(after, "eve", fmt.Sprint("the telescope ", i))
			}
			for i, s := range append(nodes, after) {
				if bob, eve := in(s, "bob"), in(s, "eve"); len(bob) != 0 || len(eve) != again {
					t.Errorf("node %d lists %q of bob and %q of eve; want none and %d", i, bob, eve, again)
				}
				if finds(s, "walrus") || finds(s, "telescope") != (again > 0) || !finds(s, "harbour") {
					t.Errorf("node %d finds a walrus (%v), the telescope (%v), the harbour (%v)", i,
						finds(s, "walrus"), finds(s, "telescope"), finds(s, "harbour"))
				}
			}
			save(nodes[1], "bob", "the telescope of bob")
			for i, s := range append(nodes, after) {
				if got := in(s, "bob"); len(got) != 1 || len(in(s, "eve")) != again {
					t.Errorf("afterwards node %d lists %q of bob", i, got)
				}
			}
		})
	}
}
