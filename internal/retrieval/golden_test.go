package retrieval

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestWordsStayAsTheyAre: the golden file says by which words texts are found and what queries
// look for. A change shows which words it changes; after a change on purpose, read the
// difference of that file.
func TestWordsStayAsTheyAre(t *testing.T) {
	golden(t, "testdata/words.golden", func(text string) []string {
		var terms, words []string
		Analyze(text, func(token Token) {
			term, stop := Normalize(token.Text)
			shown := fmt.Sprintf("%s/%d", strings.ReplaceAll(term, string(rune(stemMark)), "^"), token.Kind)
			if stop {
				shown += "-"
			}
			terms = append(terms, shown)
		})
		q := Parse(text, 40)
		for _, w := range q.Words {
			shown := fmt.Sprintf("%s*%g", w.Term, w.Weight)
			for _, stem := range w.Or(nil, true) {
				shown += "|" + strings.TrimPrefix(stem, string(rune(stemMark)))
			}
			if w.Spelling != "" {
				shown += "~" + w.Spelling
			}
			if w.Optional {
				shown += "?"
			}
			words = append(words, shown)
		}
		return []string{"terms: " + strings.Join(terms, " "), "query: " + strings.Join(words, " "),
			fmt.Sprintf("asked: %q %q, words %t, content %t", q.Phrases, q.Prefixes, HasWords(text), HasContent(text))}
	})
}

// TestRelationsStayAsTheyAre: the golden file says which of two similar texts corrects the
// other, in both directions, with a key and without. [TestHintsAreRight] says how good that is.
func TestRelationsStayAsTheyAre(t *testing.T) {
	pairs := correctionPairs(t)
	for i, p := range pairs {
		if i > 0 { // across, too: of the one before
			pairs = append(pairs, correctionPair{Older: pairs[i-1].Newer, Newer: p.Older})
		}
	}
	var rows []string
	row := ""
	for _, p := range pairs {
		for _, r := range []Relation{
			Compare(p.Older, p.Newer), Compare(p.Newer, p.Older),
			Keyed{Text: p.Newer, Key: "home_town"}.Relations()(Keyed{Text: p.Older}),
			Keyed{Text: p.Newer, Key: "homeTown"}.Relations()(Keyed{Text: p.Older, Key: "home_town"}),
		} {
			row += r.String()[:1]
		}
		if row += " "; len(row) >= 120 {
			rows, row = append(rows, strings.TrimSpace(row)), ""
		}
	}
	rows = append(rows, strings.TrimSpace(row))
	const path = "testdata/relations.golden"
	if *update {
		must(t, os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o600))
	}
	data, err := os.ReadFile(path)
	must(t, err)
	got, want := strings.Fields(strings.Join(rows, " ")), strings.Fields(string(data))
	if len(got) != len(want) {
		t.Fatalf("%d pairs; %s has %d: write it again with -update", len(got), path, len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%q and %q: the relations are %s, were %s", pairs[i].Older, pairs[i].Newer, got[i], want[i])
		}
	}
}

// golden compares what is said of each text of a file, in lines below it, with the file.
func golden(t *testing.T, path string, say func(text string) []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		text, want, _ := strings.Cut(block, "\n")
		got := strings.Join(say(text), "\n")
		if got != want && !*update {
			t.Errorf("%s\ngot\n%s\nwant\n%s", text, got, want)
		}
		fmt.Fprintf(&out, "%s\n%s\n\n", text, got)
	}
	if *update {
		must(t, os.WriteFile(path, []byte(strings.TrimSpace(out.String())+"\n"), 0o600))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
