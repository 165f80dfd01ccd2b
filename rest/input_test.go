package rest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

// nested is a request to store an item whose body has so many levels.
func nested(levels int) string {
	return `{"namespace":["n"],"key":"k","value":` + strings.Repeat(`{"a":`, levels-1) + "1" + strings.Repeat("}", levels-1) + "}"
}

// TestBadBodies: what no parser should see is refused before one does.
func TestBadBodies(t *testing.T) {
	b := newBench(t, memory.Open(), func(o *Options) { o.MaxBody, o.MaxValueBody = 1<<10, 2<<10 })
	item := func(value string) string { return `{"namespace":["n"],"key":"k","value":{"a":` + value + `}}` }
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		detail             string // a part of it; "": no problem
	}{
		"fine":             {"PUT", "/v1/items", item(`1`), nil, 204, ""},
		"64 levels":        {"PUT", "/v1/items", nested(64), nil, 204, ""},
		"65 levels":        {"PUT", "/v1/items", nested(65), nil, 400, "deeper than 64"},
		"not JSON":         {"PUT", "/v1/items", `{"namespace"`, nil, 400, "not valid JSON"},
		"two values":       {"PUT", "/v1/items", item(`1`) + `{}`, nil, 400, "not valid JSON"},
		"not UTF-8":        {"PUT", "/v1/items", item("\"\xff\""), nil, 400, "not valid UTF-8"},
		"NUL":              {"PUT", "/v1/items", item(`"\u0000"`), nil, 400, "NUL"},
		"name twice":       {"PUT", "/v1/items", item(`{"b":1,"\u0062":2}`), nil, 400, `the name \"b\" twice`},
		"long value":       {"PUT", "/v1/items", item(`"` + strings.Repeat("x", 1500) + `"`), nil, 204, ""},
		"too long value":   {"PUT", "/v1/items", item(`"` + strings.Repeat("x", 2<<10) + `"`), nil, 413, "longer than 2048 bytes"},
		"too long":         {"POST", "/v1/search", `{"query":"` + strings.Repeat("x", 1<<10) + `"}`, nil, 413, "longer than 1024 bytes"},
		"no body":          {"PUT", "/v1/items", "", nil, 400, "the body is missing: send a JSON object"},
		"a form":           {"POST", "/v1/search", `{}`, []string{"Content-Type: text/plain"}, 415, "text/plain"},
		"Latin 1":          {"POST", "/v1/search", `{}`, []string{"Content-Type: application/json; charset=latin1"}, 415, "latin1"},
		"no type":          {"POST", "/v1/search", `{}`, []string{"Content-Type: "}, 415, "not taken"},
		"a gzip":           {"POST", "/v1/search", "\x1f\x8b", []string{"X: y", "Content-Encoding: gzip"}, 415, "encoding \\\"gzip\\\" is not taken"},
		"as it is":         {"POST", "/v1/search", `{}`, []string{"X: y", "Content-Encoding: identity"}, 200, ""},
		"nothing, as {}":   {"POST", "/v1/memories/x/confirm", ` {} `, nil, 404, "no such memory"},
		"more than {}":     {"POST", "/v1/memories/x/confirm", `{"a":1}`, nil, 400, "takes no body"},
		"much for nothing": {"POST", "/v1/memories/x/forget", strings.Repeat(" ", 65), nil, 400, "takes no body"},
		"a GET with one":   {"GET", "/v1/info", `{}`, nil, 400, "takes no body"},
		"null":             {"POST", "/v1/search", `null`, nil, 400, "body must be an object"},
		"a list":           {"POST", "/v1/search", `[]`, nil, 400, "body must be an object"},
		"unknown property": {"POST", "/v1/search", `{"qery":"x"}`, nil, 400, "body.qery is unknown: leave it out"},
		"wrong type":       {"POST", "/v1/search", `{"limit":"1"}`, nil, 400, "body.limit must be a whole number"},
		"fraction":         {"POST", "/v1/search", `{"limit":1.5}`, nil, 400, "body.limit must be a whole number"},
		"missing":          {"POST", "/v1/items/get", `{"namespace":[]}`, nil, 400, "body lacks key: add it"},
		"unknown query":    {"GET", "/v1/notes?lmit=1", "", nil, 400, "query.lmit is unknown: this address takes limit, cursor, tag, history"},
		"empty as_of":      {"GET", "/v1/memories?as_of=", "", nil, 400, "query.as_of is empty: leave it out"},
		"empty tag":        {"GET", "/v1/notes?tag=a&tag=", "", nil, 400, "query.tag is empty: leave it out"},
		"only a name":      {"GET", "/v1/notes?limit", "", nil, 400, "query.limit is empty: leave it out"},
		"empty, needed":    {"GET", "/v1/files/content?path=", "", nil, 400, "query.path is empty: give it a value"},
		"two limits":       {"GET", "/v1/notes?limit=1&limit=2", "", nil, 400, "query.limit comes 2 times: send it once"},
		"same limit twice": {"GET", "/v1/events?limit=1&limit=1", "", nil, 400, "query.limit comes 2 times: send it once"},
		"two types":        {"GET", "/v1/events?type=created&type=erased", "", nil, 200, ""},
		"half an escape":   {"GET", "/v1/memories?as_of=%zz", "", nil, 400, "percent-encoding"},
		"a semicolon":      {"GET", "/v1/memories?limit=1;as_of=2026-01-01", "", nil, 400, "percent-encoding"},
		"two keys":         {"POST", "/v1/search", `{}`, []string{"Idempotency-Key: a", "Idempotency-Key: b"}, 400, "comes 2 times"},
		"empty key":        {"POST", "/v1/search", `{}`, []string{"Idempotency-Key: "}, 400, "must not be empty"},
		"long key":         {"POST", "/v1/search", `{}`, []string{"Idempotency-Key: " + strings.Repeat("k", 257)}, 400, "257"},
		"long batch key":   {"POST", "/v1/items/batch", `{"operations":[{"op":"get","namespace":[],"key":"k"}]}`, []string{"Idempotency-Key: " + strings.Repeat("k", 257)}, 400, "257"},
		"long tool key":    {"POST", "/v1/tools/memory_search", `{"query":"x"}`, []string{"Idempotency-Key: " + strings.Repeat("k", 257)}, 400, "257"},
	} {
		r := b.sendWith(c.method, c.path, c.body, c.headers)
		if r.status != c.status || !strings.Contains(r.body, c.detail) || c.detail == "" && strings.Contains(r.body, "detail") {
			t.Errorf("%s: %d %.300s; want %d with %q", name, r.status, r.body, c.status, c.detail)
		}
		if c.detail != "" && (r.header.Get("Content-Type") != "application/problem+json" || r.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: headers %v", name, r.header)
		}
	}
}

