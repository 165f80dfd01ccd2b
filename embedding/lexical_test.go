package embedding_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/effort"
)

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	rows, err := embedding.NewLexical().Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestCloserThan(t *testing.T) {
	for _, c := range []struct{ name, text, near, far string }{
		{"same words", "Prefers window seats on long flights", "window seats on flights", "The invoice was paid in March"},
		{"plural", "meeting", "meetings", "invoice"},
		{"verb forms", "She is running every morning", "he runs in the mornings", "a blue car was sold"},
		{"derived form", "organisation", "organisational", "butterfly"},
		{"typo", "recieve the pakcage", "receive the package", "listen to the concert"},
		{"missing letter", "Kubernetes", "Kubernets", "Postgres"},
		{"swapped letters", "restaurant", "resturaant", "government"},
		{"letter case", "ALLERGIC TO PEANUTS", "allergic to peanuts", "ALLERGIC REACTION CENTRE"},
		{"accents", "café in Zürich", "cafe in zurich", "bank in Geneva"},
		{"wide letters", "Ｌｏｃｉ ｓｅｒｖｅｒ", "loci server", "other thing"},
		{"parts of a compound", "Geburtstagsgeschenk", "Geburtstag", "Steuererklärung"},
		{"Chinese", "我喜欢喝绿茶", "绿茶", "他住在北京"},
		{"Japanese", "東京タワーに行きたい", "東京タワー", "猫が好きです"},
		{"Korean", "서울에서 살고 있어요", "서울", "부산 여행"},
		{"Russian", "Любит зелёный чай", "зелёного чая", "Живёт в Москве"},
		{"emoji", "🎉 🎂", "🎂", "🚗"},
		{"identifiers", "set MAX_RETRY_COUNT to 5", "max retry count", "database host name"},
		{"stop words weigh little", "where is the cat", "a cat", "where is the dog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := embed(t, c.text, c.near, c.far)
			near, far := cosine(rows[0], rows[1]), cosine(rows[0], rows[2])
			if near < far+0.05 {
				t.Errorf("%q is %.3f from %q and %.3f from %q", c.text, near, c.near, far, c.far)
			}
		})
	}
}

// Other processes and other builds keep vectors of this space, so its numbers
// must never change.
func TestSpaceIsFrozen(t *testing.T) {
	for text, want := range map[string][]float32{
		"Prefers window seats.":   {1, 0.12059509, 11, 0.065738596, 15, 0.060297545, 21, 0.36535317},
		"我喜欢喝绿茶 café 2026":        {1, -0.0890769, 9, -0.29519334, 22, -0.098397784, 30, -0.13361536},
		"!!!":                     {11, 1},
		"Running ran runners RUN": {1, 0.08929772, 5, 0.07321488, 13, -0.109822325, 21, -0.06697329},
	} {
		// The places and values of the first numbers that are not zero.
		var got []float32
		for i, x := range embed(t, text)[0] {
			if x != 0 && len(got) < 8 {
				got = append(got, float32(i), x)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %#v; want %v", text, got, want)
		}
	}
}

func TestUnusualTexts(t *testing.T) {
	for _, text := range []string{"!!!", "🙂", "...", "\x00", "\xff\xfe", "a", "the", "to be or not to be", "٣", "ก็", "\u200b", "\u0301",
		strings.Repeat("a", 100_000), strings.Repeat("\u0301", 1000), "x\xffy"} {
		rows := embed(t, text, text)
		if length := cosine(rows[0], rows[0]); math.Abs(length-1) > 1e-5 {
			t.Errorf("%.20q has length %v", text, length)
		}
		if !slices.Equal(rows[0], rows[1]) {
			t.Errorf("%.20q has two vectors", text)
		}
	}
	for _, text := range []string{"", " ", "\n\t\u3000"} {
		if row := embed(t, text)[0]; cosine(row, row) != 0 || len(row) != 256 {
			t.Errorf("the blank text %q has a vector", text)
		}
	}
}

func TestEveryTextHasADirection(t *testing.T) {
	lexical := embedding.NewLexical()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		other := rapid.String().Draw(t, "other")
		alone, _ := lexical.Embed(context.Background(), []string{text})
		both, _ := lexical.Embed(context.Background(), []string{other, text})
		if !slices.Equal(alone[0], both[1]) {
			t.Fatal("the vector depends on the text in front")
		}
		blank := strings.TrimFunc(text, unicode.IsSpace) == ""
		if length := cosine(alone[0], alone[0]); !blank && math.Abs(length-1) > 1e-5 || blank && length != 0 {
			t.Fatalf("length %v", length)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	lexical := embedding.NewLexical()
	texts := []string{"Prefers window seats.", "我喜欢喝绿茶", strings.Repeat("long text ", 200)}
	want := embed(t, texts...)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				rows, err := lexical.Embed(context.Background(), texts)
				if err != nil {
					t.Error(err)
				}
				for i := range rows {
					if !slices.Equal(rows[i], want[i]) {
						t.Errorf("%.20q: another vector", texts[i])
					}
				}
			}
		})
	}
	group.Wait()
}

func TestTimeIsLinear(t *testing.T) {
	for name, unit := range map[string]string{"words": "some words and others, ", "one word": "abcdefghij", "marks": "e\u0301\u0302", "Chinese": "绿茶喜欢"} {
		// Quadratic time would make it 64 times.
		effort.Grows(t, name, 32<<10, 256<<10, 30, func(size int) { embed(t, strings.Repeat(unit, size/len(unit))) })
	}
}

func TestEmbedStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := embedding.NewLexical().Embed(ctx, []string{"text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v; want that the context ended", err)
	}
}

func TestOpen(t *testing.T) {
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for spec, model := range map[string]string{"": builtin.Model(), "builtin": builtin.Model(), "lexical": "lexical-1", "none": ""} {
		e, err := embedding.Open(embedding.Config{Spec: spec})
		if err != nil {
			t.Errorf("Open(%q): %v", spec, err)
			continue
		}
		switch {
		case model == "" && e != nil:
			t.Errorf("Open(%q) is an embedder", spec)
		case model != "" && (e.Model() != model || e.Dims() < 1):
			t.Errorf("Open(%q) is %s with %d dimensions", spec, e.Model(), e.Dims())
		}
	}
	_, err = embedding.Open(embedding.Config{Spec: "gpt"})
	if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), "builtin") || !strings.Contains(err.Error(), "none") {
		t.Errorf("error = %v; want Invalid with the choices", err)
	}
}

func FuzzLexical(f *testing.F) {
	for _, s := range []string{"", "Prefers window seats.", "绿茶", "e\u0301\xff", "ﷺ", "İstanbul ΣΊΣΥΦΟΣ"} {
		f.Add(s)
	}
	lexical := embedding.NewLexical()
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := lexical.Embed(context.Background(), []string{text, text})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rows[0], rows[1]) {
			t.Fatal("one text, two vectors")
		}
		if length := cosine(rows[0], rows[0]); length != 0 && math.Abs(length-1) > 1e-5 {
			t.Fatalf("length %v", length)
		}
	})
}

func BenchmarkLexical(b *testing.B) {
	sentence := "Anna prefers window seats on long flights and always books the aisle for her brother when they travel together to Lisbon. "
	for name, text := range map[string]string{"20words": sentence, "640chars": strings.Repeat(sentence, 6)[:640], "query": "where do I like to sit?"} {
		b.Run(name, func(b *testing.B) {
			lexical := embedding.NewLexical()
			texts := []string{text}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := lexical.Embed(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
