package embedding_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

// modelFile is a small model whose parts a test can spoil before it is written.
type modelFile struct {
	tokens   []string
	dims     int
	scales   []float32
	codes    []int8
	spoil    func(header map[string]any, payload []byte) // after the checksum
	prepare  func(header map[string]any, payload []byte) // before it
	finished func(file []byte) []byte
}

var smallTokens = []string{"[PAD]", "[UNK]", "the", "car", "##s", "automobile", "tea", "茶", "!"}

// small returns a model of a few tokens; "the" weighs little, "[UNK]" nothing.
func small(dims int) *modelFile {
	m := &modelFile{
		tokens: smallTokens,
		dims:   dims,
		scales: []float32{0, 0, 0.001, 0.01, 0.003, 0.011, 0.02, 0.017, 0.002},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range dims * len(m.tokens) {
		m.codes = append(m.codes, int8(rng.Uint32()))
	}
	return m
}

// file returns the bytes of the model as the format has them.
func (m *modelFile) file() string {
	vocabulary := strings.Join(m.tokens, "\n")
	payload := []byte(vocabulary)
	scalesAt := len(payload)
	for _, x := range m.scales {
		payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(x))
	}
	codesAt := len(payload)
	for _, c := range m.codes {
		payload = append(payload, byte(c))
	}
	header := map[string]any{
		"model":      "small-1",
		"dims":       m.dims,
		"vocabulary": len(m.tokens),
		"source":     map[string]any{"teacher": "none"},
		"sections": map[string]any{
			"vocabulary": []int{0, scalesAt},
			"scales":     []int{scalesAt, codesAt - scalesAt},
			"codes":      []int{codesAt, len(payload) - codesAt},
		},
	}
	if m.prepare != nil {
		m.prepare(header, payload)
	}
	header["sha256"] = fmt.Sprintf("%x", sha256.Sum256(payload))
	if m.spoil != nil {
		m.spoil(header, payload)
	}
	text, _ := json.Marshal(header)
	for (12+len(text))%64 != 0 {
		text = append(text, ' ')
	}
	file := binary.LittleEndian.AppendUint32([]byte("LOCIEMB1"), uint32(len(text)))
	file = append(append(file, text...), payload...)
	if m.finished != nil {
		file = m.finished(file)
	}
	return string(file)
}

func static(t testing.TB, file string) *embedding.Static {
	t.Helper()
	e, err := embedding.NewStatic(file)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func builtin(t testing.TB) *embedding.Static {
	t.Helper()
	e, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// pieces is the built-in model as earlier builds read texts with it.
func pieces(t testing.TB) *embedding.Static {
	t.Helper()
	e, err := embedding.Config{}.ForSpace(loci.Space{Model: "builtin-1", Dims: 256})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*embedding.Static)
}

func rows(t testing.TB, e loci.Embedder, texts ...string) [][]float32 {
	t.Helper()
	list, err := e.Embed(context.Background(), texts)
	if err != nil || len(list) != len(texts) {
		t.Fatalf("%d vectors, %v", len(list), err)
	}
	return list
}

// The vector is the sum of its tokens' rows, brought to unit length.
func TestStaticIsTheSumOfItsTokens(t *testing.T) {
	for _, dims := range []int{1, 7, 16, 40, 256, 384} {
		m := small(dims)
		e := static(t, m.file())
		if e.Model() != "small-1" || e.Dims() != dims {
			t.Fatalf("%s with %d dimensions", e.Model(), e.Dims())
		}
		for text, ids := range map[string][]int{
			"The cars!":       {2, 3, 4, 8},
			"tea 茶 unknown":   {6, 7},
			"automobile\x00s": {5, 4},
		} {
			want, sum := make([]float64, dims), 0.0
			for _, id := range ids {
				for i := range want {
					want[i] += float64(m.scales[id]) * float64(m.codes[id*dims+i])
				}
			}
			got := rows(t, e, text)[0]
			for i := range want {
				sum += want[i] * want[i]
			}
			for i := range want {
				if unit := want[i] / math.Sqrt(sum); math.Abs(float64(got[i])-unit) > 1e-6 {
					t.Fatalf("%q in %d dimensions: component %d is %v; want %v", text, dims, i, got[i], unit)
				}
			}
		}
	}
}

// TestStaticWithoutAVX2 runs the hash of many vectors in a process that may not
// use AVX2. On another processor both are the portable code.
func TestStaticWithoutAVX2(t *testing.T) {
	const sign = "static vectors: "
	hash := sha256.New()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, e := range []loci.Embedder{static(t, small(256).file()), static(t, small(77).file()), builtin(t)} {
		for range 50 {
			var text []string
			for range rng.IntN(60) {
				text = append(text, smallTokens[rng.IntN(len(smallTokens))])
			}
			for _, x := range rows(t, e, strings.Join(text, " "))[0] {
				_ = binary.Write(hash, binary.LittleEndian, x)
			}
		}
	}
	mine := fmt.Sprintf("%s%x", sign, hash.Sum(nil))
	if os.Getenv("LOCI_TEST_PORTABLE") != "" {
		t.Log(mine)
		return
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("no assembly on this architecture")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestStaticWithoutAVX2$", "-test.v")
	child.Env = append(os.Environ(), "LOCI_TEST_PORTABLE=1", "GODEBUG=cpu.avx2=off")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), mine) {
		t.Errorf("other vectors without AVX2 (%v); with it %s, without:\n%s", err, mine, out)
	}
}

