// Package growth records what a call costs in a store of a given size, so that no change makes
// it more expensive unnoticed.
package growth

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/bench"
	"github.com/loci-memory/loci/internal/token"
)

var update = flag.Bool("update", false, "record what calls cost now")

// margin is by how much a call may exceed what is recorded, or its goal.
const margin = 0.2

// A row is what a call took when it was recorded. Instructions are 0 where they could not
// be counted; allocations are compared then.
type row struct {
	Instructions float64 `json:"instructions"`
	Allocs       float64 `json:"allocs"`
	Goal         float64 `json:"goal"` // of instructions; 0: none
}

// table is floors.json.
type table struct {
	Size int            `json:"size"` // notes in the store
	Rows map[string]row `json:"rows"`
}

// Calls whose cost depends on the machine more than on the store, or on what was done behind the
// writes, and calls too slow for a test, are left to loci bench growth.
var measured = []string{
	"first page", "empty search", "as_of", "every kind", "episodes", "rules", "events", "stats", "get by id",
	"first search after", "hybrid search", "keyword search", "a tag that few have", "a context", "save",
	"append", "list a directory", "delete of",
}

// No call costs a fifth more than what is recorded, nor than its goal. After a deliberate
// change, go test ./tests/growth -update records again; say why in the commit.
func TestCallsCostWhatTheyDid(t *testing.T) {
	recorded := table{Size: 100_000}
	if !*update {
		recorded = read(t)
	}
	now := map[string]row{}
	measure(t, recorded.Size, now)
	if *update {
		write(t, table{recorded.Size, now})
		return
	}
	found := faults(recorded.Rows, now)
	for range 4 { // what the store does behind the calls is counted, too: the least of several is theirs
		if len(found) == 0 {
			break
		}
		measure(t, recorded.Size, now)
		found = faults(recorded.Rows, now)
	}
	for _, fault := range found {
		t.Error(fault)
	}
}

// measure measures the rows in a store of some notes. Of a row that was measured before, the
// smaller numbers stay.
func measure(t *testing.T, size int, rows map[string]row) {
	t.Helper()
	// What is done behind the calls takes as long as it takes, and a slow disk leaves fewer calls to
	// divide it by: one part in five at least is free of it.
	tokenizer, err := token.Open(token.Names[0]) // as the program does by default
	if err != nil {
		t.Fatal(err)
	}
	opts := bench.GrowthOptions{
		Sizes: []int{size}, Time: 150 * time.Millisecond, Parts: 5, Only: measured, Dir: t.TempDir(),
		Tokenizer: tokenizer,
	}
	err = bench.RunGrowth(t.Context(), opts, func(g bench.Growth) {
		r := row{Instructions: math.Round(g.Instructions), Allocs: math.Round(g.Allocs), Goal: g.Goal}
		if before, again := rows[g.Name]; again {
			r.Instructions, r.Allocs = min(r.Instructions, before.Instructions), min(r.Allocs, before.Allocs)
		}
		rows[g.Name] = r
	})
	if err != nil {
		t.Fatal(err)
	}
}

// faults compares what calls cost with what is recorded.
func faults(recorded, now map[string]row) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		was, is := recorded[name], now[name]
		if is.Allocs == 0 {
			out = append(out, name+" was not measured")
			continue
		}
		// A call that was beyond its goal when it was recorded must only not grow.
		if was.Goal > 0 && was.Instructions <= was.Goal && is.Instructions > was.Goal*(1+margin) {
			out = append(out, fmt.Sprintf("%s takes %.0f instructions; its goal is %.0f", name, is.Instructions, was.Goal))
		}
		what, before, after := "allocations", was.Allocs, is.Allocs
		if was.Instructions > 0 && is.Instructions > 0 {
			what, before, after = "instructions", was.Instructions, is.Instructions
		}
		if after > before*(1+margin) {
			out = append(out, fmt.Sprintf("%s takes %.0f %s; it took %.0f", name, after, what, before))
		}
	}
	for name := range now {
		if _, known := recorded[name]; !known {
			out = append(out, name+" is not recorded")
		}
	}
	return out
}

// The comparison notices what grows, what misses its goal and what is missing.
func TestFaultsAreNoticed(t *testing.T) {
	t.Parallel()
	recorded := map[string]row{"call": {Instructions: 900, Allocs: 100, Goal: 1000}}
	for _, c := range []struct {
		now  map[string]row
		want int
	}{
		{map[string]row{"call": {Instructions: 1070, Allocs: 500}}, 0},
		{map[string]row{"call": {Instructions: 1090, Allocs: 100}}, 1},
		{map[string]row{"call": {Instructions: 1300, Allocs: 100}}, 2},
		{map[string]row{"call": {Allocs: 119}}, 0},
		{map[string]row{"call": {Allocs: 121}}, 1},
		{map[string]row{}, 1},
		{map[string]row{"call": {Allocs: 100}, "another": {Allocs: 1}}, 1},
	} {
		if got := faults(recorded, c.now); len(got) != c.want {
			t.Errorf("%v: %q; want %d", c.now, got, c.want)
		}
	}
}

// A goal counts where no instructions were recorded, too, but not for what was beyond it then.
func TestGoalsWithoutRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, now float64
		want     int
	}{{0, 1190, 0}, {0, 1210, 1}, {1500, 1700, 0}, {1500, 1900, 1}} {
		recorded := map[string]row{"call": {Instructions: c.was, Allocs: 100, Goal: 1000}}
		if got := faults(recorded, map[string]row{"call": {Instructions: c.now, Allocs: 100}}); len(got) != c.want {
			t.Errorf("%v instructions after %v: %q; want %d", c.now, c.was, got, c.want)
		}
	}
}

const file = "floors.json"

func read(t *testing.T) (out table) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, now table) {
	t.Helper()
	data, err := json.MarshalIndent(now, "", "\t")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
