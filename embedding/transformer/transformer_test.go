package transformer_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding/transformer"
)

const tiny = "testdata/tiny"

// open opens a model; change may first alter a copy of its files.
func open(t *testing.T, change func(dir string)) (*transformer.Transformer, error) {
	t.Helper()
	dir := tiny
	if change != nil {
		dir = filepath.Join(t.TempDir(), "tiny")
		if err := os.CopyFS(dir, os.DirFS(tiny)); err != nil {
			t.Fatal(err)
		}
		change(dir)
	}
	return transformer.Open(dir)
}

// edit replaces a part of a file of a model.
func edit(t *testing.T, name, old, replacement string) func(dir string) {
	return func(dir string) {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), old) {
			t.Fatalf("%s has no %q", name, old)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, name, text string) func(dir string) {
	return func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, name string) func(dir string) {
	return func(dir string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// golden returns the texts of the tiny model and the reference's vectors for them.
func golden(t *testing.T) (texts []string, rows [][]float32) {
	t.Helper()
	data, err := os.ReadFile(tiny + "/texts.json")
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(tiny + "/vectors.f32"); err != nil || len(data) != 4*16*len(texts) {
		t.Fatalf("%d bytes of vectors: %v", len(data), err)
	}
	for range texts {
		row := make([]float32, 16)
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(data))
			data = data[4:]
		}
		rows = append(rows, row)
	}
	return texts, rows
}

// distance is the greatest difference of two numbers at one place.
func distance(a, b []float32) (worst float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if !(d <= worst) {
			worst = d
		}
	}
	return worst
}

func TestEqualsTheReference(t *testing.T) {
	texts, want := golden(t)
	m, err := open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Dims() != 16 || m.MaxTokens() != 16 || m.Name() != "tiny" {
		t.Errorf("%d dimensions, %d tokens, name %s", m.Dims(), m.MaxTokens(), m.Name())
	}
	together, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i, text := range texts {
		if d := distance(together[i], want[i]); d > 1e-5 {
			t.Errorf("%q differs by %g from the reference", text, d)
		}
		group.Go(func() {
			alone, err := m.Embed(t.Context(), []string{text})
			if err != nil || distance(alone[0], together[i]) > 1e-6 {
				t.Errorf("%q has another vector in a batch: %v", text, err)
			}
		})
	}
	group.Wait()
}

