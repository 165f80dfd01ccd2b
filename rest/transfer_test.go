package rest

import (
	"encoding/json"
	"fmt"
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

// exportParts is an export in parts of about so many lines, and how many parts there were.
func exportParts(t *testing.T, b *bench, query string, limit int) (whole exported, parts int) {
	t.Helper()
	return exportPartsOf(t, b, fmt.Sprintf("/v1/export?limit=%d%s", limit, query))
}

func exportPartsOf(t *testing.T, b *bench, first string) (whole exported, parts int) {
	t.Helper()
	for cursor := ""; ; parts++ {
		path := first
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		part := exportOf(t, b.send("GET", path, ""))
		whole.Lines, whole.LeftOut = append(whole.Lines, part.Lines...), whole.LeftOut+part.LeftOut
		if part.Next == cursor && part.Next != "" || len(part.Lines) == 0 {
			t.Fatalf("part %d has %d lines and goes on at %q, as the one before", parts, len(part.Lines), cursor)
		}
		if cursor = part.Next; cursor == "" {
			return whole, parts + 1
		}
		if parts > 10_000 {
			t.Fatal("parts without end")
		}
	}
}

// fill stores memories of every kind, in several places, with earlier states and links.
func fill(t *testing.T, b *bench) {
	t.Helper()
	send := func(method, path, body string) reply {
		t.Helper()
		r := b.send(method, path, body)
		if r.status >= 300 {
			t.Fatalf("%s %s %.200s: %d %s", method, path, body, r.status, r.body)
		}
		return r
	}
	var ids []string
	for i := range 12 {
		var note struct{ ID string }
		_ = json.Unmarshal([]byte(send("POST", "/v1/notes", fmt.Sprintf(`{"content":"Note %d of the trip to Rome."}`, i)).body), &note)
		ids = append(ids, note.ID)
		send("PUT", "/v1/items", fmt.Sprintf(`{"namespace":["docs","n%d"],"key":"k","value":{"n":%d}}`, i, i))
		send("PUT", "/v1/files/content", fmt.Sprintf(`{"path":"/d%d/a.md","content":"%s"}`, i%3, strings.Repeat(fmt.Sprint("Rome ", i, " in May. "), 400)))
	}
	for i, id := range ids[1:] {
		send("PATCH", "/v1/notes/"+id, fmt.Sprintf(`{"content":"Note %d was changed."}`, i))
		send("POST", "/v1/memories/"+id+"/links", `{"link_type":"related_to","to":"`+ids[0]+`"}`)
	}
	for s := range 3 {
		for i := range 4 {
			send("POST", fmt.Sprintf("/v1/sessions/chat%d/messages", s), fmt.Sprintf(`{"messages":[{"role":"user","content":"Where do I sit, %d?"},{"role":"assistant","content":"There."}]}`, i))
		}
	}
	for thread := range 2 {
		parent, kept := "", `,"b":{"type":"json","data":"Mg=="}` // a value to which all checkpoints of the thread refer
		for i := range 5 {
			send("PUT", "/v1/checkpoints", fmt.Sprintf(`{"thread_id":"t%d","checkpoint_id":"c%d"%s,"checkpoint":{"type":"json","data":"e30="},"metadata":{"step":%d},`+
				`"channel_values":{"a":{"type":"json","data":"MQ=="}%s},"channel_versions":{"a":"%d","b":"1"}}`, thread, i, parent, i, kept, i))
			kept = ""
			send("POST", "/v1/checkpoints/writes", fmt.Sprintf(`{"thread_id":"t%d","checkpoint_id":"c%d","writes":[{"task_id":"x","idx":0,"channel":"a","value":{"type":"json","data":"MQ=="}}]}`, thread, i))
			parent = fmt.Sprintf(`,"parent_checkpoint_id":"c%d"`, i)
		}
	}
}

// TestExportInParts: parts of any size hold what one reply does, line by line, and an import of them gives the same.
func TestExportInParts(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		fill(t, b)
		for _, query := range []string{"", "&kind=session", "&kind=note&kind=thread", "&state=superseded", "&state=live", "&kind=item"} {
			whole := exportOf(t, b.send("GET", "/v1/export?"+strings.TrimPrefix(query, "&"), ""))
			for _, limit := range []int{1, 3, 7, 40, 10_000} {
				got, parts := exportParts(t, b, query, limit)
				if !slices.Equal(got.Lines[1:], whole.Lines[1:]) || got.LeftOut != whole.LeftOut {
					t.Fatalf("%s in %d parts of %d: %d lines, %d in one", query, parts, limit, len(got.Lines), len(whole.Lines))
				}
				if least := len(whole.Lines) / (limit + 9); parts < least || limit == 10_000 && parts != 1 {
					t.Errorf("%s: %d parts of %d lines for %d", query, parts, limit, len(whole.Lines))
				}
			}
		}
		whole, _ := exportParts(t, b, "", 5)
		other := newBench(t, s, func(o *Options) { o.Principal = principal(t, "bob") })
		if r := other.send("POST", "/v1/import", importing(t, whole.Lines)); r.status != http.StatusOK || !strings.Contains(r.body, `"existing":0,"conflicts":0`) {
			t.Errorf("import: %d %s", r.status, r.body)
		}
		if n := strings.Count(strings.Join(whole.Lines, "\n"), `"kind":"checkpoint_value"`); n != 12 {
			t.Errorf("%d values of two threads are in the export; want 12", n)
		}
		if again := exportOf(t, other.send("GET", "/v1/export", "")); len(again.Lines) != len(whole.Lines) {
			t.Errorf("%d lines became %d", len(whole.Lines), len(again.Lines))
		}
	})
}

