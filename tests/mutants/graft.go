package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A change puts another text in place of one in a file.
type change struct {
	path       string // from the root of the module
	start, end int    // bytes
	text       string
}

// A graft is a function that holds changed copies of its own body, so that one build
// holds many mutants and an environment variable chooses among them.
type graft struct {
	path  string
	fn    *ast.FuncDecl
	n     int // of the function, for what is reached
	cases []graftCase
}

type graftCase struct {
	mutant int // from 1
	change change
}

// A garden makes the overlay of a build out of the mutants that it holds.
type garden struct {
	root  string
	dir   string // where the changed files are put
	fset  *token.FileSet
	files map[string]*gardenFile
	count int // of functions

	refused map[int]bool // mutants that do not compile
}

type gardenFile struct {
	data   []byte
	ast    *ast.File
	grafts map[*ast.FuncDecl]*graft
	lines  []lineOf // of the file that was written last
}

// A lineOf says of which mutant the lines of a file are, up to one.
type lineOf struct{ until, mutant int }

func newGarden(root, dir string) *garden {
	return &garden{
		root:    root,
		dir:     dir,
		fset:    token.NewFileSet(),
		files:   map[string]*gardenFile{},
		refused: map[int]bool{},
	}
}

func (g *garden) file(path string) (*gardenFile, error) {
	if f := g.files[path]; f != nil {
		return f, nil
	}
	data, err := os.ReadFile(filepath.Join(g.root, path))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(g.fset, path, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &gardenFile{data: data, ast: parsed, grafts: map[*ast.FuncDecl]*graft{}}
	g.files[path] = f
	return f, nil
}

func (g *garden) offset(p token.Pos) int { return g.fset.Position(p).Offset }

// plant adds a mutant and returns its function's number, or 0 where the change is in
// no function's body.
func (g *garden) plant(mutant int, c change) (int, error) {
	f, err := g.file(c.path)
	if err != nil {
		return 0, err
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || c.start <= g.offset(fn.Body.Lbrace) || c.end > g.offset(fn.Body.Rbrace) {
			continue
		}
		if f.grafts[fn] == nil {
			g.count++
			f.grafts[fn] = &graft{path: c.path, fn: fn, n: g.count}
		}
		f.grafts[fn].cases = append(f.grafts[fn].cases, graftCase{mutant, c})
		return f.grafts[fn].n, nil
	}
	return 0, nil
}

// drop takes a mutant out again.
func (g *garden) drop(mutant int) {
	for _, f := range g.files {
		for _, gr := range f.grafts {
			gr.cases = slices.DeleteFunc(gr.cases, func(c graftCase) bool { return c.mutant == mutant })
		}
	}
}

// chooser is added to each package with mutants: which one is on, and which
// functions were reached.
const chooser = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("LOCI_MUTANT"))

var mutantReached = os.Getenv("LOCI_MUTANT_REACHED")

var mutantSeen sync.Map

func mutantReach(n int) {
	if _, seen := mutantSeen.LoadOrStore(n, true); seen {
		return
	}
	f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // a test that runs as another user, who reaches nothing
	}
	defer f.Close()
	_, _ = f.WriteString(strconv.Itoa(n) + "\n")
}
`

// write writes the overlay and returns its path.
func (g *garden) write() (string, error) {
	replace := map[string]string{}
	for path, f := range g.files {
		if len(f.grafts) == 0 {
			continue
		}
		to := filepath.Join(g.dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(to, g.render(f), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(g.root, path)] = to
		extra := filepath.Join(g.dir, "chooser_"+strings.ReplaceAll(filepath.Dir(path), "/", "_")+".go")
		if err := os.WriteFile(extra, fmt.Appendf(nil, chooser, f.ast.Name.Name), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(g.root, filepath.Dir(path), "mutant_chooser.go")] = extra
	}
	return writeOverlay(filepath.Join(g.dir, "overlay.json"), replace)
}

func writeOverlay(path string, replace map[string]string) (string, error) {
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}

// render writes a file with its grafts.
func (g *garden) render(f *gardenFile) []byte {
	var b bytes.Buffer
	f.lines = nil
	mark := func(mutant int) {
		f.lines = append(f.lines, lineOf{1 + bytes.Count(b.Bytes(), []byte("\n")), mutant})
	}
	at := 0
	grafts := make([]*graft, 0, len(f.grafts))
	for _, gr := range f.grafts {
		grafts = append(grafts, gr)
	}
	slices.SortFunc(grafts, func(x, y *graft) int { return cmp.Compare(x.fn.Pos(), y.fn.Pos()) })
	for _, gr := range grafts {
		open := g.offset(gr.fn.Body.Lbrace) + 1
		b.Write(f.data[at:open])
		fmt.Fprintf(&b, "\nif mutantReached != \"\" { mutantReach(%d) }\nswitch mutantOn {\n", gr.n)
		mark(0)
		for _, c := range gr.cases {
			fmt.Fprintf(&b, "case %d:\n", c.mutant)
			b.WriteString(g.changed(f, gr.fn, c))
			if gr.fn.Type.Results == nil {
				b.WriteString("\nreturn")
			}
			b.WriteString("\n")
			mark(c.mutant)
		}
		b.WriteString("}\n")
		at = open
	}
	b.Write(f.data[at:])
	mark(0)
	return b.Bytes()
}

// changed is the body of a function with a change, and labels of its own.
func (g *garden) changed(f *gardenFile, fn *ast.FuncDecl, c graftCase) string {
	open, end := g.offset(fn.Body.Lbrace)+1, g.offset(fn.Body.Rbrace)
	edits := []change{c.change}
	label := func(id *ast.Ident) {
		if id != nil {
			at := g.offset(id.End())
			if at < c.change.start || at > c.change.end {
				edits = append(edits, change{start: at, end: at, text: fmt.Sprintf("_mutant%d", c.mutant)})
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			label(n.Label)
		case *ast.BranchStmt:
			label(n.Label)
		}
		return true
	})
	slices.SortFunc(edits, func(x, y change) int { return cmp.Compare(x.start, y.start) })
	var b strings.Builder
	for _, e := range edits {
		b.Write(f.data[open:e.start])
		b.WriteString(e.text)
		open = e.end
	}
	b.Write(f.data[open:end])
	return b.String()
}

// mutantAt says which mutant a line of a written file belongs to, or 0.
func (g *garden) mutantAt(written string, line int) int {
	for path, f := range g.files {
		if strings.ReplaceAll(path, "/", "_") != filepath.Base(written) {
			continue
		}
		for _, l := range f.lines {
			if line < l.until {
				return l.mutant
			}
		}
	}
	return 0
}
