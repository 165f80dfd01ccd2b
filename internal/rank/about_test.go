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

// A note of others gets nothing of what it stands beside, unless it speaks of somebody by a pronoun whom a note beside it names.
func TestNotesOfOthersGetNothingOfTheirNeighbours(t *testing.T) {
	s := rank.Settings{VectorWeight: 0.5, Sequences: true, NeighbourShare: 0.3, Scale: rank.Scale{Alike: 1}}
	const none = rank.None
	best := rank.Text{KeywordShare: 1, Covered: 1, InSequence: true, Beside: [4]int{none, none, 1, none}}
	beside := rank.Text{Similarity: 0.5, Embedded: true, InSequence: true, Beside: [4]int{none, 0, none, none}}
	score := func(change func(t *rank.Text)) rank.Parts {
		texts := []rank.Text{best, beside}
		change(&texts[1])
		return rank.Score(texts, s)[1]
	}
	own := score(func(*rank.Text) {})
	others := score(func(t *rank.Text) { t.OfOthers = true })
	spoken := score(func(t *rank.Text) { t.OfOthers, t.ByPronoun = true, true })
	turn := score(func(t *rank.Text) { t.OfOthers, t.ToOthers = true, true })
	if own.Neighbour == 0 || others.Neighbour != 0 || others.Vector >= own.Vector || spoken != own ||
		turn.Neighbour == 0 {
		t.Errorf("%+v; of others %+v, by a pronoun %+v, in a talk %+v", own, others, spoken, turn)
	}
	best.OfOthers = true
	if got := score(func(t *rank.Text) { t.OfOthers, t.ByPronoun = true, true }); got.Neighbour != 0 {
		t.Errorf("nobody beside it names him: %+v", got)
	}
}
