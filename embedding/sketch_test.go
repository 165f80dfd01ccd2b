package embedding_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/vector"
)

// Of the built-in model's vectors, of plain sentences and of texts of made-up words, whose vectors
// lie close together, sketches show the ten best, and spare nearly all others a closer look.
func TestSketchesOfTheBuiltin(t *testing.T) {
	t.Parallel()
	model, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	vectorOf := func(text string) []float32 {
		v, err := model.Embed(context.Background(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	random := rand.New(rand.NewPCG(21, 22))
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	people, verbs := strings.Fields("Anna Ben Carla Dmitri mother neighbour colleague doctor teacher"),
		strings.Fields("likes hates bought sold forgot repaired visited painted cooked lost learned booked")
	things := strings.Fields(`bicycle piano garden passport kitchen violin bread coffee tea mountain lake dog cat
		insurance flight hotel dentist birthday guitar chess novel camera laptop recipe carpet window train museum`)
	sentence := func() string {
		return fmt.Sprintf("%s %s the %s near the %s because of a %s and a %s in %d", pick(people), pick(verbs), pick(things),
			pick(things), pick(things), pick(things), 1990+random.IntN(40))
	}
	madeUp := func() string {
		var words []string
		for range 8 + random.IntN(20) {
			words = append(words, strings.Repeat(pick(strings.Fields("lu na di zo ke")), 1+random.IntN(2))+
				pick(strings.Fields("fa gi mo ru te ba")))
		}
		return strings.Join(words, " ")
	}
	for _, kind := range []struct {
		name string
		text func() string
	}{{"sentences", sentence}, {"made-up words", madeUp}} { // in this order, since they share random numbers
		name, text := kind.name, kind.text
		const rows = 5000
		plain, texts := vector.New(model.Dims()), make([]string, rows)
		for i := range texts {
			texts[i] = text()
			plain.Append(vectorOf(texts[i]))
		}
		scales, codes := plain.Raw()
		looked, m := 0, vector.Of(plain.Dims(), scales, codes)
		m.Use(plain.Sketch())
		m.Look(looker{&looked})
		for range 100 {
			words := strings.Fields(pick(texts))
			random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			q := vector.NewQuery(vectorOf("what about " + strings.Join(words[:4], " ")))
			order := make([]int, rows)
			for row := range order {
				order[row] = row
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(plain.Score(q, b), plain.Score(q, a)) })
			q.Coarsen()
			least, found := float64(plain.Score(q, order[9])), map[int]bool{}
			if err := m.Above(q, &least, func(row int, _ float32) error { found[row] = true; return nil }); err != nil {
				t.Fatal(err)
			}
			for _, row := range order[:10] {
				if !found[row] {
					t.Errorf("%s: a sketch does not show row %d", name, row)
				}
			}
		}
		if looked > 100*rows/20 {
			t.Errorf("%s: %d of %d rows are looked at", name, looked, 100*rows)
		}
		t.Logf("%s: %d of %d rows are looked at", name, looked, 100*rows)
	}
}

// looker counts the rows that are looked at.
type looker struct{ looked *int }

func (looker) Check([]byte) {}

func (l looker) CheckEach(_ []byte, _ int, rows []int32) { *l.looked += len(rows) }
