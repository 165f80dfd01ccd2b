package retrieval

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// variants are texts that differ from one in a word: it is left out, another stands for it, it begins with
// the other case, a number follows or leads it, or "the" or "a" stands before it.
func variants(text, other string) (out []string) {
	words, others := strings.Fields(text), strings.Fields(other)
	for i, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		turned := unicode.ToUpper(first)
		if turned == first {
			turned = unicode.ToLower(first)
		}
		changed := []string{
			"", others[i%len(others)], string(turned) + w[size:], w + fmt.Sprint(i), fmt.Sprint(i+2) + w,
			"the " + w, "a " + w, w + ": " + others[0],
		}[i%8:]
		all := append(append(append([]string{}, words[:i]...), changed[0]), words[i+1:]...)
		out = append(out, strings.Join(all, " "))
	}
	return out
}

// TestVariantsStayAsTheyAre: of each text of the set of corrections and of the golden words, and of texts that
// differ from it in a word, the file has one sum over what is made of them: words, queries, traits and
// relations. A change shows the texts that it reaches; whether it is right the other tests say.
func TestVariantsStayAsTheyAre(t *testing.T) {
	var texts []string
	for _, p := range correctionPairs(t) {
		texts = append(texts, p.Older, p.Newer)
	}
	data, err := os.ReadFile("testdata/words.golden")
	must(t, err)
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		text, _, _ := strings.Cut(block, "\n")
		texts = append(texts, text)
	}
	var reader TraitReader
	sumOf := func(n int) string {
		text, other := texts[n], texts[(n+3)%len(texts)]
		h := fnv.New32a()
		out := bufio.NewWriter(h)
		for i, v := range append(variants(text, other), text) {
			fmt.Fprint(out, Compare(text, v), Compare(v, text), Compare(other, v), reader.Of(v), Wanted(v))
			if (n+i)%3 > 0 { // the dearer part, of a third
				continue
			}
			Analyze(v, func(token Token) { fmt.Fprintln(out, token) })
			q := Parse(v, 40)
			holders := make([]int, len(q.Words))
			for i := range holders {
				holders[i] = (i + n) % 4
			}
			fmt.Fprintln(out, q.Words, q.Phrases, q.Prefixes, q.Missed(holders), HasContent(v), Idle(v))
		}
		must(t, out.Flush())
		return fmt.Sprintf("%08x", h.Sum32())
	}
	sums := make([]string, len(texts))
	for n := range texts {
		sums[n] = sumOf(n)
	}
	const path = "testdata/variants.golden"
	if *update {
		var rows strings.Builder
		for n, sum := range sums {
			rows.WriteString(sum + []string{" ", "\n"}[min(1, (n+1)%13/12)])
		}
		must(t, os.WriteFile(path, []byte(strings.TrimSpace(rows.String())+"\n"), 0o600))
	}
	data, err = os.ReadFile(path)
	must(t, err)
	want := strings.Fields(string(data))
	if len(want) != len(sums) {
		t.Fatalf("%d texts; %s has %d: write it again with -update", len(sums), path, len(want))
	}
	for n, sum := range sums {
		if sum != want[n] {
			t.Errorf("%q or a text like it is read in another way than before", texts[n])
		}
	}
}
