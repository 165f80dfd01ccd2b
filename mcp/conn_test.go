package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A log keeps what was logged.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestFailuresShowNoInsides: a panic or a cause is for the log of the operator.
func TestFailuresShowNoInsides(t *testing.T) {
	var l log
	b := newBench(t, Limits{}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&l, nil)) })
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	for _, c := range []struct{ name, want string }{
		{"panic", `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`},
		{"garbled", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"internal error"}],"structuredContent":{"error":"internal error","code":"internal","recovery":"Try again; if it persists, look at the server's log."},"isError":true}}`},
		{"broken", `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"internal error"}],"structuredContent":{"error":"internal error","code":"internal","recovery":"Try again; if it persists, look at the server's log."},"isError":true}}`},
		{"unset", `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"ConfigurationError: Missing key in 'configurable' field: user_id. Available keys: ['org_id']","data":{"type":"ConfigurationError","key":"user_id","available":["org_id"]}}}`},
	} {
		w.send(callLine("7", c.name, `{"private":"canary"}`))
		if got := w.receive(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	w.send(callLine("8", "echo", `{"fine":true}`))
	if r := parse(t, w.receive()); r.text() != `{"fine":true}` {
		t.Errorf("after the failures: %+v", r)
	}
	for _, want := range []string{"boom", "disk sda1", "the structured reply is not JSON", "-7"} {
		if !strings.Contains(l.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(l.String(), "canary") {
		t.Error("the log has content")
	}
}

// TestRequestIDsAreUniqueAcrossConnections, so that an audit event has one cause.
func TestRequestIDsAreUniqueAcrossConnections(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	for range 2 {
		w := connect(t, b.Server)
		w.initialize("2025-11-25")
		w.send(callLine("7", "echo", `{}`))
		w.receive()
	}
	first, second := b.callers[0], b.callers[1]
	if first.RequestID == second.RequestID || !strings.HasSuffix(first.RequestID, "-7") ||
		!strings.HasSuffix(second.RequestID, "-7") {
		t.Errorf("request ids %q and %q", first.RequestID, second.RequestID)
	}
	if first.Client != "wire/1" {
		t.Errorf("client %q", first.Client)
	}
}

// TestSlowCallsRunSideBySide, and do not hold up quick ones.
func TestSlowCallsRunSideBySide(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	for i := range 20 {
		w.send(callLine(fmt.Sprint(i), "wait", `{}`))
	}
	w.send(callLine("99", "echo", `{}`))
	if r := parse(t, w.receive()); string(r.ID) != "99" {
		t.Fatalf("first reply: %+v", r)
	}
	eventually(t, "20 calls at once", func() bool { return b.count(&b.started) == 21 })
	close(b.release)
	for range 20 {
		if r := parse(t, w.receive()); r.text() != "released" {
			t.Errorf("got %+v", r)
		}
	}
}

// TestWritesRunInTheOrderTheyCame, one after another, whatever reads meanwhile and
// also when one of them is cancelled before its turn.
func TestWritesRunInTheOrderTheyCame(t *testing.T) {
	b := newBench(t, Limits{InFlight: 2}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	for i := range 10 {
		w.send(callLine(fmt.Sprint(i), "write", `{}`))
	}
	w.send(callLine("99", "echo", `{}`))
	if r := parse(t, w.receive()); string(r.ID) != "99" {
		t.Fatalf("first reply: %+v", r)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`, callLine("100", "echo", `{}`))
	w.receive()
	eventually(t, "one write runs, two reads ran", func() bool { return b.count(&b.started) == 3 })
	close(b.release)
	for _, want := range []string{"0", "1", "2", "3", "5", "6", "7", "8", "9"} {
		if r := parse(t, w.receive()); string(r.ID) != want {
			t.Errorf("reply to %s, want %s", r.ID, want)
		}
	}
	_ = w.in.Close()
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// TestTurnsOfEveryIDAreKeptApart: 1 and "1" are two requests under way, and connections
// that use the same ids do not wait for one another.
func TestTurnsOfEveryIDAreKeptApart(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	first, second := connect(t, b.Server), connect(t, b.Server)
	ids := []string{`1`, `"1"`, `"\"1\""`, `"a"`, `0`, `"0"`}
	for _, w := range []*wire{first, second} {
		w.initialize("2025-11-25")
		for _, id := range ids {
			w.send(callLine(id, "write", `{}`))
		}
	}
	eventually(t, "one write of each connection runs", func() bool { return b.count(&b.started) == 2 })
	eventually(t, "each call has a turn", func() bool { return b.turnsUnderWay() == 2*len(ids) })
	close(b.release)
	for _, w := range []*wire{first, second} {
		for _, want := range ids {
			if r := parse(t, w.receive()); string(r.ID) != want || r.text() != "released" {
				t.Errorf("got %s %q, want the reply to %s", r.ID, r.text(), want)
			}
		}
	}
}