// The description says what is refused: no parameter of an address is empty.
func TestParametersAreDescribed(t *testing.T) {
	api := newBench(t, memory.Open(), nil).Config.Handler.(*API)
	seen := 0
	eachRoute(api, func(op *huma.Operation) {
		for _, p := range op.Parameters {
			if p.In != "query" {
				continue
			}
			s := p.Schema
			if s.Type == huma.TypeArray {
				s = s.Items
			}
			if seen++; s.Type == huma.TypeString && s.Enum == nil && (s.MinLength == nil || *s.MinLength != 1) {
				t.Errorf("%s may be empty, says the schema of %s", p.Name, op.OperationID)
			}
		}
	})
	if seen < 40 {
		t.Errorf("only %d parameters", seen)
	}
}

// What huma finds wrong is said in our words: what is wrong, and what to send.
func TestWordsOfFaults(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	for _, c := range []struct{ method, path, body, detail string }{
		{"GET", "/v1/notes?limit=0", "", "query.limit is too small: send 1 or more"},
		{"GET", "/v1/notes?limit=1001", "", "query.limit is too large: send 1000 or less"},
		{"GET", "/v1/notes?limit=99999999999999999999", "", "query.limit must be a whole number of at most 64 bits"},
		{"GET", "/v1/notes?history=maybe", "", "query.history must be true or false"},
		{"GET", "/v1/notes?cursor=" + strings.Repeat("x", 1025), "", "query.cursor has too many characters: send at most 1024"},
		{"GET", "/v1/events?since=soon", "", "query.since cannot be read: write a date"},
		{"GET", "/v1/files/content", "", "query.path is missing: add it"},
		{"GET", "/v1/files?scope=none", "", "query.scope must be one of global, perThread"},
		{"GET", "/v1/stats?all=true", "", "query.all is unknown: leave it out, this address takes no parameters"},
		{"POST", "/v1/recall", `{"topic":7}`, "body.topic must be a string"},
		{"POST", "/v1/recall", `{"limit":7}`, "body lacks topic: add it"},
		{"POST", "/v1/search", `{"min_confidence":"x"}`, "body.min_confidence must be a number"},
		{"POST", "/v1/items/batch", `{"operations":[]}`, "body.operations has too few entries: send at least 1"},
		{"POST", "/v1/context", `{"trigger_prompt":"x","butler":""}`, "body.butler has too few characters: send at least 1"},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != 400 || !strings.Contains(r.body, `"detail":"`+c.detail) || strings.Contains(r.body, "expected ") {
			t.Errorf("%s %.60s %s: %d %s; want %q", c.method, c.path, c.body, r.status, r.body, c.detail)
		}
	}
}