func TestStaticHasNoDirection(t *testing.T) {
	e := static(t, small(32).file())
	for _, text := range []string{"", " \n", "unknown", "[PAD]", "\xff\u200b"} {
		if row := rows(t, e, text)[0]; len(row) != 32 || cosine(row, row) != 0 {
			t.Errorf("%q has a vector", text)
		}
	}
	if row := rows(t, builtin(t), " \n")[0]; cosine(row, row) != 0 {
		t.Error("blank text has a vector")
	}
}

// What holds for every model, the built-in one included.
func TestStaticProperties(t *testing.T) {
	words := append([]string{"Prefers", "window", "seats", "électricité", "北京", "한국", "[MASK]", ",", "\xff"}, smallTokens...)
	for name, e := range map[string]*embedding.Static{"small": static(t, small(48).file()), "built-in": builtin(t)} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(words), rapid.String())).Draw(t, "text"), " ")
			other := rapid.String().Draw(t, "other")
			alone, err := e.Embed(context.Background(), []string{text})
			if err != nil {
				t.Fatal(err)
			}
			both, err := e.Embed(context.Background(), []string{other, text, other})
			if err != nil {
				t.Fatal(err)
			}
			if len(alone[0]) != e.Dims() || !slices.Equal(alone[0], both[1]) || !slices.Equal(both[0], both[2]) {
				t.Fatal("the vector depends on its neighbours")
			}
			if length := cosine(alone[0], alone[0]); length != 0 && math.Abs(length-1) > 1e-5 {
				t.Fatalf("length %v", length)
			}
		}))
	}
}

