package retrieval

import (
	"reflect"
	"slices"
	"testing"
)

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		" \n\t\n":                 nil,
		"One. Two!  Three?":       {"One.", "Two!", "Three?"},
		"a line\n\n another line": {"a line", "another line"},
		"Costs 3.50 a day. Yes.":  {"Costs 3.50 a day.", "Yes."},
	} {
		if got := Sentences(text); !slices.Equal(got, want) {
			t.Errorf("sentences of %q: %q, want %q", text, got, want)
		}
	}
}

func claims(texts ...string) (out []Claim) {
	for _, text := range texts {
		out = append(out, Claim{Text: text, Weight: 1})
	}
	return out
}

func everything(int) bool { return true }

func TestDigest(t *testing.T) {
	heavy := claims("a walrus swims", "a zebra sleeps")
	heavy[1].Weight = 2
	light := claims("a walrus swims", "a zebra sleeps")
	light[0].Weight = 0
	for name, c := range map[string]struct {
		claims []Claim
		want   []int
	}{
		"nothing":                    {nil, nil},
		"no words that tell":         {claims("and of the", "…", "walrus"), []int{2}},
		"equal ones in order":        {claims("a walrus swims", "a zebra sleeps"), []int{0, 1}},
		"what weighs more is first":  {heavy, []int{1, 0}},
		"what weighs nothing is not": {light, []int{1}},
		// Three speak of the harbour, so one of them is most telling. The next one says
		// mostly what was said: a new thing goes before it.
		"what was said counts a fifth": {claims("harbour walrus", "harbour walrus", "telescope mirror"), []int{0, 2, 1}},
		// ln n raises what several talk about: 1.69·ln 2.5 each beats 1·ln 4 for one word.
		"what is talked about is first": {claims("telescope", "harbour walrus", "harbour walrus"), []int{1, 0, 2}},
		// By the root of the number: saying it at greater length is no merit.
		"a word counts once": {claims("zebra zebra zebra", "walrus"), []int{0, 1}},
	} {
		for range 3 {
			if got := Digest(c.claims, everything); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

// A claim that does not fit is passed over, is asked about once, and covers no words.
func TestDigestTakesWhatFits(t *testing.T) {
	var asked []int
	got := Digest(claims("harbour walrus", "harbour walrus", "telescope mirror"), func(i int) bool {
		asked = append(asked, i)
		return i != 0
	})
	if want := []int{1, 2}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if want := []int{0, 1, 2}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

// A word that two of ten claims use says more than one that eight use, or only one.
func TestDigestWeighsWords(t *testing.T) {
	var claims []Claim
	for _, text := range []string{"apples", "apples", "apples", "apples", "apples", "apples", "apples", "pears", "pears", "plums"} {
		claims = append(claims, Claim{text, 1})
	}
	if picked := Digest(claims, func(int) bool { return true }); picked[0] != 7 || picked[1] != 0 || picked[2] != 9 {
		t.Errorf("picked %v", picked)
	}
}
