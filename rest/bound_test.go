package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// A looker goes through the schemas of a description.
type looker struct {
	schemas map[string]any
	seen    map[string]bool
	missing []string
}

// look notes each list, object and text of a schema that has no bound.
func (l *looker) look(schema map[string]any, place string) {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if !l.seen[name] {
			l.seen[name] = true
			l.look(l.schemas[name].(map[string]any), name)
		}
		return
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return schema[n] != nil })
	}
	types, _ := schema["type"].([]any)
	if typ, ok := schema["type"].(string); ok {
		types = []any{typ}
	}
	if len(types) == 0 && !has("oneOf", "anyOf") {
		types = []any{"string", "array", "object"} // anything
	}
	for _, typ := range types {
		switch {
		case typ == "string" && !has("maxLength", "enum") && schema["format"] != "uuid" && schema["format"] != "date-time",
			typ == "array" && !has("maxItems"),
			typ == "object" && schema["additionalProperties"] != false && !has("maxProperties", "oneOf"):
			l.missing = append(l.missing, fmt.Sprintf("%s (%v)", place, typ))
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		l.look(items, place+"[]")
	}
	if each, ok := schema["additionalProperties"].(map[string]any); ok &&
		len(each) > 0 { // {} is data, bounded by its bytes
		l.look(each, place+".*")
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		l.look(p.(map[string]any), place+"."+name)
	}
	forms, _ := schema["oneOf"].([]any)
	for _, form := range forms {
		l.look(form.(map[string]any), place)
	}
}

// Every list, object and text of every request has a bound, in the description that
// clients read and the schemas that refuse.
func TestEveryRequestHasBounds(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	var d struct {
		Paths map[string]map[string]struct {
			Parameters  []map[string]any
			RequestBody struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct{ Schemas, Parameters map[string]any }
	}
	if err := json.Unmarshal([]byte(b.send("GET", "/v1/openapi.json", "").body), &d); err != nil {
		t.Fatal(err)
	}
	l := &looker{schemas: d.Components.Schemas, seen: map[string]bool{}}
	requests := 0
	for path, methods := range d.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if s, ok := p["schema"].(map[string]any); ok {
					l.look(s, fmt.Sprintf("%s %s, %s", method, path, p["name"]))
				}
			}
			for _, c := range op.RequestBody.Content {
				requests++
				l.look(c.Schema, method+" "+path)
			}
		}
	}
	for name, p := range d.Components.Parameters {
		schema := p.(map[string]any)["schema"].(map[string]any)
		l.look(schema, name)
		if header := p.(map[string]any)["name"].(string); strings.HasPrefix(header, "Loci-") &&
			schema["minLength"] != 1.0 {
			t.Errorf("%s may be empty, says its schema: %v", header, schema)
		}
	}
	if requests < 25 {
		t.Errorf("only %d requests with a body", requests)
	}
	for _, place := range l.missing {
		t.Errorf("no bound: %s", place)
	}
}

func texts(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("t%d", i)
	}
	data, _ := json.Marshal(all) // texts: cannot fail
	return string(data)
}

