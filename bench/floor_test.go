package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
)

var update = flag.Bool("update", false, "record what is measured now, less the margin, as the floors of retrieval quality")

// margin is how far a figure may fall before it counts as a loss: about one
// question in fifty.
const margin = 0.02

// floored are the metrics that have floors.
var floored = []string{"recall@5", "recall@10", "ndcg@10"}

// floors are the least values allowed: by model of the embedder, mode and metric.
type floors map[string]map[string]map[string]float64

// floorFile is floors.json beside a dataset.
type floorFile struct {
	Version int     `json:"version"` // 1
	Margin  float64 `json:"margin"`
	Floors  floors  `json:"floors"`
}

// TestRetrievalQuality measures every dataset in testdata with the embedders that
// come with Loci, and fails when search finds less than it did. After a change
// that is meant, go test ./bench -update records again; say why in the commit.
func TestRetrievalQuality(t *testing.T) {
	locitest.Unshared(t)
	paths, err := filepath.Glob("testdata/*/turns.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no datasets: %v", err)
	}
	systems := embedders(t)
	for _, path := range paths {
		dir := filepath.Dir(path)
		if dir == languageSet { // its scores are what matters, and have a test of their own
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			measured := measuredFloors(measure(t, RetrievalOptions{
				Dirs: []string{dir}, InMemory: true, Systems: systems,
			}))
			file := filepath.Join(dir, "floors.json")
			if *update {
				writeFloors(t, file, measured)
			}
			for _, loss := range losses(readFloors(t, file).Floors, measured) {
				t.Errorf("%s: %s", dir, loss)
			}
		})
	}
}

// embedders are the default one and those that need nothing but this program.
func embedders(t *testing.T) (systems []System) {
	t.Helper()
	seen := map[string]bool{}
	for _, spec := range []string{"", "lexical"} {
		e, err := embedding.Open(embedding.Config{Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		if !seen[e.Model()] {
			systems = append(systems, System{Name: e.Model(), Embedder: e})
		}
		seen[e.Model()] = true
	}
	return systems
}

// measuredFloors takes the figures that have floors out of a report.
func measuredFloors(r *RetrievalReport) floors {
	out := floors{}
	for _, run := range r.Runs {
		out[run.Model] = map[string]map[string]float64{}
		for _, m := range run.Modes {
			figures := map[string]float64{}
			for _, metric := range floored {
				figures[metric] = m.Groups[0].Metrics[metric].Value
			}
			out[run.Model][m.Mode] = figures
		}
	}
	return out
}

// losses names each figure that was measured below its floor, or that has no floor.
func losses(least, measured floors) (out []string) {
	for _, model := range slices.Sorted(maps.Keys(measured)) {
		for _, mode := range slices.Sorted(maps.Keys(measured[model])) {
			for _, metric := range floored {
				value := measured[model][mode][metric]
				floor, ok := least[model][mode][metric]
				switch {
				case !ok:
					out = append(out, fmt.Sprintf("%s %s %s is %.4f and has no floor: record one with go test ./bench -update", model, mode, metric, value))
				case value < floor:
					out = append(out, fmt.Sprintf("%s %s %s is %.4f, below its floor %.3f", model, mode, metric, value, floor))
				}
			}
		}
	}
	return out
}

func readFloors(t *testing.T, path string) (f floorFile) {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil || f.Version != 1 {
		t.Fatalf("%s: version %d, %v", path, f.Version, err)
	}
	return f
}

// writeFloors records floors, rounded down to a thousandth.
func writeFloors(t *testing.T, path string, measured floors) {
	t.Helper()
	least := floors{}
	for model, modes := range measured {
		least[model] = map[string]map[string]float64{}
		for mode, figures := range modes {
			least[model][mode] = map[string]float64{}
			for metric, value := range figures {
				least[model][mode][metric] = max(0, math.Floor((value-margin)*1000)/1000)
			}
		}
	}
	data, err := json.MarshalIndent(floorFile{1, margin, least}, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWordsDecideWhereTheModelIsAtALoss asks the model of English in Chinese, Japanese
// and Korean: its vectors must not make the search worse than the words alone. Sequences
// are signals of their own and left out.
func TestWordsDecideWhereTheModelIsAtALoss(t *testing.T) {
	locitest.Unshared(t)
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	figures := measuredFloors(measure(t, RetrievalOptions{
		Dirs: []string{"testdata/cjk"}, InMemory: true, Systems: []System{{Name: "builtin", Embedder: builtin}},
		Engine: loci.Options{Search: loci.SearchOptions{NeighbourShare: loci.None, ContextShare: loci.None}},
	}))[builtin.Model()]
	for _, metric := range floored {
		if hybrid, keyword := figures[ModeHybrid][metric], figures[ModeKeyword][metric]; hybrid < keyword-0.005 {
			t.Errorf("%s is %.4f of hybrid search, %.4f by keyword", metric, hybrid, keyword)
		}
	}
}

// TestFloorsNoticeALoss is the gate's own test: it must name metric, figure and floor.
func TestFloorsNoticeALoss(t *testing.T) {
	measured := measuredFloors(measure(t, RetrievalOptions{InMemory: true}))
	exact := measuredFloors(measure(t, RetrievalOptions{InMemory: true}))
	if found := losses(exact, measured); len(found) > 0 {
		t.Errorf("nothing was lost, and yet: %v", found)
	}
	exact["lexical-1"]["hybrid"]["recall@5"] += 0.001
	delete(exact["lexical-1"]["keyword"], "ndcg@10")
	value := measured["lexical-1"]["hybrid"]["recall@5"]
	got := strings.Join(losses(exact, measured), "\n")
	want := fmt.Sprintf("lexical-1 hybrid recall@5 is %.4f, below its floor %.3f\n", value, value+0.001) +
		fmt.Sprintf("lexical-1 keyword ndcg@10 is %.4f and has no floor: record one with go test ./bench -update", measured["lexical-1"]["keyword"]["ndcg@10"])
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
