package index

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A word of another language is found by its stem, wherever the note is that has it.
func TestStemsOfOtherLanguagesAreFound(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	x := New(loci.Space{})
	x.AddShard(key)
	x.Upsert(record(1, here, "the walrus sleeps"), nil)
	x.Upsert(record(2, here, "Wir haben die Häuser von der Bank gekauft und sind nicht froh"), nil)
	check := func(where string) {
		t.Helper()
		mended := func(word string, by []string) { t.Errorf("%s: %s is taken for %q", where, word, by) }
		probe := loci.Probe{Text: "Haus", Corrected: mended}
		hits, err := x.Match(probe, loci.Filter{Within: []loci.Namespace{{}}}, 4, nil)
		if err != nil || len(hits) != 1 {
			t.Errorf("%s: %d hits; want 1 (%v)", where, len(hits), err)
		}
	}
	check("on the heap")
	x.shards[key].compact()
	check("compacted")
	origin := OriginOf([16]byte{1}, x.space)
	frozen := x.Freeze(key, origin)
	g, err := segment.Open(frozen, origin)
	if err != nil {
		t.Fatal(err)
	}
	x.Shelve(key, g, nil)
	check("in a segment")
	x.Thaw(key, 0)
	clear(frozen) // nothing of the index may lie in it
	check("taken back")
}

// counting counts what is looked up.
type counting struct {
	part
	stems, terms *int
}

func (c counting) findTerm(name string) (uint32, bool) {
	if isStem(name) {
		*c.stems++
	} else {
		*c.terms++
	}
	return c.part.findTerm(name)
}

// A word of a query may have a dozen stems, which no English note has.
func TestStemsAreNotLookedForWhereNoneAre(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	for text, want := range map[string]bool{"the walrus sleeps": false, "das Walross schläft und wir sind nicht froh": true} {
		x := New(loci.Space{})
		x.AddShard(key)
		x.Upsert(record(1, here, text), nil)
		for range 2 {
			f := loci.Filter{Within: []loci.Namespace{{}}}
			s := search{filter: &f}
			s.choose(x, &loci.Probe{})
			stems, terms := 0, 0
			for i := range s.parts {
				s.parts[i].part = counting{s.parts[i].part, &stems, &terms}
			}
			s.findWord(append([]string{"sleep"}, retrieval.Forms("sleeping")...))
			if s.release(); terms == 0 || stems > 0 != want {
				t.Errorf("%q: %d stems and %d other terms are looked up", text, stems, terms)
			}
			shelve(t, x, key)
		}
	}
	if !strings.HasPrefix(retrieval.StemsFrom, "\x01") || isStem("sleep") || isStem("") || isStem("\x02daughter") {
		t.Error("stems are not told from other terms")
	}
}