// sendWith replaces the headers that send would set itself.
func (b *bench) sendWith(method, path, body string, headers []string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if i == 0 {
			r.Header.Del(name)
		}
		r.Header.Add(name, value)
	}
	return b.do(r)
}

// TestBadArguments: what the routes and the library refuse names what is wrong.
func TestBadArguments(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"PUT", "/v1/items", `{"namespace":[],"key":"k","value":{}}`, 400, "namespace must not be empty"},
		{"PUT", "/v1/items", `{"namespace":null,"key":"k","value":{}}`, 400, "body.namespace must be a list"},
		{"PUT", "/v1/items", `{"namespace":["a.b"],"key":"k","value":{}}`, 400, "period"},
		{"PUT", "/v1/items", `{"namespace":[""],"key":"k","value":{}}`, 400, "must not be empty"},
		{"PUT", "/v1/items", `{"namespace":["langgraph"],"key":"k","value":{}}`, 400, "langgraph"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"","value":{}}`, 400, "key must not be empty"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":[]}`, 400, "value must be a JSON object"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{},"ttl":0}`, 400, "ttl is 0"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{},"ttl":1e300}`, 400, "ttl is 1e+300"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{},"ttl":1e400}`, 400, "ttl"},
		{"POST", "/v1/search", `{"limit":1e400}`, 400, "limit"},
		{"PUT", "/v1/items", `{"namespace":["a"],"key":"k","value":{},"index":["["]}`, 400, "index path"},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"limit":0}`, 400, "limit is 0"},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"limit":1001}`, 400, "limit is 1001"},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"offset":-1}`, 400, "offset is -1"},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"filter":{"$gt":1}}`, 400, "$gt"},
		{"POST", "/v1/items/search", `{"namespace_prefix":[],"filter":{"a":{"$x":1}}}`, 400, "$x"},
		{"POST", "/v1/items/search", `{"namespace_prefix":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o"]}`, 400, "17 labels"},
		{"POST", "/v1/items/namespaces", `{"max_depth":0}`, 400, "max_depth is 0"},
		{"POST", "/v1/items/namespaces", `{"limit":10001}`, 400, "limit is 10001"},
		{"POST", "/v1/items/batch", `{"operations":[]}`, 400, "operations"},
		{"POST", "/v1/items/batch", `{"operations":[{"op":"drop"}]}`, 400, "op"},
		{"POST", "/v1/items/batch", `{"operations":[{"key":"x"}]}`, 400, "op"},
		{"POST", "/v1/items/batch", `{"operations":[{"op":"get","namespace":[],"key":"k","value":{}}]}`, 400, "operations[0].value is unknown"},
		{"POST", "/v1/search", `{"mode":"fuzzy"}`, 400, "body.mode"},
		{"POST", "/v1/search", `{"types":["graph"]}`, 400, "body.types[0]"},
		{"POST", "/v1/search", `{"min_confidence":2}`, 400, "min_confidence is 2"},
		{"POST", "/v1/search", `{"query":"` + strings.Repeat("x", 17<<10) + `"}`, 413, "query has"},
		{"POST", "/v1/recall", `{"topic":""}`, 400, "topic"},
		{"POST", "/v1/recall", `{"topic":"x","limit":501}`, 400, "limit is 501"},
		{"POST", "/v1/recall", `{"topic":"x","min_confidence":-1}`, 400, "min_confidence is -1"},
		{"POST", "/v1/context", `{"trigger_prompt":" "}`, 400, "trigger_prompt"},
		{"POST", "/v1/context", `{"trigger_prompt":"x","token_budget":200001}`, 400, "token_budget is 200001"},
		{"POST", "/v1/context", `{"trigger_prompt":"x","butler":""}`, 400, "butler"},
		{"POST", "/v1/notes", `{"content":" "}`, 400, "content"},
		{"POST", "/v1/notes", `{"content":"x","tags":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q"]}`, 400, "tags"},
		{"POST", "/v1/notes", `{"content":"x","metadata":{"content":1}}`, 400, "content"},
		{"PATCH", "/v1/notes/note-01970c3e-0001-7001-8000-000000000001", `{}`, 400, "nothing to change"},
		{"PATCH", "/v1/notes/note-01970c3e-0001-7001-8000-000000000001", `{"content":"x","if_version":0}`, 400, "if_version"},
		{"DELETE", "/v1/notes/note-01970c3e-0001-7001-8000-000000000001", "", 404, "not_found"},
		{"GET", "/v1/notes?limit=0", "", 400, "query.limit"},
		{"GET", "/v1/notes?limit=x", "", 400, "query.limit"},
		{"GET", "/v1/notes?cursor=x", "", 400, "cursor"},
		{"GET", "/v1/events?type=created&type=nosuch", "", 400, "nosuch"},
		{"GET", "/v1/events?since=yesterday", "", 400, "query.since"},
		{"GET", "/v1/events?entity=x", "", 400, "entity"},
		{"GET", "/v1/nothing", "", 404, "/v1/nothing"},
		{"DELETE", "/v1/items", "", 405, "DELETE"},
		{"POST", "/v1/tools/memory_search", `[1]`, 200, "arguments must be a JSON object"},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != c.status || !strings.Contains(r.body, c.detail) {
			t.Errorf("%s %s %.80s: %d %.300s; want %d with %q", c.method, c.path, c.body, r.status, r.body, c.status, c.detail)
		}
		if strings.Contains(r.body, "example.org") {
			t.Errorf("%s %s shows where the caller's memory is: %s", c.method, c.path, r.body)
		}
		if c.status == 405 && r.header.Get("Allow") == "" {
			t.Errorf("no Allow: %v", r.header)
		}
	}
}