// TestNoTurnIsKeptAfterItsCall, however the call ended: answered, refused before it ran
// or while it did, cancelled before its turn or in it, or given up with its connection.
func TestNoTurnIsKeptAfterItsCall(t *testing.T) {
	b := newBench(t, Limits{Queued: 2, InFlight: 4, Drain: 50 * time.Millisecond}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
	w.send(callLine("1", "write", `{}`), callLine("2", "write", `{}`), callLine("3", "write", `{}`))
	eventually(t, "the first write runs", func() bool { return b.count(&b.started) == 1 })
	w.send(fmt.Sprintf(cancel, 2), fmt.Sprintf(cancel, 1))
	eventually(t, "one turn is left", func() bool { return b.turnsUnderWay() == 1 })
	w.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"write","arguments":7,"_meta":[]}}`)
	if r := parse(t, w.receive()); string(r.ID) != "4" || r.Error == nil {
		t.Errorf("params of another form: %+v", r)
	}
	w.send(callLine("3", "write", `{}`)) // is in use
	w.receive()
	for i := range 6 {
		w.send(callLine(fmt.Sprint(10+i), "write", `{}`))
	}
	w.receive() // is one too many
	eventually(t, "six turns are kept", func() bool { return b.turnsUnderWay() == 6 })
	_ = w.in.Close()
	if err := w.ended(); err != nil {
		t.Error(err)
	}
	if n := b.turnsUnderWay(); n != 0 {
		t.Errorf("%d turns are kept for a connection that is over", n)
	}
}

func (b *bench) turnsUnderWay() int {
	b.turns.mu.Lock()
	defer b.turns.mu.Unlock()
	return len(b.turns.of)
}

func TestOverloadIsRefusedNotQueuedWithoutBound(t *testing.T) {
	b := newBench(t, Limits{InFlight: 2, Queued: 3}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	for i := range 6 {
		w.send(callLine(fmt.Sprint(i), "wait", `{}`))
	}
	want := `{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"too many requests are waiting: try again in a few seconds","data":{"reason":"unavailable"}}}`
	if got := w.receive(); got != want {
		t.Fatalf("got %s", got)
	}
	eventually(t, "two calls run", func() bool { return b.count(&b.started) == 2 })
	close(b.release)
	for range 5 {
		if r := parse(t, w.receive()); r.text() != "released" {
			t.Errorf("got %+v", r)
		}
	}
	if n := b.count(&b.started); n != 5 {
		t.Errorf("%d calls ran, want 5", n)
	}
}

func TestWaitingRequestsAreBoundedInBytes(t *testing.T) {
	b := newBench(t, Limits{QueuedBytes: 64 << 10}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	big := `{"a":"` + strings.Repeat("x", 50<<10) + `"}`
	w.send(callLine("1", "wait", big), callLine("2", "wait", big))
	if r := parse(t, w.receive()); string(r.ID) != "2" || r.Error == nil || r.Error.Code != -32000 {
		t.Errorf("got %+v", r)
	}
	close(b.release)
	w.receive()
}

// TestIDInUseIsRefused without spoiling the request that has it.
func TestIDInUseIsRefused(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	w.send(callLine("7", "wait", `{}`), callLine("7", "echo", `{}`))
	if r := parse(t, w.receive()); string(r.ID) != "null" || r.Error == nil || string(r.Error.Data) != `{"reason":"id_in_use"}` {
		t.Fatalf("got %+v", r)
	}
	close(b.release)
	if r := parse(t, w.receive()); string(r.ID) != "7" || r.text() != "released" {
		t.Errorf("got %+v", r)
	}
	w.send(callLine("7", "echo", `{}`))
	if r := parse(t, w.receive()); r.text() != "{}" {
		t.Errorf("the id, used again: %+v", r)
	}
}

func TestCancelledCallStopsAndGetsNoReply(t *testing.T) {
	for _, id := range []string{`7`, `"seven"`} {
		b := newBench(t, Limits{}, nil)
		w := connect(t, b.Server)
		w.initialize("2025-11-25")
		w.send(callLine(id, "wait", `{}`))
		eventually(t, "the call runs", func() bool { return b.count(&b.started) == 1 })
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"x"}}`)
		eventually(t, "the call is cancelled", func() bool { return b.count(&b.cancelled) == 1 })
		// Cancelling what is unknown, finished or nonsense does nothing.
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, callLine("8", "echo", `{}`))
		if r := parse(t, w.receive()); string(r.ID) != "8" {
			t.Errorf("got %+v", r)
		}
		_ = w.in.Close()
		if err := w.ended(); err != nil {
			t.Error(err)
		}
	}
}

