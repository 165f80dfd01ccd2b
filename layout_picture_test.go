//go:build !race

package loci_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture of imports in ARCHITECTURE.md again")

// The picture stands between these lines.
const (
	pictureStart = "```mermaid\n"
	pictureEnd   = "```\n"
)

// TestPictureOfImports compares the picture in ARCHITECTURE.md with the code's own
// imports, and looks for circles and for arrows that lead up from the kernel.
func TestPictureOfImports(t *testing.T) {
	graph := rooms(packageImports(t))
	for _, to := range graph[kernel] {
		if to != helpers {
			t.Errorf("the kernel imports %s: an arrow that leads up", to)
		}
	}
	for room := range graph {
		if reaches(graph, room, room) {
			t.Errorf("%s is part of a circle", room)
		}
	}
	page := readFile(t, "ARCHITECTURE.md")
	before, rest, _ := strings.Cut(page, pictureStart)
	have, after, found := strings.Cut(rest, pictureEnd)
	want := draw(graph)
	switch {
	case !found:
		t.Fatal("ARCHITECTURE.md has no picture: begin it with ```mermaid")
	case *update:
		if err := os.WriteFile("ARCHITECTURE.md", []byte(before+pictureStart+want+pictureEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case have != want:
		t.Errorf("the picture in ARCHITECTURE.md is not what the code imports: "+
			"go test . -run TestPictureOfImports -update draws it again. Want\n%s", want)
	}
}

const (
	kernel  = "loci"
	helpers = "internal (pure helpers)"
)

// rooms joins packages where a picture of each would hide the rest: helpers below the
// kernel are one room, and so are the features, as their arrows are the same. Tests,
// examples and what only they import are left out.
func rooms(packages map[string][]string) map[string][]string {
	room := func(name string) string {
		switch {
		case name == "":
			return kernel
		case strings.HasPrefix(name, "internal/") && !reaches(packages, name, ""):
			return helpers
		case slices.Contains([]string{"checkpoint", "item", "session", "tree", "view"}, name):
			return "checkpoint, item, session, tree, view"
		case strings.HasPrefix(name, "store/internal/"):
			return "store/internal"
		case strings.HasPrefix(name, "tests/"), strings.HasPrefix(name, "examples/"), name == "store/storetest", name == "internal/locitest",
			name == "internal/storm":
			return ""
		}
		return name
	}
	graph := map[string][]string{}
	for name, targets := range packages {
		from := room(name)
		if from == "" {
			continue
		}
		graph[from] = append(graph[from], []string(nil)...)
		for _, target := range targets {
			if to := room(target); to != "" && to != from && !slices.Contains(graph[from], to) {
				graph[from] = append(graph[from], to)
			}
		}
	}
	return graph
}

// reaches reports whether arrows lead from one node to another, one arrow at least.
func reaches(graph map[string][]string, from, to string) bool {
	seen := map[string]bool{}
	for open := slices.Clone(graph[from]); len(open) > 0; {
		node := open[len(open)-1]
		open = open[:len(open)-1]
		if node == to {
			return true
		}
		if !seen[node] {
			seen[node] = true
			open = append(open, graph[node]...)
		}
	}
	return false
}

// draw writes the arrows as Mermaid, without those that a longer way implies.
func draw(graph map[string][]string) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	number := map[string]int{}
	for i, room := range slices.Sorted(maps.Keys(graph)) {
		number[room] = i
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, room)
	}
	for _, room := range slices.Sorted(maps.Keys(graph)) {
		for _, to := range slices.Sorted(slices.Values(graph[room])) {
			implied := func(over string) bool { return over != to && reaches(graph, over, to) }
			if !slices.ContainsFunc(graph[room], implied) {
				fmt.Fprintf(&b, "  n%d --> n%d\n", number[room], number[to])
			}
		}
	}
	return b.String()
}
