package fit

import (
	"cmp"
	"strings"
	"testing"
)

// When the finished text has too many tokens, the lowest score of all sections goes
// first, whatever its section.
func TestLowestScoreGoesFirst(t *testing.T) {
	item := func(name string, score float64) *Line[float64] {
		return &Line[float64]{About: &score, Text: "- " + name + "\n", Tokens: 1, Shown: true}
	}
	for budget, want := range map[int]string{7: "a b c d", 6: "a c d", 5: "a d", 4: "a", 3: "", 2: "no headings"} {
		w := Writer[float64]{Title: "# Memory Context\n", Compare: func(a, b *float64) int {
			return cmp.Compare(*b, *a)
		}, Count: func(text string) int {
			return strings.Count(text, "\n- ") + strings.Count(text, "# ")
		}, Budget: budget,
			Sections: []Section[float64]{{Heading: "## x", Lines: []*Line[float64]{item("a", 0.9), item("b", 0.1)}},
				{Heading: "## y", Lines: []*Line[float64]{item("c", 0.2), item("d", 0.3)}}}}
		text, tokens := w.Fit()
		var shown []string
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
				shown = append(shown, name)
			}
		}
		got := strings.Join(shown, " ")
		if text == "" {
			got = "no headings"
		}
		if got != want || tokens > budget {
			t.Errorf("budget %d: %q, %d tokens", budget, got, tokens)
		}
	}
}
