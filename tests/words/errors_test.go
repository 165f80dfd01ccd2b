package words

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goWords finds what a caller should never read: types, functions and packages of
// Go. Names of files and hosts are taken out first.
var (
	goWords = regexp.MustCompile(
		`\bloci\.[A-Z]\w*|\*?\b[a-z]\w*\.[A-Z]\w+|struct ?\{|Go (value|struct|type)|map\[|interface ?\{|(^|[^.\w])(json|yaml):|` +
			`strconv|reflect|Time\.Unmarshal|\[\](byte|string|int|any)|<nil>|%![a-zA-Z(]|0x[0-9a-f]{6,}|goroutine`,
	)
	fileNames = regexp.MustCompile(`[\w/.-]*loci-words-[\w/.-]*|/[\w/.-]*Test[\w/.-]+`)
)

// plain fails where a text speaks of Go.
func plain(t *testing.T, what, said string) {
	t.Helper()
	if m := goWords.FindString(fileNames.ReplaceAllString(said, "FILE")); m != "" {
		t.Errorf("%.300s: says %q in\n%.600s", what, m, said)
	}
}

// wrongKinds are a value of each kind of JSON, and some that only look right.
var wrongKinds = []string{
	`[]`,
	`{}`,
	`"x"`,
	`""`,
	`5`,
	`-1`,
	`1.5`,
	`1e999`,
	`true`,
	`null`,
	`[[]]`,
	`[5]`,
	`["x"]`,
	`[null]`,
	`{"x":5}`,
	`{"x":{}}`,
	`{"type":5}`,
	`"2026-13-45T00:00:00Z"`,
	`99999999999999999999`,
}

// brokenDocuments are not JSON at all.
var brokenDocuments = []string{``, `{`, `[`, `{"a":}`, `x`, `"`, `{"a":1}{`, `[1,]`, `nul`}

