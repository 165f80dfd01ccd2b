package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

// hostileSet is a dataset made of files in testdata/hostile: all notes in one memory,
// each query a question whose evidence is its note and whose category is its file.
func hostileSet(t *testing.T, files ...string) *Dataset {
	t.Helper()
	d := &Dataset{Name: "hostile"}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join("testdata/hostile", name+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			fields := strings.Split(strings.TrimSpace(line), "\t")
			note := strconv.Itoa(len(d.Turns))
			d.Turns = append(d.Turns, Turn{Conv: "all", ID: note, Text: fields[1]})
			for _, q := range fields[2:] {
				id := strconv.Itoa(len(d.Questions))
				d.Questions = append(d.Questions,
					Question{Conv: "all", ID: id, Category: name, Text: q, Evidence: []string{note}})
			}
		}
	}
	return d
}

// TestHostileQueriesFindTheirNotes asks as search does with its defaults, for notes in
// nineteen languages in one memory. The floors say how many queries must find their note
// first; docs/retrieval.md has the figures.
func TestHostileQueriesFindTheirNotes(t *testing.T) {
	findTheirNotes(t, hostileSet(t, "pairs", "second"), map[string]map[string]int{
		ModeKeyword: {"pairs": 154, "second": 121},
		ModeHybrid:  {"pairs": 153, "second": 122},
	})
}

// TestOtherFormsFindTheirNotes: a word or two in another form than in the note (Haus, Häuser), in seven
// languages in one memory.
func TestOtherFormsFindTheirNotes(t *testing.T) {
	findTheirNotes(t, hostileSet(t, "inflected"), map[string]map[string]int{
		ModeKeyword: {"inflected": 225},
		ModeHybrid:  {"inflected": 231},
	})
}

// findTheirNotes fails if fewer queries of a file find their note first than the floor of a mode says.
func findTheirNotes(t *testing.T, d *Dataset, floors map[string]map[string]int) {
	t.Helper()
	e, err := embedding.Open(embedding.Config{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, turn := range d.Turns {
		texts[turn.ID] = turn.Text
	}
	o := RetrievalOptions{InMemory: true, Dir: t.TempDir()}
	r := &run{System: System{"builtin", e}, Context: ContextNone, engine: loci.Options{}}
	err = o.within(t.Context(), d, r, func(in *ingested, _ string) error {
		finders, err := in.finders(d)
		if err != nil {
			return err
		}
		for mode, least := range floors {
			first, all := map[string]int{}, map[string]int{}
			for _, q := range d.Questions {
				hits, err := finders[mode](t.Context(), q.Conv, q.Text)
				if err != nil {
					return err
				}
				all[q.Category]++
				switch {
				case len(hits) == 0:
					t.Logf("%s: %q finds nothing", mode, q.Text)
				case hits[0].turn == q.Evidence[0]:
					first[q.Category]++
				default:
					t.Logf("%s: %q finds %q, not %q", mode, q.Text, hits[0].text, texts[q.Evidence[0]])
				}
			}
			for file, floor := range least {
				t.Logf("%s, %s: %d of %d first", mode, file, first[file], all[file])
				if first[file] < floor {
					t.Errorf("%s, %s: %d of %d queries find their note first; the floor is %d", mode, file, first[file], all[file], floor)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
