//go:build !race

// These tests read files and start no goroutine, so the race detector has nothing
// to see in them: `make test` runs them without it.

package loci_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/loci-memory/loci"

// mayImport says which packages of ours each package may import; "" is the root.
// A package that is missing here, or an edge that is, is refused: write it down
// with a reason in ARCHITECTURE.md first.
var mayImport = map[string][]string{
	"": {
		"internal/attribute", "internal/caller", "internal/condition", "internal/cores", "internal/embedcall",
		"internal/fence", "internal/fit", "internal/generation", "internal/intake", "internal/jsonform", "internal/jsonguard", "internal/label", "internal/leg",
		"internal/lesson", "internal/lifecycle",
		"internal/patience", "internal/quota", "internal/rank", "internal/retrieval", "internal/seal", "internal/secret",
		"internal/sequence", "internal/shown", "internal/turn", "internal/when",
	},
	"internal/attribute":    {"internal/jsonform", "internal/jsonguard"},
	"internal/admission":    {},
	"internal/caller":       {},
	"internal/embedcall":    {"internal/patience", "internal/trail"},
	"internal/seal":         {},
	"internal/sequence":     {},
	"internal/condition":    {"internal/jsonform"},
	"internal/cores":        {},
	"internal/lifecycle":    {},
	"internal/effort":       {},
	"internal/fence":        {},
	"internal/fit":          {},
	"internal/generation":   {},
	"internal/intake":       {"internal/jsonform", "internal/jsonguard"},
	"internal/leg":          {},
	"internal/quota":        {},
	"internal/label":        {},
	"internal/lesson":       {},
	"internal/patience":     {},
	"internal/rank":         {},
	"internal/shown":        {},
	"internal/trail":        {},
	"internal/turn":         {},
	"internal/when":         {},
	"internal/plainfile":    {},
	"internal/jsonform":     {},
	"internal/entry":        {},
	"internal/linediff":     {},
	"internal/mcpclient":    {"", "internal/entry", "internal/linediff", "internal/oserror", "internal/spelling"},
	"internal/oserror":      {""},
	"internal/background":   {"", "internal/oserror", "packaging/systemd"},
	"packaging/systemd":     {},
	"checkpoint":            {""},
	"item":                  {""},
	"tree":                  {"", "internal/linediff"},
	"session":               {""},
	"view":                  {""},
	"internal/storm":        {"", "internal/locitest"},
	"internal/locitest":     {"", "checkpoint", "internal/mongotest", "internal/pgtest", "item", "session", "store/memory", "store/mongo", "store/postgres", "store/sqlite", "tree"},
	"internal/retrieval":    {},
	"internal/remote":       {"", "internal/admission"},
	"internal/secret":       {},
	"internal/jsonguard":    {"internal/jsonform"},
	"internal/problem":      {""},
	"internal/spelling":     {},
	"internal/terminal":     {},
	"internal/token":        {},
	"internal/vector":       {},
	"internal/wordpiece":    {},
	"internal/gloss":        {"internal/retrieval"},
	"embedding":             {"", "embedding/transformer", "internal/gloss", "internal/remote", "internal/retrieval", "internal/vector", "internal/wordpiece"},
	"embedding/transformer": {"", "internal/cores", "internal/jsonform", "internal/oserror", "internal/plainfile", "internal/wordpiece"},
	"llm":                   {"", "internal/remote"},
	"internal/child":        {},
	"internal/mongotest":    {"internal/child"},
	"internal/pgtest":       {"internal/child"},
	"store":                 {"", "internal/plainfile", "store/internal/dump", "store/internal/meter", "store/memory", "store/mongo", "store/postgres", "store/sqlite"},
	"store/memory":          {"", "internal/vector", "store/internal/index", "store/internal/page"},
	"store/mongo":           {"", "internal/patience", "internal/trail", "store/internal/batch", "store/internal/dump", "store/internal/follow", "store/internal/form", "store/internal/lobby", "store/internal/meter", "store/internal/page", "store/internal/upkeep"},
	"store/postgres":        {"", "internal/patience", "internal/trail", "store/internal/batch", "store/internal/dump", "store/internal/follow", "store/internal/form", "store/internal/lobby", "store/internal/meter", "store/internal/page", "store/internal/upkeep"},
	"store/sqlite":          {"", "internal/admission", "internal/condition", "internal/cores", "internal/oserror", "internal/patience", "internal/trail", "internal/vector", "store/internal/aside", "store/internal/dump", "store/internal/files", "store/internal/form", "store/internal/gaps", "store/internal/index", "store/internal/meter", "store/internal/page", "store/internal/rowcache", "store/internal/segment"},
	"store/internal/index":  {"", "internal/gloss", "internal/retrieval", "internal/sequence", "internal/vector", "internal/when", "store/internal/segment"},
	"store/internal/aside":  {"", "internal/admission", "internal/cores", "internal/trail", "store/internal/index"},
	"store/internal/batch":  {"", "internal/admission", "internal/vector", "store/internal/dump", "store/internal/meter"},
	"store/internal/dump":   {""},
	"store/internal/meter":  {},
	"store/internal/files":  {"internal/oserror", "store/internal/segment"},
	"store/internal/follow": {"", "internal/cores", "store/internal/aside", "store/internal/batch", "store/internal/files", "store/internal/form", "store/internal/index", "store/internal/lobby", "store/internal/meter", "store/internal/segment"},
	"store/internal/lobby":  {""},

	"store/internal/follow/followtest": {"", "store/internal/follow", "store/internal/meter"},

	"store/internal/upkeep": {"", "internal/patience"},
	"store/internal/form":   {""},
	"store/internal/page":   {""},
	"store/storetest":       {"", "internal/cores"},
	"tool":                  {"", "internal/fence", "internal/jsonform", "internal/jsonguard", "internal/secret", "internal/trail", "item", "session", "tree", "view"},
	"graph":                 {"", "internal/jsonform", "internal/jsonguard", "tool", "tree"},
	"mcp":                   {"", "internal/admission", "internal/intake", "internal/jsonform", "internal/jsonguard", "internal/trail", "tool", "tree"},
	"rest":                  {"", "admin", "checkpoint", "internal/intake", "internal/jsonform", "internal/jsonguard", "internal/problem", "internal/trail", "item", "session", "tool", "tree", "view"},
	"server":                {"", "internal/admission", "internal/cores", "internal/plainfile", "internal/problem", "internal/trail"},
	"auth":                  {"", "internal/cores", "internal/label", "internal/plainfile"},
	"observe":               {"", "internal/trail"},
	"admin":                 {"", "auth"},
	"backup":                {"", "internal/jsonform", "internal/oserror", "internal/plainfile", "store"},
	"bench":                 {"", "internal/token", "session", "tool", "tree", "view", "embedding", "store"},
	"examples/kind":         {""},

	"internal/locitest/serve": {"internal/mongotest", "internal/pgtest"},

	"store/internal/segment":  {},
	"store/internal/rowcache": {},
	"store/internal/gaps":     {},

	"internal/config": {
		"",
		"auth",
		"backup",
		"checkpoint",
		"embedding",
		"graph",
		"internal/plainfile",
		"internal/remote",
		"internal/spelling",
		"internal/terminal",
		"internal/token",
		"item",
		"llm",
		"observe",
		"server",
		"session",
		"store",
		"tool",
		"tree",
	},
	"cmd/loci": {
		"",
		"admin",
		"auth",
		"backup",
		"bench",
		"embedding",
		"internal/background",
		"internal/config",
		"internal/cores",
		"internal/fence",
		"internal/jsonform",
		"internal/jsonguard",
		"internal/mcpclient",
		"internal/oserror",
		"internal/spelling",
		"internal/terminal",
		"item",
		"mcp",
		"observe",
		"rest",
		"server",
		"session",
		"store",
		"tool",
		"tree",
		"view",
	},
}