// TestScopes: each operation is refused without its scope, before its body is read,
// and a batch refuses the parts that need more.
func TestScopes(t *testing.T) {
	all := []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete, loci.ScopeOperate}
	for _, lacking := range all {
		var scopes []loci.Scope
		for _, s := range all {
			if s != lacking {
				scopes = append(scopes, s)
			}
		}
		b := newBench(t, memory.Open(), func(o *Options) { o.Principal = principal(t, "u", scopes...) })
		api, err := New(Options{Engine: b.engine, Principal: principal(t, "u")})
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for path, item := range api.huma.OpenAPI().Paths {
			for _, op := range operationsOf(item) {
				r := b.send(op.Method, strings.ReplaceAll(path, "{id}", "x"), "")
				if refused := r.status == 403; refused != (scopeOf(op) == lacking) {
					t.Errorf("without %s: %s %s is %d", lacking, op.Method, path, r.status)
				}
				tried++
			}
		}
		if tried < 15 {
			t.Errorf("only %d operations", tried)
		}
		r := b.send("POST", "/v1/items/batch", `{"operations":[{"op":"put","namespace":["n"],"key":"k","value":{}},
			{"op":"get","namespace":["n"],"key":"k"},{"op":"search","namespace_prefix":[]},{"op":"namespaces"},{"op":"delete","namespace":["n"],"key":"k"}]}`)
		want := map[loci.Scope]int{loci.ScopeRead: 3, loci.ScopeWrite: 1, loci.ScopeDelete: 1}[lacking]
		if got := strings.Count(r.body, `"code":"forbidden"`); r.status != 200 || got != want {
			t.Errorf("a batch without %s: %d refused, want %d: %s", lacking, got, want, r.body)
		}
		r = b.send("POST", "/v1/tools/memory_search", `{"query":"x"}`)
		if strings.Contains(r.body, `"code":"forbidden"`) != (lacking == loci.ScopeRead) {
			t.Errorf("a tool without %s: %s", lacking, r.body)
		}
		// What a call would refuse is not offered.
		for name, needs := range map[string]loci.Scope{"memory_search": loci.ScopeRead, "memory_save": loci.ScopeWrite, "memory_delete": loci.ScopeDelete} {
			if offered := strings.Contains(b.send("GET", "/v1/tools", "").body, `"name":"`+name+`"`); offered == (lacking == needs) {
				t.Errorf("the list without %s: %s is offered: %v", lacking, name, offered)
			}
		}
	}
}