func TestStaticConcurrentUse(t *testing.T) {
	texts := []string{"The cars!", "tea 茶", strings.Repeat("the automobile ", 500)}
	file := small(64).file()
	want := rows(t, static(t, file), texts...)
	e := static(t, file) // loaded by whoever comes first
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := e.Embed(context.Background(), texts)
				for i := range got {
					if !slices.Equal(got[i], want[i]) {
						t.Errorf("%.20q: another vector", texts[i])
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestStaticStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := static(t, small(8).file()).Embed(ctx, []string{"tea"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v; want that the context ended", err)
	}
}

// The program does not compare the checksum of its own model when it loads it, so
// this does; and the file is the one that docs/model.md names.
func TestBuiltinIsTheDocumentedFile(t *testing.T) {
	file, err := os.ReadFile("builtin.model")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/model.md")
	if err != nil {
		t.Fatal(err)
	}
	if digest := fmt.Sprintf("%x", sha256.Sum256(file)); !strings.Contains(string(page), digest) {
		t.Errorf("docs/model.md does not name the SHA-256 of builtin.model, %s", digest)
	}
	if checked := rows(t, static(t, string(file)), "Oslo"); !slices.Equal(checked[0], rows(t, builtin(t), "Oslo")[0]) {
		t.Error("the file and the model in the program give different vectors")
	}
}

// A damaged file is an Internal error that says what is wrong: at once if the header is
// damaged, with the first text if the payload is.
func TestDamagedModel(t *testing.T) {
	sections := func(name string, offset, length int) func(map[string]any, []byte) {
		return func(h map[string]any, _ []byte) { h["sections"].(map[string]any)[name] = []int{offset, length} }
	}
	header := func(key string, value any) func(map[string]any, []byte) {
		return func(h map[string]any, _ []byte) { h[key] = value }
	}
	for name, c := range map[string]struct {
		change func(*modelFile)
		opens  bool // the header is whole
		says   string
	}{
		"empty":                   {func(m *modelFile) { m.finished = func([]byte) []byte { return nil } }, false, "begin"},
		"another format":          {func(m *modelFile) { m.finished = func(f []byte) []byte { f[7] = '2'; return f } }, false, "begin"},
		"a huge header":           {func(m *modelFile) { m.finished = func(f []byte) []byte { f[11] = 0xff; return f } }, false, "header"},
		"a header beyond the end": {func(m *modelFile) { m.finished = func(f []byte) []byte { return f[:40] } }, false, "header"},
		"no JSON": {func(m *modelFile) {
			m.finished = func(f []byte) []byte { f[12] = '?'; return f }
		}, false, "header"},
		"no name":                 {func(m *modelFile) { m.spoil = header("model", "") }, false, "name"},
		"no dimensions":           {func(m *modelFile) { m.spoil = header("dims", 0) }, false, "dimensions"},
		"too many dimensions":     {func(m *modelFile) { m.spoil = header("dims", 4097) }, false, "dimensions"},
		"no tokens":               {func(m *modelFile) { m.spoil = header("vocabulary", 0) }, false, "tokens"},
		"too many tokens":         {func(m *modelFile) { m.spoil = header("vocabulary", 1<<40) }, false, "tokens"},
		"a flipped bit":           {func(m *modelFile) { m.spoil = func(_ map[string]any, p []byte) { p[len(p)-1] ^= 1 } }, true, "checksum"},
		"cut short":               {func(m *modelFile) { m.finished = func(f []byte) []byte { return f[:len(f)-1] } }, true, "checksum"},
		"a negative offset":       {func(m *modelFile) { m.spoil = sections("scales", -1, 36) }, true, "section scales"},
		"a negative length":       {func(m *modelFile) { m.spoil = sections("vocabulary", 0, -1) }, true, "section vocabulary"},
		"an offset beyond":        {func(m *modelFile) { m.spoil = sections("codes", 1<<40, 72) }, true, "section codes"},
		"a length that overflows": {func(m *modelFile) { m.spoil = sections("codes", 8, math.MaxInt) }, true, "section codes"},
		"too few codes":           {func(m *modelFile) { m.spoil = sections("codes", 0, 71) }, true, "section codes has 71 bytes; it needs 72"},
		"too few scales":          {func(m *modelFile) { m.spoil = sections("scales", 0, 35) }, true, "section scales has 35 bytes; it needs 36"},
		"other dimensions":        {func(m *modelFile) { m.spoil = header("dims", 9) }, true, "section codes"},
		"another count":           {func(m *modelFile) { m.tokens = append(slices.Clone(m.tokens[:8]), "a\nb") }, true, "tokens"},
		"a token twice":           {func(m *modelFile) { m.tokens = append(slices.Clone(m.tokens[:8]), "the") }, true, "twice"},
		"no unknown token":        {func(m *modelFile) { m.tokens = append([]string{"[PAD]", "x"}, m.tokens[2:]...) }, true, "[UNK]"},
		"a negative scale":        {func(m *modelFile) { m.scales[3] = -1 }, true, "scale of token 3"},
		"a scale that is NaN":     {func(m *modelFile) { m.scales[4] = float32(math.NaN()) }, true, "scale of token 4"},
		"an infinite scale":       {func(m *modelFile) { m.scales[4] = float32(math.Inf(1)) }, true, "scale of token 4"},
	} {
		t.Run(name, func(t *testing.T) {
			m := small(8)
			c.change(m)
			e, err := embedding.NewStatic(m.file())
			if (err == nil) != c.opens {
				t.Fatalf("NewStatic: %v", err)
			}
			if err == nil {
				_, err = e.Embed(context.Background(), []string{"tea"})
			}
			var internal *loci.Error
			if !errors.As(err, &internal) || internal.Code != loci.Internal || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error = %v; want an Internal one with %q", err, c.says)
			}
		})
	}
}

func FuzzModelFile(f *testing.F) {
	f.Add([]byte(small(8).file()), uint(20), byte(1))
	f.Fuzz(func(t *testing.T, file []byte, at uint, with byte) {
		if len(file) > 0 {
			file[at%uint(len(file))] ^= with
		}
		e, err := embedding.NewStatic(string(file))
		if err != nil {
			return
		}
		if list, err := e.Embed(context.Background(), []string{"The cars!"}); err == nil && len(list[0]) != e.Dims() {
			t.Fatal("a vector of other dimensions")
		}
	})
}

func FuzzStatic(f *testing.F) {
	f.Add("Prefers window seats.")
	f.Add("绿茶 [UNK] \xff")
	e := builtin(f)
	f.Fuzz(func(t *testing.T, text string) {
		row := rows(t, e, text)[0]
		if length := cosine(row, row); length != 0 && math.Abs(length-1) > 1e-5 {
			t.Fatalf("length %v", length)
		}
	})
}

func TestStaticAllocatesVectorsOnly(t *testing.T) {
	e := builtin(t)
	texts := []string{strings.Repeat("Anna prefers window seats on long flights. ", 20), "Zoe is in Zurich."}
	rows(t, e, texts...)
	// The least of some runs: the race detector and the collector empty pools now and then.
	least := math.Inf(1)
	for range 20 {
		least = min(least, testing.AllocsPerRun(1, func() { rows(t, e, texts...) }))
	}
	if least > 2 { // the list and what backs it
		t.Errorf("Embed allocates %v times", least)
	}
}

func BenchmarkEmbed(b *testing.B) {
	for _, words := range []int{20, 200} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			e, texts := builtin(b), passages(words)
			rows(b, e, texts[0])
			one := make([]string, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				one[0] = texts[i%len(texts)]
				if _, err := e.Embed(context.Background(), one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// passages returns many different texts, so that a benchmark reads many rows of
// the model, as an import does.
func passages(words int) []string {
	pool := strings.Fields(`Anna prefers the window seats on long flights and always books an aisle for her brother when they travel together
		to Lisbon in spring because of allergic reactions against peanuts which the doctor confirmed last October deployment runs every
		Tuesday after tests have passed customer asked about invoices paid twice refund was issued manager said that project Falcon moves
		from Postgres into another cluster budget review meeting postponed until further notice daughter plays violin likes hiking mountains
		photography camera lens repaired warranty expired insurance company denied claim lawyer suggested appeal kitchen renovation costs
		green tea without sugar coffee morning espresso machine broken ordered replacement part arrives Thursday subscription cancelled`)
	rng := rand.New(rand.NewPCG(1, uint64(words)))
	list := make([]string, 512)
	for i := range list {
		text := make([]string, words)
		for j := range text {
			text[j] = pool[rng.IntN(len(pool))]
		}
		list[i] = strings.Join(text, " ") + "."
	}
	return list
}

// BenchmarkLoad is what the first Embed costs beyond its text.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		rows(b, builtin(b), "tea")
	}
}
