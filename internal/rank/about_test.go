package rank_test

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// A note that names nobody whom the query is about is less like it. A turn of a talk is not: who answers a
// question says no name.
func TestNotesOfOthersAreLessLikeAQuery(t *testing.T) {
	s := rank.Settings{VectorWeight: 1, Sequences: true, Scale: rank.Scale{Unrelated: 0, Alike: 1}}
	alone := [4]int{rank.None, rank.None, rank.None, rank.None}
	note := rank.Text{Similarity: 0.5, Embedded: true, Beside: alone}
	others, turn := note, note
	others.OfOthers = true
	turn.OfOthers, turn.AsksYou = true, true
	words := s
	words.Sequences = false
	for name, c := range map[string]struct {
		text rank.Text
		s    rank.Settings
		want float64
	}{
		"of whom it is about":            {note, s, 0.5},
		"of others":                      {others, s, 0.5 * 0.3},
		"of others, in a talk":           {turn, s, 0.5},
		"of others, by one signal alone": {others, words, 0.5},
	} {
		if got := rank.Score([]rank.Text{c.text}, c.s)[0].Vector; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
