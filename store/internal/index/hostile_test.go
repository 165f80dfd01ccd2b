package index

import (
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A hostile query and the note that it must find.
type hostile struct {
	language, query string
	note            int
}

// hostileSet reads bench/testdata/hostile.
func hostileSet(t *testing.T) (notes []string, queries []hostile) {
	t.Helper()
	data, err := os.ReadFile("../../../bench/testdata/hostile/pairs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		for _, q := range fields[2:] {
			queries = append(queries, hostile{fields[0], q, len(notes)})
		}
		notes = append(notes, fields[1])
	}
	return notes, queries
}

// TestHostileQueries asks for notes in eighteen languages, all of them in one namespace, with
// typing errors, inflections, compounds, codes, emoji, numbers and other ways of writing. The
// floor says how many queries must find their note first by words alone.
func TestHostileQueries(t *testing.T) {
	const floor = 154
	notes, queries := hostileSet(t)
	x := New(loci.Space{})
	here := loci.Namespace{"u"}
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	ids := map[loci.ID]int{}
	for i, text := range notes {
		r := record(i, here, text)
		ids[r.ID] = i
		x.Upsert(r, nil)
	}
	first := 0
	for _, q := range queries {
		hits, err := x.Match(loci.Probe{Text: q.query}, loci.Filter{Within: []loci.Namespace{here}}, 5, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := -1
		for _, h := range hits {
			if h.KeywordRank == 1 {
				got = ids[h.ID]
			}
		}
		switch {
		case got == q.note:
			first++
		case got < 0:
			t.Logf("%s %q finds nothing", q.language, q.query)
		default:
			t.Logf("%s %q finds %q", q.language, q.query, notes[got])
		}
	}
	t.Logf("%d of %d first", first, len(queries))
	if first < floor {
		t.Errorf("%d of %d queries find their note first; the floor is %d", first, len(queries), floor)
	}
}