// TestImportsPointOneWay reads the import graph and refuses any other edge.
func TestImportsPointOneWay(t *testing.T) {
	for name, targets := range packageImports(t) {
		allowed, known := mayImport[name]
		if !known && (strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "examples/")) {
			continue // what users are: they may import anything
		}
		if !known {
			t.Errorf("package %s is not in the table of imports", name)
			continue
		}
		for _, target := range targets {
			if !slices.Contains(allowed, target) {
				t.Errorf("%s imports %q, which it may not", name, target)
			}
		}
	}
}

// packageImports lists the packages of ours that each of ours imports, tests aside; "" is the
// root.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		all[name] = nil
		for _, path := range p.Imports {
			if path == module || strings.HasPrefix(path, module+"/") {
				all[name] = append(all[name], strings.TrimPrefix(strings.TrimPrefix(path, module), "/"))
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
// it finds in its own files, and so may a backup of one.
func TestOnlyWiringMakesPrincipals(t *testing.T) {
	makes := regexp.MustCompile(`\bloci\.(NewTenant|NewPrincipal|SystemTenant)\(|\.AtAgent\(`)
	may := regexp.MustCompile(`^(cmd/loci|internal/config|bench|tests|examples|auth|admin|backup|tools/peers)/|^(mcp|server)/identity\.go$|` +
		`^store/(memory/memory|sqlite/name|sqlite/replace|sqlite/sqlite|copy|snapshot|postgres/postgres|internal/upkeep/upkeep)\.go$`)
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
			!strings.HasPrefix(path, "store/internal/follow/followtest/") &&
			!strings.HasPrefix(path, "internal/locitest/") && !strings.HasPrefix(path, "internal/storm/") {
			t.Errorf("%s makes a tenant or a principal", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A package is read file by file, and a file in one sitting: both have a limit. So has a
// line of code, which is looked at beside another one.
const (
	mostFiles   = 55
	mostLines   = 500
	mostColumns = 120 // a tab is 4; what stands in quotes and comments is not counted

	// mostRootLines falls, except for what callers of the library see, such as re-ranking: what is
	// pure goes into packages below internal, and what others do not know into one of its own.
	mostRootLines = 10_150
)

// sources visits the Go files of the project.
func sources(t *testing.T, visit func(path, text string)) {
	t.Helper()
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".go") {
			visit(filepath.ToSlash(path), readFile(t, path))
		}
	})
}

// TestRoomsAreSmall counts the files of each package, tests aside, and the lines of each
// file.
func TestRoomsAreSmall(t *testing.T) {
	files, rootLines := map[string]int{}, 0
	sources(t, func(name, text string) {
		if !strings.HasSuffix(name, "_test.go") {
			files[path.Dir(name)]++
			if path.Dir(name) == "." {
				rootLines += strings.Count(text, "\n")
			}
		}
		if n := strings.Count(text, "\n"); n > mostLines {
			t.Errorf("%s has %d lines; the limit is %d: cut it where its subject changes", name, n, mostLines)
		}
	})
	if rootLines > mostRootLines {
		t.Errorf("the root has %d lines; the limit is %d: what is pure goes into a package below internal", rootLines, mostRootLines)
	}
	for dir, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d files; the limit is %d: a noun that others do not know gets a package of its own", dir, n, mostFiles)
		}
	}
}

