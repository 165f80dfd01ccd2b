package transformer_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/loci-memory/loci/embedding/transformer"
)

// TestReference compares every vector of tests/transformer/texts.py with that of
// an independent implementation; tests/transformer/run.sh sets the variables.
func TestReference(t *testing.T) {
	dir, texts, vectors := os.Getenv("LOCI_TEST_MODEL"), os.Getenv("LOCI_TEST_TEXTS"), os.Getenv("LOCI_TEST_VECTORS")
	if dir == "" {
		t.Skip("make transformer runs this: it needs the weights of a model")
	}
	m, err := transformer.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	data, err := os.ReadFile(texts)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(vectors)
	if err != nil || len(want) != 4*len(all)*m.Dims() || len(all) < 70 {
		t.Fatalf("%d bytes of vectors for %d texts of %d dimensions: %v", len(want), len(all), m.Dims(), err)
	}
	got, err := m.Embed(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, row := range got {
		for j, x := range row {
			y := math.Float32frombits(binary.LittleEndian.Uint32(want[4*(i*m.Dims()+j):]))
			difference := math.Abs(float64(x) - float64(y))
			if worst = max(worst, difference); !(difference <= 1e-3) {
				t.Errorf("text %d (%.60q): number %d is %v; the reference has %v", i, all[i], j, x, y)
				break
			}
		}
	}
	t.Logf("%d texts, greatest difference %.1e", len(all), worst)
}

func BenchmarkTransformer(b *testing.B) {
	dir := os.Getenv("LOCI_TEST_MODEL")
	if dir == "" {
		b.Skip("needs LOCI_TEST_MODEL, the directory of a model")
	}
	m, err := transformer.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	sentence := "Anna prefers window seats on long flights and always books the aisle for her brother when they travel. "
	passage := ""
	for range 6 {
		passage += sentence
	}
	batch := make([]string, 64)
	for i := range batch {
		batch[i] = passage
	}
	for name, texts := range map[string][]string{"query": {"where do I like to sit?"}, "32tokens": {sentence + "And so on, and so on to the end"}, "passage": {passage}, "64passages": batch} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Embed(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			fresh, err := transformer.Open(dir)
			if err == nil {
				_, err = fresh.Embed(b.Context(), []string{"a"})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := transformer.Open(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}
