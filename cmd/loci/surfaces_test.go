package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/rest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

var updateSurfaces = flag.Bool("update", false, "write docs/surfaces.md again")

// surfaces are the ways in, in the order of the columns of testdata/surfaces.txt, with
// what each really offers: what is registered, and the methods in the sources of the clients.
func surfaces(t *testing.T) (names []string, offered []map[string]bool) {
	names = []string{"MCP", "REST", "command line", "Go", "Python", "JavaScript"}
	for _, offers := range []func(*testing.T) map[string]bool{
		offeredTools, offeredRoutes, offeredCommands, offeredGo, offeredPython, offeredJS,
	} {
		offered = append(offered, offers(t))
	}
	return names, offered
}

func offeredTools(t *testing.T) map[string]bool {
	out := map[string]bool{}
	for _, family := range tool.Families() {
		e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
		set, err := tool.New(e, tool.Config{Entries: []tool.Instance{{Family: family}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range set.Tools() {
			out[one.Name] = true
		}
	}
	return out
}

func offeredRoutes(t *testing.T) map[string]bool {
	p, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "tester", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
	api, err := rest.New(rest.Options{Engine: e, Principal: p})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
	var described struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &described); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, operations := range described.Paths {
		for _, o := range operations {
			out[o.OperationID] = true
		}
	}
	return out
}

func offeredCommands(t *testing.T) map[string]bool {
	out := map[string]bool{}
	parser, err := newParser(&cli{}, &app{out: nil, err: io.Discard, env: config.Environ{}})
	if err != nil {
		t.Fatal(err)
	}
	var walk func(node *kong.Node, path string)
	walk = func(node *kong.Node, path string) {
		for _, child := range node.Children {
			if child.Hidden {
				continue
			}
			name := strings.TrimSpace(path + " " + child.Name)
			if len(child.Children) == 0 {
				out[name] = true
			}
			walk(child, name)
		}
	}
	walk(parser.Model.Node, "")
	return out
}

func offeredGo(t *testing.T) map[string]bool {
	out := map[string]bool{}
	for prefix, value := range map[string]any{
		"Memory": &loci.Memory{}, "item": &item.Handle{}, "session": &session.Handle{},
		"tree": &tree.Tree{}, "checkpoint": &checkpoint.Handle{},
	} {
		for of, i := reflect.TypeOf(value), 0; i < of.NumMethod(); i++ {
			out[prefix+"."+of.Method(i).Name] = true
		}
	}
	paths, err := filepath.Glob("../../view/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && !strings.HasSuffix(path, "_test.go") {
				out["view."+f.Name.Name] = true
			}
		}
	}
	return out
}

// methodsIn are the methods of a client, each with the file it is in before it.
func methodsIn(t *testing.T, glob string, method *regexp.Regexp, skip ...string) map[string]bool {
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) < 5 {
		t.Fatalf("%v, %v", paths, err)
	}
	out := map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		noun, _, _ := strings.Cut(filepath.Base(path), ".")
		for _, m := range method.FindAllStringSubmatch(string(data), -1) {
			if !slices.Contains(skip, m[1]) {
				out[noun+"."+m[1]] = true
			}
		}
	}
	return out
}

func offeredPython(t *testing.T) map[string]bool {
	method := regexp.MustCompile(`(?m)^    (?:async )?def ([a-z]\w*)\(`)
	return methodsIn(t, "../../sdk/python/src/loci_memory/aio/*.py", method, "run", "aclose")
}

func offeredJS(t *testing.T) map[string]bool {
	out := map[string]bool{}
	// A file that has no class of the client offers nothing; two files have another name than their field of the client.
	method := regexp.MustCompile(`(?m)^  (?:async )?\*?([a-z]\w*)\(`)
	for name := range methodsIn(t, "../../sdk/js/src/*.ts", method, "constructor", "if", "for") {
		noun, verb, _ := strings.Cut(name, ".")
		switch noun {
		case "view":
			out["memories."+verb] = true
		case "memories":
			out["notes."+verb] = true
		case "client", "items", "sessions", "checkpoints", "files", "agents", "tools":
			out[name] = true
		}
	}
	return out
}

// machinery is what features and the kernel use of one another, and no capability of a user.
var machinery = strings.Fields(`Complete Count Event Features Namespace Namespaces NewID Now
	Records ReviseValue SearchWhere Settings Touch Turn`)

// TestSurfacesOfferTheSame: what one way in can do, all can, or the table says why not. A
// capability that is added to one and not to the table is refused, and so is a name that
// nobody offers any more. docs/surfaces.md is the table.
func TestSurfacesOfferTheSame(t *testing.T) {
	data, err := os.ReadFile("testdata/surfaces.txt")
	if err != nil {
		t.Fatal(err)
	}
	names, offered := surfaces(t)
	named := make([]map[string]bool, len(names))
	for i := range named {
		named[i] = map[string]bool{}
	}
	var page, why strings.Builder
	reasons := map[string]int{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != len(names)+1 {
			t.Fatalf("%q has %d cells", line, len(cells))
		}
		fmt.Fprintf(&page, "| %s ", cells[0])
		for i, cell := range cells[1:] {
			if reason, none := strings.CutPrefix(cell, "-"); none {
				if len(reason) < 10 {
					t.Errorf("%s: the hole of %s has no reason", cells[0], names[i])
				}
				if reasons[reason] == 0 {
					reasons[reason] = len(reasons) + 1
					fmt.Fprintf(&why, "%d. %s\n", reasons[reason], reason)
				}
				fmt.Fprintf(&page, "| – (%d) ", reasons[reason])
				continue
			}
			var shown []string
			for name := range strings.SplitSeq(cell, ", ") {
				named[i][name] = true
				if !offered[i][name] {
					t.Errorf("%s: %s offers no %q", cells[0], names[i], name)
				}
				if i >= len(names)-2 { // of a client, as programs write it
					name = "client." + strings.TrimPrefix(name, "client.")
				}
				shown = append(shown, "`"+name+"`")
			}
			fmt.Fprintf(&page, "| %s ", strings.Join(shown, ", "))
		}
		page.WriteString("|\n")
	}
	about := []string{"completion", "config reference"}
	for i, offers := range offered {
		for _, name := range slices.Sorted(maps.Keys(offers)) {
			method, _ := strings.CutPrefix(name, "Memory.")
			if !named[i][name] && !slices.Contains(about, name) && !slices.Contains(machinery, method) {
				t.Errorf("%s offers %q, which is in no row of testdata/surfaces.txt: say what the others offer, or why not", names[i], name)
			}
		}
	}
	head := "# What each way in can do\n\nMade from `cmd/loci/testdata/surfaces.txt` by `go test ./cmd/loci -run TestSurfacesOfferTheSame -update`; " +
		"the test compares it\nwith what is registered and with the clients' sources.\n\n"
	table := head + "| capability | " + strings.Join(names, " | ") + " |\n|---|---|---|---|---|---|---|\n" + page.String() +
		"\nWhy there is nothing:\n\n" + why.String()
	const path = "../../docs/surfaces.md"
	if *updateSurfaces {
		if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != table {
		t.Errorf("docs/surfaces.md is not the table (%v): run with -update", err)
	}
}
