package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A countingWords counts the passages whose words are read.
type countingWords struct {
	part
	passages *int
}

func (c countingWords) countTerms(t *targets, passage uint32) {
	*c.passages++
	c.part.countTerms(t, passage)
}

// What is looked at closer does not depend on the order in which memories came: those that have most come first. And
// what many have is not added to passages that cannot get among the best.
func TestThoseThatHaveMostAreLookedAtFirst(t *testing.T) {
	t.Parallel()
	const records, limit = 3000, 10
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	find := func(query string, text func(i int) string) (read, summed int) {
		x := New(space)
		x.skipFrom = 0
		x.AddShard(key)
		for i := range records {
			x.Upsert(record(i, here, text(i)), nil)
		}
		shelve(t, x, key)
		f := loci.Filter{Within: []loci.Namespace{here}}
		s := search{filter: &f, skipFrom: x.skipFrom, readCost: 1 << 30, guessFrom: x.guessFrom,
			unguessed: &x.unguessed}
		p := loci.Probe{Text: query}
		s.choose(x, &p)
		if err := s.scoreWords(p); err != nil {
			t.Fatal(err)
		}
		s.parts[1].part = countingWords{s.parts[1].part, &read} // the heap is before the segment
		hits, err := s.gather(&p, limit)
		if err != nil || len(hits) != limit {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		for at := range hits {
			if !strings.Contains(text(int(at.entry)), "walrus") {
				t.Errorf("%v is found", at)
			}
		}
		summed = len(s.parts[1].summed)
		s.release()
		s.leave()
		return read, summed
	}
	words := func(n int) string { return strings.Repeat("ship ", n) }
	read, _ := find("walrus", func(i int) string { return fmt.Sprint("walrus ", words(60-i/50)) }) // each is better
	if read > 100 {
		t.Errorf("the words of %d passages are read; the best are 50 that are equal", read)
	}
	_, summed := find("walrus harbour", func(i int) string {
		if i%100 == 0 {
			return "walrus " + words(i/100)
		}
		return "harbour " + words(i%7)
	})
	if summed > records/100 {
		t.Errorf("%d passages have a sum; %d have the word that decides", summed, records/100)
	}
}
