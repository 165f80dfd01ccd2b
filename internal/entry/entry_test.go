package entry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/entry"
)

var loci = entry.Fields{{"command", "/opt/loci bin/loci"}, {"args", []string{"mcp", "--user", "jürgen"}}}

// Set edits a file as a person would. The expected results below were written by hand.
func TestSetWritesAsAPersonWould(t *testing.T) {
	for name, c := range map[string]struct {
		format     entry.Format
		path       string
		text, want string
	}{
		"an empty file": {entry.JSON, "mcpServers.loci", "", `{
  "mcpServers": {
    "loci": {
      "command": "/opt/loci bin/loci",
      "args": ["mcp", "--user", "jürgen"]
    }
  }
}
`},
		"comments and tabs": {entry.JSON, "mcpServers.loci", `// mine
{
	"theme": "dark", // at night
	"mcpServers": {
		"other": {"command": "x"} // the other
		/* and that is all */
	}
}`, `// mine
{
	"theme": "dark", // at night
	"mcpServers": {
		"other": {"command": "x"}, // the other
		/* and that is all */
		"loci": {
			"command": "/opt/loci bin/loci",
			"args": ["mcp", "--user", "jürgen"]
		}
	}
}`},
		"a trailing comma": {entry.JSON, "servers.loci", "{\n  \"servers\": {\n    \"a\": {},\n  },\n}\n",
			"{\n  \"servers\": {\n    \"a\": {},\n    \"loci\": {\n      \"command\": \"/opt/loci bin/loci\",\n" +
				"      \"args\": [\"mcp\", \"--user\", \"jürgen\"]\n    },\n  },\n}\n"},
		"a comment without an end of line": {entry.JSON, "s.loci", "{\n  \"s\": {}\n} // mine",
			"{\n  \"s\": {\n    \"loci\": {\n      \"command\": \"/opt/loci bin/loci\",\n" +
				"      \"args\": [\"mcp\", \"--user\", \"jürgen\"]\n    }\n  }\n} // mine"},
		"one line": {entry.JSON, "mcpServers.loci", `{"mcpServers": {"a": {"command": "x"}}}`,
			`{"mcpServers": {"a": {"command": "x"}, "loci": {"command": "/opt/loci bin/loci", "args": ["mcp", "--user", "jürgen"]}}}`},
		"lines of Windows and a mark": {entry.JSON, "s.loci", "\xef\xbb\xbf{\r\n  \"s\": {}\r\n}\r\n",
			"\xef\xbb\xbf{\r\n  \"s\": {\r\n    \"loci\": {\r\n      \"command\": \"/opt/loci bin/loci\",\r\n" +
				"      \"args\": [\"mcp\", \"--user\", \"jürgen\"]\r\n    }\r\n  }\r\n}\r\n"},
		"an entry that is there": {entry.JSON, "s.loci", "{\n  \"s\": {\n    \"loci\": 1, // old\n    \"b\": 2\n  }\n}",
			"{\n  \"s\": {\n    \"loci\": {\n      \"command\": \"/opt/loci bin/loci\",\n" +
				"      \"args\": [\"mcp\", \"--user\", \"jürgen\"]\n    }, // old\n    \"b\": 2\n  }\n}"},
		"TOML": {entry.TOML, "mcp_servers.loci", "model = \"o\" # best\n\n[mcp_servers.a]\ncommand = 'x'\n",
			"model = \"o\" # best\n\n[mcp_servers.a]\ncommand = 'x'\n\n[mcp_servers.loci]\ncommand = \"/opt/loci bin/loci\"\n" +
				"args = [\"mcp\", \"--user\", \"jürgen\"]\n"},
		"TOML in the middle": {entry.TOML, "mcp_servers.loci",
			"[mcp_servers.loci]\ncommand = 'old' # that\n[mcp_servers.loci.env]\nA = '1'\n\n# of b\n[b]\nc = 1\n",
			"[mcp_servers.loci]\ncommand = \"/opt/loci bin/loci\"\nargs = [\"mcp\", \"--user\", \"jürgen\"]\n\n# of b\n[b]\nc = 1\n"},
		"YAML": {entry.YAML, "extensions.loci", "# goose\nextensions: # mine\n    dev:\n        enabled: true\n    note: |\n        a\nmodel: x\n",
			"# goose\nextensions: # mine\n    loci:\n      command: \"/opt/loci bin/loci\"\n      args: [\"mcp\", \"--user\", \"jürgen\"]\n" +
				"    dev:\n        enabled: true\n    note: |\n        a\nmodel: x\n"},
		"YAML that is empty there": {entry.YAML, "extensions.loci", "extensions: {} # none yet\nmodel: x",
			"extensions: # none yet\n  loci:\n    command: \"/opt/loci bin/loci\"\n    args: [\"mcp\", \"--user\", \"jürgen\"]\nmodel: x"},
		"YAML without it": {entry.YAML, "extensions.loci", "model: x",
			"model: x\nextensions:\n  loci:\n    command: \"/opt/loci bin/loci\"\n    args: [\"mcp\", \"--user\", \"jürgen\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.Split(c.path, ".")
			got, err := c.format.Set([]byte(c.text), loci, path...)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %v\n%s\nwant\n%s", err, got, c.want)
			}
			again, err := c.format.Set(got, loci, path...)
			if err != nil || string(again) != c.want {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

// Set changes nothing except our entry, and Remove gives the same bytes back, for texts of
// every shape.
func TestRemoveGivesTheBytesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var format entry.Format
		var text string
		switch rapid.IntRange(0, 2).Draw(t, "format") {
		case 0:
			format, text = entry.JSON, jsonText(t)
		case 1:
			format, text = entry.TOML, tomlText(t)
		default:
			format, text = entry.YAML, yamlText(t)
		}
		set, err := format.Set([]byte(text), loci, "servers", "loci")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if lost := missing(text, string(set)); lost >= 0 {
			t.Fatalf("byte %d of\n%s\nis gone in\n%s", lost, text, set)
		}
		if got, found, err := format.Get(set, "servers", "loci"); err != nil || !found ||
			fmt.Sprint(got) != "map[args:[mcp --user jürgen] command:/opt/loci bin/loci]" {
			t.Fatalf("reading it back: %v %v %v", got, found, err)
		}
		if again, err := format.Set(set, loci, "servers", "loci"); err != nil || string(again) != string(set) {
			t.Fatalf("a second time %v\n%s\nbecame\n%s", err, set, again)
		}
		back, err := format.Remove(set, "servers", "loci")
		if err != nil || string(back) != text {
			t.Fatalf("%v\n%q\nbecame\n%q\nby way of\n%s", err, text, back, set)
		}
	})
}

