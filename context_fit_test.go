package loci

import (
	"strings"
	"testing"
)

// When the finished text has too many tokens, the lowest score of all sections goes
// first, whatever its section.
func TestLowestScoreGoesFirst(t *testing.T) {
	item := func(name string, score float64) *contextLineItem {
		return &contextLineItem{recalled: &Recalled{Score: score}, line: "- " + name + "\n", tokens: 1, shown: true, reason: NoRoom}
	}
	for budget, want := range map[int]string{7: "a b c d", 6: "a c d", 5: "a d", 4: "a", 3: "", 2: "no headings"} {
		w := contextWriter{count: func(text string) int {
			return strings.Count(text, "\n- ") + strings.Count(text, "# ")
		}, budget: budget,
			sections: []contextSection{{heading: "## x", items: []*contextLineItem{item("a", 0.9), item("b", 0.1)}},
				{heading: "## y", items: []*contextLineItem{item("c", 0.2), item("d", 0.3)}}}}
		text, tokens := w.fit()
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
