package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store"
)

// treeConfig gives an agent two tools on one tree, and one whose threads have trees of
// their own.
const treeConfig = `user: alice
agent: planner
scopes: [read, write, delete]
tools:
  - {tool: memory, name: memory_notes}
  - {tool: memory, name: memory_again}
  - {tool: memory, name: memory_thread, scope: perThread}
`

// line is one of a transcript: a call and its whole reply.
type line struct {
	tool, thread, arguments, reply string
}

// The transcript of a tree before the servers are started again, and after.
var (
	treeBefore = []line{
		{"memory_notes", "", `{"path":"/notes/today","command":"read"}`,
			`{"command":"read","path":"/notes/today","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`},
		{"memory_notes", "", `{"path":"/notes/today","command":"append","content":"Met Ann."}`,
			`{"command":"append","path":"/notes/today","ok":true,"result":{"status":"ok"}}`},
		{"memory_again", "", `{"path":"/notes/today","command":"append","content":"Ann likes tea."}`,
			`{"command":"append","path":"/notes/today","ok":true,"result":{"status":"ok"}}`},
		{"memory_notes", "", `{"path":"/notes/today","command":"read"}`,
			`{"command":"read","path":"/notes/today","ok":true,"result":{"content":"Met Ann.\nAnn likes tea."}}`},
		{"memory_thread", "one", `{"path":"/a","command":"append","content":"of one"}`,
			`{"command":"append","path":"/a","ok":true,"result":{"status":"ok"}}`},
		{"memory_thread", "", `{"path":"/a","command":"read"}`,
			`{"command":"read","path":"/a","ok":false,"error":{"message":"threadId is required for perThread scope","code":"ENOTMEM"}}`},
		{"memory_thread", "two", `{"path":"/a","command":"read"}`,
			`{"command":"read","path":"/a","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`},
	}
	treeAfter = []line{
		{"memory_again", "", `{"path":"/notes","command":"list"}`,
			`{"command":"list","path":"/notes","ok":true,"result":{"entries":[{"name":"today","kind":"file"}]}}`},
		{"memory_again", "", `{"path":"/notes/today","command":"update","oldContent":"Ann","content":"Anna"}`,
			`{"command":"update","path":"/notes/today","ok":true,"result":{"replaced":2}}`},
		{"memory_notes", "", `{"path":"/notes/today","command":"read"}`,
			`{"command":"read","path":"/notes/today","ok":true,"result":{"content":"Met Anna.\nAnna likes tea."}}`},
		{"memory_thread", "one", `{"path":"/a","command":"read"}`,
			`{"command":"read","path":"/a","ok":true,"result":{"content":"of one"}}`},
		{"memory_notes", "", `{"path":"/a","command":"read"}`,
			`{"command":"read","path":"/a","ok":false,"error":{"message":"ENOENT: file not found","code":"ENOENT"}}`},
		{"memory_again", "", `{"path":"/notes","command":"delete"}`,
			`{"command":"delete","path":"/notes","ok":true,"result":{"files":1,"dirs":1}}`},
		{"memory_notes", "", `{"path":"/","command":"list"}`,
			`{"command":"list","path":"/","ok":true,"result":{"entries":[]}}`},
	}
)

// plays requires that a server says what a transcript does, over MCP.
func plays(t *testing.T, url string, transcript []line) {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "planner-program", Version: "1"}, nil)
	agent, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range transcript {
		call := &sdk.CallToolParams{Name: l.tool, Arguments: json.RawMessage(l.arguments)}
		if l.thread != "" {
			call.Meta = sdk.Meta{"loci/thread_id": l.thread}
		}
		r, err := agent.CallTool(t.Context(), call)
		if err != nil || len(r.Content) != 1 {
			t.Fatalf("%s %s: %v", l.tool, l.arguments, err)
		}
		if text, ok := r.Content[0].(*sdk.TextContent); !ok || text.Text != l.reply {
			t.Errorf("%s %s: %+v; want %s", l.tool, l.arguments, r.Content[0], l.reply)
		}
	}
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
}

// TestTreeOnMongoDB: the transcript of a tree is the same over MongoDB, with loci killed and
// started again in the middle; with LOCI_LONG=1 the database, too.
func TestTreeOnMongoDB(t *testing.T) {
	database, long := mongotest.Shared(t), os.Getenv("LOCI_LONG") != ""
	if long {
		var err error
		if database, err = mongotest.Start(
			t.Context(), mongotest.Options{Own: true, Args: []string{"--sync-on-commit"}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := database.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	url := database.Database()
	if _, err := store.Migrate(t.Context(), url, store.Migration{}); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "loci.yaml")
	if err := os.WriteFile(config, []byte(treeConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *node { return startNode(t, nil, "--config="+config, "--store="+url) }
	n := start()
	plays(t, n.url, treeBefore)
	n.signal(t, syscall.SIGKILL)
	select {
	case <-n.ended:
	case <-time.After(time.Minute):
		t.Fatal("a server that was killed runs")
	}
	if long {
		if err := errors.Join(database.Crash(), database.Launch(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	plays(t, start().url, treeAfter)
}
