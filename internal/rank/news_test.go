package rank_test

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// What somebody says in a talk counts less the more of it was said right before.
func TestWhatWasJustSaidIsNoNews(t *testing.T) {
	s := rank.Settings{VectorWeight: 0.5, Sequences: true, NeighbourShare: 0.3}
	s.Scale = rank.Scale{Unrelated: 0.1, Alike: 0.9}
	const most = 1 + 0.8*0.3
	echo := func(like float64) float64 { return 0.1 + 0.8*like } // a cosine
	text := func(set func(*rank.Text)) rank.Text {
		x := rank.Text{Similarity: 0.5, KeywordShare: 0.5, Covered: 1, Embedded: true, InSequence: true,
			Echo: echo(0.75), Asks: true, Long: 1, Beside: [4]int{rank.None, 1, rank.None, rank.None}}
		set(&x)
		return x
	}
	silent := rank.Text{InSequence: true, OfOneself: true}
	answered := [4]int{rank.None, rank.None, 1, rank.None}
	assistant, likely := silent, silent
	assistant.Speaker, likely.Speaker = rank.Assistant, rank.LikelyAssistant
	own := 0.8 * (0.35*0.5 + 0.65*0.5) / most
	for name, c := range map[string]struct {
		text, beside rank.Text
		want         float64
	}{
		"all of it":                   {text(func(*rank.Text) {}), silent, 0.8 * own},
		"more than all":               {text(func(x *rank.Text) { x.Echo = echo(1) }), silent, 0.8 * own},
		"half of it":                  {text(func(x *rank.Text) { x.Echo = echo(0.575) }), silent, 0.9 * own},
		"little":                      {text(func(x *rank.Text) { x.Echo = echo(0.4) }), silent, own},
		"nothing":                     {text(func(x *rank.Text) { x.Echo = echo(-1) }), silent, own},
		"not known":                   {text(func(x *rank.Text) { x.Echo = 0 }), silent, own},
		"a note":                      {text(func(x *rank.Text) { x.Asks = false }), silent, own},
		"behind an assistant":         {text(func(x *rank.Text) { x.Asks = false }), assistant, 0.8 * own},
		"behind a likely one":         {text(func(x *rank.Text) { x.Asks = false }), likely, 0.8 * own},
		"before an assistant, a note": {text(func(x *rank.Text) { x.Asks, x.Beside = false, answered }), assistant, own},
	} {
		if got := sum(c.text, c.beside, s); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	short := text(func(x *rank.Text) { x.Long = 0 })
	plain := short
	plain.Echo = 0
	if got, want := sum(short, silent, s), 0.8*sum(plain, silent, s); math.Abs(got-want) > 1e-9 {
		t.Errorf("in short passages: %v, want %v", got, want)
	}
	alone := s
	alone.Sequences = false
	if got, want := sum(short, silent, alone), sum(plain, silent, alone); got != want {
		t.Errorf("by one signal: %v, want %v", got, want)
	}
	// What it gives to those beside it stays.
	beside := rank.Text{InSequence: true, Beside: [4]int{rank.None, 0, rank.None, rank.None}}
	given := func(x rank.Text) float64 { return rank.Score([]rank.Text{x, beside}, s)[1].Neighbour }
	if got, want := given(short), given(plain); got != want || got == 0 {
		t.Errorf("the next one gets %v, want %v", got, want)
	}
}
