package embedding

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/effort"
)

// Words that nobody has seen before cost about as much in one script as in another: they were folded four times, looked up
// in all lexicons by searching the lines, and stemmed for each.
func TestWordsOfAllScriptsCostAlike(t *testing.T) {
	builtin, err := NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	texts := func(letters, lead string) []string {
		random, all := rand.New(rand.NewPCG(1, 1)), []rune(letters)
		var texts []string
		for range 40 {
			text := strings.Builder{}
			text.WriteString(lead)
			for text.Len() < 2000 {
				for range 4 + random.IntN(8) {
					text.WriteRune(all[random.IntN(len(all))])
				}
				text.WriteByte(' ')
			}
			texts = append(texts, text.String())
		}
		return texts
	}
	from := func(first, last rune) string {
		var all []rune
		for r := first; r <= last; r++ {
			all = append(all, r)
		}
		return string(all)
	}
	embed := func(texts []string) func() {
		return func() {
			if _, err := builtin.Embed(t.Context(), texts); err != nil {
				t.Fatal(err)
			}
		}
	}
	english := embed(texts(from('a', 'z'), ""))
	for name, c := range map[string]struct {
		letters, lead string
		most          float64
	}{
		"Chinese":                    {from(0x4e00, 0x9fa0), "", 3},
		"Korean":                     {from(0xac00, 0xd7a3), "", 3},
		"Russian":                    {from('а', 'я'), "", 3},
		"Arabic":                     {from(0x0628, 0x063a), "", 3},
		"five Latin languages":       {"àâçèéêëîïôûùäöüßñabcdefghiklmnopqrstuvwz", "", 6},
		"what is small in many ones": {from('a', 'z'), "de la de la ", 5},
	} {
		effort.AtMost(t, "embedding words in "+name, c.most, english, embed(texts(c.letters, c.lead)))
	}
}
