package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loci-memory/loci/internal/entry"
)

// A sample is a configuration of a client. Its kind is what setup must do with it: kept,
// theirs, ours or refused, as testdata/corpus/json.txtar says.
type sample struct{ client, kind, name, text string }

// generated is how many configurations of each client are made at random, from this seed.
const (
	generated = 12
	seed      = 20261123
)

// corpus is every configuration, in order: written by hand for one client or for all of a
// format, each also as other editors write it, and generated.
func corpus(t *testing.T) (all []sample) {
	t.Helper()
	read := func(name string) []txtar.File {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "corpus", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		return archive.Files
	}
	formats := map[entry.Format]string{entry.JSON: "json", entry.TOML: "toml", entry.YAML: "yaml"}
	own := read("clients")
	for n, client := range clients {
		for i, f := range read(formats[client.format]) {
			kind, name, _ := strings.Cut(f.Name, "/")
			text := strings.ReplaceAll(string(f.Data), "KEY", client.path[0])
			for v, spelled := range spellings(text) {
				// Many clients share JSON: each text in one spelling there, in all over all clients.
				if client.format != entry.JSON || v == (i+n)%4 {
					all = append(all, sample{client.ID, kind, fmt.Sprintf("%s-%d", name, v), spelled})
				}
			}
		}
		for _, f := range own {
			if parts := strings.Split(f.Name, "/"); parts[0] == client.ID {
				all = append(all, sample{client.ID, parts[1], parts[2], string(f.Data)})
			}
		}
		r := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // the same ones each time
		for i := range generated {
			text := map[entry.Format]func(*rand.Rand, string) string{
				entry.JSON: randomJSON, entry.TOML: randomTOML, entry.YAML: randomYAML,
			}[client.format](r, client.path[0])
			all = append(all, sample{client.ID, "kept", fmt.Sprintf("generated-%d", i), spellings(text)[r.IntN(4)]})
		}
	}
	return all
}

// spellings are a text as it is, with lines of Windows, with a byte order mark, and without
// an end of its last line.
func spellings(text string) []string {
	return []string{text, strings.ReplaceAll(text, "\n", "\r\n"), "\xef\xbb\xbf" + text, strings.TrimSuffix(text, "\n")}
}

// Setup over a corpus of configurations: what other parsers read is equal except for our
// entry, each byte and comment is kept, a second run changes nothing, and --remove gives the
// bytes back.
func TestCorpus(t *testing.T) {
	all := corpus(t)
	count, texts := map[string]int{}, map[string]bool{}
	for _, s := range all {
		count[s.client]++
		texts[s.text] = true
		t.Run(s.client+"/"+s.kind+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t)
		})
	}
	for _, client := range clients {
		if count[client.ID] < 40 {
			t.Errorf("%d configurations of %s are too few", count[client.ID], client.ID)
		}
	}
	if len(texts) < 200 {
		t.Errorf("the corpus has %d texts, fewer than 200", len(texts))
	}
	t.Logf("%d configurations, %d texts: %v", len(all), len(texts), count)
}

func (s sample) check(t *testing.T) {
	home := t.TempDir()
	sys := systemOf("linux", map[string]string{"HOME": home})
	client := named(t, s.client)
	path := client.file(sys)
	write(t, path, s.text)
	to := Target{Command: "/bin/loci", Args: []string{"mcp"}}
	do := func(c Setup) Result { return c.Connect(t.Context(), sys, client, to) }
	must := func(r Result, outcome string) {
		t.Helper()
		if r.Outcome != outcome {
			t.Fatalf("%s, not %s: %s\n%s", r.Outcome, outcome, r.Error, read(t, path))
		}
	}
	same := func(want string) {
		t.Helper()
		if got := read(t, path); got != want {
			t.Fatalf("\n%q\nbecame\n%q", want, got)
		}
	}
	connect := Setup{}
	switch s.kind {
	case "refused":
		must(do(Setup{}), Failed)
		if r := do(Setup{Remove: true}); r.Outcome != Failed && r.Outcome != Unchanged {
			t.Errorf("%+v", r)
		}
		same(s.text)
		s.alone(t, path)
		return
	case "ours":
		must(do(Setup{}), Unchanged)
		same(s.text)
		must(do(Setup{Remove: true}), Removed)
		s.compare(t, client, read(t, path), nil)
		return
	case "theirs":
		must(do(Setup{}), Failed)
		same(s.text)
		connect.Replace = true
	}
	must(do(connect), Connected)
	connected := read(t, path)
	s.compare(t, client, connected, client.entry(to).Plain())
	if s.kind == "kept" {
		s.keeps(t, connected)
	}
	must(do(Setup{}), Unchanged)
	same(connected)
	if s.kind == "kept" { // also without the copy
		if err := os.Remove(path + ".before-loci"); err != nil {
			t.Fatal(err)
		}
		must(do(Setup{Remove: true}), Removed)
		if _, err := os.Stat(path); err == nil || len(independent(t, client.format, s.text)) > 0 { // a file with our entry alone goes
			s.compare(t, client, read(t, path), nil)
		}
		write(t, path, s.text)
		must(do(connect), Connected)
		same(connected)
	}
	must(do(Setup{Remove: true}), Removed)
	same(s.text)
	s.alone(t, path)
}