// gets, puts and searches are batches of so many operations, with values of so many bytes, or a query.
func gets(n int) string {
	one := `{"op":"get","namespace":["n"],"key":"k"}`
	return `{"operations":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

func puts(n, size int) string {
	one := `{"op":"put","namespace":["n"],"key":"k","index":[],"value":{"a":"` + strings.Repeat("x", size) + `"}}`
	return `{"operations":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

func searches(n int, query string) string {
	one := `{"op":"search","namespace_prefix":[],"query":"` + query + `"}`
	return `{"operations":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

// said are so many messages of so many bytes.
func said(n, size int) string {
	one := `{"role":"user","content":"` + strings.Repeat("x", size) + `"}`
	return `{"messages":[` + strings.Repeat(one+",", n-1) + one + `]}`
}

// What is beyond a bound is refused, and the reply is short whatever was sent.
func TestBoundsOfRequests(t *testing.T) {
	locitest.Unshared(t)
	b := newBench(t, memory.Open(), nil)
	members := strings.Replace(strings.Trim(strings.ReplaceAll(texts(120), ",", ":1,"), "[]"), "\x00", "", 1) + ":1"
	for _, c := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"POST", "/v1/notes", `{"content":"x","tags":` + texts(80_000) + `}`, 400, "body.tags"},
		{"POST", "/v1/search", `{"scopes":` + texts(101) + `}`, 400, "body.scopes"},
		{"POST", "/v1/recall", `{"topic":"x","scopes":` + texts(101) + `}`, 400, "body.scopes"},
		{"POST", "/v1/search", `{"filter":{` + members + `}}`, 400, "filter"},
		{"POST", "/v1/search", `{"filter":{"a":{` + members + `}}}`, 400, "more than 100 conditions"},
		{"POST", "/v1/search", `{"filter":{"a":` + texts(101) + `}}`, 400, "more than 100 conditions"},
		{"POST", "/v1/items/get", `{"namespace":` + texts(17) + `,"key":"k"}`, 400, "body.namespace"},
		{"POST", "/v1/items/get", `{"namespace":[],"key":"` + strings.Repeat("k", 1025) + `"}`, 400, "body.key has too many characters: send at most 1024"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{},"index":` + texts(65) + `}`, 400, "body.index"},
		{"GET", "/v1/events?type=" + strings.Repeat("created&type=", 30) + "created", "", 400, "query.type"},
		{"POST", "/v1/recall", `{"topic":"` + strings.Repeat("x", 16<<10+1) + `"}`, 413, "has 16385 bytes"},
		{"POST", "/v1/items/batch", gets(250), 200, `"op":"get"`},
		{"POST", "/v1/items/batch", gets(251), 400, "body.operations has too many entries: send at most 250"},
		{"POST", "/v1/items/batch", puts(2, 1<<19-200), 200, `"op":"put"`},
		{"POST", "/v1/items/batch", strings.ReplaceAll(puts(2, 1<<17), "xx", "éé"), 413, "of which what is not ASCII counts twice"},
		{"POST", "/v1/sessions/s/messages", said(2, 1<<19-100), 200, `"count":2`},
		{"POST", "/v1/sessions/s/messages", said(2, 1<<19), 413, "the limit is 1048576: append them in several calls"},
		{"POST", "/v1/sessions/s/messages", strings.ReplaceAll(said(2, 1<<17), "x", "é"), 413, "of which what is not ASCII counts twice"},
		{"POST", "/v1/sessions/s/messages", strings.ReplaceAll(said(1, 1<<19-100), "x", "é"), 200, `"count":1`},
		{"POST", "/v1/items/batch", puts(2, 1<<19), 413, "operations have 1048712 bytes"},
		{"POST", "/v1/items/batch", searches(51, "q"), 200, `"op":"search"`},
		{"POST", "/v1/items/batch", searches(52, "q"), 413, "as 20480 at least; the limit is 1048576: send several batches"},
		{"POST", "/v1/items/batch", searches(4, strings.Repeat("q ", 8000)), 200, `"op":"search"`},
		{"POST", "/v1/items/batch", searches(5, strings.Repeat("q ", 8000)), 413, "a list of namespaces 16 times"},
		{"POST", "/v1/items/batch", strings.ReplaceAll(strings.ReplaceAll(searches(52, "q"), `,"query":"q"`, ""),
			`"search","namespace_prefix":[]`, `"namespaces"`), 413, "a list of namespaces"},
		{"POST", "/v1/items/batch", searches(1, strings.Repeat("q", 16<<10)), 200, `"op":"search"`},
		{"POST", "/v1/items/batch", puts(1, 2<<20), 200, "value has 2097160 bytes"}, // its own route refuses it
		{"POST", "/v1/checkpoints/writes", `{"thread_id":"t","checkpoint_id":"c","writes":[` + strings.Repeat(`1,`, 30_000) + `1]}`, 400, "writes"},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != c.status || !strings.Contains(r.body, c.detail) {
			t.Errorf(
				"%s %s %.60s: %d %.300s; want %d with %q",
				c.method,
				c.path,
				c.body,
				r.status,
				r.body,
				c.status,
				c.detail,
			)
		}
		if len(r.body) > 8<<10 && r.status != 200 {
			t.Errorf("%s %s %.60s: the reply has %d bytes", c.method, c.path, c.body, len(r.body))
		}
	}
}

