//go:build !race

// These tests read files and start no goroutine, so the race detector has nothing
// to see in them: `make test` runs them without it.

package loci_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// declared collects the tests in the files of a package, and the texts in them.
func declared(t *testing.T, dir string) (tests, texts map[string]bool) {
	t.Helper()
	tests, texts = map[string]bool{}, map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("package %s has no files: %v", dir, err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasSuffix(path, "_test.go") && n.Recv == nil {
					tests[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == gotoken.STRING {
					texts[text] = true
				}
			}
			return true
		})
	}
	return tests, texts
}

// TestRequirementsNameTests reads the page that says which test proves what. It
// is written "`package`: TestOne, TestTwo; `other`: TestThree"; a case of
// store/storetest stands in “quotes”, as does one of a test file in JavaScript or
// Python.
func TestRequirementsNameTests(t *testing.T) {
	part := regexp.MustCompile("`([a-z][a-z0-9/]*|tests/[\\w./]+\\.(?:js|py))`:|\\|\n?|“([^”]+)”|\\b((?:Test|Fuzz)[A-Z]\\w*)")
	tests, texts := map[string]map[string]bool{}, map[string]map[string]bool{}
	named := 0
	for n, line := range strings.Split(readFile(t, requirementsPage), "\n") {
		dir := ""
		for _, m := range part.FindAllStringSubmatch(line, -1) {
			pkg, sentence, test := m[1], m[2], m[3]
			switch {
			case strings.HasSuffix(pkg, ".js") || strings.HasSuffix(pkg, ".py"):
				dir = pkg
				texts[dir] = map[string]bool{}
				for _, name := range regexp.MustCompile(`["']([^"'\n]+)["']`).FindAllStringSubmatch(readFile(t, pkg), -1) {
					texts[dir][name[1]] = true
				}
			case pkg != "":
				dir = strings.TrimSuffix("./"+strings.TrimPrefix(pkg, "loci"), "/")
				if tests[dir] == nil {
					tests[dir], texts[dir] = declared(t, dir)
				}
			case test == "" && sentence == "":
				dir = "" // the next cell
			case dir == "":
				t.Errorf("%s:%d: %s%s comes without a package", requirementsPage, n+1, test, sentence)
			case test != "" && !tests[dir][test]:
				t.Errorf("%s:%d: there is no %s in %s", requirementsPage, n+1, test, dir)
			case sentence != "" && !texts[dir][sentence]:
				t.Errorf("%s:%d: there is no case %q in %s", requirementsPage, n+1, sentence, dir)
			default:
				named++
			}
		}
	}
	if named < 100 {
		t.Errorf("%s names %d tests: is it still written in the form that is checked?", requirementsPage, named)
	}
}