// TestExportIsBounded: one reply holds so much and no more. Who asks for all of it is told so before the first byte.
func TestExportIsBounded(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	for i := range 45 {
		value := `{"n":"` + strings.Repeat("x", 200_000) + `"}`
		if r := b.send("PUT", "/v1/items", fmt.Sprintf(`{"namespace":["docs"],"key":"k%d","index":[],"value":%s}`, i, value)); r.status >= 300 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	r := b.send("GET", "/v1/export", "")
	if r.status != 413 || !strings.Contains(r.body, "the export has more than 10000 lines or 8388608 bytes") || !strings.Contains(r.body, "Ask with limit") {
		t.Errorf("all at once: %d %.300s", r.status, r.body)
	}
	whole, parts := exportParts(t, b, "", 10_000)
	if len(whole.Lines) != 47 || parts != 2 {
		t.Errorf("%d lines in %d parts", len(whole.Lines), parts)
	}
	first := exportOf(t, b.send("GET", "/v1/export?limit=10000", ""))
	if size := len(strings.Join(first.Lines, "\n")); size < exportBytes || size > exportBytes+1<<20 {
		t.Errorf("a part of %d bytes", size)
	}
	for _, c := range [][2]string{
		{"limit=10001", "limit"}, {"limit=0", "limit"}, {"cursor=x", "cursor is not one that an export returned"},
		{"cursor=e30x", "cursor is not one"}, {"cursor=eyJhdCI6LTF9", "cursor is not one"},
	} {
		if r := b.send("GET", "/v1/export?"+c[0], ""); r.status != 400 || !strings.Contains(r.body, c[1]) {
			t.Errorf("%s: %d %s", c[0], r.status, r.body)
		}
	}
}

// TestLinksEndAPartOfAnExport: a part holds the links of a few records more than it may, however many each has.
func TestLinksEndAPartOfAnExport(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		var ids []string
		for i := range 48 {
			var note struct{ ID string }
			r := b.send("POST", "/v1/notes", fmt.Sprintf(`{"content":"Note %d of the trip to Rome."}`, i))
			if err := json.Unmarshal([]byte(r.body), &note); err != nil || note.ID == "" {
				t.Fatalf("%d %s", r.status, r.body)
			}
			ids = append(ids, note.ID)
		}
		for i := range ids {
			for j := range 12 {
				link := `{"link_type":"related_to","to":"` + ids[(i+j+1)%len(ids)] + `"}`
				if r := b.send("POST", "/v1/memories/"+ids[i]+"/links", link); r.status >= 300 {
					t.Fatalf("%d %s", r.status, r.body)
				}
			}
		}
		whole := exportOf(t, b.send("GET", "/v1/export", ""))
		var got []string
		for cursor := ""; ; {
			part := exportOf(t, b.send("GET", "/v1/export?limit=60"+cursor, ""))
			if n := len(part.Lines); n > 60+16*12+2 {
				t.Fatalf("a part of %d lines", n)
			}
			got = append(got, part.Lines...)
			if part.Next == "" {
				break
			}
			cursor = "&cursor=" + part.Next
		}
		sorted := func(lines []string) []string { return slices.Sorted(slices.Values(lines[1:])) }
		if !slices.Equal(sorted(got), sorted(whole.Lines)) || len(whole.Lines) != 1+48+48*12+1 {
			t.Errorf("%d lines in parts, %d in one", len(got), len(whole.Lines))
		}
	})
}

// TestPagesOfNotesEndAtANumberOfBytes: and the cursor goes on.
func TestPagesOfNotesEndAtANumberOfBytes(t *testing.T) {
	before := mostListed
	mostListed = 2000
	t.Cleanup(func() { mostListed = before })
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		for i := range 12 {
			b.send("POST", "/v1/notes", fmt.Sprintf(`{"content":"%d%s"}`, i, strings.Repeat(fmt.Sprint(" word", i), 60)))
		}
		seen, pages := 0, 0
		for cursor := ""; ; pages++ {
			r := b.send("GET", "/v1/notes?limit=1000"+cursor, "")
			var page struct {
				Notes []struct{ ID string }
				Next  string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(r.body), &page); err != nil || len(page.Notes) == 0 || len(page.Notes) > 6 {
				t.Fatalf("%d %v: %.300s", r.status, err, r.body)
			}
			if seen, cursor = seen+len(page.Notes), "&cursor="+page.Next; page.Next == "" {
				break
			}
		}
		if seen != 12 || pages < 1 {
			t.Errorf("%d notes, %d pages", seen, pages)
		}
	})
}
