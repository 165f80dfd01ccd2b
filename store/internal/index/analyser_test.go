package index

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// analysed is what the analyser of this version makes of the texts below.
const analysed = "4b71a9d85480addd"

// formsOfLanguages are texts for rules that [endings] do not reach: those of names, signs and other scripts.
var formsOfLanguages = []string{
	"Мы купили новые окна, читали книгами, ёлки и рассказывать о рассказах, красивейший",
	"الكتاب والكتب بالمدرسة مدرسات معلمون معلمين كتابها مدرسة مكتبي",
	"universities policing centre organised travelled went mice twenty Lucas evening's jewellery colour analyse",
	"O'Brien, l'eau, don't, v1.2.3, 1,000, p.m., U.S., AC/DC, KX71ABC, 10:30, AT&T, C#, .NET, getHTTPServer, room12, Will went. May the",
	"My daughter Mia and our dog, Rex, know Anna, who is my boss. Anna is my boss. My son is called Oskar; my sister-in-law Griet. my sons Tom and Bo",
	"I can't stand crowds. Always ask me when I ask about trains; wool makes me itch, and he prefers tea",
	"我堂弟周志强在银行上班。胡敏是我嫂子，我女儿名叫米娅",
	"Meine Mutter Ingrid wohnt hier. Mi amiga Lucía; ma sœur s'appelle Élodie. Моя подруга Ольга",
}

// endings are all short texts in the files that have the stems of languages: the endings and beginnings that they
// take off, so that a rule which comes or goes changes what is made with them.
func endings(t *testing.T) (out []string) {
	t.Helper()
	for _, file := range []string{"language.go", "endings.go"} {
		source, err := os.ReadFile("../../../internal/retrieval/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`"(\p{L}+)"`).FindAllStringSubmatch(string(source), -1) {
			out = append(out, found[1])
		}
	}
	if len(out) < 300 {
		t.Fatalf("%d endings", len(out))
	}
	return out
}

// Segments hold what the analyser made of texts. If it makes other words, marks, places or
// speakers of them, its version must change, or older segments are read as if they fitted.
func TestTheAnalyserHasAVersion(t *testing.T) {
	sum := sha256.New()
	notes, queries := hostileSet(t)
	for _, q := range queries {
		notes = append(notes, q.query)
	}
	notes = append(notes, "Running runs ran; don't, e-mail, C++, 3.14 and the_snake_case camelCase HTTPServer", "user: 東京タワー", "👍🏽 and twenty-five")
	notes = append(notes, formsOfLanguages...)
	notes = append(notes, "It was in March 2024. How long did you stay?", "You two did", "We met last week", "May, or 你? 我 ich du",
		"两点半，三楼，10月27号，你去吗", "Ruf 0170 1234567 an, ann@mail.cn", "彼女は昨日来ましたか 저는 내일 он в пятницу", "Ich mag kein Fisch. Ab jetzt immer; 我讨厌，以后请", "我组长曹诗涵")
	for _, text := range notes {
		var traits retrieval.TraitReader
		retrieval.Analyze(text, func(token retrieval.Token) {
			traits.Read(&token)
			term, stop := retrieval.Normalize(token.Text)
			fmt.Fprintln(sum, token.Text, token.Kind, term, stop, markOf(token.Text, stop))
		})
		fmt.Fprintln(sum, traits.Of(text))
	}
	for _, ending := range endings(t) {
		for _, word := range []string{"vantel" + ending, "obr" + ending, ending + "gevanteltes", "van" + ending + "eln"} {
			fmt.Fprintln(sum, retrieval.Forms(word))
		}
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
