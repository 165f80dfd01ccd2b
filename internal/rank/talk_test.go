package rank_test

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// In talk among people what they tell of themselves counts in full, a question and what is told to others less, and a
// reply gets more of the question that somebody was asked.
func TestTalkAmongPeople(t *testing.T) {
	s := rank.Settings{VectorWeight: 1, Sequences: true, NeighbourShare: 0.3, Scale: rank.Scale{Unrelated: 0, Alike: 1}}
	const most = 1 + 0.8*0.3
	before := [4]int{rank.None, 1, rank.None, rank.None}
	told := rank.Text{Embedded: true, InSequence: true, OfOneself: true, Covered: 1}
	question := told
	question.Asks, question.AsksYou, question.Similarity = true, true, 0.5
	assistant, likely := told, told
	assistant.Speaker, likely.Speaker = rank.Assistant, rank.LikelyAssistant
	silent := told
	silent.OfOneself = false
	asks := question
	asks.OfOneself = false

	text := func(set func(*rank.Text)) rank.Text {
		x := rank.Text{Similarity: 0.5, Embedded: true, InSequence: true, Beside: before}
		set(&x)
		return x
	}
	for name, c := range map[string]struct {
		text, beside rank.Text
		want         float64
	}{
		"tells":                        {text(func(x *rank.Text) { x.OfOneself = true }), told, 0.5 / most},
		"asks":                         {text(func(x *rank.Text) { x.Asks = true }), told, 0.8 * 0.5 / most},
		"to others":                    {text(func(x *rank.Text) { x.ToOthers = true }), told, 0.6 * 0.5 / most},
		"asks others":                  {text(func(x *rank.Text) { x.Asks, x.ToOthers = true, true }), told, 0.8 * 0.6 * 0.5 / most},
		"asks in longer passages":      {text(func(x *rank.Text) { x.Asks, x.Long = true, 0.5 }), told, 0},
		"asks, by a person":            {text(func(x *rank.Text) { x.Asks, x.Speaker = true, rank.Person }), told, 0.8 * 0.5 / most},
		"asks, by an assistant":        {text(func(x *rank.Text) { x.Asks, x.Speaker = true, rank.Assistant }), told, 0.7 * 0.5 / most},
		"asks an assistant":            {text(func(x *rank.Text) { x.Asks = true }), assistant, 0.5 / most},
		"asks a likely assistant":      {text(func(x *rank.Text) { x.Asks = true }), likely, 0.5 / most},
		"asks, nobody tells":           {text(func(x *rank.Text) { x.Asks = true }), silent, 0.5 / most},
		"asks in no sequence":          {text(func(x *rank.Text) { x.Asks, x.InSequence = true, false }), told, 0.5},
		"behind a question":            {text(func(*rank.Text) {}), question, (0.5 + 0.3*2*0.5) / most},
		"behind one to nobody":         {text(func(*rank.Text) {}), told, 0.5 / most},
		"behind one, no talk":          {text(func(*rank.Text) {}), asks, (0.5 + 0.3*0.5) / most},
		"a number, wanted":             {text(func(x *rank.Text) { x.Answers = true }), told, 0.75 / most},
		"a number, much alike":         {text(func(x *rank.Text) { x.Answers, x.Similarity = true, 0.9 }), told, 1 / most},
		"a number in longer passages":  {text(func(x *rank.Text) { x.Answers, x.Long = true, 0.5 }), told, 0},
		"a number in the longest ones": {text(func(x *rank.Text) { x.Answers, x.Long = true, 1 }), told, 0},
	} {
		if c.want == 0 { // half of what is taken or given in short passages, none in the longest
			plain := c.text
			plain.Asks, plain.Answers = false, false
			c.want = sum(plain, c.beside, s) * (1 - (1-c.text.Long)*0.2)
			if c.text.Answers {
				c.want = sum(plain, c.beside, s) * (1 + (1-c.text.Long)*0.5)
			}
		}
		if got := sum(c.text, c.beside, s); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	plain := s
	plain.Sequences = false
	marked := text(func(x *rank.Text) { x.Answers, x.Asks, x.ToOthers = true, true, true })
	if got := sum(marked, told, plain); got != 0.5 {
		t.Errorf("by one signal: %v, want 0.5", got)
	}
}

// sum is what a text gets that has another one beside it.
func sum(text, beside rank.Text, s rank.Settings) float64 {
	beside.Beside = [4]int{rank.None, rank.None, rank.None, rank.None}
	return rank.Score([]rank.Text{text, beside}, s)[0].Sum()
}

// What has nothing of anybody is seldom asked of a memory of chats.
func TestGeneralQueriesSayLessInLongPassages(t *testing.T) {
	alone := [4]int{rank.None, rank.None, rank.None, rank.None}
	score := func(general, sequences bool, long, many float64) float64 {
		s := rank.Settings{
			VectorWeight: 0.5, Sequences: sequences, Scale: rank.Scale{Unrelated: 0, Alike: 1}, General: general,
		}
		text := rank.Text{
			Similarity: 0.5, Embedded: true, KeywordShare: 0.5, Covered: 1, InTime: 1,
			Long: long, Many: many, Beside: alone,
		}
		return rank.Score([]rank.Text{text}, s)[0].Sum()
	}
	for _, c := range []struct {
		sequences        bool
		long, many, part float64
	}{
		{true, 0, 0, 1}, {true, 0.5, 0, 0.75}, {true, 1, 0, 0.5}, {false, 1, 0, 1},
		{true, 0, 1, 1}, {true, 1, 0.5, 0.425}, {true, 1, 1, 0.35},
	} {
		got, want := score(true, c.sequences, c.long, c.many), c.part*score(false, c.sequences, c.long, c.many)
		if got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
}

// A note that is no part of a talk gets a fifth more for similarity, and less for words. This fades in longer passages, and
// there is none of it by one signal alone.
func TestNotes(t *testing.T) {
	s := rank.Settings{VectorWeight: 0.5, Sequences: true, Scale: rank.Scale{Unrelated: 0, Alike: 1}}
	plain := rank.Text{Similarity: 1, Embedded: true}
	score := func(beside, text rank.Text, s rank.Settings) float64 {
		text.Beside = [4]int{rank.None, 1, rank.None, rank.None}
		return rank.Score([]rank.Text{text, beside}, s)[0].Vector
	}
	for name, c := range map[string]struct {
		text, beside rank.Text
		want         float64
	}{
		"a note":                {plain, plain, 0.6},
		"one that asks":         {rank.Text{Similarity: 1, Embedded: true, Asks: true}, plain, 0.5},
		"one to others":         {rank.Text{Similarity: 1, Embedded: true, ToOthers: true}, plain, 0.5},
		"one that asks others":  {rank.Text{Similarity: 1, Embedded: true, AsksYou: true}, plain, 0.5},
		"one beside a question": {plain, rank.Text{Asks: true}, 0.5},
		"a long one":            {rank.Text{Similarity: 1, Embedded: true, Long: 1}, plain, 0.8 * 0.65},
		"a longer one":          {rank.Text{Similarity: 1, Embedded: true, Long: 0.5}, plain, 0.9 * (0.575 + 0.2*0.575*0.425)},
	} {
		c.beside.Beside = [4]int{rank.None, rank.None, rank.None, rank.None}
		if got := score(c.beside, c.text, s); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	alone := s
	alone.Sequences = false
	if got := score(plain, plain, alone); got != 0.5 {
		t.Errorf("without sequences: %v, want 0.5", got)
	}
}

// What an assistant said counts in full for a query that asks for it, and 0.7 for others.
func TestWhatAssistantsSaidIsAskedFor(t *testing.T) {
	s := rank.Settings{
		VectorWeight: 1, Sequences: true, NeighbourShare: 0.3, Scale: rank.Scale{Unrelated: 0, Alike: 1},
	}
	for _, speaker := range []rank.Speaker{rank.Assistant, rank.LikelyAssistant, rank.Person} {
		for _, asked := range []bool{false, true} {
			s.OfAssistant = asked
			text := rank.Text{Similarity: 0.5, Embedded: true, Speaker: speaker, Asks: true}
			text.Beside = [4]int{rank.None, rank.None, rank.None, rank.None}
			want := 0.5
			if speaker != rank.Person && !asked {
				want = 0.7 * 0.5
			}
			if got := rank.Score([]rank.Text{text}, s)[0].Vector; math.Abs(got-want) > 1e-12 {
				t.Errorf("speaker %d, asked for %v: %v, want %v", speaker, asked, got, want)
			}
		}
	}
}
