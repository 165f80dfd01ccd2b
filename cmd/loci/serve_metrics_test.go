package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// TestMetricsNameNothingOfCallers: what requests and calls of tools come to is counted by
// operation and tool; whatever a caller chooses is no label. A key with the scope reads them, and does nothing else.
func TestMetricsNameNothingOfCallers(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	url, _ := serveHere(t, store, "--auth=keys", "--tools=notes")
	alice := "Authorization: Bearer " + keyOf(t, store, "--user=canary", "--scope=read", "--scope=write", "--scope=delegate")
	reader := "Authorization: Bearer " + keyOf(t, store, "--user=prometheus", "--scope=metrics")
	for _, c := range []struct{ method, path, body, header string }{
		{"POST", "/v1/notes", `{"content":"The canary."}`, "Loci-User: canary"},
		{"POST", "/v1/notes", `{"canary":1}`, "X-Request-Id: canary"},
		{"GET", "/v1/memories/canary", "", "User-Agent: canary"},
		{"GET", "/canary?canary=1", "", "Loci-Canary: 1"},
		{"CANARY", "/v1/notes", "", "Loci-Session: canary"},
		{"POST", "/v1/tools/canary", `{}`, "Loci-Tenant: canary"},
		{"POST", "/mcp/canary", mcpList, "Loci-Agent: canary"},
		{"POST", "/mcp", mcpCall("canary", `{"canary":"canary"}`), "Origin: https://canary"},
		{"POST", "/mcp", mcpCall("canary", `{"canary":"canary"}`), "Idempotency-Key: canary"},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"canary"}`), "Loci-User: canary"},
		{"POST", "/v1/tools/memory_search", `{"query":"canary"}`, "Loci-User: canary"},
		{"POST", "/mcp", mcpCall("memory_delete", `{"memory_id":"canary"}`), "Loci-User: canary"},
		{"GET", "/v1/info", "", "Host: canary"},
	} {
		request(t, c.method, url+c.path, c.body, alice, c.header)
	}
	request(t, "GET", url+"/v1/info", "", "Authorization: Bearer canary")
	status, text := request(t, "GET", url+"/metrics", "", reader)
	if status != 200 || strings.Contains(strings.ToLower(text), "canary") {
		t.Errorf("%d %s", status, text)
	}
	for _, want := range []string{
		`loci_requests_total{operation="save_note",status="201"} 1`,
		`loci_requests_total{operation="memory_save",status="200"} 1`,
		`loci_tool_calls_total{outcome="ok",tool="memory_save"} 1`,
		`loci_tool_calls_total{outcome="ok",tool="memory_search"} 1`,
		`loci_tool_calls_total{outcome="forbidden",tool="memory_delete"} 1`,
		`loci_refusals_total{reason="credential"} 1`,
		`loci_store_calls_total{call="match",outcome="ok"} `, `loci_embedder_calls_total{outcome="ok"} `,
		`loci_index_waits_total{outcome="ok"} `, "loci_index_shards_loaded_total ", "loci_index_bytes ", "loci_commit_writes_count ",
		"loci_requests_slots ", "process_open_fds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in:\n%s", want, text)
		}
	}
	if status, reply := request(t, "GET", url+"/metrics", "", alice); status != 403 || !strings.Contains(reply, "metrics") {
		t.Errorf("without the scope: %d %s", status, reply)
	}
	for _, path := range []string{"/v1/notes", "/v1/admin/tenants"} {
		if status, _ := request(t, "GET", url+path, "", reader); status != 403 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestServePushesMetrics: with metrics.endpoint a collector gets the numbers of loci serve, with
// the headers of a file, a last time when it ends. No byte that a caller chose is in them.
func TestServePushesMetrics(t *testing.T) {
	got := make(chan []byte, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/metrics" || r.Header.Get("Authorization") != "Bearer collector" {
			t.Errorf("%s %v, %v", r.URL, r.Header, err)
		}
		got <- body
	}))
	defer collector.Close()
	dir := t.TempDir()
	headers, file := filepath.Join(dir, "headers"), filepath.Join(dir, "loci.yaml")
	for path, text := range map[string]string{
		headers: "Authorization: Bearer collector\n",
		file:    "metrics: {endpoint: " + collector.URL + ", headers_file: " + headers + ", every: 1h}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := "--store=sqlite:" + t.TempDir()
	url, stop := serveHere(t, store, "--config="+file, "--user=canary", "--tools=notes")
	if status, said := request(t, "POST", url+"/v1/notes", `{"content":"The canary."}`); status != 201 {
		t.Fatalf("%d %s", status, said)
	}
	stop()
	var body []byte
	for len(got) > 0 {
		body = <-got
	}
	var data metricspb.MetricsData
	if err := proto.Unmarshal(body, &data); err != nil || len(data.ResourceMetrics) != 1 {
		t.Fatalf("%d bytes: %v", len(body), err)
	}
	saved := false
	for _, one := range data.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range one.GetSum().GetDataPoints() {
			saved = saved || one.Name == "loci_requests_total" && p.GetAsDouble() == 1 && strings.Contains(p.String(), "save_note")
		}
	}
	if !saved || bytes.Contains(bytes.ToLower(body), []byte("canary")) {
		t.Errorf("saved: %v in\n%s", saved, &data)
	}
}