// missing returns the first byte of text that is not in changed, in order; -1 for none.
func missing(text, changed string) int {
	at := 0
	for i := range len(text) {
		next := strings.IndexByte(changed[at:], text[i])
		if next < 0 {
			return i
		}
		at += next + 1
	}
	return -1
}

// jsonText makes an object with a field "servers" that holds at least one other entry.
func jsonText(t *rapid.T) string {
	newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
	unit := rapid.SampledFrom([]string{"  ", "    ", "\t"}).Draw(t, "unit")
	comma := rapid.SampledFrom([]string{"", ","}).Draw(t, "trailing comma")
	comment := func(indent string) string {
		return rapid.SampledFrom([]string{"", " // a \"loci\": {", " /* }, */"}).
			Draw(t, "comment") +
			newline + indent
	}
	value := func() string {
		return rapid.SampledFrom([]string{`1`, `-1.5e3`, `true`, `null`, `"a // b"`, `"\u00e9\"}"`, `[1, {"loci": 2}]`, `{"a": {"b": [ ]}}`, `{}`}).
			Draw(t, "value")
	}
	members := func(names []string, indent string) string {
		var out strings.Builder
		for i, name := range names {
			out.WriteString(comment(indent))
			out.WriteString(
				`"` + name + `"` + rapid.SampledFrom([]string{": ", ":", " :  "}).Draw(t, "colon") + value(),
			)
			if i < len(names)-1 {
				out.WriteString(",")
			}
		}
		return out.String()
	}
	names := func() []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b c", "é", "loc", "Loci", "args"}), 1, 4, rapid.ID).
			Draw(t, "names")
	}
	inner := "{" + members(names(), unit+unit) + comma + comment(unit) + "}"
	mark := rapid.SampledFrom([]string{"", "\xef\xbb\xbf"}).Draw(t, "mark")
	return mark + comment("") + "{" + members(names(), unit) + "," + comment(unit) +
		`"servers": ` + inner + comma + comment("") + "}" + newline
}

