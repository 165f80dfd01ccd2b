package main

import (
	"go/ast"
	"go/build"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// otherOperators is what stands in place of an operator in a mutant.
var otherOperators = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!="}, token.NEQ: {"=="}, token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
}

// changesOf lists every change the mutator knows for a package: other operators,
// conditions turned round, numbers one higher, statements left out. Left alone is what
// nobody could notice: see hidden.
func (g *garden) changesOf(pkg string) ([]change, error) {
	entries, err := os.ReadDir(filepath.Join(g.root, pkg))
	if err != nil {
		return nil, err
	}
	var all []change
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "doc.go" {
			continue
		}
		if ours, err := build.Default.MatchFile(filepath.Join(g.root, pkg), name); err != nil || !ours {
			continue // it is for other systems
		}
		f, err := g.file(filepath.ToSlash(filepath.Join(pkg, name)))
		if err != nil {
			return nil, err
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				all = append(all, g.changesIn(filepath.ToSlash(filepath.Join(pkg, name)), fn)...)
			}
		}
	}
	return all, nil
}

func (g *garden) changesIn(path string, fn *ast.FuncDecl) (out []change) {
	put := func(from, to token.Pos, text string) {
		out = append(out, change{path, g.offset(from), g.offset(to), text})
	}
	without := func(n ast.Node) { put(n.Pos(), n.End(), "{}") }
	hidden := map[ast.Node]bool{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		for _, part := range unseen(n) {
			hidden[part] = true
		}
		if hidden[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.BinaryExpr:
			for _, op := range otherOperators[n.Op] {
				put(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op)
			}
		case *ast.IfStmt:
			put(n.Cond.Pos(), n.Cond.End(), "!("+g.text(path, n.Cond)+")")
		case *ast.BasicLit:
			if v, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
				put(n.Pos(), n.End(), strconv.Itoa(v+1))
			}
		case *ast.Ident:
			switch n.Name {
			case "true":
				put(n.Pos(), n.End(), "false")
			case "false":
				put(n.Pos(), n.End(), "true")
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
			without(n)
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				without(n)
			}
		case *ast.BranchStmt:
			if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
				without(n)
			}
		}
		return true
	})
	return out
}

// unseen are the parts of a node that make no difference to what the program does: how
// much room something is made with, which grows when it is too little, how much is read or
// done at a time, by how much chance changes a pause, what is logged for those who look for
// faults in Loci itself, and what is returned beside an error.
func unseen(n ast.Node) []ast.Node {
	switch n := n.(type) {
	case *ast.CompositeLit:
		return pageSize(n)
	case *ast.CallExpr:
		switch {
		case calls(n, "slices", "Chunk") && isNumber(n.Args[1]):
			return []ast.Node{n.Args[1]}
		case calls(n, "rand", ""):
			return []ast.Node{n}
		case calls(n, "math", "Inf"):
			return nodes(n.Args) // only the sign counts
		}
		return roomOf(n)
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return nil
		}
		if fn, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Grow", "Debug", "DebugContext"}, fn.Sel.Name) {
			return []ast.Node{n}
		}
	case *ast.IfStmt:
		if isFailure(n.Cond) {
			return besideError(n.Body.List)
		}
	case *ast.CaseClause:
		if len(n.List) == 1 && isFailure(n.List[0]) {
			return besideError(n.Body)
		}
	case *ast.ReturnStmt:
		if len(n.Results) > 1 && makesError(n.Results[len(n.Results)-1]) {
			return nodes(n.Results[:len(n.Results)-1])
		}
	}
	return nil
}

// roomOf is how much room something is made with, beyond what it holds: of a channel for
// one answer, too, which is sent once.
func roomOf(n *ast.CallExpr) []ast.Node {
	if fn, ok := n.Fun.(*ast.Ident); !ok || fn.Name != "make" || len(n.Args) < 2 {
		return nil
	}
	if len(n.Args) == 3 {
		return nodes(n.Args[2:])
	}
	switch t := n.Args[0].(type) {
	case *ast.MapType:
		return nodes(n.Args[1:])
	case *ast.ChanType:
		if _, signal := t.Value.(*ast.StructType); !signal && isNumber(n.Args[1]) { // struct{}: who has a turn
			return nodes(n.Args[1:])
		}
	}
	return nil
}

func nodes(all []ast.Expr) (out []ast.Node) {
	for _, x := range all {
		out = append(out, x)
	}
	return out
}

// calls reports whether a call is of a package's function; "": of any.
func calls(n *ast.CallExpr, pkg, name string) bool {
	fn, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || name != "" && fn.Sel.Name != name {
		return false
	}
	id, ok := fn.X.(*ast.Ident)
	return ok && id.Name == pkg
}

func isNumber(x ast.Expr) bool {
	lit, ok := x.(*ast.BasicLit)
	return ok && lit.Kind == token.INT
}

// pageSize is the number of records in Page{Limit: 1000}: whoever writes a number there goes
// on behind it, or wants to know whether there is any.
func pageSize(n *ast.CompositeLit) []ast.Node {
	name := ""
	switch t := n.Type.(type) {
	case *ast.Ident:
		name = t.Name
	case *ast.SelectorExpr:
		name = t.Sel.Name
	}
	for _, x := range n.Elts {
		field, ok := x.(*ast.KeyValueExpr)
		if !ok || name != "Page" {
			continue
		}
		if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Limit" && isNumber(field.Value) {
			return []ast.Node{field.Value}
		}
	}
	return nil
}

// besideError are the other results where err is returned: nobody reads them.
func besideError(body []ast.Stmt) []ast.Node {
	for _, s := range body {
		if r, ok := s.(*ast.ReturnStmt); ok && len(r.Results) > 1 && isNamed(r.Results[len(r.Results)-1], "err") {
			return nodes(r.Results[:len(r.Results)-1])
		}
	}
	return nil
}

// isFailure reports whether a condition is err != nil.
func isFailure(cond ast.Expr) bool {
	x, ok := cond.(*ast.BinaryExpr)
	return ok && x.Op == token.NEQ && isNamed(x.X, "err") && isNamed(x.Y, "nil")
}

func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// makesError reports whether an expression is an error that is made on the spot.
func makesError(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		lit, ok := x.X.(*ast.CompositeLit)
		return ok && (isNamed(lit.Type, "Error") || isSelected(lit.Type, "Error"))
	case *ast.CallExpr:
		return isNamed(x.Fun, "Errorf") || isNamed(x.Fun, "OneOf") || isSelected(x.Fun, "Errorf") || calls(x, "errors", "New")
	}
	return false
}

func isSelected(x ast.Expr, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

func (g *garden) text(path string, n ast.Node) string {
	return string(g.files[path].data[g.offset(n.Pos()):g.offset(n.End())])
}
