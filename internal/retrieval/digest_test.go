package retrieval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/effort"
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

// TestDigestCountsAWordOnce: what a claim says twice, or in parts, is said once.
func TestDigestCountsAWordOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"Tea, the tea of well-known Will": {"tea", "well", "know", "WILL"},
		"東京都 猫":                           {"东京", "京都"},
	} {
		if got := contentTerms(text); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

// plainDigest is Digest in its plain form: all that is left is scored before each pick.
func plainDigest(claims []Claim, take func(i int) bool) (picked []int) {
	terms, frequency := make([][]string, len(claims)), map[string]int{}
	for i, c := range claims {
		terms[i] = contentTerms(c.Text)
		for _, term := range terms[i] {
			frequency[term]++
		}
	}
	weight, said := map[string]float64{}, map[string]int{}
	for term, n := range frequency {
		weight[term] = (1 + math.Log(float64(n))) * math.Log(1+float64(len(claims))/float64(n))
	}
	asked := map[int]bool{}
	for {
		best, most := -1, 0.0
		for i := range claims {
			sum := 0.0
			for _, term := range terms[i] {
				sum += weight[term]
			}
			if score := claims[i].Weight * sum / math.Sqrt(float64(len(terms[i]))); !asked[i] && score > most {
				best, most = i, score
			}
		}
		if best < 0 {
			return picked
		}
		if asked[best] = true; !take(best) {
			continue
		}
		picked = append(picked, best)
		for _, term := range terms[best] {
			if said[term]++; said[term] <= 10 {
				weight[term] *= covered
			}
		}
	}
}

// Scores are counted again only where a pick has a term in common, which changes nothing.
func TestDigestEqualsItsPlainForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var claims []Claim
		for range r.IntN(60) {
			var words []string
			for range r.IntN(8) {
				words = append(words, fmt.Sprintf("word%c", 'a'+r.IntN(3+round%20)))
			}
			claims = append(claims, Claim{Text: strings.Join(words, " "), Weight: []float64{1, 1, 1.2, 0.5, 0}[r.IntN(5)]})
		}
		refused := 1 + r.IntN(5)
		take := func(i int) bool { return i%refused == 0 }
		if got, want := Digest(claims, take), plainDigest(claims, take); !slices.Equal(got, want) {
			t.Fatalf("picked %v, want %v of %v", got, want, claims)
		}
	}
}

// Eight times as many claims take about eight times as long, also where all are taken, all are
// refused, or all say the same.
func TestDigestTimeIsLinear(t *testing.T) {
	said := func(n, words int) (out []Claim) {
		for i := range n {
			var b strings.Builder
			for k := range 20 {
				fmt.Fprintf(&b, "word%c%c ", 'a'+(i*k)%words, 'a'+k)
			}
			out = append(out, Claim{Text: b.String(), Weight: 1})
		}
		return out
	}
	for _, c := range []struct {
		words int
		take  bool
	}{{1, true}, {1, false}, {26, true}, {26, false}} {
		few, many := said(500, c.words), said(4000, c.words)
		digest := func(claims []Claim) func() {
			return func() { Digest(claims, func(int) bool { return c.take }) }
		}
		effort.AtMost(t, fmt.Sprintf("%+v", c), 24, digest(few), digest(many)) // quadratic time would make it 64 times
	}
}