func tomlText(t *rapid.T) string {
	blocks := rapid.SliceOfN(rapid.SampledFrom([]string{
		"# about servers\n[servers.a]\ncommand = 'x' # [servers.loci]\n", "[[list]]\nloci = \"\"\"\n[servers.loci]\n\"\"\"\n",
		"[t]\nat = 1979-05-27T07:32:00Z\nlist = [\n  1, # one\n]\n\n\n", "[\"servers\".\"b.c\"]\nenv = { A = '1' }\n", "[servers.loci2]\n\n# the end\n",
	}), 0, 4).Draw(t, "blocks")
	text, seen := "top = 1\n", map[string]bool{}
	for _, block := range blocks {
		if !seen[block] {
			text, seen[block] = text+"\n"+block, true
		}
	}
	if rapid.Bool().Draw(t, "windows") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

func yamlText(t *rapid.T) string {
	indent := rapid.SampledFrom([]string{"  ", "    "}).Draw(t, "indent")
	lines := []string{
		"# goose",
		"model: \"servers: {}\"",
		"servers:" + rapid.SampledFrom([]string{"", " # mine"}).Draw(t, "comment"),
	}
	for i, n := 0, rapid.IntRange(1, 3).Draw(t, "entries"); i < n; i++ {
		lines = append(lines, indent+fmt.Sprintf("e%d:", i), rapid.SampledFrom([]string{
			indent + indent + "cmd: x # why",
			indent + indent + "- a\n" + indent + indent + "- b",
			indent + indent + "text: |\n" + indent + indent + "  loci:\n\n" + indent + indent + "  x",
			"# a note at the margin\n" + indent + indent + "env: {A: '1'}",
		}).Draw(t, "entry"))
	}
	text := strings.Join(append(lines, "last: &a [1, 2]", "other: *a"), "\n") + "\n"
	if rapid.Bool().Draw(t, "windows") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// A file that cannot be read says where; one that cannot be changed safely is left alone.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		format     entry.Format
		text, want string
	}{
		"JSON that ends early": {entry.JSON, "{\n  \"a\": ", "line 2"},
		"JSON of another kind": {entry.JSON, "[1]", "holds no object"},
		"a list of servers":    {entry.JSON, `{"servers": []}`, `"servers" exists and is not an object`},
		"two of them":          {entry.JSON, `{"servers": {}, "servers": {}}`, "there twice"},
		"another encoding":     {entry.JSON, "\xff\xfe{\x00}\x00", "no JSON"},
		"TOML that is wrong":   {entry.TOML, "a = 1\nb = \n", "line 2, column"},
		"TOML that is inline":  {entry.TOML, "servers = { a = { command = 'x' } }\n", "only a person"},
		"TOML of another kind": {entry.TOML, "servers = 3\n", "not an object"},
		"YAML that is wrong":   {entry.YAML, "a: [1\nb: 2\n", "not YAML"},
		"YAML in flow style":   {entry.YAML, "servers: {a: {cmd: x}}\n", "only a person"},
		"YAML of another kind": {entry.YAML, "- 1\n", "not YAML with fields"},
		"YAML with tabs":       {entry.YAML, "servers:\n\ta: 1\n", "not YAML"},
		"YAML with an alias":   {entry.YAML, "x: &x\n  a: {cmd: y}\nservers: *x\n", "only a person"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.format.Set([]byte(c.text), loci, "servers", "loci")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and\n%s", err, got)
			}
		})
	}
	text := "servers.loci.command = 'x'\n"
	if _, err := entry.TOML.Remove([]byte(text), "servers", "loci"); !errors.Is(err, entry.ErrUneditable) {
		t.Errorf("dotted keys: %v", err)
	}
}

// An entry with a table of its own below it goes with it.
func TestNestedFields(t *testing.T) {
	nested := entry.Fields{
		{"type", "stdio"},
		{"enabled", true},
		{"timeout", 300},
		{"env", entry.Fields{{"LOCI_USER", "a\"b\\c"}}},
	}
	for name, c := range map[string]struct {
		format entry.Format
		text   string
	}{
		"JSON": {entry.JSON, "{\n  \"x\": {\"y\": 1}\n}\n"},
		"TOML": {entry.TOML, "[x.y]\nz = 1\n"},
		"YAML": {entry.YAML, "x:\n  y: {z: 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := c.format.Set([]byte(c.text), nested, "x", "loci.io")
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := c.format.Get(set, "x", "loci.io")
			data, _ := json.Marshal(got)
			if want := `{"enabled":true,"env":{"LOCI_USER":"a\"b\\c"},"timeout":300,"type":"stdio"}`; err != nil ||
				string(data) != want {
				t.Errorf("got %s %v from\n%s", data, err, set)
			}
			if back, err := c.format.Remove(set, "x", "loci.io"); err != nil || string(back) != c.text {
				t.Errorf("removed: %v\n%s", err, back)
			}
		})
	}
}

func FuzzSet(f *testing.F) {
	for _, text := range []string{"{}", "{\"servers\": {}} // x", "[servers]\n", "servers:\n  a: 1\n", "a: |\n  b"} {
		f.Add(0, text)
		f.Add(1, text)
		f.Add(2, text)
	}
	f.Fuzz(func(t *testing.T, kind int, text string) {
		format := []entry.Format{entry.JSON, entry.TOML, entry.YAML}[(kind%3+3)%3]
		set, err := format.Set([]byte(text), loci, "servers", "loci")
		if err != nil {
			return
		}
		if _, found, err := format.Get(set, "servers", "loci"); !found || err != nil {
			t.Fatalf("%v in %q", err, set)
		}
		if _, err := format.Remove(set, "servers", "loci"); err != nil {
			t.Fatalf("%v in %q", err, set)
		}
	})
}
