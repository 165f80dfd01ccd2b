// Unraced prints the tests that the race detector shortens, passes over or does not build, as
// arguments of go test:
//
//	go run ./tests/unraced 'Test(Long|Large)' ./store/sqlite ./cmd ./tests
//
// These are the tests that the expression names, those in files built without the detector
// alone, and those that ask whether it is there, by themselves or through a function that they
// call. Packages at or below the other arguments are left out, as they are tested whole.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// asks are the names by which code asks for the detector, in package locitest or its own.
var asks = []string{"Raced", "Unraced", "Unshared", "raced"}

func main() {
	args, err := arguments(".", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "unraced:", err)
		os.Exit(1)
	}
	fmt.Println(args)
}

func arguments(root string, args []string) (string, error) {
	if len(args) == 0 {
		return "", errors.New("say which tests are long: an expression as of go test -run")
	}
	large, err := regexp.Compile(args[0])
	if err != nil {
		return "", err
	}
	tests, packages := map[string]bool{}, []string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := "./" + filepath.ToSlash(rel)
		if rel == "." {
			dir = "."
		} else if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || slices.Contains(args[1:], dir) {
			return fs.SkipDir // a module of its own, or tested whole
		} else if base := entry.Name(); strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" {
			return fs.SkipDir
		}
		found, err := inPackage(path, large)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			packages = append(packages, dir)
		}
		for _, name := range found {
			tests[name] = true
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if len(packages) == 0 {
		return "", errors.New("no such test was found")
	}
	return fmt.Sprintf("-run=^(%s)$ %s", strings.Join(slices.Sorted(maps.Keys(tests)), "|"), strings.Join(packages, " ")), nil
}

// inPackage returns the names of such tests in the files of one directory.
func inPackage(dir string, large *regexp.Regexp) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	p := functions{uses: map[string]map[string]bool{}, marked: map[string]bool{}}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.note(file, large)
	}
	// Who calls one that asks, asks. Names of other packages may be the same: a test too many.
	for more := true; more; {
		more = false
		for name, used := range p.uses {
			for other := range used {
				if !p.marked[name] && p.marked[other] {
					p.marked[name], more = true, true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.marked)), func(name string) bool {
		return !p.marked[name] || name == "TestMain" || !strings.HasPrefix(name, "Test")
	}), nil
}

// functions are those of a package's tests.
type functions struct {
	uses   map[string]map[string]bool // by function, the names in it
	marked map[string]bool            // it is to be run without the detector
}

// note takes in the functions of a file.
func (p *functions) note(file *ast.File, large *regexp.Regexp) {
	without := builtWithoutDetectorAlone(file)
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		name := fn.Name.Name
		if without || fn.Recv == nil && large.MatchString(name) {
			p.marked[name] = true
		}
		if p.uses[name] == nil {
			p.uses[name] = map[string]bool{}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				p.uses[name][id.Name] = true
			}
			return true
		})
		p.marked[name] = p.marked[name] || slices.ContainsFunc(asks, func(ask string) bool { return p.uses[name][ask] })
	}
}

// builtWithoutDetectorAlone reports whether a file's constraint leaves it out under the race
// detector.
func builtWithoutDetectorAlone(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			if expr, err := constraint.Parse(line.Text); err == nil {
				with := func(tag string) bool { return true }
				without := func(tag string) bool { return tag != "race" }
				return !expr.Eval(with) && expr.Eval(without)
			}
		}
	}
	return false
}
