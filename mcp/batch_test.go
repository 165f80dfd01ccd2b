package mcp

import (
	"strings"
	"testing"
)

// TestBatchIsAnsweredInOneLine, in the revision that has batches.
func TestBatchIsAnsweredInOneLine(t *testing.T) {
	b := newBench(t, Limits{Batch: 5, BatchBytes: 800}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-03-26")
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	const pong = `{"jsonrpc":"2.0","id":1,"result":{}}`
	refused := func(id, message string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"` + message + `","data":{"reason":"batch"}}}`
	}
	for _, c := range []struct{ name, line, want string }{
		{"one", `[` + ping + `]`, `[` + pong + `]`},
		{"a notification among them", `[` + ping + `,{"jsonrpc":"2.0","method":"notifications/x"}]`, `[` + pong + `]`},
		{"order of the requests", `[` + callLine("2", "echo", `{"a":1}`) + `,` + ping + `,` + callLine(`"x"`, "echo", `{"b":2}`) + `]`,
			`[{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"a\":1}"}]}},` + pong +
				`,{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"{\"b\":2}"}]}}]`},
		{"same id twice", `[` + ping + `,` + ping + `]`, ""},
		{"a bad one among them", `[` + ping + `,7]`,
			`[` + pong + `,{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"\"jsonrpc\" must be \"2.0\"","data":{"reason":"jsonrpc"}}}]`},
		{"a text that no text may be", `[` + ping + `,{"jsonrpc":"2.0","id":4,"method":"a\u0000"}]`,
			`[` + pong + `,{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"a text contains the NUL character ` +
				`\\u0000: leave it out","data":{"reason":"nul"}}}]`},
		{"no JSON behind it", `[{"jsonrpc":"2.0","id":4,"method":"a\u0000"},{]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,` +
			`"message":"the message is not valid JSON: send one JSON-RPC message a line","data":{"reason":"json"}}}`},
		{"only a bad one", `[[]]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"\"jsonrpc\" must be \"2.0\"","data":{"reason":"jsonrpc"}}}]`},
		{"initialize", `[{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}]`, `[` + refused("3", "initialize must not be part of a batch") + `]`},
		{"empty", `[]`, refused("null", "the batch is empty")},
		{"too many", `[` + strings.Repeat(ping+",", 5) + ping + `]`, refused("null", "the batch has 6 messages; the limit is 5: send several")},
		{"too much", `[` + callLine("2", "echo", `{"a":"`+strings.Repeat("語", 150)+`"}`) + `,` + ping + `]`,
			refused("null", "the batch has 1036 bytes, of which what is not ASCII counts twice; the limit is 800: send several")},
		{"much in one", `[` + callLine("2", "echo", `{"a":"`+strings.Repeat("語", 150)+`"}`) + `]`,
			`[{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"a\":\"` + strings.Repeat("語", 150) + `\"}"}]}}]`},
	} {
		w.send(c.line)
		got := w.receive()
		if c.want != "" && got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if !strings.HasPrefix(got, "[") && strings.HasPrefix(c.want, "[") {
			t.Errorf("%s: the reply is no batch: %s", c.name, got)
		}
	}

	// A cancelled request is left out, and the others do not wait for it.
	w.send(`[` + callLine("8", "wait", `{}`) + `,` + ping + `]`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	if got := w.receive(); got != `[`+pong+`]` {
		t.Errorf("got %s", got)
	}
	// Notifications alone get no reply.
	w.send(`[{"jsonrpc":"2.0","method":"notifications/x"}]`, ping)
	if got := w.receive(); got != pong {
		t.Errorf("got %s", got)
	}
	_ = w.in.Close()
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// TestBatchElsewhereIsRefused: other revisions have none.
func TestBatchElsewhereIsRefused(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		w := connect(t, newBench(t, Limits{}, nil).Server)
		w.initialize(revision)
		w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
		if r := parse(t, w.receive()); r.Error == nil || string(r.Error.Data) != `{"reason":"batch"}` {
			t.Errorf("%s: got %+v", revision, r)
		}
	}
}
