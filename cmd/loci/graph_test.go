package main

import (
	"os"
	"strings"
	"testing"
)

// TestServeGraph: each agent of a graph has an address with its own tools, threads keep
// apart, and the connector of an agent puts its memory into conversations.
func TestServeGraph(t *testing.T) {
	file := t.TempDir() + "/graph.yaml"
	if err := os.WriteFile(file, []byte(`
nodes:
- {id: M, data: {template: memory, config: {scope: perThread}}}
- {id: writer one, data: {template: agent}}
- {id: reader, data: {template: agent}}
- {id: lost, data: {template: agent}}
- {id: T, data: {template: memoryTool}}
- {id: C, data: {template: memoryConnector, config: {content: full, placement: last_message}}}
edges:
- {source: writer one, sourceHandle: tools, target: T, targetHandle: $self}
- {source: M, sourceHandle: $self, target: T, targetHandle: $memory}
- {source: M, sourceHandle: $self, target: C, targetHandle: $memory}
- {source: C, sourceHandle: $self, target: reader, targetHandle: setMemoryConnector}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := serveHere(t, "--store=memory:", "--graph="+file)
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":` + arguments + `}}`
	}
	const hello, read = `{"messages":[{"role":"user","content":"Hi."}]}`, `{"path":"/a","command":"read"}`
	for _, c := range []struct {
		path, body, thread string
		status             int
		want, not          string
	}{
		{"/mcp/writer%20one", call(`{"path":"/a","command":"append","content":"first thread"}`), "t-1", 200, `\"ok\":true`, ""},
		{"/mcp/writer%20one", call(`{"path":"/a","command":"append","content":"second thread"}`), "t-2", 200, `\"ok\":true`, ""},
		{"/mcp/writer%20one", call(read), "t-1", 200, "first thread", "second"},
		{"/mcp/writer%20one", call(read), "", 200, `threadId is required for perThread scope`, "thread\""},
		{"/mcp/writer%20one", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", 200, `"name":"memory"`, "memory_save"},
		{"/mcp/writer%20one", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, "", 200, `"name":"memory"`, "memory-connector"},
		{"/mcp/reader", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", 200, `"tools":[]`, ""},
		{"/mcp/reader", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"memory-connector"}}`, "t-2", 200, "second thread", "first"},
		{"/mcp/reader", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, "t-2", 200, "method not found", "/a"},
		{"/mcp/lost", call(read), "t-1", 200, "ENOTMEM", "first"},
		{"/mcp", call(read), "t-1", 200, "unknown tool", "first"},
		{"/mcp/none", call(read), "t-1", 404, "no such agent", ""},
		{"/v1/connectors/reader/inject", hello, "t-1", 200, `{"role":"user","content":"Hi."},{"role":"system","content":"Memory\n/a: \"first thread\""}`, "second"},
		{"/v1/connectors/reader/inject", hello, "", 200, `"Hi."`, "Memory"},
		{"/v1/connectors/lost/inject", hello, "t-1", 404, "ENOTMEM", ""},
		{"/v1/connectors/M/inject", hello, "t-1", 404, "no such agent", ""},
	} {
		var headers []string
		if c.thread != "" {
			headers = []string{"Loci-Thread: " + c.thread}
		}
		status, reply := request(t, "POST", url+c.path, c.body, headers...)
		if plain := strings.ReplaceAll(reply, `\\\"`, `\"`); status != c.status || !strings.Contains(reply, c.want) &&
			!strings.Contains(plain, c.want) || c.not != "" && strings.Contains(reply, c.not) {
			t.Errorf("%s %s in thread %q: %d %s", c.path, c.body, c.thread, status, reply)
		}
	}
}