// TestEndOfInputLosesNoReply: a client may send, close its end and read on.
func TestEndOfInputLosesNoReply(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	w := connect(t, b.Server)
	release := sync.OnceFunc(func() { close(b.release) })
	t.Cleanup(release) // what waits ends, also when the test has failed
	w.initialize("2025-11-25")
	for i := range 10 {
		w.send(callLine(fmt.Sprint(i), "wait", `{}`))
	}
	_, _ = io.WriteString(w.in, callLine("10", "wait", `{}`)) // the last line has no end
	_ = w.in.Close()
	eventually(t, "all calls run", func() bool { return b.count(&b.started) == 11 })
	release()
	var ids []string
	for range 11 {
		r := parse(t, w.receive())
		if r.text() != "released" {
			t.Errorf("got %+v", r)
		}
		ids = append(ids, string(r.ID))
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 11 {
		t.Errorf("replies to %v", ids)
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// TestStopFinishesWhatRuns: a termination signal is an end of the input.
func TestStopFinishesWhatRuns(t *testing.T) {
	b := newBench(t, Limits{}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	w.send(callLine("7", "wait", `{}`))
	eventually(t, "the call runs", func() bool { return b.count(&b.started) == 1 })
	w.stop()
	close(b.release)
	if r := parse(t, w.receive()); r.text() != "released" {
		t.Errorf("got %+v", r)
	}
	if err := w.ended(); err != nil {
		t.Error(err)
	}
}

// TestEndOfInputDoesNotWaitForever: calls that never end are given up after the drain time.
func TestEndOfInputDoesNotWaitForever(t *testing.T) {
	b := newBench(t, Limits{Drain: 50 * time.Millisecond}, nil)
	w := connect(t, b.Server)
	w.initialize("2025-11-25")
	w.send(callLine("7", "wait", `{}`))
	eventually(t, "the call runs", func() bool { return b.count(&b.started) == 1 })
	_ = w.in.Close()
	if err := w.ended(); err != nil {
		t.Error(err)
	}
	eventually(t, "the call is cancelled", func() bool { return b.count(&b.cancelled) == 1 })
}

// TestBrokenInputIsAnError, unlike its end.
func TestBrokenInputIsAnError(t *testing.T) {
	w := connect(t, newBench(t, Limits{}, nil).Server)
	w.initialize("2025-11-25")
	_ = w.in.CloseWithError(errors.New("cable cut"))
	if err := w.ended(); !errors.Is(err, loci.ErrUnavailable) {
		t.Errorf("got %v, want an Unavailable error", err)
	}
}
