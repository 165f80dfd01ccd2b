package index

import (
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// A search leaves memory to the next one, and nothing in it.
func TestASearchLeavesNothing(t *testing.T) {
	s := &search{filter: &loci.Filter{}, named: []string{"walrus"}, checked: map[place]bool{{}: true}}
	s.words, s.parts = make([]retrieval.QueryWord, 3, 4), make([]scoring, 2, 4)
	s.found, s.asked = make([]askedIn, 2, 4), make([]asked, 1, 4)
	s.words[2].Term, s.words = "walrus", s.words[:1]
	s.parts[1].gone, s.found[1].terms, s.asked[0].said = true, 2, 1
	s.again()
	words, parts, found, asks := s.words[:4], s.parts[:4], s.found[:4], s.asked[:4]
	s.words, s.parts, s.found, s.asked = nil, nil, nil, nil
	if !reflect.DeepEqual(*s, search{}) {
		t.Error("a search that begins again knows of one before")
	}
	for i := range 4 {
		if !reflect.DeepEqual(words[i], retrieval.QueryWord{}) || !reflect.DeepEqual(parts[i], scoring{}) ||
			!reflect.DeepEqual(found[i], askedIn{}) || !reflect.DeepEqual(asks[i], asked{}) {
			t.Errorf("element %d is not empty", i)
		}
	}
	s.found = make([]askedIn, keptFound+1)
	if s.again(); s.found != nil {
		t.Error("a great search leaves all of its memory")
	}
}
