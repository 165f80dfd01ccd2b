package bench

import (
	"testing"
)

// TestMistyped: one error in the longest word, the same each time; other scripts and short
// words stay.
func TestMistyped(t *testing.T) {
	kinds := map[int]bool{}
	for _, x := range []string{
		"What is my allergy?", "Where did Caroline go camping?", "Which restaurant is it?", "Wo wohnt meine Großmutter?",
		"Did the picture arrive?", "Was the umbrella mine?", "Did Ann buy a bicycle?", "What colour is the kitchen?",
	} {
		wrong := Mistyped(x)
		if wrong == x || wrong != Mistyped(x) {
			t.Errorf("%q becomes %q", x, wrong)
		}
		was, is := []rune(x), []rune(wrong)
		first := 0
		for first < min(len(was), len(is)) && was[first] == is[first] {
			first++
		}
		last := 0
		for last < min(len(was), len(is))-first && was[len(was)-1-last] == is[len(is)-1-last] {
			last++
		}
		if changed := max(len(was), len(is)) - first - last; changed < 1 || changed > 2 {
			t.Errorf("%q becomes %q: %d letters changed", x, wrong, changed)
		}
		kinds[len(is)-len(was)] = true
	}
	if len(kinds) != 3 {
		t.Errorf("lengths change by %v, want all of -1, 0 and 1", kinds)
	}
	for _, x := range []string{"", "what", "?!", "我去年买了什么东西呢", "who is it"} {
		if got := Mistyped(x); got != x {
			t.Errorf("%q becomes %q", x, got)
		}
	}
}

// TestRetrievalOfMistypedQuestions measures hybrid search a second time.
func TestRetrievalOfMistypedQuestions(t *testing.T) {
	r := measure(t, RetrievalOptions{InMemory: true, Typing: true, Dirs: []string{"testdata/diary"}, Systems: []System{lexical}})
	q := quality(r)
	clean, mistyped := q["diary lexical none hybrid overall"], q["diary lexical none hybrid, mistyped overall"]
	if mistyped["recall@10"].Value <= 0.8 || mistyped["recall@10"].Value > clean["recall@10"].Value {
		t.Errorf("mistyped %v, clean %v", mistyped["recall@10"], clean["recall@10"])
	}
}