// Many texts go through the network in several passes.
func TestManyTexts(t *testing.T) {
	texts, want := golden(t)
	m, err := open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat(texts, 100)
	many[3], many[500] = " ", ""
	rows, err := m.Embed(t.Context(), many)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		expected := want[i%len(texts)]
		if strings.TrimSpace(many[i]) == "" {
			expected = make([]float32, 16)
		}
		if distance(row, expected) > 1e-5 {
			t.Fatalf("text %d has another vector", i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ctx, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v; want that the context ended", err)
	}
}

// Everything that decides what a vector looks like is part of the model's name.
func TestModelNamesTheWeights(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(string){
		"as it is": nil,
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
		"vocabulary": edit(t, "tokenizer.json", `"mat"`, `"rug"`),
		"limit":      edit(t, "sentence_bert_config.json", "16", "12"),
		"pooling":    cls(t),
	} {
		m, err := open(t, change)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(m.Model(), "local:tiny@") || seen[m.Model()] != "" {
			t.Errorf("%s: %s is also the name of %q", name, m.Model(), seen[m.Model()])
		}
		seen[m.Model()] = name
	}
	same, err := open(t, func(string) {})
	if err != nil || seen[same.Model()] != "as it is" {
		t.Errorf("the same files elsewhere are another model: %v", err)
	}
}

func cls(t *testing.T) func(string) {
	return write(t, "1_Pooling/config.json", `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`)
}

func TestVariants(t *testing.T) {
	texts, want := golden(t)
	for name, c := range map[string]struct {
		change func(string)
		same   float64 // how near the vectors are to those of the model as it is; 0: they differ
	}{
		"no list of modules": {remove(t, "modules.json"), 1e-5},
		"half precision":     {halve(t, "F16"), 2e-2},
		"bfloat16":           {halve(t, "BF16"), 1e-1},
		"pooling by cls":     {cls(t), 0},
		"newer pooling file": {write(t, "1_Pooling/config.json", `{"pooling_mode": "mean"}`), 1e-5},
		"gelu by tanh":       {edit(t, "config.json", `"gelu"`, `"gelu_new"`), 1e-2},
		"relu":               {edit(t, "config.json", `"gelu"`, `"relu"`), 0},
	} {
		m, err := open(t, c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rows, err := m.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			length := 0.0
			for _, x := range row {
				length += float64(x) * float64(x)
			}
			d := distance(row, want[i])
			if math.Abs(length-1) > 1e-5 || c.same > 0 && d > c.same || c.same == 0 && d < 1e-3 {
				t.Errorf("%s: %q has length %v and differs by %v", name, texts[i], length, d)
			}
		}
	}
}

// halve writes the weights with 16 bits each.
func halve(t *testing.T, dtype string) func(string) {
	return func(dir string) {
		path := filepath.Join(dir, "model.safetensors")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := binary.LittleEndian.Uint64(data)
		header := map[string]struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{}
		if err := json.Unmarshal(data[8:8+n], &header); err != nil {
			t.Fatal(err)
		}
		for name, h := range maps.Clone(header) {
			h.DType, h.Offsets = dtype, [2]int{h.Offsets[0] / 2, h.Offsets[1] / 2}
			header[name] = h
		}
		text, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		for rest := data[8+n:]; len(rest) > 0; rest = rest[4:] {
			bits := binary.LittleEndian.Uint32(rest)
			half := uint16(bits >> 16)
			if dtype == "F16" {
				half = toHalf(math.Float32frombits(bits))
			}
			out = binary.LittleEndian.AppendUint16(out, half)
		}
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// toHalf rounds towards zero to a normal binary16, or to one below the normal ones.
func toHalf(x float32) uint16 {
	fraction, exponent := math.Frexp(math.Abs(float64(x)))
	sign := uint16(math.Float32bits(x) >> 16 & 0x8000)
	if exponent < -13 {
		return sign | uint16(math.Ldexp(fraction, exponent+24))
	}
	return sign | uint16(exponent+14)<<10 | uint16(math.Ldexp(fraction, 11))&1023
}

func TestPrompts(t *testing.T) {
	m, err := open(t, write(t, "config_sentence_transformers.json", `{"prompts": {"query": "query: ", "document": "passage: "}}`))
	if err != nil {
		t.Fatal(err)
	}
	if q, d := m.Prefixes(); q != "query: " || d != "passage: " {
		t.Errorf("%q, %q", q, d)
	}
}

// Whatever is missing or not supported is named, and all of it at once.
func TestBadDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		change func(string)
		want   []string
	}{
		"empty": {func(dir string) {
			if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, []string{"config.json is missing", "tokenizer.json is missing", "model.safetensors is missing"}},
		"ONNX": {func(dir string) { remove(t, "model.safetensors")(dir); write(t, "model.onnx", "")(dir) },
			[]string{"ONNX is not supported"}},
		"PyTorch": {func(dir string) { remove(t, "model.safetensors")(dir); write(t, "pytorch_model.bin", "")(dir) },
			[]string{"safe_serialization"}},
		"several files": {func(dir string) {
			remove(t, "model.safetensors")(dir)
			write(t, "model.safetensors.index.json", "{}")(dir)
		},
			[]string{"several files"}},
		"another network":    {edit(t, "config.json", `"bert"`, `"roberta"`), []string{`"roberta" is not supported`}},
		"another activation": {edit(t, "config.json", `"gelu"`, `"silu"`), []string{`"silu" is not supported`}},
		"other positions":    {edit(t, "config.json", `"absolute"`, `"relative_key"`), []string{"relative_key"}},
		"no heads":           {edit(t, "config.json", `"num_attention_heads": 4`, `"num_attention_heads": 0`), []string{"num_attention_heads is 0"}},
		"uneven heads":       {edit(t, "config.json", `"num_attention_heads": 4`, `"num_attention_heads": 3`), []string{"a multiple of num_attention_heads 3"}},
		"no JSON":            {write(t, "config.json", `{`), []string{"config.json cannot be read"}},
		"no pooling file":    {remove(t, "1_Pooling/config.json"), []string{"1_Pooling/config.json is missing"}},
		"pooling by max":     {write(t, "1_Pooling/config.json", `{"pooling_mode_max_tokens": true}`), []string{"pooling by max_tokens"}},
		"another module":     {edit(t, "modules.json", "models.Normalize", "models.Dense"), []string{`"Dense" is not supported`}},
		"a path outside":     {edit(t, "modules.json", `"1_Pooling"`, `"../1_Pooling"`), []string{"leaves the directory"}},
		"another tokenizer": {edit(t, "tokenizer.json", `"type": "WordPiece",
  "unk`, `"type": "Unigram", "unk`), []string{`type "Unigram" is not supported`}},
		"capital letters":     {edit(t, "tokenizer.json", `"lowercase": true`, `"lowercase": false`), []string{"capital letters"}},
		"added token":         {edit(t, "tokenizer.json", `"content": "[MASK]"`, `"content": "[X]"`), []string{`"[X]" is not supported`}},
		"numbers with gaps":   {edit(t, "tokenizer.json", `"mat": 14`, `"mat": 99`), []string{"the numbers of the tokens"}},
		"vocabulary too long": {edit(t, "config.json", `"vocab_size": 34`, `"vocab_size": 33`), []string{"34 tokens, config.json only 33"}},
		"missing tensor":      {edit(t, "model.safetensors", "encoder.layer.1.output.dense.bias", "encoder.layer.1.output.dense.bald"), []string{"encoder.layer.1.output.dense.bias is missing"}},
		"other shape":         {edit(t, "config.json", `"intermediate_size": 32`, `"intermediate_size": 31`), []string{"has the shape [32]", "encoder.layer.1"}},
		"other numbers":       {edit(t, "model.safetensors", `"F32"`, `"I32"`), []string{"type I32"}},
		"cut off": {func(dir string) {
			if err := os.Truncate(filepath.Join(dir, "model.safetensors"), 20_000); err != nil {
				t.Fatal(err)
			}
		}, []string{"cut off"}},
		"no weights in it":  {write(t, "model.safetensors", "x"), []string{"shorter than its header"}},
		"a huge header":     {write(t, "model.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}"), []string{"its header claims"}},
		"a negative header": {write(t, "model.safetensors", "\x00\x00\x00\x00\x00\x00\x00\x80{}"), []string{"its header claims"}},
		"lone offsets":      {edit(t, "model.safetensors", `"data_offsets":[0,`, `"data_offsets":[9,`), []string{"bytes in place of"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.change)
			if !errors.Is(err, loci.ErrInvalid) {
				t.Fatalf("error = %v; want Invalid", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// Weights that go away between opening and use give an error and no panic.
func TestWeightsGone(t *testing.T) {
	var path string
	m, err := open(t, func(dir string) { path = filepath.Join(dir, "model.safetensors") })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), []string{"a"}); !errors.Is(err, loci.ErrUnavailable) {
		t.Errorf("error = %v; want Unavailable", err)
	}
}
