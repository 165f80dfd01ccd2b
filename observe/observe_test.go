package observe_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/observe"
)

func text(t testing.TB, m *observe.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

// TestMetrics: what has ended is counted by what it was, and how it ended; the load is that of
// the moment.
func TestMetrics(t *testing.T) {
	load := observe.Load{Running: 3, Waiting: 2, Aside: 1, Slots: 8, Tenants: 4,
		Connections: 7, Strangers: 6, MostConnections: 9, Displaced: 10, Unread: 11, GivenUp: 12}
	m := observe.New(observe.Options{Version: "1.2.3", Load: func() observe.Load { return load }})
	for range 2 {
		m.Request(observe.Request{Operation: "save_note", Status: 201, Took: 3 * time.Millisecond})
	}
	m.Request(observe.Request{Status: 503, Refused: "queue_full"})
	m.Request(observe.Request{Operation: "memory_save", Status: 200, Calls: []observe.Call{
		{Tool: "memory_save", Outcome: "ok", Took: time.Second}, {Tool: "memory_save", Outcome: "forbidden"},
	}})
	got := text(t, m)
	for _, want := range []string{
		`loci_requests_total{operation="save_note",status="201"} 2`,
		`loci_requests_total{operation="none",status="503"} 1`,
		`loci_request_duration_seconds_bucket{operation="save_note",le="0.0025"} 0`,
		`loci_request_duration_seconds_bucket{operation="save_note",le="0.005"} 2`,
		`loci_refusals_total{reason="queue_full"} 1`,
		`loci_tool_calls_total{outcome="ok",tool="memory_save"} 1`,
		`loci_tool_calls_total{outcome="forbidden",tool="memory_save"} 1`,
		`loci_tool_call_duration_seconds_sum{tool="memory_save"} 1`,
		`loci_build_info{version="1.2.3"} 1`, `loci_requests_running 3`, `loci_requests_waiting 2`, `loci_requests_aside 1`,
		`loci_requests_slots 8`, `loci_tenants_asking 4`, `loci_connections_open 7`, `loci_connections_without_credential 6`,
		`loci_connections_limit 9`, `loci_connections_displaced_total 10`, `loci_answers_unread 11`, `loci_answers_given_up_total 12`, "go_goroutines ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, `loci_refusals_total{reason=""}`) {
		t.Error("what was not refused counts as refused")
	}
	load.Running = 5
	if !strings.Contains(text(t, m), "loci_requests_running 5\n") {
		t.Error("the load is an old one")
	}
}

func BenchmarkRequest(b *testing.B) {
	m := observe.New(observe.Options{})
	calls := []observe.Call{{Tool: "memory_save", Outcome: "ok", Took: time.Millisecond}}
	for b.Loop() {
		m.Request(observe.Request{Operation: "memory_save", Status: 200, Took: time.Millisecond, Calls: calls})
	}
}

// TestWhatIsWrittenOfMetrics: the rules for alerts and the documentation name no metric that is
// not there, and the documentation names every one of ours.
func TestWhatIsWrittenOfMetrics(t *testing.T) {
	m := observe.New(observe.Options{
		Load: func() observe.Load { return observe.Load{} }, Work: func() observe.Work { return observe.Work{} },
	})
	m.Request(observe.Request{Refused: "host", Calls: []observe.Call{{Tool: "memory_save", Outcome: "ok"}}})
	w := observe.Watch{Metrics: m}
	for _, kind := range []trail.Kind{trail.Store, trail.Load, trail.Embed, trail.Complete} {
		_, ended := w.Begin(t.Context(), trail.Step{Kind: kind, Name: "apply"})
		ended(trail.End{})
	}
	sent := receive(t)
	traces := open(t, observe.TraceOptions{Endpoint: sent.URL, Sample: 1, Metrics: m})
	call(&observe.Watch{Traces: traces}, http.Header{}, trail.Caller{})
	traces.Close()
	there := map[string]bool{}
	for line := range strings.Lines(text(t, m)) {
		if name, found := strings.CutPrefix(line, "# TYPE loci_"); found {
			name, _, _ = strings.Cut(name, " ")
			there["loci_"+name] = true
		}
	}
	if len(there) != 32 {
		t.Errorf("%d metrics are ours", len(there))
	}
	board := "../packaging/prometheus/dashboard.json"
	for _, path := range []string{board, "../packaging/prometheus/alerts.yaml", "../docs/operations.md"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\bloci_[a-z_]+`).FindAllString(string(data), -1)
		if len(named) < 5 {
			t.Errorf("%s names %d metrics", path, len(named))
		}
		for i, name := range named {
			named[i] = strings.TrimSuffix(name, "_bucket")
			if !there[named[i]] {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
		for name := range there {
			if strings.HasSuffix(path, ".md") && !slices.Contains(named, name) {
				t.Errorf("%s does not name %s", path, name)
			}
		}
	}
}

// TestWork: what a store did by itself is counted as of the moment: commits by how many writes
// shared them, and what the index takes.
func TestWork(t *testing.T) {
	now := observe.Work{
		Commits: []uint64{5, 2, 1}, Writes: 20, ShardsLoaded: 7, ShardsDropped: 3, IndexBytes: 1000, IndexLimit: 4000,
	}
	m := observe.New(observe.Options{Work: func() observe.Work { return now }, CommitSizes: []int{1, 4}})
	now.ShardsLoaded = 8
	got := text(t, m)
	for _, want := range []string{
		`loci_commit_writes_bucket{le="1"} 5`, `loci_commit_writes_bucket{le="4"} 7`, `loci_commit_writes_bucket{le="+Inf"} 8`,
		"loci_commit_writes_sum 20", "loci_commit_writes_count 8", "loci_index_shards_loaded_total 8",
		"loci_index_shards_dropped_total 3", "loci_index_bytes 1000", "loci_index_limit_bytes 4000",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
}
