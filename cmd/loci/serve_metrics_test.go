package main

import (
	"strings"
	"testing"
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
