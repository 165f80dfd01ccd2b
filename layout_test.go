package loci_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	gotoken "go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/loci-memory/loci"

// mayImport says which packages of ours each package may import; "" is the root.
// A package that is missing here, or an edge that is, is refused: write it down
// with a reason in ARCHITECTURE.md first.
var mayImport = map[string][]string{
	"": {"internal/condition", "internal/fence", "internal/fit", "internal/jsonform", "internal/jsonguard", "internal/lesson", "internal/patience",
		"internal/retrieval", "internal/secret", "internal/shown", "internal/turn"},
	"internal/condition":    {"internal/jsonform"},
	"internal/fence":        {},
	"internal/fit":          {},
	"internal/lesson":       {},
	"internal/patience":     {},
	"internal/shown":        {},
	"internal/turn":         {},
	"internal/jsonform":     {},
	"internal/oserror":      {""},
	"checkpoint":            {""},
	"item":                  {""},
	"tree":                  {""},
	"session":               {""},
	"internal/locitest":     {"", "checkpoint", "item", "session", "store/memory", "store/sqlite", "tree"},
	"internal/retrieval":    {},
	"internal/remote":       {""},
	"internal/secret":       {},
	"internal/jsonguard":    {},
	"internal/problem":      {""},
	"internal/spelling":     {},
	"internal/terminal":     {},
	"internal/token":        {},
	"internal/vector":       {},
	"internal/wordpiece":    {},
	"embedding":             {"", "embedding/transformer", "internal/remote", "internal/retrieval", "internal/vector", "internal/wordpiece"},
	"embedding/transformer": {"", "internal/jsonform", "internal/oserror", "internal/wordpiece"},
	"llm":                   {"", "internal/remote"},
	"store":                 {"", "store/memory", "store/sqlite"},
	"store/memory":          {"", "internal/vector", "store/internal/index", "store/internal/page"},
	"store/sqlite":          {"", "internal/oserror", "internal/vector", "store/internal/index", "store/internal/page"},
	"store/internal/index":  {"", "internal/retrieval", "internal/vector"},
	"store/internal/page":   {""},
	"store/storetest":       {""},
	"tool":                  {"", "internal/jsonform", "internal/jsonguard", "internal/secret", "item", "session", "tree"},
	"graph":                 {"", "internal/jsonform", "internal/jsonguard", "tool", "tree"},
	"mcp":                   {"", "internal/jsonform", "internal/jsonguard", "tool", "tree"},
	"rest":                  {"", "checkpoint", "internal/jsonform", "internal/jsonguard", "internal/problem", "item", "session", "tool", "tree"},
	"server":                {"", "internal/problem"},
	"bench":                 {"", "embedding", "store"},
	"examples/kind":         {""},
	"internal/config": {
		"",
		"checkpoint",
		"embedding",
		"graph",
		"internal/spelling",
		"internal/terminal",
		"internal/token",
		"item",
		"llm",
		"server",
		"session",
		"tool",
		"tree",
	},
	"cmd/loci": {
		"",
		"bench",
		"embedding",
		"internal/config",
		"internal/jsonform",
		"internal/jsonguard",
		"internal/oserror",
		"internal/spelling",
		"internal/terminal",
		"item",
		"mcp",
		"rest",
		"server",
		"session",
		"store",
		"tool",
		"tree",
	},
}

// TestImportsPointOneWay reads the import graph and refuses any other edge.
func TestImportsPointOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := mayImport[name]
		if !known && (strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "examples/")) {
			continue // what users are: they may import anything
		}
		if !known {
			t.Errorf("package %s is not in the table of imports", name)
			continue
		}
		for _, path := range p.Imports {
			if path != module && !strings.HasPrefix(path, module+"/") {
				continue
			}
			if target := strings.TrimPrefix(strings.TrimPrefix(path, module), "/"); !slices.Contains(allowed, target) {
				t.Errorf("%s imports %q, which it may not", name, target)
			}
		}
	}
}

// TestAdaptersUseTheRootPackage: they are modules of their own, and stand for any other
// program. They import the root and its features. Their tests may import what programs do.
func TestAdaptersUseTheRootPackage(t *testing.T) {
	paths, err := filepath.Glob("adapters/*/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no adapters: %v", err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			target, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			wing := slices.Contains([]string{"checkpoint", "item", "session", "tree"}, target)
			if ours && !wing && (!strings.HasSuffix(path, "_test.go") || strings.Contains(target, "internal/")) {
				t.Errorf("%s imports %q, which it may not", filepath.ToSlash(path), target)
			}
		}
	}
}

// TestOnlyWiringMakesPrincipals looks for code that makes a tenant or a principal
// outside of the places that know who the caller is. A store may name the tenants
// it finds in its own files.
func TestOnlyWiringMakesPrincipals(t *testing.T) {
	makes := regexp.MustCompile(`\bloci\.(NewTenant|NewPrincipal)\(|\.AtAgent\(`)
	may := regexp.MustCompile(`^(cmd/loci|internal/config|bench|tests|examples|auth)/|^(mcp|server)/identity\.go$|^store/sqlite/sqlite\.go$`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir // programs that made fixtures
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		path = filepath.ToSlash(path)
		data, err := os.ReadFile(path)
		if err == nil && makes.Match(data) && !may.MatchString(path) && !strings.HasPrefix(path, "store/storetest/") &&
			!strings.HasPrefix(path, "internal/locitest/") {
			t.Errorf("%s makes a tenant or a principal", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A package is read file by file, and a file in one sitting: both have a limit.
const (
	mostFiles = 55
	mostLines = 500

	// mostRootLines only ever falls, to 10,000: what is pure goes into packages below
	// internal, and what others do not know into a package of its own.
	mostRootLines = 10_362
)

// TestRoomsAreSmall counts the files of each package and the lines of each file, tests
// aside.
func TestRoomsAreSmall(t *testing.T) {
	files, rootLines := map[string]int{}, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files[filepath.ToSlash(filepath.Dir(path))]++
		data, err := os.ReadFile(path)
		n := strings.Count(string(data), "\n")
		if n > mostLines {
			t.Errorf("%s has %d lines; the limit is %d: cut it where its subject changes", path, n, mostLines)
		}
		if filepath.Dir(path) == "." {
			rootLines += n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if rootLines > mostRootLines {
		t.Errorf("the root has %d lines; the limit is %d: what is pure goes into a package below internal", rootLines, mostRootLines)
	}
	for dir, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d files; the limit is %d: a noun that others do not know gets a package of its own", dir, n, mostFiles)
		}
	}
}
