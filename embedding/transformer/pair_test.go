package transformer_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding/transformer"
)

const pair = "testdata/pair"

// openPair opens a cross-encoder; change may first alter a copy of its files.
func openPair(t *testing.T, change func(dir string)) (*transformer.CrossEncoder, error) {
	t.Helper()
	dir := pair
	if change != nil {
		dir = filepath.Join(t.TempDir(), "pair")
		if err := os.CopyFS(dir, os.DirFS(pair)); err != nil {
			t.Fatal(err)
		}
		change(dir)
	}
	return transformer.OpenCrossEncoder(dir)
}

// scored reads pairs.json and logits.f32, the reference's numbers for them.
func scored(t *testing.T, dir string) (pairs [][2]string, logits []float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pairs.json"))
	if err == nil {
		err = json.Unmarshal(data, &pairs)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "logits.f32")); err != nil || len(data) != 4*len(pairs) {
		t.Fatalf("%d bytes for %d pairs: %v", len(data), len(pairs), err)
	}
	for ; len(data) > 0; data = data[4:] {
		logits = append(logits, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
	return pairs, logits
}

// compare rates pairs one by one and returns the greatest difference from the reference.
func compare(t *testing.T, dir string, allowed float64) float64 {
	t.Helper()
	c, err := transformer.OpenCrossEncoder(dir)
	if err != nil {
		t.Fatal(err)
	}
	pairs, logits := scored(t, dir)
	worst := 0.0
	for i, p := range pairs {
		chances, err := c.Rerank(t.Context(), p[0], []string{p[1]})
		if err != nil {
			t.Fatal(err)
		}
		got := math.Log(chances[0] / (1 - chances[0]))
		if difference := math.Abs(got - logits[i]); !(difference <= allowed) {
			t.Errorf("%.60q with %.60q is %v; the reference has %v", p[0], p[1], got, logits[i])
		} else {
			worst = max(worst, difference)
		}
	}
	return worst
}

// A pair gets the number that the reference gives it: the types of the tokens, the cut where
// both are too long, the pooler and the classifier are those of the original.
func TestPairsEqualTheReference(t *testing.T) {
	compare(t, pair, 1e-5)
}

// TestPairReference is the same with the weights of a real encoder, which tests/transformer/run.sh
// puts a head on.
func TestPairReference(t *testing.T) {
	dir := os.Getenv("LOCI_TEST_PAIRS")
	if dir == "" {
		t.Skip("make transformer runs this: it needs the weights of a model")
	}
	t.Logf("greatest difference %.1e", compare(t, dir, 1e-4))
}

// Many texts of one query have the numbers that they have alone, in their order.
func TestPairsTogether(t *testing.T) {
	c, err := openPair(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs, _ := scored(t, pair)
	var texts []string
	var alone []float64
	for _, p := range pairs {
		one, err := c.Rerank(t.Context(), "the cat?", []string{p[1]})
		if err != nil {
			t.Fatal(err)
		}
		texts, alone = append(texts, p[1]), append(alone, one[0])
	}
	many, err := c.Rerank(t.Context(), "the cat?", slices.Repeat(texts, 50)) // more than one pass takes
	if err != nil || len(many) != 50*len(texts) {
		t.Fatalf("%d numbers for %d texts: %v", len(many), 50*len(texts), err)
	}
	for i, got := range many {
		if want := alone[i%len(texts)]; math.Abs(got-want) > 1e-6 {
			t.Fatalf("text %d is %v among others and %v alone", i, got, want)
		}
	}
	if none, err := c.Rerank(t.Context(), "the cat?", nil); err != nil || len(none) != 0 {
		t.Errorf("%v, %v of no text", none, err)
	}
}

// A search that gives up is not kept waiting, neither by the network nor by another one.
func TestPairsGiveUp(t *testing.T) {
	c, err := openPair(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat([]string{"the dog, the cat, the dog, the cat"}, 200_000)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // its turn comes before
	defer cancel()
	start := time.Now()
	if _, err := c.Rerank(ctx, "a cat", many); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v; want that the time is over", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("gave up after %s", took)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Rerank(ctx, "a cat", many[:1]); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// Whatever is missing or not supported is named when the directory is opened.
func TestBadCrossEncoders(t *testing.T) {
	for name, c := range map[string]struct {
		change func(string)
		want   string
	}{
		"no classifier": {edit(t, "model.safetensors", `"classifier.weight"`, `"classified.weight"`), "the tensor classifier.weight is missing"},
		"no pooler":     {edit(t, "model.safetensors", `"bert.pooler.dense.bias"`, `"bert.pooled.dense.bias"`), "the tensor pooler.dense.bias is missing"},
		"two numbers":   {edit(t, "model.safetensors", `"shape":[1,16]`, `"shape":[2,16]`), "classifier.weight has the shape [2 16]"},
		"one type":      {edit(t, "config.json", `"type_vocab_size": 2`, `"type_vocab_size": 1`), "does not tell the texts of a pair apart"},
		"roberta":       {edit(t, "config.json", `"bert"`, `"xlm-roberta"`), `"xlm-roberta" is not supported`},
		"no weights":    {remove(t, "model.safetensors"), "model.safetensors is missing"},
	} {
		_, err := openPair(t, c.change)
		if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v; want Invalid with %q", name, err, c.want)
		}
	}
	if _, err := transformer.OpenCrossEncoder(tiny); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("a sentence transformer is opened as a cross-encoder: %v", err)
	}
}

// Another head, or another limit, is another model.
func TestCrossEncodersAreNamed(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(string){
		"as it is": nil,
		"limit":    edit(t, "tokenizer_config.json", "16", "12"),
		"weights": func(dir string) {
			path := filepath.Join(dir, "model.safetensors")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		c, err := openPair(t, change)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.Model(), "local:pair@") || seen[c.Model()] != "" {
			t.Errorf("%s: %s is also the name of %q", name, c.Model(), seen[c.Model()])
		}
		seen[c.Model()] = name
	}
}

// BenchmarkRerank reads thirty texts with networks of the sizes that are published for this,
// with weights that mean nothing: what they cost does not depend on what they say.
func BenchmarkRerank(b *testing.B) {
	turn := "Anna prefers window seats on long flights and always books the aisle for her brother when they travel."
	for _, size := range []struct {
		name                       string
		layers, hidden, wide, head int
	}{
		{"TinyBERT-L2", 2, 128, 512, 2},
		{"MiniLM-L2", 2, 384, 1536, 12},
		{"MiniLM-L4", 4, 384, 1536, 12},
		{"MiniLM-L6", 6, 384, 1536, 12},
		{"MiniLM-L12", 12, 384, 1536, 12},
	} {
		dir := writeNetwork(b, size.layers, size.hidden, size.wide, size.head)
		c, err := transformer.OpenCrossEncoder(dir)
		if err != nil {
			b.Fatal(err)
		}
		for kind, text := range map[string]string{"turns": turn, "passages": strings.Repeat(turn+" ", 6)} {
			b.Run(size.name+"/"+kind, func(b *testing.B) {
				for b.Loop() {
					if _, err := c.Rerank(b.Context(), "where do I like to sit?", slices.Repeat([]string{text}, 30)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// writeNetwork writes a cross-encoder of a size. Its tokenizer has letters alone, and these
// words of the benchmark whole, so that texts have about as many tokens as of a real one.
func writeNetwork(b *testing.B, layers, hidden, wide, heads int) string {
	dir := b.TempDir()
	tokens := strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] . , ? where do i like to sit anna prefers window seats on long flights and always books the aisle for her brother when they travel")
	ids := map[string]int{}
	for i, token := range tokens {
		ids[token] = i
	}
	file := func(name string, v any) {
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	file("config.json", map[string]any{"model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
		"intermediate_size": wide, "vocab_size": len(tokens), "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"})
	file("tokenizer.json", map[string]any{"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": ids}})
	shapes := map[string][]int{"classifier.weight": {1, hidden}, "classifier.bias": {1}}
	layer := func(name string, out, in int) {
		shapes[name+".weight"], shapes[name+".bias"] = []int{out, in}, []int{out}
	}
	norm := func(name string) { shapes[name+".weight"], shapes[name+".bias"] = []int{hidden}, []int{hidden} }
	for name, rows := range map[string]int{"word": len(tokens), "position": 512, "token_type": 2} {
		shapes["bert.embeddings."+name+"_embeddings.weight"] = []int{rows, hidden}
	}
	norm("bert.embeddings.LayerNorm")
	layer("bert.pooler.dense", hidden, hidden)
	for i := range layers {
		l := fmt.Sprintf("bert.encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			layer(l+"attention."+name, hidden, hidden)
		}
		norm(l + "attention.output.LayerNorm")
		layer(l+"intermediate.dense", wide, hidden)
		layer(l+"output.dense", hidden, wide)
		norm(l + "output.LayerNorm")
	}
	header, data := map[string]any{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		n, begin := 1, len(data)
		for _, size := range shapes[name] {
			n *= size
		}
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i%17-8)/200))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shapes[name], "data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err == nil {
		out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		err = os.WriteFile(filepath.Join(dir, "model.safetensors"), append(out, data...), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
