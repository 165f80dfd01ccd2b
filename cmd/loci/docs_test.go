package main

import (
	"bufio"
	"encoding/base64"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/config"
)

// repository is where the documents are.
const repository = "../.."

// A mention is something that a document says, with its place.
type mention struct{ place, text string }

// documents are the Markdown files that speak of the program. The change log counts only as far
// as it is unreleased: the rest describes older programs.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && (name == "node_modules" || name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".md"):
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ = filepath.Rel(repository, path)
		text := string(data)
		if name == "CHANGELOG.md" {
			_, text, _ = strings.Cut(text, "## Unreleased")
			text, _, _ = strings.Cut(text, "\n## ")
		}
		all[filepath.ToSlash(name)] = text
		return err
	})
	if err != nil || len(all) < 25 {
		t.Fatalf("%d documents: %v", len(all), err)
	}
	return all
}

var (
	fenceForm = regexp.MustCompile("(?ms)^```(\\w*)[^\n]*\n(.*?)^```$")
	spanForm  = regexp.MustCompile("`([^`\n]+)`")
)

// spans are the texts in backticks inside sentences; lines those of blocks of code.
func spans(t *testing.T) (in, lines []mention) {
	t.Helper()
	for name, text := range documents(t) {
		prose := fenceForm.ReplaceAllString(text, "")
		for _, m := range spanForm.FindAllStringSubmatch(prose, -1) {
			in = append(in, mention{name, m[1]})
		}
		for _, block := range fenceForm.FindAllStringSubmatch(text, -1) {
			if slices.Contains([]string{"go", "python", "ts", "js", "typescript", "javascript"}, block[1]) {
				continue
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(block[2], "\\\n", " "), "\n") {
				lines = append(lines, mention{name, line})
			}
		}
	}
	return in, lines
}

