package observe_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/observe"
)

// A receiver is a collector: it decodes what it gets.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	heads []http.Header
	about []*tracepb.ResourceSpans
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil || q.URL.Path != "/v1/traces" ||
			q.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %v: %d bytes", q.URL, q.Header, len(body))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heads = append(r.heads, q.Header)
		for _, one := range data.ResourceSpans {
			r.about = append(r.about, one)
			for _, scope := range one.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// named are the spans of a name.
func (r *receiver) named(name string) (found []*tracepb.Span) {
	for _, s := range r.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func open(t *testing.T, o observe.TraceOptions) *observe.Traces {
	t.Helper()
	traces, err := observe.OpenTraces(o)
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

// call is a request with a call of a tool, which reads from a store.
func call(w *observe.Watch, h http.Header, caller trail.Caller) {
	ctx, ended := w.Request(context.Background(), h)
	of, called := trail.Begin(trail.Of(ctx, caller), trail.Step{Kind: trail.Tool, Name: "memory_search"})
	_, read := trail.Begin(of, trail.Step{Kind: trail.Store, Name: "match"})
	read(trail.End{})
	called(trail.End{Code: "not_found"})
	ended(observe.Request{Operation: "memory_search", Method: "POST", Route: "/mcp", Status: 200})
}

const (
	theirTrace = "0af7651916cd43dd8448eb211c80319c"
	theirs     = "00-" + theirTrace + "-b7ad6b7169203331-01"
	otherTrace = "1bf7651916cd43dd8448eb211c80319c"
)

func of(s *tracepb.Span) string { return hex.EncodeToString(s.TraceId) }

// TestSpansAreNested: a request, the call of a tool in it and what that does are one trace; a
// call that failed says why in one word.
func TestSpansAreNested(t *testing.T) {
	r := receive(t)
	traces := open(t, observe.TraceOptions{Endpoint: r.URL, Sample: 1, Version: "1.2.3"})
	call(&observe.Watch{Traces: traces}, http.Header{}, trail.Caller{})
	traces.Close()
	if len(r.spans) != 3 {
		t.Fatalf("%d spans: %v", len(r.spans), r.spans)
	}
	request, tool, store := r.named("POST /mcp")[0], r.named("tools/call memory_search")[0], r.named("store match")[0]
	if !bytes.Equal(tool.ParentSpanId, request.SpanId) || !bytes.Equal(store.ParentSpanId, tool.SpanId) ||
		len(request.ParentSpanId) != 0 || of(store) != of(request) || len(tool.Links) != 0 {
		t.Errorf("%v", r.spans)
	}
	if tool.Status.Code != tracepb.Status_STATUS_CODE_ERROR ||
		store.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET ||
		!strings.Contains(tool.String(), "not_found") {
		t.Errorf("%v", r.spans)
	}
	if about := r.about[0].Resource.String(); !strings.Contains(about, "1.2.3") || strings.Contains(about, "host") ||
		strings.Contains(about, "process") {
		t.Errorf("the resource is %s", about)
	}
}

// TestCallersTraces: the trace of a caller goes on, by the header for the request and by _meta
// for the call; where these differ, one names the other. What is no trace begins a new one.
func TestCallersTraces(t *testing.T) {
	state := "vendor=canary,ot=th:8,other=canary"
	for name, c := range map[string]struct {
		header, meta  string
		request, tool string // their traces; "": a new one; -: none is sent
		linked        bool
	}{
		"nobody's":        {},
		"the header":      {header: theirs, request: theirTrace, tool: theirTrace},
		"_meta":           {meta: theirs, tool: theirTrace, linked: true},
		"both the same":   {header: theirs, meta: theirs, request: theirTrace, tool: theirTrace},
		"both":            {header: "00-" + otherTrace + "-b7ad6b7169203331-01", meta: theirs, request: otherTrace, tool: theirTrace, linked: true},
		"not sampled":     {header: strings.TrimSuffix(theirs, "1") + "0", request: "-", tool: "-"},
		"no hex":          {header: strings.Replace(theirs, "0af", "xyz", 1)},
		"zero":            {header: "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"},
		"short":           {header: theirs[:40], meta: theirs[:30]},
		"long":            {header: strings.Repeat(theirs, 1000), meta: strings.Repeat(theirs, 1000)},
		"of no version":   {header: "ff" + theirs[2:]},
		"something else":  {header: "canary", meta: "canary"},
		"a later version": {header: "01" + theirs[2:], request: theirTrace, tool: theirTrace},
	} {
		r := receive(t)
		traces := open(t, observe.TraceOptions{Endpoint: r.URL, Sample: 1})
		h := http.Header{"Traceparent": {c.header}, "Tracestate": {state}}
		call(&observe.Watch{Traces: traces}, h, trail.Caller{Parent: c.meta, State: state})
		traces.Close()
		requests, tools := r.named("POST /mcp"), r.named("tools/call memory_search")
		if c.request == "-" {
			if len(r.spans) != 0 {
				t.Errorf("%s: %v", name, r.spans)
			}
			continue
		}
		if len(requests) != 1 || len(tools) != 1 {
			t.Errorf("%s: %v", name, r.spans)
			continue
		}
		for _, one := range []struct {
			span *tracepb.Span
			want string
		}{{requests[0], c.request}, {tools[0], c.tool}} {
			own := of(one.span)
			fresh := own != theirTrace && own != otherTrace
			if one.want != "" && own != one.want || one.want == "" && !fresh {
				t.Errorf("%s: %s is of the trace %s", name, one.span.Name, own)
			}
			kept := one.span.TraceState
			if one.want != "" && kept != "ot=th:8" || strings.Contains(one.span.String(), "canary") {
				t.Errorf("%s: the state is %q", name, kept)
			}
		}
		links := tools[0].Links
		if linked := len(links) == 1 && bytes.Equal(links[0].SpanId, requests[0].SpanId); linked != c.linked {
			t.Errorf("%s: the links are %v", name, links)
		}
	}
}

// TestSample: of the traces that no caller began only a share is sent, and nothing of the others.
func TestSample(t *testing.T) {
	r := receive(t)
	traces := open(t, observe.TraceOptions{Endpoint: r.URL, Sample: 0})
	w := &observe.Watch{Traces: traces}
	call(w, http.Header{}, trail.Caller{})
	call(w, http.Header{"Traceparent": {theirs}}, trail.Caller{})
	traces.Close()
	if len(r.spans) != 3 || slices.ContainsFunc(r.spans, func(s *tracepb.Span) bool { return of(s) != theirTrace }) {
		t.Errorf("%v", r.spans)
	}
}

// TestUpkeepIsNoTrace: what nobody asked for is counted, and is no span.
func TestUpkeepIsNoTrace(t *testing.T) {
	r := receive(t)
	traces := open(t, observe.TraceOptions{Endpoint: r.URL, Sample: 1})
	w := &observe.Watch{Metrics: observe.New(observe.Options{}), Traces: traces}
	_, ended := trail.Begin(w.Watched(t.Context()), trail.Step{Kind: trail.Store, Name: "apply"})
	ended(trail.End{Code: "conflict"})
	traces.Close()
	if len(r.spans) != 0 || !strings.Contains(text(t, w.Metrics), `loci_store_calls_total{call="apply",outcome="conflict"} 1`) {
		t.Errorf("%v", r.spans)
	}
}

// TestHeadersOfACollector: they are read for each batch, and go to the collector alone.
func TestHeadersOfACollector(t *testing.T) {
	r := receive(t)
	lines := "Authorization: Bearer one\nX-Scope: all\n"
	headers := func() ([]byte, error) { return []byte(lines), nil }
	traces := open(t, observe.TraceOptions{Endpoint: r.URL + "/", Sample: 1, Headers: headers})
	lines = "Authorization: Bearer two\n"
	call(&observe.Watch{Traces: traces}, http.Header{}, trail.Caller{})
	traces.Close()
	if len(r.heads) != 1 || r.heads[0].Get("Authorization") != "Bearer two" || r.heads[0].Get("X-Scope") != "" {
		t.Errorf("%v", r.heads)
	}
	elsewhere := receive(t)
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/traces", http.StatusTemporaryRedirect))
	defer moved.Close()
	metrics := observe.New(observe.Options{})
	traces = open(t, observe.TraceOptions{Endpoint: moved.URL, Sample: 1, Metrics: metrics, Headers: headers})
	call(&observe.Watch{Traces: traces}, http.Header{}, trail.Caller{})
	traces.Close()
	if len(elsewhere.heads) != 0 || !strings.Contains(text(t, metrics), `loci_spans_total{outcome="failed"} 3`) {
		t.Errorf("%v\n%s", elsewhere.heads, text(t, metrics))
	}
	for _, lines = range []string{"secret", "secret: a\nsecret", ": secret"} {
		_, err := observe.OpenTraces(observe.TraceOptions{Endpoint: r.URL, Headers: headers})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", lines, err)
		}
	}
	missing := func() ([]byte, error) { return nil, os.ErrNotExist }
	_, err := observe.OpenTraces(observe.TraceOptions{Endpoint: r.URL, Headers: missing})
	if err == nil || !strings.Contains(err.Error(), "traces.headers_file: file does not exist") {
		t.Errorf("%v", err)
	}
}

// TestCollectorsThatFail: one that is not there, never answers, answers without an end or with an
// error costs spans and nothing else. The log says so once, without what the spans say.
func TestCollectorsThatFail(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "canary", http.StatusInternalServerError)
	}))
	defer broken.Close()
	defer silent.Close()
	defer close(release)
	for name, url := range map[string]string{"gone": gone.URL, "silent": silent.URL, "broken": broken.URL} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		traces := open(t, observe.TraceOptions{Endpoint: url, Sample: 1, Logger: logger})
		w := &observe.Watch{Traces: traces}
		for range 4000 { // three spans each: more than wait for a collector
			call(w, http.Header{}, trail.Caller{})
		}
		traces.Close()
		n := strings.Count(log.String(), "does not take spans")
		if n > 1 || n == 0 && name != "silent" || strings.Contains(log.String(), "canary") {
			t.Errorf("%s: %s", name, &log)
		}
	}
}

