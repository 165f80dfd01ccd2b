package server

import (
	"cmp"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/problem"
)

// TestRefusalsOfMessages: a message that is refused before anybody reads it is answered with an error of
// JSON-RPC, which clients of MCP show: of another body they show nothing. Other requests get a problem.
func TestRefusalsOfMessages(t *testing.T) {
	s, _ := newServer(t, Options{Limits: Limits{PerSecond: 0.001, Burst: 1}})
	for _, c := range []struct {
		method, path, host string
		status, code       int // 0: a problem
	}{
		{"POST", "/mcp", "evil.example", 421, -32600}, {"POST", "/mcp/bot", "evil.example", 421, -32600}, {"GET", "/mcp", "evil.example", 421, 0},
		{"POST", "/mcpx", "evil.example", 421, 0}, {"POST", "/v1/notes", "evil.example", 421, 0}, {"POST", "/mcp/nobody", "", 404, -32600},
		{"POST", "/mcp/v1/notes", "evil.example", 421, 0}, {"POST", "/mcp//v1/notes", "evil.example", 421, 0},
		{"POST", "/mcp", "", 429, -32603}, {"POST", "/v1/notes", "", 429, 0},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader("{}"))
		r.Host = cmp.Or(c.host, "localhost:7437")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		var got struct {
			ID    any
			Error struct {
				Code    int
				Message string
				Data    problem.Problem
			}
		}
		said, form := &got.Error.Data, "application/json"
		var into any = &got
		if c.code == 0 {
			into, form = said, problem.ContentType
		}
		err := json.Unmarshal(w.Body.Bytes(), into)
		if err != nil || w.Code != c.status || w.Header().Get("Content-Type") != form || got.ID != nil ||
			said.Status != c.status || said.RequestID == "" || got.Error.Code != c.code {
			t.Errorf("%s %s: %d %v %s, %v", c.method, c.path, w.Code, w.Header(), w.Body, err)
		}
		if c.code != 0 && got.Error.Message != said.Detail+". "+said.Recovery {
			t.Errorf("%s %s: it says %q", c.method, c.path, got.Error.Message)
		}
	}
}