// TestCallers: a caller that cannot be identified gets nothing. What an elevated principal does
// is recorded first. Causes are logged and not shown.
func TestCallers(t *testing.T) {
	var identified error
	var recorded []string
	var recordFails error
	elsewhere, err := loci.NewTenant("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, memory.Open(), func(o *Options) {
		p, err := principal(t, "u", loci.Scopes...).Elevate(elsewhere)
		if err != nil {
			t.Fatal(err)
		}
		o.Identify = func(context.Context, http.Header) (loci.Principal, error) {
			if identified != nil && identified.Error() == "panic" {
				panic("a secret")
			}
			return p, identified
		}
		o.RecordElevation = func(ctx context.Context, p loci.Principal, requestID, operation string) error {
			if recordFails != nil {
				return recordFails
			}
			recorded = append(recorded, p.ElevatedFrom().String()+">"+p.Tenant().String()+" "+operation+" "+requestID)
			return nil
		}
	})
	put := func() reply {
		return b.send("PUT", "/v1/items", `{"namespace":["n"],"key":"k","value":{}}`, "X-Request-Id: req-1")
	}
	for _, c := range []struct {
		identified, recordFails error
		status                  int
		code                    string
	}{
		{loci.Errorf(loci.Unauthenticated, "who are you?"), nil, 401, "unauthenticated"},
		{loci.Errorf(loci.Forbidden, "not you"), nil, 403, "forbidden"},
		{errors.New("a secret"), nil, 500, "internal"},
		{errors.New("panic"), nil, 500, "internal"},
		{nil, errors.New("a secret"), 500, "internal"},
		{nil, &loci.Error{Code: loci.Unavailable, Msg: "the store is full", Err: errors.New("a secret")}, 503, "unavailable"},
	} {
		identified, recordFails = c.identified, c.recordFails
		r := put()
		if r.status != c.status || r.code(t) != c.code || strings.Contains(r.body, "secret") || !strings.Contains(r.body, `"request_id":"req-1"`) {
			t.Errorf("%v, %v: %d %s", c.identified, c.recordFails, r.status, r.body)
		}
		logged := strings.Contains(b.log.String(), "a secret") && strings.Contains(b.log.String(), "req-1")
		if logged != (c.status >= 500) {
			t.Errorf("%v, %v: log %q", c.identified, c.recordFails, b.log)
		}
		if c.status == 503 && r.header.Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", r.header)
		}
		b.log.Reset()
	}
	identified, recordFails = nil, nil
	if r := b.send("POST", "/v1/items/namespaces", `{}`); r.status != 200 || strings.Contains(r.body, `"n"`) {
		t.Errorf("what was refused was done: %s", r.body)
	}
	if r := put(); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if want := "t>elsewhere list_namespaces |t>elsewhere put_item req-1"; strings.Join(recorded, "|") != want {
		t.Errorf("recorded %q, want %q", recorded, want)
	}
}