func grammar(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := newParser(&cli{}, &app{out: bufio.NewWriter(io.Discard), err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// commandForm is the program as a command line names it, not loci.yaml or a path.
var commandForm = regexp.MustCompile(`(?:^|[|;&(]\s*|\$\s+|=\S+\s+|\bexec )(?:bin/)?loci((?:\s+[^|;&)#>]+|$))`)

// words cuts a line as a shell does, roughly: quotes keep what is inside together.
var wordForm = regexp.MustCompile(`(?:[^\s"']|"(?:\\.|[^"])*"|'[^']*')+`)

// unknown says what of a command line the program does not know.
func unknown(root *kong.Node, line string) string {
	node := root
	words := wordForm.FindAllString(line, -1)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") || word == "-" {
			if len(node.Positional) > 0 || len(node.Children) == 0 {
				continue
			}
			if strings.ToUpper(word) == word || strings.Trim(word, ".…") == "" { // a place for any: COMMAND, …
				return ""
			}
			at := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
			if at < 0 {
				return "there is no command " + word
			}
			node = node.Children[at]
			continue
		}
		name, _, hasValue := strings.Cut(word, "=")
		flag := flagOf(node, name)
		if flag == nil {
			return "there is no flag " + name
		}
		if !flag.IsBool() && !hasValue {
			i++
		}
	}
	return ""
}

// flagOf finds a flag of a command or of one above it.
func flagOf(node *kong.Node, name string) *kong.Flag {
	flags := []*kong.Flag{}
	if node.DefaultCmd != nil { // that of loci bench alone
		flags = append(flags, node.DefaultCmd.Flags...)
	}
	for ; node != nil; node = node.Parent {
		flags = append(flags, node.Flags...)
		for _, f := range flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// TestCommandsInDocumentsExist: every command line of loci in a document, also inside a
// sentence, is one that the program takes.
func TestCommandsInDocumentsExist(t *testing.T) {
	root := grammar(t).Model.Node
	for line, want := range map[string]string{" backfill": "backfill", " list --nothing": "--nothing", " session hold x": "hold", " --store x list -n 5": "",
		` save "a b" --tag=x`: "", " session import - --id trip": "", " COMMAND --help": "", "": ""} {
		if got := unknown(root, line); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("loci%s: %q", line, got) // the test itself
		}
	}
	in, lines := spans(t)
	found := 0
	for _, m := range append(in, lines...) {
		for _, c := range commandForm.FindAllStringSubmatch(m.text, -1) {
			found++
			if fault := unknown(root, c[1]); fault != "" {
				t.Errorf("%s: `%s`: %s", m.place, m.text, fault)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d commands were found", found)
	}
}

// TestFlagsInDocumentsExist: a flag that a sentence names alone is one of some command.
// Those of other programs stand in a command line of theirs.
func TestFlagsInDocumentsExist(t *testing.T) {
	known := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, f := range n.Flags {
			known["--"+f.Name] = true
			known["-"+string(f.Short)] = f.Short != 0
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(grammar(t).Model.Node)
	others := map[string][]string{
		"docs/benchmarks.md": {"--postgres"},
		"sdk/js/README.md":   {"--install-links"},
	} // of a script, and of npm
	in, _ := spans(t)
	for _, m := range in {
		name := regexp.MustCompile(`^(--[a-z][a-z-]*|-[a-zA-Z]$)`).FindString(m.text)
		if name != "" && !known[name] && !slices.Contains(others[m.place], name) {
			t.Errorf("%s: `%s`: no command has this flag", m.place, m.text)
		}
	}
}

// TestTargetsInDocumentsExist: every make X is a target.
func TestTargetsInDocumentsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	in, lines := spans(t)
	form, found := regexp.MustCompile(`(?:^|[;&|(]\s*|\$ )make ([a-z][a-z-]*)`), 0
	for _, m := range append(in, lines...) {
		for _, target := range form.FindAllStringSubmatch(m.text, -1) {
			found++
			if !regexp.MustCompile(`(?m)^` + target[1] + `:`).Match(makefile) {
				t.Errorf("%s: `%s`: the Makefile has no target %s", m.place, m.text, target[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d targets were found", found)
	}
}

// TestSettingsInDocumentsExist: every LOCI_ variable is that of a setting, or is read by
// a test or a script; every name with a period that begins as a section of the settings
// do is one.
func TestSettingsInDocumentsExist(t *testing.T) {
	keys, variables, sections := map[string]bool{}, map[string]bool{"LOCI_CONFIG": true}, map[string]bool{}
	for _, s := range config.Settings() {
		keys[s.Key], variables[s.Env()] = true, true
		if section, _, nested := strings.Cut(s.Key, "."); nested {
			sections[section], keys[section+".*"] = true, true
		}
	}
	read := sources(t)
	variable, name := regexp.MustCompile(`\bLOCI_[A-Z_]+`), regexp.MustCompile(`^([a-z]+)\.([a-z_]+|\*)$`)
	for place, text := range documents(t) {
		for _, v := range variable.FindAllString(text, -1) {
			if !variables[strings.TrimSuffix(v, "_")] && v != config.EnvPrefix && !strings.Contains(read, v) {
				t.Errorf("%s: %s is no setting and nothing reads it", place, v)
			}
		}
	}
	in, _ := spans(t)
	for _, m := range in {
		if n := name.FindStringSubmatch(m.text); n != nil && sections[n[1]] && !keys[m.text] &&
			!slices.Contains(fileEndings, n[2]) {
			t.Errorf("%s: `%s` is no setting", m.place, m.text)
		}
	}
}

// TestEmbeddersAreInTheirTable: whatever the setting can be has its row.
func TestEmbeddersAreInTheirTable(t *testing.T) {
	page := documents(t)["docs/embedders.md"]
	settings := config.Settings()
	at := slices.IndexFunc(settings, func(s config.Setting) bool { return s.Key == "embedder" })
	for _, value := range settings[at].Values {
		kind, _, _ := strings.Cut(value, ":")
		if !regexp.MustCompile("(?m)^\\| `" + kind + "[:`]").MatchString(page) {
			t.Errorf("the table of embedders lacks %s", value)
		}
	}
	if !strings.Contains(page, "| `"+settings[at].Default+"`, the default |") {
		t.Errorf("the table of embedders does not say that %s is the default", settings[at].Default)
	}
}

// TestFiguresNameTheirCommit: each table of benchmarks follows a line that says what it
// was measured on.
func TestFiguresNameTheirCommit(t *testing.T) {
	page := documents(t)["docs/benchmarks.md"]
	tables := regexp.MustCompile(`(?m)^([^|\n]*)\n\n\|[^\n]*\n\|[-|]+$`).FindAllStringSubmatch(page, -1)
	if n := strings.Count(page, "|\n|---"); len(tables) != n || n == 0 {
		t.Errorf("%d tables, %d of them after a line of text", n, len(tables))
	}
	for _, m := range tables {
		if !regexp.MustCompile(`on commit \S+`).MatchString(m[1]) {
			t.Errorf("docs/benchmarks.md: a table does not say on which commit it was measured: %q", m[1])
		}
	}
}

// sources are the files that tests and scripts consist of, joined.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for path := range repositoryFiles(t) {
		if strings.HasSuffix(path, "_test.go") ||
			slices.Contains([]string{".py", ".sh", ".ts", ".mjs", ".go"}, filepath.Ext(path)) ||
			path == "Makefile" {
			data, err := os.ReadFile(filepath.Join(repository, path))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

// repositoryFiles are the paths of all files and directories.
func repositoryFiles(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".git" || name == "node_modules") {
			return fs.SkipDir
		}
		name, err := filepath.Rel(repository, path)
		all[filepath.ToSlash(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fileEndings are those of files of this repository.
var fileEndings = []string{"go", "md", "sh", "py", "ts", "mjs", "txtar", "yaml", "json", "http"}

// TestPathsInDocumentsExist: a path of this repository that a document names is there: one
// that begins as a directory of ours does, and any file of Go. ADRs are of their day.
func TestPathsInDocumentsExist(t *testing.T) {
	files, top := repositoryFiles(t), map[string]bool{}
	for path := range files {
		if first, _, below := strings.Cut(path, "/"); below {
			top[first] = true
		}
	}
	form := regexp.MustCompile(`^(?:\./)?[\w.*-]+(?:/[\w.*-]+)*/?$`)
	in, _ := spans(t)
	found := 0
	for _, m := range in {
		if !form.MatchString(m.text) || strings.HasPrefix(m.place, "docs/adr/") {
			continue
		}
		path := strings.TrimSuffix(strings.TrimPrefix(m.text, "./"), "/")
		first, _, below := strings.Cut(path, "/")
		if (!below || !top[first]) && !strings.HasSuffix(path, ".go") {
			continue
		}
		found++
		if !exists(files, path) && !exists(files, filepath.ToSlash(filepath.Join(filepath.Dir(m.place), path))) {
			t.Errorf("%s: `%s` is not there", m.place, m.text)
		}
	}
	if found < 100 {
		t.Errorf("only %d paths were found", found)
	}
}

// built are directories that a command of the document makes.
var built = []string{"bin/loci", "sdk/js/dist"}

func exists(files map[string]bool, path string) bool {
	if files[path] || slices.Contains(built, path) {
		return true
	}
	for file := range files {
		if ok, _ := filepath.Match(path, file); ok { // a pattern that is none matches nothing
			return true
		}
		if !strings.Contains(path, "/") && filepath.Base(file) == path { // a file of the package at hand
			return true
		}
	}
	return false
}

// The links that enter Loci with one click start it as the package of npm does.
func TestLinksInstall(t *testing.T) {
	const want = `{"command":"npx","args":["-y","@loci-memory/cli","mcp"]}`
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"cursor.com", "vscode.dev"} {
		found := regexp.MustCompile(`\(https://` + host + `/[^)]*`).FindString(string(text))
		link, err := url.Parse(strings.TrimPrefix(found, "("))
		if err != nil {
			t.Fatal(err)
		}
		config := link.Query().Get("config")
		if plain, err := base64.StdEncoding.DecodeString(config); err == nil {
			config = string(plain)
		}
		if config != want || link.Query().Get("name") != "loci" {
			t.Errorf("%s: %q means %s", host, found, config)
		}
	}
}
