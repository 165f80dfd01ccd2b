package index

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// analysed is what the analyser of this version makes of the texts below.
const analysed = "35d2db4edf920be8"

// Segments hold what the analyser made of texts. If it makes other words, marks, places or
// speakers of them, its version must change, or older segments are read as if they fitted.
func TestTheAnalyserHasAVersion(t *testing.T) {
	sum := sha256.New()
	notes, queries := hostileSet(t)
	for _, q := range queries {
		notes = append(notes, q.query)
	}
	notes = append(notes, "Running runs ran; don't, e-mail, C++, 3.14 and the_snake_case camelCase HTTPServer", "user: 東京タワー", "👍🏽 and twenty-five")
	for _, text := range notes {
		retrieval.Analyze(text, func(token retrieval.Token) {
			term, stop := retrieval.Normalize(token.Text)
			fmt.Fprintln(sum, token.Text, token.Kind, term, stop, markOf(token.Text, stop))
		})
	}
	for _, text := range []string{
		"**User:** hello", "Sure thing! You can keep your walrus here. Would you like to?", "I keep my walrus here. Would you like to?",
	} {
		signed := loci.Record{Text: "[2024-03-15] Ann Lee: " + text, Passages: []loci.Span{{Start: 0, End: 8}}}
		fmt.Fprintln(sum, signatureOf(&signed))
		for _, kind := range []loci.Kind{loci.KindFact, loci.KindEpisode} {
			fmt.Fprintln(sum, speakerOf(&loci.Record{Kind: kind, Text: text}))
		}
	}
	for _, attributes := range []string{`{"thread_id":"a","role":"assistant"}`, `{"session":7,"type":"human"}`, `{"conversation":"c"}`, `{"x":1}`} {
		r := loci.Record{
			Kind:       loci.KindFact,
			Attributes: []byte(attributes),
			Text:       "ai: hello",
			CreatedAt:  time.UnixMilli(1234567),
		}
		name, position := placeOf(&r)
		fmt.Fprintln(sum, name, position, speakerOf(&r))
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != analysed {
		t.Errorf("texts give %s where version %d of the analyser gives %s: raise analyser in freeze.go by one, and write the new value here", got, analyser, analysed)
	}
}