// alone says that nothing is left beside the file.
func (s sample) alone(t *testing.T, path string) {
	t.Helper()
	if left, err := filepath.Glob(path + "?*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if dir, err := os.ReadDir(filepath.Dir(path)); err != nil || len(dir) != 1 {
		t.Errorf("the directory holds %v: %v", dir, err)
	}
}

// compare reads both texts with parsers that setup does not use.
func (s sample) compare(t *testing.T, client Client, now string, ours any) {
	t.Helper()
	if json.Valid([]byte(s.text)) && !json.Valid([]byte(now)) {
		t.Errorf("what every client could read became\n%s", now)
	}
	before, after := independent(t, client.format, s.text), independent(t, client.format, now)
	if got := take(after, client.at()); !reflect.DeepEqual(plain(t, got), plain(t, ours)) {
		t.Errorf("the entry says %v, not %v", got, ours)
	}
	take(before, client.at())
	if !reflect.DeepEqual(before, after) {
		t.Errorf("another parser reads\n%v\nand then\n%v", before, after)
	}
}

// take takes the entry at a path out of a document. Objects on the way that hold nothing go,
// too: an empty list of servers and none are alike.
func take(document map[string]any, path []string) any {
	servers, _ := document[path[0]].(map[string]any)
	value := servers[path[1]]
	if delete(servers, path[1]); len(servers) == 0 {
		delete(document, path[0])
	}
	return value
}

// plain is a value as JSON has it, so that the types of parsers do not count.
func plain(t *testing.T, value any) (same any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &same)
	}
	if err != nil {
		t.Fatal(err)
	}
	return same
}

func independent(t *testing.T, format entry.Format, text string) map[string]any {
	t.Helper()
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	document := map[string]any{}
	if strings.TrimSpace(text) == "" {
		return document
	}
	var err error
	switch format {
	case entry.JSON:
		d := json.NewDecoder(bytes.NewReader(withoutComments(text)))
		d.UseNumber()
		err = d.Decode(&document)
	case entry.TOML:
		err = toml.Unmarshal([]byte(text), &document)
	default:
		err = yaml.Unmarshal([]byte(text), &document)
	}
	if err != nil {
		t.Fatalf("another parser: %v\n%s", err, text)
	}
	if document == nil {
		document = map[string]any{}
	}
	return document
}

var (
	commentForm = regexp.MustCompile(`(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/`)
	commaForm   = regexp.MustCompile(`("(?:\\.|[^"\\])*")|,(\s*[}\]])`)
)

// withoutComments is JSON as encoding/json takes it.
func withoutComments(text string) []byte {
	return commaForm.ReplaceAll(commentForm.ReplaceAll([]byte(text), []byte("$1 ")), []byte("$1$2"))
}

// keeps says that each byte is there in its order, and each comment as often. What stands for
// nothing, such as null, may become our entry.
func (s sample) keeps(t *testing.T, now string) {
	t.Helper()
	for _, form := range []string{"keep:[^\r\n]*", "\r\n", "\xef\xbb\xbf"} {
		form := regexp.MustCompile(form)
		before, after := form.FindAllString(s.text, -1), form.FindAllString(now, -1)
		if form.String() == "\r\n" && len(before) > 0 && strings.Count(now, "\n") != len(after) {
			t.Errorf("ends of lines are mixed: %q", now)
		}
		if form.String() != "\r\n" && !slices.Equal(before, after) {
			t.Errorf("%q became %q", before, after)
		}
	}
	text, at := regexp.MustCompile(`(KEY|mcp|servers|extensions)"?: (null|~|\{\})`).ReplaceAllString(s.text, "$1"), 0
	for i := range len(text) {
		next := strings.IndexByte(now[at:], text[i])
		if next < 0 {
			t.Fatalf("byte %d of\n%s\nis gone in\n%s", i, text, now)
		}
		at += next + 1
	}
}

// words are names and values that configurations have.
var words = []string{
	"theme", "model", "telemetry", "editor.fontSize", "recent", "profiles", "a b", "größe", "loci.io", "Loci", "args", "env", "später",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// distinct picks some names.
func distinct(r *rand.Rand, most int) []string {
	names := slices.Clone(words)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:r.IntN(most+1)]
}