// TestElevationIsInBothLogs is the same with the engine's own record.
func TestElevationIsInBothLogs(t *testing.T) {
	s := memory.Open()
	to, err := loci.NewTenant("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	p, err := principal(t, "u", loci.Scopes...).Elevate(to)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, s, func(o *Options) { o.Principal = p })
	if r := b.send("POST", "/v1/notes", `{"content":"x"}`); r.status != 201 {
		t.Fatal(r)
	}
	for _, tenant := range []loci.Tenant{p.ElevatedFrom(), to} {
		m, err := b.engine.Memory(loci.View{Tenant: tenant, Actor: "auditor"})
		if err != nil {
			t.Fatal(err)
		}
		filter := loci.EventFilter{Types: []loci.EventType{loci.EventElevated}}
		events, _, err := m.Events(t.Context(), filter, loci.Page{})
		if err != nil || len(events) != 1 || !bytes.Contains(events[0].Payload, []byte(`"save_note"`)) {
			t.Errorf("%s: %+v, %v", tenant, events, err)
		}
	}
}

// TestBatchIsRepeatable: the key of a batch is a key for each of its parts.
func TestBatchIsRepeatable(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b := newBench(t, s, nil)
		batch := func(value string) string {
			return `{"operations":[{"op":"put","namespace":["n"],"key":"k","value":{"a":1}},{"op":"put","namespace":["n"],"key":"k","value":` + value + `}]}`
		}
		first := b.send("POST", "/v1/items/batch", batch(`{"a":2}`), "Idempotency-Key: key")
		b.send("PUT", "/v1/items", `{"namespace":["n"],"key":"k","value":{"a":3}}`)
		again := b.send("POST", "/v1/items/batch", batch(`{"a":2}`), "Idempotency-Key: key")
		other := b.send("POST", "/v1/items/batch", batch(`{"a":4}`), "Idempotency-Key: key")
		held := b.send("POST", "/v1/items/get", `{"namespace":["n"],"key":"k"}`)
		if first.status != 200 || strings.Contains(first.body, "error") ||
			again.body != first.body || !strings.Contains(held.body, `{"a":3}`) {
			t.Errorf("%s, again %s: %s", first.body, again.body, held.body)
		}
		if strings.Count(other.body, `"code":"conflict"`) != 1 {
			t.Errorf("another request with the key: %s", other.body)
		}
	})
}

// TestSlowRequests: a request has its time, and a client that stops in the middle of
// a body gets no answer and leaves nothing.
func TestSlowRequests(t *testing.T) {
	b := newBench(t, memory.Open(), func(o *Options) { o.Timeout = time.Nanosecond })
	if r := b.send("POST", "/v1/search", `{"query":"x"}`); r.status != 503 || r.code(t) != "unavailable" {
		t.Errorf("%d %s", r.status, r.body)
	}
	b = newBench(t, memory.Open(), nil)
	conn, err := net.Dial("tcp", b.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Write([]byte("PUT /v1/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{\"namespace\":[\"n\"],\"key\":\"k\",\"value\":{}}"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if r := b.send("POST", "/v1/items/namespaces", `{}`); strings.TrimSpace(r.body) != `{"namespaces":[]}` {
		t.Errorf("%s", r.body)
	}
}

// TestOptions: an API that lacks something it needs is refused.
func TestOptions(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	for name, o := range map[string]Options{
		"no engine":    {Principal: principal(t, "u")},
		"no principal": {Engine: b.engine},
		"limit":        {Engine: b.engine, Principal: principal(t, "u"), MaxBody: -1},
	} {
		if _, err := New(o); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNobodysMemory: a caller who is neither a user nor of an organisation has none.
func TestNobodysMemory(t *testing.T) {
	b := newBench(t, memory.Open(), func(o *Options) {
		p, err := loci.NewPrincipal(o.Principal.Tenant(), "tester", nil, loci.ScopeRead)
		if err != nil {
			t.Fatal(err)
		}
		o.Principal = p
	})
	r := b.send("POST", "/v1/search", `{}`)
	if r.status != 400 || !strings.Contains(r.body, "user_id") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