// valid makes a value that fits a schema, more or less.
func (a *api) valid(s *schema, depth int) string {
	if s = a.resolve(s); s == nil || depth > 4 {
		return `"x"`
	}
	switch kind := fmt.Sprint(s.Type); {
	case strings.Contains(kind, "array"):
		return "[" + a.valid(s.Items, depth+1) + "]"
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return "1"
	case strings.Contains(kind, "boolean"):
		return "true"
	case strings.Contains(kind, "object"):
		var parts []string
		for _, name := range s.Required {
			parts = append(parts, fmt.Sprintf("%q:%s", name, a.valid(s.Properties[name], depth+1)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return `"x"`
}

// wrong makes documents for a schema with one place of another kind each.
func (a *api) wrong(s *schema, depth int) (all []string) {
	all = append(all, wrongKinds...)
	if s = a.resolve(s); s == nil || depth > 2 {
		return all
	}
	if s.Items != nil {
		for _, item := range a.wrong(s.Items, depth+1) {
			all = append(all, "["+item+"]")
		}
	}
	for name, property := range s.Properties {
		others := ""
		for _, required := range s.Required {
			if required != name {
				others += fmt.Sprintf(",%q:%s", required, a.valid(s.Properties[required], depth+1))
			}
		}
		for _, value := range a.wrong(property, depth+1) {
			all = append(all, fmt.Sprintf("{%q:%s%s}", name, value, others))
		}
	}
	return all
}

// TestRoutesSpeakPlainly sends every route each of its fields in every wrong kind.
func TestRoutesSpeakPlainly(t *testing.T) {
	url := newPlace(t).serve("--tools=facts,files")
	a := describe(t, url)
	sent := 0
	for path, operations := range a.Paths {
		target := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x")
		for method, op := range operations {
			method = strings.ToUpper(method)
			bodies := []string{""}
			if content, ok := op.RequestBody.Content["application/json"]; ok {
				bodies = append(append(bodies, brokenDocuments...), a.wrong(content.Schema, 0)...)
			}
			for _, body := range bodies {
				sent++
				status, said := send(t, method, url+target, body)
				if status >= 400 {
					plain(t, method+" "+target+" "+body, said)
				}
			}
			for _, query := range []string{"limit=x", "limit=1e9", "limit=-1", "after=x", "from=x", "since=x", "until=yesterday", "version=x", "all=x", "cursor=x", "no=1"} {
				sent++
				if status, said := send(t, method, url+target+"?"+query, ""); status >= 400 {
					plain(t, method+" "+target+"?"+query, said)
				}
			}
		}
	}
	if sent < 2000 {
		t.Errorf("only %d requests were made", sent)
	}
}

// TestToolsSpeakPlainly calls every tool with each argument in every wrong kind, over
// REST and over the Model Context Protocol.
func TestToolsSpeakPlainly(t *testing.T) {
	for _, families := range []string{"facts,memory,files", "notes", "claude"} {
		t.Run(families, func(t *testing.T) {
			if families == "facts,memory,files" {
				families = "facts,memory" // both families have a tool called memory
			}
			url := newPlace(t).serve("--tools=" + families)
			_, text := send(t, "GET", url+"/v1/tools", "")
			var list struct {
				Tools []struct {
					Name        string  `json:"name"`
					InputSchema *schema `json:"input_schema"`
				}
			}
			if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Tools) == 0 {
				t.Fatal(text, err)
			}
			for _, tool := range list.Tools {
				a := &api{}
				for _, arguments := range a.wrong(tool.InputSchema, 0) {
					_, said := send(t, "POST", url+"/v1/tools/"+tool.Name, arguments)
					plain(t, tool.Name+" "+arguments, said)
					call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool.Name + `","arguments":` + arguments + `}}`
					_, said = send(t, "POST", url+"/mcp", call)
					plain(t, tool.Name+" over MCP "+arguments, said)
				}
			}
			for _, message := range append(append([]string{}, wrongKinds...), brokenDocuments[1:]...) {
				for _, body := range []string{message, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + message + `}`, `{"jsonrpc":"2.0","id":` + message + `,"method":"ping"}`,
					`{"jsonrpc":"2.0","id":1,"method":` + message + `}`, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":` + message + `}`,
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + message + `}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":` + message + `}}`} {
					_, said := send(t, "POST", url+"/mcp", body)
					plain(t, "MCP "+body, said)
				}
			}
		})
	}
}

// documents are what commands read from files: one good document of each, to change.
var documents = map[string]string{
	"session": `{"format":"loci.session","version":1,"session":{"id":"s","metadata":{},"max_messages":0,"timeout_seconds":0,"created_at":"2026-01-02T03:04:05Z","last_seq":1,` +
		`"summary":{"text":"x","through_seq":1,"epoch":1,"message_count":1,"by":"x","created_at":"2026-01-02T03:04:05Z"}},` +
		`"messages":[{"seq":1,"created_at":"2026-01-02T03:04:05Z","type":"human","data":{"content":"x"}}]}`,
	"messages": `[{"role":"user","content":"x"}]`,
	"export": `{"type":"record","id":"0197a0e0-0000-7000-8000-000000000001","kind":"fact","namespace":[],"version":1,"live":true,"created_at":"2026-01-02T03:04:05Z",` +
		`"updated_at":"2026-01-02T03:04:05Z","text":"x","tags":[],"attributes":{},"body":{"importance":5,"confidence":1,"validity":"active","permanence":"standard",` +
		`"valid_from":"2026-01-02T03:04:05Z","confirmed_at":"2026-01-02T03:04:05Z"}}`,
	"mcp":   `{"type":"entity","name":"x","entityType":"x","observations":["x"]}`,
	"graph": `{"nodes":[{"id":"a","template":"agent","config":{"title":"x"}}],"edges":[{"source":"a","sourceHandle":"tools","target":"b","targetHandle":"$self"}]}`,
}

// changed makes documents from one, each with another kind of JSON in one place.
func changed(t *testing.T, document string) (all []string) {
	t.Helper()
	all = slices.Concat(wrongKinds, brokenDocuments)
	var root any
	if err := json.Unmarshal([]byte(document), &root); err != nil {
		t.Fatal(err)
	}
	write := func() {
		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	var visit func(v any)
	visit = func(v any) {
		for _, wrong := range []any{[]any{}, map[string]any{}, "x", -1.5, true, nil, []any{5.0}, map[string]any{"x": 5.0}} {
			switch v := v.(type) {
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(v)) { // the same ones each time
					old := v[key]
					v[key] = wrong
					write()
					v[key] = old
				}
			case []any:
				for i, old := range v {
					v[i] = wrong
					write()
					v[i] = old
				}
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(v[key])
			}
		case []any:
			for _, inner := range v {
				visit(inner)
			}
		}
	}
	visit(root)
	return all
}

// TestFilesSpeakPlainly gives commands files that have another kind of JSON somewhere.
func TestFilesSpeakPlainly(t *testing.T) {
	p := newPlace(t)
	header := `{"type":"header","format":"loci.export","version":1}` + "\n"
	end := "\n" + `{"type":"end","records":1}` + "\n"
	for name, c := range map[string]struct {
		document      string
		before, after string
		args          []string
	}{
		"session": {documents["session"], "", "", []string{"session", "import", "FILE", "--mode=replace"}},
		"append":  {documents["messages"], "", "", []string{"session", "append", "s", "--messages", "FILE"}},
		"export":  {documents["export"], header, end, []string{"import", "FILE", "--dry-run"}},
		"header":  {strings.TrimSpace(header), "", "\n", []string{"import", "FILE", "--dry-run"}},
		"mcp":     {documents["mcp"], "", "\n", []string{"import", "FILE", "--dry-run"}},
		"graph":   {documents["graph"], "", "", []string{"graph", "FILE"}},
		"config":  {`{"store":"memory:","user":"x","tools":[{"tool":"memory_search","namespace":["x"]}],"embedding":{"model":"lexical"},"http":{"listen":"x"}}`, "", "", []string{"--config", "FILE", "doctor"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &place{t, p.dir}
			all := changed(t, c.document)
			for i := len(name) % 4; i < len(all); i += 1 + len(all)/10 { // each needs a process: take some of the many
				file := p.write(name+".json", c.before+all[i]+c.after)
				args := append([]string{}, c.args...)
				args[slices.Index(args, "FILE")] = file
				said, _ := p.run("", args...)
				plain(t, name+" "+all[i], strings.ReplaceAll(said, filepath.Dir(file), ""))
			}
		})
	}
}

// TestArgumentsSpeakPlainly gives flags and arguments what they do not take.
func TestArgumentsSpeakPlainly(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{
		{"list", "--limit", "x"}, {"list", "-n", "99999999999999999999"}, {"list", "--limit="}, {"list", "--nothing"}, {"nothing"}, {"list", "--all=x"},
		{"search"}, {"session", "create", "--timeout", "x"}, {"session", "create", "--timeout", "99999999999h"}, {"session", "create", "--max-messages", "1.5"},
		{"save", "x", "--metadata", "{"}, {"save", "x", "--metadata", "[]"}, {"save", "x", "--metadata", `{"a":1}{`}, {"save", "x", "--metadata", "null"},
		{"save", "x", "--metadata", `{"a":1e999}`}, {"events", "--since", "x"}, {"events", "--type", "x"}, {"get", "x"}, {"get", "5"}, {"update", "x", "y"},
		{"call", "memory_save", "{"}, {"call", "memory_save", "[]"}, {"call", "memory_save", "5"}, {"call", "nothing"}, {"file", "read", "/a", "--lines", "x-y"},
		{"file", "read", "/a$"}, {"file", "read", "/missing"}, {"recall", "x", "--limit", "x"}, {"context", "x", "--budget", "x"}, {"reindex", "--embedder", "x:y"},
		{"--embedder", "nothing", "list"}, {"--store", "x:y", "list"}, {"--store", "sqlite:" + p.dir, "list"}, {"--config", p.dir, "list"}, {"--config", "missing", "list"},
		{"search", "x", "--filter", "{"}, {"search", "x", "--filter", "[]"}, {"search", "x", "--filter", `{"a":{"$no":1}}`}, {"import", "missing"}, {"import", p.dir},
		{"session", "import", p.dir}, {"--tools", "x", "tools"}, {"--listen", "x", "serve"}, {"session", "show", "s", "--after", "x"}, {"bench", "--time", "x"},
	} {
		said, _ := p.run("", args...)
		plain(t, strings.Join(args, " "), said)
	}
	for _, args := range [][]string{{"list", "--limit", "x"}, {"save", "x", "--metadata", "[]"}, {"import", "missing"}} {
		said, _ := p.run("", append([]string{"--json"}, args...)...)
		plain(t, strings.Join(args, " "), said)
	}
	for _, setting := range []string{"LOCI_LIMITS_MAX_CONTENT=x", "LOCI_LOG_LEVEL=x", "LOCI_SESSIONS_TIMEOUT=x", "LOCI_TOOLS={", "LOCI_SCOPES=x", "LOCI_RETRIEVAL_VECTOR_WEIGHT=x", "LOCI_DEDUPE=x"} {
		c := p.command("list")
		c.Env = append(c.Env, setting)
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("%s is taken: %s", setting, out)
		}
		plain(t, setting, string(out))
	}
}