// randomJSON is the configuration of somebody with a hand of their own.
func randomJSON(r *rand.Rand, key string) string {
	unit, colon := pick(r, "  ", "    ", "\t"), pick(r, ": ", ":", " : ")
	last := pick(r, "", ",")
	n := 0
	comment := func(indent string) string {
		n++
		return pick(r, "", "", fmt.Sprintf(" // keep: %d \"loci\": {", n), fmt.Sprintf("%s/* keep: %d },\n%s*/", indent, n, indent))
	}
	value := func() string {
		return pick(r, `1`, `-1.5e3`, `true`, `null`, `"a // b"`, `"\u00e9\"}"`, `[1, {"loci": 2}]`, `{"a": {"b": [ ]}}`, `{}`, `[]`)
	}
	server := func() string {
		return pick(r, `{"command": "npx", "args": ["-y", "x@latest"], "env": {"KEY": "${env:KEY}"}}`,
			`{"url": "https://x.example/sse", "headers": {"A": "b"}}`, `{"command": "x", "disabled": true, "autoApprove": []}`,
			`{"type": "stdio", "command": "C:\\x.exe", "later": {"kind": [null, 1.5]}}`)
	}
	object := func(names []string, indent string, value func(name string) string) string {
		var out strings.Builder
		out.WriteString("{")
		for i, name := range names {
			out.WriteString(comment(indent) + "\n" + indent + `"` + name + `"` + colon + value(name))
			if i < len(names)-1 {
				out.WriteString(",")
			} else {
				out.WriteString(last)
			}
		}
		return out.String() + "\n" + strings.TrimSuffix(indent, unit) + "}"
	}
	names := distinct(r, 6)
	if r.IntN(6) > 0 {
		names = slices.Insert(names, r.IntN(len(names)+1), key)
	}
	if len(names) == 0 {
		last = ""
	}
	return object(names, unit, func(name string) string {
		if name != key {
			return value()
		}
		servers := distinct(r, 4)
		if len(servers) == 0 {
			return "{}"
		}
		return object(servers, unit+unit, func(string) string { return server() })
	}) + "\n"
}

func randomTOML(r *rand.Rand, key string) string {
	blocks := []string{
		"# keep: about servers\n[" + key + ".a]\ncommand = 'x' # keep: [" + key + ".loci]\n",
		"[[list]]\nloci = \"\"\"\n[" + key + ".loci]\n\"\"\"\n[[list]]\nx = 1\n",
		"[t]\nat = 1979-05-27T07:32:00Z\nlist = [\n  1, # keep: one\n]\n\n\n",
		"[\"" + key + "\".\"b.c\"]\nenv = { A = '1' }\n",
		"[" + key + ".loci2]\n\n# keep: the end of it\n",
		"[projects.\"/home/größe\"]\ntrust_level = \"trusted\"\n",
		"[" + key + ".d.env]\nTOKEN = \"x\"\n[" + key + ".d.later]\nkind = [1.5, 2.0]\n",
		"[profiles.deep]\nmodel = 'o' # keep: deep\n  [profiles.deep.tools]\n  web = true\n",
	}
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	head := pick(r, "", "model = \"o\" # keep: best\n", "# keep: the head\n\nnotify = ['a', \"b\"]\ntui.theme = 'dark'\n")
	return head + strings.Join(blocks[:r.IntN(len(blocks)+1)], pick(r, "", "\n", "\n\n"))
}

func randomYAML(r *rand.Rand, key string) string {
	indent := pick(r, "  ", "    ")
	lines := []string{pick(r, "# keep: goose", "---", "GOOSE_MODE: auto"), "model: \"" + key + ": {}\"", "shared: &s {A: '1'}"}
	if r.IntN(6) > 0 {
		lines = append(lines, key+":"+pick(r, "", " # keep: mine"))
		for i := range 1 + r.IntN(4) {
			lines = append(lines, indent+fmt.Sprintf("e%d:", i), pick(r,
				indent+indent+"cmd: x # keep: why",
				indent+indent+"args:\n"+indent+indent+"- a\n"+indent+indent+"- b: 1",
				indent+indent+"text: |\n"+indent+indent+"  loci:\n\n"+indent+indent+"  x",
				"# keep: a note at the margin\n"+indent+indent+"env: *s",
				indent+indent+"later: {kind: [null, 1.5], on: 2026-01-31}",
			))
		}
	}
	return strings.Join(append(lines, "last: [1, 2]", pick(r, "# keep: the foot", "other: *s")), "\n") + "\n"
}

// The corpus is the same each time, so that a failure can be looked at.
func TestCorpusIsTheSame(t *testing.T) {
	if first, second := corpus(t), corpus(t); !slices.Equal(first, second) {
		t.Error("the corpus differs from itself")
	}
	kinds := map[string]int{}
	for _, s := range corpus(t) {
		kinds[s.kind]++
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, []string{"kept", "ours", "refused", "theirs"}) {
		t.Errorf("kinds: %v", kinds)
	}
}
