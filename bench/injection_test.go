package bench

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

// What a floor keeps, and how well scores match chances, counted by hand: two questions, one of
// which finds evidence at 0.4 only, and two prompts.
func TestFloorsByHand(t *testing.T) {
	answered := [][]shown{{{0.4, true}, {0.1, false}}, {{0.3, false}, {0.05, true}}}
	disturbed := [][]shown{{{0.06, false}}, {{0.01, false}}}
	for _, c := range []struct{ least, served, disturbed, shown float64 }{
		{0, 1, 1, 2}, {0.05, 1, 0.5, 2}, {0.06, 0.5, 0.5, 1.5}, {0.4, 0.5, 0, 0.5}, {0.5, 0, 0, 0},
	} {
		f := floorOf(c.least, answered, disturbed, 0)
		if f.Served.Value != c.served || f.Disturbed.Value != c.disturbed || f.Shown != c.shown {
			t.Errorf("at %v: %+v", c.least, f)
		}
	}
	bins, calibration := reliability(answered)
	n := 0
	for _, b := range bins {
		n += b.N
		if b.From == 0.4 && (b.N != 1 || b.Score != 0.4 || b.Evidence != 1) {
			t.Errorf("%+v", b)
		}
	}
	// 0.05 and 0.4 are evidence, 0.1 and 0.3 are not, each in a row of its own.
	if want := (0.95 + 0.6 + 0.1 + 0.3) / 4; n != 4 || math.Abs(calibration-want) > 1e-9 {
		t.Errorf("%d results, calibration error %v, want %v", n, calibration, want)
	}
}

// What is asked of no half is asked of all, and a half that nobody has is refused.
func TestInjectionOfNoHalf(t *testing.T) {
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	o := InjectionOptions{Half: "third", RetrievalOptions: RetrievalOptions{
		Dirs: []string{"testdata/diary"}, InMemory: true, Resamples: -1, Systems: []System{{Name: "builtin", Embedder: builtin}},
	}}
	_, err = Injection(context.Background(), o, []Prompt{{Text: "go on", Half: "fit"}}, 10)
	if err == nil || !strings.Contains(err.Error(), `half is "third"; no question and no prompt is of it`) {
		t.Errorf("%v", err)
	}
	o.Half, o.Apart = "", true
	r, err := Injection(context.Background(), o, []Prompt{{Text: "go on"}, {Text: "Where is the sea?", Conv: "ines"}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil || r.Unrelated != 3 || len(r.Apart) != 2 || !strings.Contains(out.String(), "\nines ") {
		t.Errorf("%d prompts, %d memories\n%s%v", r.Unrelated, len(r.Apart), out.String(), err)
	}
}

// Without a floor every prompt finds something in the diary. With one few prompts do, and
// questions still find their evidence.
func TestInjection(t *testing.T) {
	prompts, err := ReadPrompts("testdata/unrelated")
	if err != nil || len(prompts) < 100 {
		t.Fatalf("%d prompts, %v", len(prompts), err)
	}
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Injection(context.Background(), InjectionOptions{RetrievalOptions: RetrievalOptions{
		Dirs: []string{"testdata/diary"}, InMemory: true, Resamples: -1, Systems: []System{{Name: "builtin", Embedder: builtin}},
	}}, prompts, 10)
	if err != nil {
		t.Fatal(err)
	}
	free, floored := r.Floors[0], Floor{}
	for _, f := range r.Floors {
		if f.Score == loci.FloorScore {
			floored = f
		}
	}
	if free.Disturbed.Value < 0.9 || free.Served.Value < 0.9 || r.Answerable != 22 || r.Unrelated != 2*len(prompts) {
		t.Errorf("without a floor %+v of %d and %d", free, r.Answerable, r.Unrelated)
	}
	if floored.Disturbed.Value > 0.1 || floored.Served.Value < 0.5 {
		t.Errorf("with a floor %+v", floored)
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "calibration error 0.") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestPromptsAreChecked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte(`{"id":"a","prompt":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), `prompts.jsonl:1: prompt "a" is empty`) {
		t.Errorf("%v", err)
	}
}