// TestEndlessAnswer: of what a collector says only a little is read.
func TestEndlessAnswer(t *testing.T) {
	sent := make(chan int, 1)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, chunk := 0, make([]byte, 1<<20)
		for n < 1<<28 {
			more, err := w.Write(chunk)
			if n += more; err != nil {
				break
			}
		}
		sent <- n
	}))
	defer endless.Close()
	traces := open(t, observe.TraceOptions{Endpoint: endless.URL, Sample: 1})
	call(&observe.Watch{Traces: traces}, http.Header{}, trail.Caller{})
	traces.Close()
	if n := <-sent; n >= 1<<28 {
		t.Errorf("%d bytes were read", n)
	}
}

func TestTraceURL(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:4318": "http://127.0.0.1:4318/v1/traces", "https://c.example/": "https://c.example/v1/traces",
		"https://c.example/otlp/v1/traces": "https://c.example/otlp/v1/traces", "http://c.example/?secret": "", "http://u:secret@c.example": "",
		"c.example:4318": "", "ftp://c.example": "", "http://": "", "http://c.example/#secret": "", "http://[secret": "", "": "",
	} {
		got, err := observe.TraceURL(given)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

func BenchmarkUnsampled(b *testing.B) {
	traces, err := observe.OpenTraces(observe.TraceOptions{Endpoint: "http://127.0.0.1:9", Sample: 0})
	if err != nil {
		b.Fatal(err)
	}
	w := &observe.Watch{Metrics: observe.New(observe.Options{}), Traces: traces}
	for b.Loop() {
		call(w, http.Header{}, trail.Caller{})
	}
}