// What has too much in it is refused before anything is made of it: each value of a body
// that is decoded costs hundreds of times what its bytes do.
func TestTooMuchIsRefusedUndecoded(t *testing.T) {
	locitest.Unshared(t)
	b := newBench(t, memory.Open(), nil)
	const n = 150_000
	list, object := "["+strings.Repeat("1,", n)+"1]", &strings.Builder{}
	for i := range n {
		fmt.Fprintf(object, `"k%d":1,`, i)
	}
	members := object.String() + `"k":1`
	checkpoint := `{"thread_id":"t","checkpoint_id":"c","checkpoint":{"type":"json","data":"e30="},"channel_values":%s}`
	for _, c := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"POST", "/v1/notes", `{"content":"x","tags":` + list + `}`, 400, "body.tags has too many entries: send at most 16"},
		{"PUT", "/v1/items", `{"key":"k",` + members + `}`, 400, "body has too many members: send at most"},
		{"PUT", "/v1/checkpoints", fmt.Sprintf(checkpoint, "{"+members+"}"), 400, "body.channel_values has too many members: send at most 10000"},
		{"PUT", "/v1/checkpoints", fmt.Sprintf(checkpoint, `{"a":{`+members+`}}`), 400, "body.channel_values.a has too many members: send at most 2"},
		{"POST", "/v1/checkpoints/writes", `{"writes":[{},{"value":{` + members + `}}]}`, 400, "body.writes[1].value has too many members: send at most 2"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{"a":` + list[:len(list)-1] + "," + list[1:] + `}}`, 413, "the body has 300007 values; the limit is 262144"},
		{"POST", "/v1/checkpoints/writes", `{"thread_id":"t","checkpoint_id":"` + strings.Repeat("c", n) + `","writes":[]}`, 400,
			"body.checkpoint_id has more than 256 characters: shorten it"},
	} {
		var r reply
		allocated := testing.AllocsPerRun(1, func() { r = b.send(c.method, c.path, c.body) })
		if r.status != c.status || !strings.Contains(r.body, c.detail) || allocated > n*3/2 { // the guard notes each name once
			t.Errorf("%s %s %.60s: %d %.300s, %v allocations", c.method, c.path, c.body, r.status, r.body, allocated)
		}
	}
}

// Names are compared exactly, whichever decoder reads them, and what cannot be stored
// as it was sent is refused.
func TestBodiesAreStoredAsSent(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	const session = `{"document":{"format":"loci.session","version":1,"messages":[]}}`
	for _, c := range []struct{ method, path, body, detail string }{
		{"POST", "/v1/notes", `{"content":"a","CONTENT":"b"}`, `\"CONTENT\" is unknown`},
		{"POST", "/v1/notes", `{"Content":"a"}`, `\"Content\" is unknown`},
		{"POST", "/v1/items/batch", `{"operations":[{"Op":"get","namespace":[],"key":"k"}]}`, "op"},
		{"PUT", "/v1/checkpoints", `{"thread_id":"t","checkpoint_id":"c","checkpoint":{"type":"json","data":"","Type":"x"}}`, `\"Type\" is unknown`},
		{"POST", "/v1/sessions/import", strings.Replace(session, "format", "FORMAT", 1), `\"FORMAT\" is unknown`},
		{"POST", "/v1/sessions/import", strings.Replace(session, `"version":1`, `"version":0`, 1), "version is 0; it must be 1"},
		{"POST", "/v1/sessions/import", strings.Replace(session, `"version":1,`, ``, 1), "version is 0; it must be 1"},
		{"POST", "/v1/sessions/import", strings.Replace(session, `"version":1`, `"version":-1`, 1), "version is -1; it must be 1"},
		{"POST", "/v1/notes", `{"content":"a\ud800"}`, "surrogate"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{"\udc00":1}}`, "surrogate"},
		{"POST", "/v1/sessions/s/messages", `{"messages":[{"role":"user","content":"\ud83d"}]}`, "surrogate"},
		{"POST", "/v1/tools/memory_save", `{"content":"\ud83d"}`, "surrogate"},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != 400 || !strings.Contains(r.body, c.detail) {
			t.Errorf("%s %s %s: %d %.300s; want 400 with %s", c.method, c.path, c.body, r.status, r.body, c.detail)
		}
	}
	r := b.send("POST", "/v1/items/batch", `{"operations":[{"op":"get","namespace":[],"Key":"k"}]}`)
	if r.status != 200 || !strings.Contains(r.body, `\"Key\" is unknown`) { // an operation fails for itself
		t.Errorf("an operation of a batch: %d %s", r.status, r.body)
	}
	if r := b.send("GET", "/v1/notes", ""); !strings.Contains(r.body, `"notes":[]`) {
		t.Errorf("refused notes are stored: %s", r.body)
	}
	if r := b.send("POST", "/v1/sessions/import", session); r.status >= 300 {
		t.Errorf("the document is refused as it is: %d %s", r.status, r.body)
	}
}

// A body that says to be longer than any is refused at its head: nobody waits for it.
func TestDeclaredLengthIsRefusedAtOnce(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(
		conn,
		"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000000000000000000\r\n\r\n",
	)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(conn) // the server closes the connection
	if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 413 ") ||
		!strings.Contains(string(reply), "application/problem+json") {
		t.Errorf("%s, %v", reply, err)
	}
}