// mostBytes is what a file takes that is read or compared. What is larger makes every clone slow for ever.
const mostBytes = 1 << 20

// larger are the files that may have more: what the binary carries.
var larger = []string{"embedding/builtin.model", "internal/token/o200k_base.tokens"}

// TestNothingIsLeftBehind: an empty file and a program that was built are there by a slip of
// `git add`.
func TestNothingIsLeftBehind(t *testing.T) {
	unkept := regexp.MustCompile(`\.(test|prof)$|^loci$`) // as .gitignore says
	walk(t, func(name string) {
		if unkept.MatchString(name) || path.Base(name) == "py.typed" {
			return
		}
		switch info, err := os.Stat(name); {
		case err != nil:
			t.Error(err)
		case info.Size() == 0:
			t.Errorf("%s is empty: remove it", name)
		case info.Size() > mostBytes && !slices.Contains(larger, name):
			t.Errorf("%s has %d bytes; the limit is %d: remove it, or say in larger why it is kept", name, info.Size(), mostBytes)
		}
	})
}

// TestLinesOfCodeAreShort measures what is left of each line without texts and comments.
func TestLinesOfCodeAreShort(t *testing.T) {
	sources(t, func(name, text string) {
		for n, line := range strings.Split(codeOf(text), "\n") {
			if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > mostColumns {
				t.Errorf("%s:%d has more than %d columns of code: name a part of it, or break it", name, n+1, mostColumns)
			}
		}
	})
}

// codeOf is a Go file without what stands in its quotes and comments, line by line.
func codeOf(text string) string {
	out := []byte(text)
	file := gotoken.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	cut := len(text)
	type span struct{ from, to int }
	var spans []span
	for {
		pos, token, literal := s.Scan()
		if token == gotoken.EOF {
			break
		}
		if at := file.Offset(pos); token == gotoken.COMMENT || token == gotoken.STRING && len(literal) > 2 {
			spans = append(spans, span{at, min(at+len(literal), cut)})
		}
	}
	for _, one := range slices.Backward(spans) {
		lines := strings.Repeat("\n", strings.Count(text[one.from:one.to], "\n"))
		out = slices.Replace(out, one.from, one.to, []byte(lines)...)
	}
	return string(out)
}

// wholeWords look like two words that name files, but are one word.
var wholeWords = []string{"namespace", "embedder", "readonly"}

// TestFileNamesHaveOneSpelling: lower case, noun first, words joined by underscores. In a
// package of the noun its files do not repeat it.
func TestFileNamesHaveOneSpelling(t *testing.T) {
	words, spelled := map[string]bool{}, regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	var names []string
	sources(t, func(name, _ string) {
		names = append(names, strings.TrimSuffix(name, ".go"))
		for _, word := range strings.Split(path.Base(names[len(names)-1]), "_") {
			words[word] = true
		}
	})
	for _, name := range names {
		noun, base := path.Base(path.Dir(name)), path.Base(name)
		if rest, again := strings.CutPrefix(base, noun+"_"); !spelled.MatchString(base) || again && rest != "test" {
			t.Errorf("%s.go: write lower case with underscores, without the name of the package", name)
		}
		for _, word := range strings.Split(base, "_") {
			for i := 3; i <= len(word)-3 && word != noun && !slices.Contains(wholeWords, word); i++ {
				if words[word[:i]] && words[word[i:]] {
					t.Errorf("%s.go: write %s_%s", name, word[:i], word[i:])
				}
			}
		}
	}
}
