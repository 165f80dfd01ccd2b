package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

const patience = 2 * time.Minute // for what takes milliseconds on an idle machine

// A wire is a raw client: it writes lines and reads lines.
type wire struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
	stop  context.CancelFunc
}

// connect serves one raw client until the test ends.
func connect(t *testing.T, s *Server) *wire {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	w := &wire{t: t, in: inWrite, lines: make(chan string, 4096), done: make(chan error, 1), stop: stop}
	go func() {
		err := s.Serve(ctx, inRead, outWrite)
		_ = outWrite.Close()
		w.done <- err
	}()
	go func() {
		defer close(w.lines)
		r := bufio.NewReaderSize(outRead, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		stop()
		_ = inWrite.Close()
	})
	return w
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(w.in, line+"\n"); err != nil {
			w.t.Fatalf("send: %v", err)
		}
	}
}

// receive returns the next line.
func (w *wire) receive() string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatal("the server hung up")
		}
		return line
	case <-time.After(patience):
		w.t.Fatal("no reply")
	}
	return ""
}

// ended waits until the server has stopped and nothing more came.
func (w *wire) ended() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		for line := range w.lines {
			w.t.Errorf("unexpected line %s", line)
		}
		return err
	case <-time.After(patience):
		w.t.Fatal("the server goes on")
	}
	return nil
}

// initialize agrees on a revision.
func (w *wire) initialize(revision string) {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"`+revision+
		`","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if reply := w.receive(); !strings.Contains(reply, `"protocolVersion":"`+revision+`"`) {
		w.t.Fatalf("initialize: %s", reply)
	}
}

// callLine is a call of a tool, as a line.
func callLine(id, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// A reply is what tests look at in a line.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result *struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func parse(t *testing.T, line string) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v in line %s", err, line)
	}
	return r
}

func (r reply) text() string {
	if r.Result == nil || len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

// A bench is a server whose tools do what tests of the protocol need: echo replies
// at once, wait until released or cancelled, panic and garbled fail.
type bench struct {
	*Server
	release chan struct{} // closed: wait replies

	mu        sync.Mutex
	started   int
	cancelled int
	callers   []tool.Caller
}

var anyObject = json.RawMessage(`{"type":"object"}`)

func newBench(t *testing.T, limits Limits, change func(*Options)) *bench {
	t.Helper()
	b := &bench{release: make(chan struct{})}
	o := Options{
		Principal: principal(t, "u-1"),
		Version:   "test",
		Limits:    limits,
		Logger:    slog.New(slog.DiscardHandler),
		Call:      b.call,
	}
	for _, name := range []string{"wait", "echo", "panic", "garbled", "broken", "unset", "write"} { // not sorted
		o.Tools = append(o.Tools, &tool.Tool{
			Name:        name,
			Description: name,
			InputSchema: anyObject,
			Annotations: tool.Annotations{ReadOnly: name != "write"},
		})
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Server = s
	return b
}

func (b *bench) call(ctx context.Context, t *tool.Tool, c tool.Caller, args json.RawMessage) (tool.Reply, error) {
	b.mu.Lock()
	b.started++
	b.callers = append(b.callers, c)
	b.mu.Unlock()
	switch t.Name {
	case "wait", "write":
		select {
		case <-b.release:
			return tool.Reply{Text: "released"}, nil
		case <-ctx.Done():
			b.mu.Lock()
			b.cancelled++
			b.mu.Unlock()
			return tool.Reply{}, ctx.Err()
		}
	case "panic":
		panic("boom: a secret")
	case "garbled":
		return tool.Reply{Text: "x", Structured: json.RawMessage(`{bad`)}, nil
	case "broken":
		return tool.Reply{}, errors.New("disk sda1 has a secret")
	case "unset":
		return tool.Reply{}, &loci.ConfigurationError{Key: "user_id", Available: []string{"org_id"}}
	}
	return tool.Reply{Text: string(args)}, nil
}

// count reads a counter of the bench.
func (b *bench) count(n *int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *n
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func principal(t testing.TB, user string, scopes ...loci.Scope) loci.Principal {
	t.Helper()
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	scopes = append(scopes, loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)
	p, err := loci.NewPrincipal(tenant, "test", loci.Vars{loci.VarUser: user}, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// roundTrips measures one line and its reply after another.
func roundTrips(b *testing.B, s *Server, line string) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), inRead, outWrite) }()
	r := bufio.NewReaderSize(outRead, 1<<20)
	exchange := func(line string) {
		if _, err := io.WriteString(inWrite, line+"\n"); err != nil {
			b.Fatal(err)
		}
		reply, err := r.ReadString('\n')
		if err != nil || strings.Contains(reply, `"error"`) {
			b.Fatal(reply, err)
		}
	}
	if !strings.Contains(line, "2026-07-28") {
		exchange(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	}
	b.ReportAllocs()
	for b.Loop() {
		exchange(line)
	}
	_ = inWrite.Close()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
