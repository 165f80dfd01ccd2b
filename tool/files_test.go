package tool

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tree"
)

// A flatTree is the tool memory, written down a second time from its rules: a map of
// paths to contents, in which nil is a directory.
type flatTree map[string]*string

var (
	slashes   = regexp.MustCompile(`[\\/]+`)
	flatName  = regexp.MustCompile(`^[A-Za-z0-9_. -]+$`)
	onlyBlank = regexp.MustCompile(`^ +$`)
)

func flatPath(path string) (clean, fault string) {
	switch {
	case path == "":
		return "", "path is required"
	case strings.Contains(path, ".."):
		return "", `invalid path: ".." not allowed`
	case strings.Contains(path, "$"):
		return "", `invalid path: "$" not allowed`
	}
	clean = strings.Trim(slashes.ReplaceAllString(path, "/"), "/")
	if clean == "" {
		return "/", ""
	}
	for n, name := range strings.Split(clean, "/") {
		if !flatName.MatchString(name) || name == "." || onlyBlank.MatchString(name) || len(name) > 255 {
			return "", "invalid path segment: " + name
		}
		if n == 32 {
			return "", "invalid path: more than 32 levels"
		}
	}
	return "/" + clean, ""
}

// say is what the tool must answer; the result is JSON.
func (f flatTree) say(command, path, content, old string) (result, message, code string) {
	if !slices.Contains([]string{"read", "list", "append", "update", "delete"}, command) {
		return "", "unknown command: " + clip(command, 64), "EINVAL"
	}
	if command == "list" && path == "" {
		path = "/"
	}
	path, fault := flatPath(path)
	if fault != "" {
		return "", fault, "EINVAL"
	}
	at, there := f[path]
	switch dir := there && at == nil || path == "/"; {
	case command == "list":
		return f.list(path, dir), "", ""
	case command == "delete":
		return f.delete(path), "", ""
	case dir:
		return "", "EISDIR: path is a directory", "EISDIR"
	case command == "append":
		return f.append(path, content, at)
	case !there:
		return "", "ENOENT: file not found", "ENOENT"
	case command == "read":
		return object("content", *at), "", ""
	}
	n := 0
	if old != "" {
		n = strings.Count(*at, old)
		*at = strings.ReplaceAll(*at, old, content)
	}
	return object("replaced", n), "", ""
}

func (f flatTree) list(path string, dir bool) string {
	entries := []any{}
	var names []string
	for p := range f {
		if rest, in := strings.CutPrefix(p, strings.TrimSuffix(path, "/")+"/"); in && dir && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		kind := "file"
		if f[strings.TrimSuffix(path, "/")+"/"+name] == nil {
			kind = "dir"
		}
		entries = append(entries, json.RawMessage(object("name", name, "kind", kind)))
	}
	return object("entries", entries)
}

func (f flatTree) delete(path string) string {
	files, dirs := 0, 0
	for p, content := range f {
		if p == path || strings.HasPrefix(p, strings.TrimSuffix(path, "/")+"/") {
			if content == nil {
				dirs++
			} else {
				files++
			}
			delete(f, p)
		}
	}
	return object("files", files, "dirs", dirs)
}

func (f flatTree) append(path, content string, at *string) (result, message, code string) {
	names := strings.Split(path[1:], "/")
	for n := 1; n < len(names); n++ {
		if dir := "/" + strings.Join(names[:n], "/"); f[dir] != nil {
			return "", "ENOTDIR: a parent of the path is a file", "ENOTDIR"
		}
	}
	for n := 1; n < len(names); n++ {
		f["/"+strings.Join(names[:n], "/")] = nil
	}
	if at != nil {
		if *at != "" && !strings.HasSuffix(*at, "\n") && !strings.HasPrefix(content, "\n") {
			content = "\n" + content
		}
		content = *at + content
	}
	f[path] = &content
	return object("status", "ok"), "", ""
}

