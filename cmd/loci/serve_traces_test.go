package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/loci-memory/loci/internal/config"
)

// A collector takes spans, decodes them, and keeps the bytes.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	bytes []byte
	spans []*tracepb.Span
	auth  []string
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil {
			t.Errorf("%d bytes are no spans: %v", len(body), err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bytes, c.auth = append(c.bytes, body...), append(c.auth, r.Header.Get("Authorization"))
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// settings writes a configuration with this collector.
func (c *collector) settings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	headers, file := filepath.Join(dir, "headers"), filepath.Join(dir, "loci.yaml")
	for path, text := range map[string]string{
		headers: "Authorization: Bearer collector\n",
		file:    "traces:\n  endpoint: " + c.URL + "\n  headers_file: " + headers + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "--config=" + file
}

// find returns the first span of a name, below a span unless that is nil.
func (c *collector) find(t *testing.T, name string, below *tracepb.Span) *tracepb.Span {
	t.Helper()
	for _, s := range c.spans {
		if s.Name == name && (below == nil || bytes.Equal(s.ParentSpanId, below.SpanId)) {
			return s
		}
	}
	var names []string
	for _, s := range c.spans {
		names = append(names, s.Name)
	}
	t.Fatalf("there is no %q in %q", name, names)
	return nil
}

// spanKeys are the attributes that spans have.
var spanKeys = []string{
	"http.request.method", "http.route", "http.response.status_code", "loci.operation", "loci.refused", "loci.outcome",
	"gen_ai.operation.name", "gen_ai.tool.name", "db.operation.name", "error.type",
	"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
}

const callersTrace = "0af7651916cd43dd8448eb211c80319c"

// TestTracesNameNothingOfCallers: requests, calls of tools and what these ask of the store and of
// the embedder are spans; whatever a caller chooses or says is in none.
func TestTracesNameNothingOfCallers(t *testing.T) {
	store, c := "--store=sqlite:"+t.TempDir(), collect(t)
	url, stop := serveHere(t, c.settings(t), store, "--auth=keys", "--tools=notes")
	alice := "Authorization: Bearer " + keyOf(t, store, "--user=canary", "--note=canary", "--scope=read", "--scope=write", "--scope=delegate")
	for _, r := range []struct{ method, path, body, header string }{
		{"POST", "/v1/notes", `{"content":"The canary.","tags":["canary"],"metadata":{"canary":"canary"}}`, "Loci-User: canary"},
		{"POST", "/v1/notes", `{"canary":1}`, "X-Request-Id: canary"},
		{"GET", "/v1/memories/canary", "", "User-Agent: canary"},
		{"GET", "/v1/notes?canary=1&query=canary", "", "Tracestate: canary=canary"},
		{"GET", "/canary?canary=1", "", "Baggage: canary=canary"},
		{"CANARY", "/v1/notes", "", "Loci-Session: canary"},
		{"POST", "/v1/tools/canary", `{}`, "Loci-Tenant: canary"},
		{"POST", "/mcp/canary", mcpList, "Loci-Agent: canary"},
		{"POST", "/mcp", mcpCall("canary", `{"canary":"canary"}`), "Origin: https://canary"},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"canary"}`), "Idempotency-Key: canary"},
		{"POST", "/mcp", strings.Replace(mcpCall("memory_search", `{"query":"canary"}`), `"arguments"`,
			`"_meta":{"traceparent":"canary","tracestate":"canary=canary","baggage":"canary=1","loci/user_id":"canary"},"arguments"`, 1), "Loci-User: canary"},
		{"POST", "/mcp", mcpCall("memory_delete", `{"memory_id":"canary"}`), "Traceparent: canary"},
		{"POST", "/v1/search", `{"query":"canary"}`, "Traceparent: 00-" + callersTrace + "-b7ad6b7169203331-01"},
		{"GET", "/v1/info", "", "Host: canary"},
	} {
		request(t, r.method, url+r.path, r.body, alice, r.header)
	}
	request(t, "GET", url+"/v1/info", "", "Authorization: Bearer canary")
	request(t, "GET", url+"/livez", "")
	if code, log := stop(); code != exitOK {
		t.Fatalf("%d %s", code, log)
	}
	if bytes.Contains(bytes.ToLower(c.bytes), []byte("canary")) {
		t.Errorf("a span holds what a caller sent:\n%v", c.spans)
	}
	for _, s := range c.spans {
		for _, a := range s.Attributes {
			if !slices.Contains(spanKeys, a.Key) {
				t.Errorf("%s has the attribute %s", s.Name, a)
			}
		}
		if strings.Contains(s.Name, "livez") || len(s.Events) > 0 {
			t.Errorf("%v", s)
		}
	}
	save := c.find(t, "tools/call memory_save", nil)
	c.find(t, "store apply", save)
	c.find(t, "embed embeddings", save)
	search := c.find(t, "tools/call memory_search", nil)
	match := c.find(t, "store match", search)
	c.find(t, "load index", match)
	c.find(t, "POST /mcp", nil)
	c.find(t, "GET /v1/memories/{id}", nil)
	if refused := c.find(t, "tools/call memory_delete", nil); refused.Status.Code != tracepb.Status_STATUS_CODE_ERROR ||
		attributeOf(refused, "error.type") != "forbidden" {
		t.Errorf("%v", refused)
	}
	if theirs := c.find(t, "POST /v1/search", nil); hex.EncodeToString(theirs.TraceId) != callersTrace {
		t.Errorf("%v", theirs)
	}
	if slices.ContainsFunc(c.auth, func(h string) bool { return h != "Bearer collector" }) {
		t.Errorf("%q", c.auth)
	}
}

// attributeOf is the text of an attribute.
func attributeOf(s *tracepb.Span, key string) string {
	at := slices.IndexFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.Key == key })
	if at < 0 {
		return ""
	}
	return s.Attributes[at].Value.GetStringValue()
}

// TestTracesOfStandardInput: calls over standard input go on with the trace in their _meta.
func TestTracesOfStandardInput(t *testing.T) {
	c := collect(t)
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"canary","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		strings.Replace(mcpCall("memory_save", `{"content":"canary"}`), `"arguments"`,
			`"_meta":{"traceparent":"00-`+callersTrace+`-b7ad6b7169203331-01","tracestate":"canary=1"},"arguments"`, 1),
		"",
	}, "\n")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{c.settings(t), "--store=sqlite:" + t.TempDir(), "mcp"}, strings.NewReader(in), &stdout, &stderr,
		config.Environ{"HOME=" + t.TempDir()})
	if code != exitOK {
		t.Fatalf("%d %s", code, &stderr)
	}
	save := c.find(t, "tools/call memory_save", nil)
	c.find(t, "store apply", save)
	if hex.EncodeToString(save.TraceId) != callersTrace || hex.EncodeToString(save.ParentSpanId) != "b7ad6b7169203331" ||
		bytes.Contains(c.bytes, []byte("canary")) {
		t.Errorf("%v", c.spans)
	}
}

// TestDoctorOfTraces: it says that traces leave the program, and where to.
func TestDoctorOfTraces(t *testing.T) {
	c := collect(t)
	out := operate(t, c.settings(t), "--store=sqlite:"+t.TempDir(), "doctor")
	if want := "go to the collector at " + strings.TrimPrefix(c.URL, "http://"); !strings.Contains(out, want) ||
		!strings.Contains(out, "no text is sent anywhere") || len(c.bytes) > 0 {
		t.Errorf("%s", out)
	}
}
