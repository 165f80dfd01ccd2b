package rank_test

import (
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// What says how somebody wants things is more like a query, and at least somewhat like a request. Those that are much alike are told apart.
func TestWishesAreMoreLikeAQuery(t *testing.T) {
	s := rank.Settings{VectorWeight: 1, Sequences: true, Scale: rank.Scale{Unrelated: 0, Alike: 1}}
	for _, c := range []struct {
		text rank.Text
		want float64
	}{
		{rank.Text{Similarity: 0.5}, 0.5},
		{rank.Text{Similarity: 0.5, Wish: 1}, 0.75},
		{rank.Text{Similarity: 0.5, Wish: 0.5}, 0.625},
		{rank.Text{Similarity: 0, Wish: 1}, 0},
		{rank.Text{Similarity: 0, Wish: 1, Wanted: true}, 0.2},
		{rank.Text{Similarity: 0.5, Wish: 0.5, Wanted: true}, 0.725},
		{rank.Text{Similarity: 0.9, Wish: 1, Wanted: true}, 1.55},
		{rank.Text{Similarity: 1, Wish: 1, Wanted: true}, 1.7},
		{rank.Text{Similarity: 2, Wish: 1, Wanted: true}, 1.7},
		{rank.Text{Similarity: 0.5, Wanted: true}, 0.5},
		{rank.Text{Similarity: 0, Wish: 1, Wanted: true, Long: 0.5}, 0.15 * 0.9}, // the sum says 0.9 there
		{rank.Text{Similarity: 0, Wish: 1, Wanted: true, Long: 1}, 0.1 * 0.8},
	} {
		c.text.Embedded = true
		c.text.Beside = [4]int{rank.None, rank.None, rank.None, rank.None}
		if got := rank.Score([]rank.Text{c.text}, s)[0].Vector; got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%+v: %v, want %v", c.text, got, c.want)
		}
	}
}
