package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

// pings is a batch of n requests.
func pings(n int) string {
	one := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	return "[" + strings.Repeat(one+",", n-1) + one + "]"
}

// TestHandlerGuardsAndIdentifies: the same tools and the same guard over HTTP.
func TestHandlerGuardsAndIdentifies(t *testing.T) {
	p := principal(t, "u-1")
	b := newBench(t, Limits{Line: 16 << 10, BatchBytes: 4 << 10}, func(o *Options) {
		o.Identify = func(_ context.Context, origin Origin) (loci.Principal, error) {
			if origin.Header.Get("Authorization") != "Bearer good" {
				return loci.Principal{}, loci.Errorf(loci.Unauthenticated, "who are you?")
			}
			return p, nil
		}
	})
	server := httptest.NewServer(b.Handler())
	defer server.Close()
	post := func(token, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization": token, "Mcp-Protocol-Version": "2025-11-25", headerRequestID: "forged"} {
			r.Header.Set(name, value)
		}
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		reply, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(reply)
	}
	for _, c := range []struct {
		name, token, body string
		status            int
		want              string
	}{
		{"a call", "Bearer good", callLine("7", "echo", `{"a":1}`), 200, `"text":"{\"a\":1}"`},
		{"nobody", "", callLine("7", "echo", `{"a":1}`), 200, `"code":"unauthenticated"`},
		{"name twice", "Bearer good", callLine("7", "echo", `{"a":1,"a":2}`), 400, `"reason":"duplicate_name"`},
		{"too deep", "Bearer good", callLine("7", "echo", strings.Repeat("[", 99)+strings.Repeat("]", 99)), 400, `"reason":"depth"`},
		{"NUL", "Bearer good", callLine("7", "echo", `{"a":"\u0000"}`), 400, `"reason":"nul"`},
		{"not JSON", "Bearer good", `{`, 400, `"reason":"json"`},
		{"too long", "Bearer good", callLine("7", "echo", `{"a":"`+strings.Repeat("x", 17<<10)+`"}`), 413, `"reason":"line"`},
		{"many", "Bearer good", pings(21), 400, "the batch has 21 messages; the limit is 20"},
		{"much", "Bearer good", `[` + callLine("7", "echo", `{"a":"`+strings.Repeat("語", 1100)+`"}`) + `,{}]`, 400, "the limit is 4096: send several"},
		{"much alone", "Bearer good", `[` + callLine("7", "echo", `{"a":"`+strings.Repeat("語", 1100)+`"}`) + `]`, 400, "JSON-RPC batching is not supported"},
		{"a bad text in one", "Bearer good", `[{"jsonrpc":"2.0","id":4,"method":"a\u0000"}]`, 400, `"id":4,"error":{"code":-32600`},
		{"as many as may be", "Bearer good", pings(20), 400, "JSON-RPC batching is not supported"}, // in this revision
		{"undeclared", "Bearer good", `{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`, 200, `"code":-32601`},
		{"unknown", "Bearer good", `{"jsonrpc":"2.0","id":7,"method":"foo"}`, 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: \"foo\"","data":{"reason":"method"}}}`},
		{"a long name", "Bearer good", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("m", 257) + `"}`, 400,
			`"message":"method must be a text of at most 256 bytes"`},
		{"a long name of a notification", "Bearer good", `{"jsonrpc":"2.0","method":"` + strings.Repeat("m", 257) + `"}`, 400, `"reason":"method"`},
		{"panic", "Bearer good", callLine("7", "panic", `{}`), 200, `"message":"internal error"`},
	} {
		status, reply := post(c.token, c.body)
		if status != c.status || !strings.Contains(reply, c.want) {
			t.Errorf("%s: got %d %s, want %d with %s", c.name, status, reply, c.status, c.want)
		}
	}
	for _, caller := range b.callers {
		if caller.RequestID == "" || strings.Contains(caller.RequestID, "forged") {
			t.Errorf("request id %q", caller.RequestID)
		}
	}
}

// TestEncodedBodies: a body that is compressed is called so, not broken JSON.
func TestEncodedBodies(t *testing.T) {
	b := newBench(t, Limits{}, func(*Options) {})
	for encoding, want := range map[string]int{"gzip": 415, "identity": 200, "": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(callLine("7", "echo", `{}`)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		w := httptest.NewRecorder()
		b.Handler().ServeHTTP(w, r)
		if w.Code != want || want == 415 && !strings.Contains(w.Body.String(), `"reason":"encoding"`) {
			t.Errorf("%q is answered by %d %s", encoding, w.Code, w.Body)
		}
	}
}

// TestListenersGiveTheirSlotBack: a client that only listens uses no processor, so it holds no
// slot. A batch keeps its slot, since other calls may run beside the listening one.
func TestListenersGiveTheirSlotBack(t *testing.T) {
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: time.Minute, Aside: 1})
	pass, refused := gate.Enter(t.Context(), "", 0)
	if refused != nil {
		t.Fatalf("%+v", refused)
	}
	visit := &admission.Visit{}
	visit.Let(pass)
	ctx, cancel := context.WithTimeout(admission.With(t.Context(), visit), time.Minute)
	defer cancel()
	ask := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": methodListen,
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		newBench(t, Limits{}, func(*Options) {}).Handler().ServeHTTP(w, r)
		return w
	}
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions\/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
		`{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if w := ask("[" + listen + "]"); w.Code != 400 || !strings.Contains(w.Body.String(), `"reason":"batch"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := gate.Load().Running; n != 1 {
		t.Fatalf("%d run", n)
	}
	if w := ask(listen); w.Code != 200 || !strings.Contains(w.Body.String(), "acknowledged") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := gate.Load().Running; n != 0 {
		t.Errorf("%d run", n)
	}
}