// FuzzMemoryTool calls the tool with three commands in a row, in a tree that is not
// empty, and compares each reply with the model's.
func FuzzMemoryTool(f *testing.F) {
	f.Add("append", "/a/b", "x", "read", "/a/b", "", "delete", "/a", "")
	f.Add("append", `a\\b//c/`, "x\n", "append", "/a/b/c", "y", "update", "/a/b/c", "x")
	f.Add("append", "/dir/file", "\n", "list", "/dir/", "", "read", "dir", "x")
	f.Add("fly", "/..", "", "list", "", "", "append", "/dir/file/x", "")
	f.Add("update", "/dir/file", "o", "append", "/é", "x", "delete", "//", "")
	f.Fuzz(func(t *testing.T, c1, p1, x1, c2, p2, x2, c3, p3, x3 string) {
		engine, err := loci.New(memory.Open(), &loci.Options{
			Features: locitest.Features(), Content: loci.ContentOptions{KeepSecrets: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		set := setOver(t, engine, Config{
			KeepSecrets: true,
			Logger:      slog.New(slog.DiscardHandler),
			Entries:     []Instance{{Family: FamilyFiles}},
		})
		tool, _ := set.Lookup("memory")
		model := flatTree{}
		u := user(t, "u")
		for _, step := range [][3]string{{"append", "/dir/file", "one two one"}, {"append", "/dir/sub/x.md", ""}, {c1, p1, x1}, {c2, p2, x2}, {c3, p3, x3}} {
			for i := range step {
				step[i] = strings.ToValidUTF8(step[i], "\uFFFD")
				if !utf8.ValidString(step[i]) || len(step[i]) > 20_000 {
					t.Skip()
				}
			}
			args := object("command", step[0], "path", step[1], "content", step[2], "oldContent", "o")
			reply, err := tool.Call(t.Context(), u, json.RawMessage(args))
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			var got struct {
				Path   string
				OK     bool
				Result json.RawMessage
				Error  struct{ Message, Code string }
			}
			decode(t, []byte(reply.Text), &got)
			result, message, code := model.say(step[0], step[1], step[2], "o")
			message = clip(message, 1000)
			if got.OK != (code == "") || got.Error.Code != code ||
				!strings.HasPrefix(got.Error.Message, message) || !sameJSON(t, got.Result, result) {
				t.Fatalf("%s:\n got %s\nwant %s %s %s", args, reply.Text, result, message, code)
			}
			if clean, err := tree.CleanPath(got.Path); got.OK && (err != nil || clean != got.Path) {
				t.Fatalf("%s: path %q, cleaned again %q, %v", args, got.Path, clean, err)
			}
			if report, err := engine.VerifyEvents(t.Context(), u.Principal.Tenant(), loci.Hash{}); err != nil ||
				len(report.Problems) > 0 {
				t.Fatalf("%s: the log of a healthy store: %+v, %v", args, report, err)
			}
		}
	})
}

// sameJSON compares two JSON objects regardless of the order of their keys.
func sameJSON(t testing.TB, a json.RawMessage, b string) bool {
	t.Helper()
	if len(a) == 0 || b == "" {
		return len(a) == 0 && b == ""
	}
	var x, y any
	decode(t, a, &x)
	decode(t, []byte(b), &y)
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// TestBadPathsOfFiles: every command refuses bad paths alike, in an envelope that says which
// part of the path is wrong, and makes nothing of them.
func TestBadPathsOfFiles(t *testing.T) {
	set, u := setOver(t, newEngine(t, loci.Options{}), Config{Entries: []Instance{{Family: FamilyFiles}}}), user(t, "u")
	memory, _ := set.Lookup("memory")
	long := strings.Repeat("n", 256)
	for path, message := range map[string]string{
		"/../x":                         `invalid path: ".." not allowed`,
		"..":                            `invalid path: ".." not allowed`,
		`/a\..\b`:                       `invalid path: ".." not allowed`,
		"/a..b":                         `invalid path: ".." not allowed`,
		"/$HOME":                        `invalid path: "$" not allowed`,
		"/a/./b":                        "invalid path segment: .",
		"/a/ /b":                        "invalid path segment:  ",
		"/a:b":                          "invalid path segment: a:b",
		"/a*":                           "invalid path segment: a*",
		"/%2e%2e":                       "invalid path segment: %2e%2e",
		"/~":                            "invalid path segment: ~",
		"/caf\u00e9":                    "invalid path segment: caf\u00e9",
		"/" + long:                      "invalid path segment: " + long,
		strings.Repeat("/a", 33):        "invalid path: more than 32 levels",
		strings.Repeat("/a", 32) + "/b": "invalid path: more than 32 levels",
	} {
		for _, command := range []string{"read", "list", "append", "update", "delete"} {
			var got envelope
			r, err := memory.Call(t.Context(), u, []byte(fileArgumentsOf(command, path)))
			if err != nil {
				t.Fatal(err)
			}
			decode(t, r.Structured, &got)
			if got.OK || got.Error == nil || got.Error.Code != tree.EINVAL ||
				got.Error.Message != message || got.Command != command || got.Path != path {
				t.Errorf("%s %q: %s; want %s", command, path, r.Text, message)
			}
		}
	}
	if r, err := memory.Call(t.Context(), u, []byte(`{"command":"list","path":"/"}`)); err != nil ||
		!strings.Contains(r.Text, `"entries":[]`) {
		t.Errorf("left behind: %s, %v", r.Text, err)
	}
}

// fileArgumentsOf are the arguments that a command takes, with a path.
func fileArgumentsOf(command, path string) string {
	switch command {
	case "append":
		return object("command", command, "path", path, "content", "x")
	case "update":
		return object("command", command, "path", path, "content", "x", "oldContent", "x")
	}
	return object("command", command, "path", path)
}

// TestCommandsOfTheTool: a tool with some commands shows and does these alone.
func TestCommandsOfTheTool(t *testing.T) {
	set := setOver(t, newEngine(t, loci.Options{}), Config{Entries: []Instance{
		{Family: FamilyFiles},
		{Family: FamilyFiles, Tool: "memory", Name: "lookup", Commands: []string{"list", "read"}},
		{Family: FamilyClaude, Tool: "memory", Name: "look", Commands: []string{"view"}},
		{Family: FamilyFiles, Tool: "memory", Name: "log", Commands: []string{"append"}},
	}})
	u := user(t, "u-1")
	call := func(name, args string) (Reply, error) {
		tool, _ := set.Lookup(name)
		return tool.Call(t.Context(), u, json.RawMessage(args))
	}
	if r, err := call("log", `{"command":"append","path":"/a","content":"kept"}`); err != nil || r.Err != nil {
		t.Fatal(err, r)
	}
	for _, command := range []string{"append", "update", "delete"} {
		r, err := call("lookup", `{"command":"`+command+`","path":"/a","content":"x","oldContent":"kept"}`)
		if want := `{"command":"` + command + `","path":"/a","ok":false,"error":{"message":"unknown command: ` + command + `","code":"EINVAL"}}`; err != nil || r.Text != want || r.Err == nil {
			t.Errorf("%s: %s, %v; want %s", command, r.Text, err, want)
		}
	}
	if _, err := call("look", `{"command":"delete","path":"/memories/a"}`); err == nil || err.Error() != `unknown command "delete": must be one of view` {
		t.Errorf("delete by view alone: %v", err)
	}
	if r, _ := call("lookup", `{"command":"read","path":"/a"}`); !strings.Contains(r.Text, "kept") {
		t.Errorf("read: %s", r.Text)
	}
	for name, only := range map[string]string{"lookup": `"enum":["read","list"]`, "look": `"enum":["view"]`, "log": `"enum":["append"]`} {
		tool, _ := set.Lookup(name)
		if !strings.Contains(string(tool.InputSchema), only) || strings.Contains(tool.Description, "delete") ||
			tool.Annotations.Destructive || tool.Annotations.ReadOnly == (name == "log") {
			t.Errorf("%s: %s %s %+v", name, tool.InputSchema, tool.Description, tool.Annotations)
		}
	}
	for want, entry := range map[string]Instance{
		"tools entry 1: commands cannot be empty":                                                                 {Family: FamilyFiles, Commands: []string{}},
		`tools entry 1: unknown command "view": must be one of read, list, append, update, delete, search`:        {Family: FamilyFiles, Commands: []string{"view"}},
		`tools entry 1: unknown command "read": must be one of view, create, str_replace, insert, delete, rename`: {Family: FamilyClaude, Commands: []string{"read"}},
		`tools entry 1: command "read" is permitted twice: name it once`:                                          {Tool: "memory", Commands: []string{"read", "read"}},
		"tools entry 1: commands is for the tool memory of the families files and claude only":                    {Family: FamilyNotes, Commands: []string{"read"}},
	} {
		if _, err := New(nil, Config{Entries: []Instance{entry}}); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestSearchOfTheTool: a tool finds passages only if its entry says so, and only in its own
// tree.
func TestSearchOfTheTool(t *testing.T) {
	set := setOver(t, newEngine(t, loci.Options{}), Config{ReplyCap: 2000, Entries: []Instance{
		{Family: FamilyFiles}, {Family: FamilyFiles, Tool: "memory", Name: "lookup", Commands: []string{"read", "search"}}}})
	u := user(t, "u")
	for path, content := range map[string]string{"/notes/ann": "Met Ann at the harbour.", "/notes/bob": "Met Bob in the library.", "/plans": "harbour tour"} {
		ok(t, set, "memory", u, object("command", "append", "path", path, "content", content))
	}
	var found struct {
		Result struct{ Matches []searchMatch }
	}
	decode(t, []byte(ok(t, set, "lookup", u, `{"command":"search","path":"/notes","query":"harbour"}`).Text), &found)
	if m := found.Result.Matches; len(m) != 2 || m[0].Path != "/notes/ann" || m[0].FirstLine != 1 ||
		m[0].Text != "Met Ann at the harbour." || m[0].Score <= 0 {
		t.Errorf("found %+v", found)
	}
	if got := ok(t, set, "lookup", user(t, "other"), `{"command":"search","path":"","query":"harbour"}`).Text; got != `{"command":"search","path":"/","ok":true,"result":{"matches":[]}}` {
		t.Errorf("another user finds %s", got)
	}
	lookup, _ := set.Lookup("lookup")
	plain, _ := set.Lookup("memory")
	if schema := string(lookup.InputSchema); !strings.Contains(schema, `"enum":["read","search"]`) ||
		!strings.Contains(schema, `"query"`) || strings.Contains(schema, "ontent") {
		t.Errorf("shown: %s", schema)
	}
	if schema := string(plain.InputSchema); strings.Contains(schema, "query") ||
		strings.Contains(schema, "search") || !lookup.Annotations.ReadOnly {
		t.Errorf("shown: %s", schema)
	}
	for args, message := range map[string]string{
		`{"command":"search","path":"/"}`:                      "query is required for search",
		`{"command":"search","path":"/","query":" "}`:          "query is required for search",
		`{"command":"read","path":"/plans","query":"harbour"}`: "invalid arguments",
		`{"command":"read","path":"/plans","colour":"red"}`:    "invalid arguments",
		`{"command":"search","query":"harbour"}`:               "invalid arguments",
		`{"path":"/plans"}`:                                    "invalid arguments",
		`{"command":"list","path":"/"}`:                        "unknown command: list",
	} {
		if got := ok(t, set, "lookup", u, args); !strings.Contains(got.Text, `"message":"`+message+`"`) || got.Err == nil {
			t.Errorf("%s: %s", args, got.Text)
		}
	}
	if got := ok(t, set, "memory", u, `{"command":"search","path":"/","query":"harbour"}`); !strings.Contains(got.Text, "unknown command: search") {
		t.Errorf("a tool without it: %s", got.Text)
	}
	ok(t, set, "memory", u, object("command", "append", "path", "/long", "content", strings.Repeat("harbour and sea. ", 1000)))
	if got := ok(t, set, "lookup", u, `{"command":"search","path":"/","query":"harbour"}`).Text; len(got) > 2000 || !strings.Contains(got, "harbour") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestFoundInFilesUpToTheCap: a search of files shows as many matches as fit beside the envelope.
func TestFoundInFilesUpToTheCap(t *testing.T) {
	engine, u := newEngine(t, loci.Options{}), user(t, "u")
	files := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFiles}}})
	for n := range 5 {
		ok(t, files, "memory", u, object("command", "append", "path", fmt.Sprint("/", n), "content", strings.Repeat("harbour ", 30+n)))
	}
	find := func(limit int) (found []json.RawMessage) {
		t.Helper()
		entry := Instance{Family: FamilyFiles, Commands: []string{"search"}}
		set := setOver(t, engine, Config{ReplyCap: limit, Entries: []Instance{entry}})
		var reply struct {
			Result struct{ Matches []json.RawMessage }
		}
		decode(t, []byte(ok(t, set, "memory", u, `{"command":"search","path":"/","query":"harbour"}`).Text), &reply)
		return reply.Result.Matches
	}
	all, room := find(DefaultReplyCap), envelopeRoom+len("/")
	for _, m := range all {
		room += len(m) + len(",")
	}
	if got := find(room); len(all) != 5 || len(got) != 5 {
		t.Errorf("%d of %d are shown where all fit", len(got), len(all))
	}
	if got := find(room - 1); len(got) != 4 {
		t.Errorf("%d are shown where the last one lacks a byte", len(got))
	}
}

// TestTreesOfThreads: with the scope perThread each thread has a tree of its own, apart from that of all,
// and a caller without a thread has none; a connector tells such a caller of the tree of all.
func TestTreesOfThreads(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	own := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFiles, Memory: "m", Scope: ScopePerThread}}})
	all := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFiles, Memory: "m"}}})
	in := func(thread string) Caller {
		vars := loci.Vars{loci.VarUser: "u-1"}
		if thread != "" {
			vars[loci.VarThread] = thread
		}
		return caller(t, vars)
	}
	say := func(set *Set, thread, args, want string) {
		t.Helper()
		memory, _ := set.Lookup("memory")
		r, err := memory.Call(t.Context(), in(thread), []byte(args))
		if err != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%q %s: %s, %v; want %s", thread, args, r.Text, err, want)
		}
	}
	write := func(text string) string { return `{"command":"append","path":"/a","content":"` + text + `"}` }
	const read = `{"command":"read","path":"/a"}`
	say(own, "", read, `"threadId is required for perThread scope","code":"ENOTMEM"`)
	say(own, "one", read, "ENOENT")
	say(own, "one", write("of one"), `"ok":true`)
	say(own, "two", read, "ENOENT")
	say(all, "one", read, "ENOENT")
	say(all, "one", write("of all"), `"ok":true`)
	say(own, "two", write("of two"), `"ok":true`)
	say(own, "one", read, "of one")
	say(own, "two", read, "of two")
	say(all, "two", read, "of all")
	memory, _ := own.Lookup("memory")
	for thread, want := range map[string]string{"": "of all", "one": "of one", "two": "of two", "three": "of all"} {
		text, err := memory.ConnectorText(t.Context(), in(thread), tree.ConnectorOptions{Content: tree.ContentFull})
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%q: %q, %v; want %s", thread, text, err, want)
		}
	}
}

// TestNullArgumentsOfFiles: null is as good as leaving an argument out, except where one is needed.
func TestNullArgumentsOfFiles(t *testing.T) {
	set, u := setOver(t, newEngine(t, loci.Options{}), Config{Entries: []Instance{{Family: FamilyFiles}}}), user(t, "u")
	memory, _ := set.Lookup("memory")
	for _, c := range []struct{ args, want string }{
		{`{"command":"append","path":"/a","content":"x","oldContent":null}`, `"ok":true`},
		{`{"command":"append","path":"/a","content":null}`, "content is required for append"},
		{`{"command":"read","path":"/a","content":null,"oldContent":null}`, `"content":"x"`},
		{`{"command":"update","path":"/a","content":"y","oldContent":null}`, "oldContent and content are required for update"},
		{`{"command":"read","path":null}`, "invalid arguments"},
		{`{"command":null,"path":"/a"}`, "invalid arguments"},
		{`{"command":"read","path":"/a","other":null}`, "invalid arguments"},
		{`{"command":"read","path":"/a","content":[null]}`, "invalid arguments"},
	} {
		r, err := memory.Call(t.Context(), u, []byte(c.args))
		if err != nil || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %s, %v; want %s", c.args, r.Text, err, c.want)
		}
	}
}
