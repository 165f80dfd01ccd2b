package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tool"
)

// exportOf is what an export sent.
func exportOf(t *testing.T, r reply) (out exported) {
	t.Helper()
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v: %s", r.status, r.header, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return out
}

// importing is the body of an import.
func importing(t *testing.T, lines []string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"lines": lines})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// sorted are the lines of an export that do not differ from run to run.
func sorted(e exported) []string {
	lines := slices.DeleteFunc(slices.Clone(e.Lines), func(line string) bool { return strings.Contains(line, `"type":"header"`) })
	slices.Sort(lines)
	return lines
}

// TestExportAndImport: what one user exports another imports, whole, with history, digits and
// parts; once more changes nothing, under an idempotency key too.
func TestExportAndImport(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		other := newBench(t, s, func(o *Options) { o.Principal = principal(t, "bob") })
		for _, one := range [][3]string{
			{"POST", "/v1/notes", `{"content":"Prefers aisle seats."}`},
			{"PUT", "/v1/items", `{"namespace":["docs"],"key":"k","value":{"n":12345678901234567890.10}}`},
			{"POST", "/v1/sessions/chat/messages", `{"messages":[{"role":"user","content":"Where do I sit?\nHere."}]}`},
			{"PUT", "/v1/files/content", `{"path":"/a.md","content":"Rome in May."}`},
		} {
			if r := b.send(one[0], one[1], one[2]); r.status >= 300 {
				t.Fatalf("%v: %d %s", one, r.status, r.body)
			}
		}
		whole := exportOf(t, b.send("GET", "/v1/export", ""))
		if whole.LeftOut != 0 || !strings.Contains(strings.Join(whole.Lines, "\n"), "12345678901234567890.10") {
			t.Errorf("exported: %+v", whole)
		}
		for round, want := range []string{`"existing":0`, `"created":0`} {
			r := other.send("POST", "/v1/import", importing(t, whole.Lines), "Idempotency-Key: once")
			if r.status != http.StatusOK || !strings.Contains(r.body, want) || !strings.Contains(r.body, `"conflicts":0`) {
				t.Errorf("import %d: %d %s", round+1, r.status, r.body)
			}
		}
		again := exportOf(t, other.send("GET", "/v1/export", ""))
		if len(again.Lines) != len(whole.Lines) {
			t.Errorf("%d lines became\n%s", len(whole.Lines), strings.Join(again.Lines, "\n"))
		}
		for _, said := range []string{"Prefers aisle seats.", "12345678901234567890.10", `Where do I sit?\nHere.`, "Rome in May."} {
			if !strings.Contains(strings.Join(again.Lines, "\n"), said) {
				t.Errorf("%q is lost", said)
			}
		}
		if notes := exportOf(t, b.send("GET", "/v1/export?kind=note", "")); len(notes.Lines) != 3 { // header, note, end
			t.Errorf("notes alone: %q", sorted(notes))
		}
	})
}

// TestTransferRefuses lines that are not whole or hold no memory, and callers that may not
// transfer.
func TestTransferRefuses(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	b.send("POST", "/v1/notes", `{"content":"Prefers aisle seats."}`)
	lines := exportOf(t, b.send("GET", "/v1/export", "")).Lines
	for _, c := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"GET", "/v1/export?kind=nothing", "", 400, "Invalid kind: 'nothing'"},
		{"GET", "/v1/export?state=alive", "", 400, "Invalid state: 'alive'"},
		{"POST", "/v1/import", importing(t, lines[:len(lines)-1]), 400, "end"},
		{"POST", "/v1/import", importing(t, append([]string{lines[0]}, lines[2:]...)), 400, "records is 1 but 0 were read"},
		{"POST", "/v1/import", importing(t, []string{strings.Join(lines, "\n")}), 400, "line breaks"},
		{"POST", "/v1/import", importing(t, []string{"no JSON"}), 400, "line 1"},
		{"POST", "/v1/import", `{"lines":[1]}`, 400, "must be a string"},
		{"POST", "/v1/import", `{}`, 400, "lines"},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != c.status || !strings.Contains(r.body, c.detail) || r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s %.80s: %d %s; want %d with %q", c.method, c.path, c.body, r.status, r.body, c.status, c.detail)
		}
	}
	if left := exportOf(t, b.send("GET", "/v1/export", "")); len(left.Lines) != len(lines) {
		t.Errorf("a refused import stored something: %q", left.Lines)
	}
	for scope, path := range map[loci.Scope]string{loci.ScopeWrite: "/v1/export", loci.ScopeRead: "/v1/import"} {
		other := newBench(t, memory.Open(), func(o *Options) { o.Principal = principal(t, "ada", scope) })
		method, body := "GET", ""
		if path == "/v1/import" {
			method, body = "POST", importing(t, lines)
		}
		if r := other.send(method, path, body); r.status != http.StatusForbidden {
			t.Errorf("%s with the scope %s: %d %s", path, scope, r.status, r.body)
		}
	}
}

// TestImportIsBounded: a request that would take more than a second stores nothing, and says from where on it is
// too much. A line may be short and stand for much.
func TestImportIsBounded(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	ann := `{"type":"entity","name":"Ann","observations":["likes tea"]}`
	entity := func(name string, n int) string {
		return `{"type":"entity","name":"` + name + `","observations":[` + strings.Repeat(`"x",`, n-1) + `"x"]}`
	}
	many := func(line string, n int) []string { return slices.Repeat([]string{line}, n) }
	for _, c := range []struct {
		lines  []string
		detail string
	}{
		{many(ann, 4001), "from line 4001 on"},
		{[]string{ann, entity("Ann", 4000)}, "from line 2 on"},
		{[]string{entity(strings.Repeat("n", 100_000), 100)}, "from line 1 on"},
		{many(ann, 10_001), "body.lines has too many entries: send at most 10000"},
	} {
		r := b.send("POST", "/v1/import", importing(t, c.lines))
		if r.status != 413 && r.status != 400 || !strings.Contains(r.body, c.detail) || len(r.body) > 1000 {
			t.Errorf("%.50s: %d %.1000s; want %q", c.lines[0], r.status, r.body, c.detail)
		}
	}
	// The first line that is too much ends the reading: that the last one is no text is found by whoever decodes them.
	late := strings.TrimSuffix(importing(t, many(ann, 4002)), "]}") + ",7]}"
	if r := b.send("POST", "/v1/import", late); r.status != 413 || !strings.Contains(r.body, "from line 4001 on") {
		t.Errorf("lines are decoded before they are weighed: %d %.1000s", r.status, r.body)
	}
	if r := b.send("POST", "/v1/import", importing(t, many(ann, 4000))); !strings.Contains(r.body, `"created":1,"existing":3999`) {
		t.Errorf("as much as there may be: %d %.1000s", r.status, r.body)
	}
}

// TestExportSaysWhatItLeavesOut: tools keep memories where it does not look.
func TestExportSaysWhatItLeavesOut(t *testing.T) {
	b := newBench(t, memory.Open(), func(o *Options) {
		set, err := tool.New(o.Engine, tool.Config{Entries: []tool.Instance{
			{Family: tool.FamilyNotes}, {Tool: "manage_memory", Namespace: []string{"team"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		o.Tools = set
	})
	b.send("POST", "/v1/tools/manage_memory", `{"content":"The office closes at six."}`)
	if e := exportOf(t, b.send("GET", "/v1/export", "")); e.LeftOut != 1 || strings.Contains(strings.Join(e.Lines, ""), "office") {
		t.Errorf("exported: %+v", e)
	}
}
