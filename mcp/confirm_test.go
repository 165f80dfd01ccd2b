package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
)

// asked are the questions that a client was asked, and what it answers.
type asked struct {
	answer    string // empty: it fails
	meanwhile func()
	messages  []string
}

func (a *asked) handle(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	a.messages = append(a.messages, r.Params.Message)
	if a.meanwhile != nil {
		a.meanwhile()
	}
	if a.answer == "" {
		return nil, errors.New("the screen is off")
	}
	return &sdk.ElicitResult{Action: a.answer}, nil
}

// fileServer makes a server with the tool memory.
func fileServer(t *testing.T, engine *loci.Engine, confirm string) *mcp.Server {
	t.Helper()
	set, err := tool.New(engine, tool.Config{Entries: []tool.Instance{files}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.New(mcp.Options{Tools: set.Tools(), Principal: alice(t), Confirm: confirm,
		Version: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onLine connects the official client over a line, in a revision.
func onLine(t *testing.T, s *mcp.Server, revision string, a *asked) *client {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(context.Background(), inRead, outWrite)
		_ = outWrite.Close()
	}()
	c := dialed(t, &sdk.IOTransport{Reader: outRead, Writer: inWrite}, revision, a)
	t.Cleanup(func() {
		_ = inWrite.Close()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

// overHTTP connects the official client over HTTP, in a revision.
func overHTTP(t *testing.T, s *mcp.Server, revision string, a *asked) *client {
	t.Helper()
	front := httptest.NewServer(s.Handler())
	t.Cleanup(front.Close)
	return dialed(t, &sdk.StreamableClientTransport{Endpoint: front.URL, DisableStandaloneSSE: true}, revision, a)
}

func dialed(t *testing.T, transport sdk.Transport, revision string, a *asked) *client {
	t.Helper()
	options := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}}
	if a != nil {
		options.ElicitationHandler = a.handle
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "go-client", Version: "1"}, options)
	session, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &client{t, session}
}

func (c *client) fill(names ...string) {
	c.t.Helper()
	for _, name := range names {
		c.ask("memory", args{"command": "append", "path": "/d/" + name, "content": "text"}).
			want(`{"command":"append","path":"/d/` + name + `","ok":true,"result":{"status":"ok"}}`)
	}
}

func (c *client) left(want int) {
	c.t.Helper()
	a := c.ask("memory", args{"command": "list", "path": "/d"})
	if got := strings.Count(a.text, `"kind":"file"`); got != want || a.isError {
		c.t.Errorf("%d files are left, want %d: %s", got, want, a.text)
	}
}

const (
	wholeDirectory = "Delete the directory /d with 2 files (8 bytes)? They are /d/a, /d/b. " +
		"Their earlier versions go with them, and this cannot be undone."
	allGone = `{"command":"delete","path":"/d","ok":true,"result":{"files":2,"dirs":1}}`
)

func notGone(message, code string) string {
	return `{"command":"delete","path":"/d","ok":false,"error":{"message":"` + message + `","code":"` + code + `"}}`
}

var deletes = args{"command": "delete", "path": "/d"}

// transports are the ways to a server, each with whether a client of it can be asked.
var transports = []struct {
	name, revision string
	dial           func(*testing.T, *mcp.Server, string, *asked) *client
	asks           bool
}{
	{"line, newest", "2026-07-28", onLine, true},
	{"line, 2025-11-25", "2025-11-25", onLine, true},
	{"line, 2025-06-18", "2025-06-18", onLine, true},
	{"HTTP, newest", "2026-07-28", overHTTP, true},
	{"HTTP, 2025-11-25", "2025-11-25", overHTTP, false}, // its answer might reach another server
	{"HTTP, 2025-06-18", "2025-06-18", overHTTP, false},
}

// A person is asked, over each transport that can, and what they answer is done, not less and
// not more.
func TestBulkCallsAreConfirmed(t *testing.T) {
	for _, way := range transports {
		if !way.asks {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			a := &asked{}
			c := way.dial(t, fileServer(t, newEngine(t), ""), way.revision, a)
			c.fill("a", "b")
			for _, no := range []struct{ answer, message string }{
				{"decline", "the user declined: nothing was deleted"},
				{"cancel", "the user gave no answer: nothing was deleted"},
			} {
				a.answer = no.answer
				if r := c.ask("memory", deletes); r.text != notGone(no.message, "EACCES") || !r.isError {
					t.Errorf("%s: %s", no.answer, r.text)
				}
			}
			if a.answer = ""; way.revision != "2026-07-28" { // there the client fails its own call
				if r := c.ask("memory", deletes); r.text != notGone("the client could not ask the user: nothing was deleted", "EACCES") {
					t.Errorf("a client that fails: %s", r.text)
				}
			}
			c.left(2)
			a.answer, a.messages = "accept", nil
			c.ask("memory", deletes).want(allGone)
			if len(a.messages) != 1 || a.messages[0] != wholeDirectory {
				t.Errorf("asked %q", a.messages)
			}
			c.fill("a")
			c.ask("memory", deletes).want(`{"command":"delete","path":"/d","ok":true,"result":{"files":1,"dirs":1}}`)
			if len(a.messages) != 1 {
				t.Errorf("asked about one file: %q", a.messages)
			}
		})
	}
}

// What comes while a person thinks about it was not shown to them, and stays.
func TestWhatWasNotShownStays(t *testing.T) {
	for _, way := range transports {
		if !way.asks {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			s, a := fileServer(t, newEngine(t), ""), &asked{answer: "accept"}
			c, other := way.dial(t, s, way.revision, a), onLine(t, s, "2025-11-25", nil)
			c.fill("a", "b")
			a.meanwhile = func() { other.fill("c") }
			r := c.ask("memory", deletes)
			if r.text != notGone("what this would delete has changed since it was agreed to: nothing was deleted", "EAGAIN") || !r.isError {
				t.Errorf("got %s", r.text)
			}
			c.left(3)
			a.meanwhile = nil
			c.ask("memory", deletes).want(`{"command":"delete","path":"/d","ok":true,"result":{"files":3,"dirs":1}}`)
			if len(a.messages) != 2 || !strings.Contains(a.messages[1], "with 3 files") {
				t.Errorf("asked %q", a.messages)
			}
		})
	}
}

// Where nobody can be asked, a call goes through, unless the operator requires an answer, or the
// client can ask and not over this transport. Where the operator wants no questions, none is asked.
func TestWhoCannotBeAsked(t *testing.T) {
	const refused = "this would delete 2 memories at once, and nobody could be asked: nothing was deleted"
	for _, way := range transports {
		for _, can := range []bool{true, false} {
			for _, confirm := range tool.Confirms {
				t.Run(fmt.Sprintf("%s, %v, %s", way.name, can, confirm), func(t *testing.T) {
					a := &asked{answer: "accept"}
					var with *asked
					if can {
						with = a
					}
					c := way.dial(t, fileServer(t, newEngine(t), confirm), way.revision, with)
					c.fill("a", "b")
					r := c.ask("memory", deletes)
					questions, want := 0, allGone
					switch {
					case confirm != tool.ConfirmOff && can && way.asks:
						questions = 1
					case confirm == tool.ConfirmRequired, confirm == tool.ConfirmAuto && can:
						want = notGone(refused, "EACCES")
					}
					if len(a.messages) != questions || r.text != want || r.isError != (want != allGone) {
						t.Errorf("asked %q and got %s", a.messages, r.text)
					}
				})
			}
		}
	}
}

// Over HTTP a client of an older revision gets the id of a session if it can ask a person, and no
// other client does. Nothing else depends on the id.
func TestSessionsOfClientsThatAsk(t *testing.T) {
	handler := fileServer(t, newEngine(t), "").Handler()
	post := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for capabilities, asks := range map[string]bool{
		`{}`: false, `{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"url":{}}}`: false,
		`{"elicitation":{"form":{},"url":{}}}`: true, `{"elicitation":null}`: false, `{"sampling":{}}`: false,
	} {
		w := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+
			`,"clientInfo":{"name":"x","version":"1"}}}`)
		if id := w.Header().Get("Mcp-Session-Id"); w.Code != 200 || (id != "") != asks {
			t.Errorf("%s: %d, session %q", capabilities, w.Code, id)
		}
	}
	for _, session := range []string{"", "asks-", "asks-of-another-server", "1"} {
		if w := post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); w.Code != 200 || w.Header().Get("Mcp-Session-Id") != "" {
			t.Errorf("%q: %d %s", session, w.Code, w.Body)
		}
	}
}

// A session is a conversation whose deletion says what it is about; its refusal has the form of
// that tool's errors, with the way around.
func TestConversationsAreConfirmed(t *testing.T) {
	engine := newEngine(t)
	set, err := tool.New(engine, tool.Config{Entries: []tool.Instance{{Family: tool.FamilySessions}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.New(mcp.Options{Tools: set.Tools(), Principal: alice(t), Confirm: tool.ConfirmRequired,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	converse(t, engine, "trip", "Where do we stay?", "At the harbour.")
	in := args{"session_id": "trip"}
	r := onLine(t, s, "2025-11-25", nil).ask("memory_delete_session", in)
	r.refused(loci.Forbidden, "this would delete 2 memories at once, and nobody could be asked: nothing was deleted")
	if advice, _ := r.data["recovery"].(string); !strings.Contains(advice, "loci session clear") {
		t.Errorf("advice %q", advice)
	}
	a := &asked{answer: "decline"}
	c := overHTTP(t, s, "2026-07-28", a)
	c.ask("memory_delete_session", in).refused(loci.Forbidden, "the user declined: nothing was deleted")
	a.answer = "accept"
	c.ask("memory_delete_session", in).want(`{"session_id":"trip","message":"Session deleted successfully."}`)
	if len(a.messages) != 2 || !strings.Contains(a.messages[0], `"Where do we stay?" ("trip") with 2 messages`) {
		t.Errorf("asked %q", a.messages)
	}
}

// On the wire of the newest revision a question is a result, and its answer a second call. An
// answer without the state of the question, or to something else, deletes nothing.
func TestAQuestionOnTheWire(t *testing.T) {
	s := fileServer(t, newEngine(t), "")
	front := httptest.NewServer(s.Handler())
	defer front.Close()
	onLine(t, s, "2025-11-25", nil).fill("a", "b")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
		`{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	call := func(more string) (result struct {
		ResultType    string
		RequestState  string
		Content       []struct{ Text string }
		InputRequests map[string]struct {
			Method string
			Params struct {
				Mode, Message   string
				RequestedSchema json.RawMessage
			}
		}
	}) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":{"command":"delete","path":"/d"},` + meta + more + `}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "memory"} {
			r.Header.Set(name, value)
		}
		response, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if _, line, sse := bytes.Cut(data, []byte("data: ")); sse {
			data = line
		}
		var reply struct{ Result json.RawMessage }
		if err := errors.Join(json.Unmarshal(data, &reply), json.Unmarshal(reply.Result, &result)); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		return result
	}
	asks := call("")
	q := asks.InputRequests["confirm"]
	if asks.ResultType != "input_required" || asks.RequestState == "" || q.Method != "elicitation/create" || q.Params.Mode != "form" ||
		q.Params.Message != wholeDirectory || string(q.Params.RequestedSchema) != `{"type":"object","properties":{}}` {
		t.Errorf("%+v", asks)
	}
	const yes = `,"inputResponses":{"confirm":{"action":"accept","content":{}}}`
	for _, wrong := range []string{"", `,"requestState":""`, `,"requestState":"none"`, `,"requestState":"` + asks.RequestState + `x"`} {
		r := call(yes + wrong)
		if r.ResultType != "complete" || len(r.Content) != 1 || !strings.Contains(r.Content[0].Text, "has changed since it was agreed to: nothing was deleted") {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
	if again := call(`,"inputResponses":{"other":{"action":"accept"}}`); again.RequestState != asks.RequestState || again.ResultType != "input_required" {
		t.Errorf("the answer to another question: %+v", again)
	}
	if r := call(yes + `,"requestState":"` + asks.RequestState + `"`); len(r.Content) != 1 || r.Content[0].Text != allGone {
		t.Errorf("agreed: %+v", r)
	}
}

// converse stores what alice and an assistant said in turn.
func converse(t *testing.T, engine *loci.Engine, id string, texts ...string) {
	t.Helper()
	p := alice(t)
	m, err := engine.Memory(loci.View{Tenant: p.Tenant(), Namespace: loci.Namespace{"user", "alice"}, Actor: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range texts {
		by := []session.MessageType{session.MessageHuman, session.MessageAI}[n%2]
		locitest.AppendTo(t, m, id, locitest.Spoken(by, text))
	}
}

// A question is no refusal of authority: the audit log of those does not have it.
func TestAQuestionIsNoRefusalOfAuthority(t *testing.T) {
	engine := newEngine(t)
	set, err := tool.New(engine, tool.Config{Entries: []tool.Instance{files}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var trails []*trail.Trail
	s, err := mcp.New(mcp.Options{
		Tools: set.Tools(), Principal: alice(t), Confirm: tool.ConfirmRequired, Logger: slog.New(slog.DiscardHandler),
		Call: func(ctx context.Context, t *tool.Tool, c tool.Caller, in json.RawMessage) (tool.Reply, error) {
			own := &trail.Trail{}
			trails = append(trails, own)
			return t.Call(trail.With(ctx, own), c, in)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := onLine(t, s, "2025-11-25", nil)
	c.fill("a", "b")
	c.ask("memory", deletes)
	for _, one := range trails {
		if refused := one.Refused(); refused != "" {
			t.Errorf("a refusal of %s", refused)
		}
	}
	if len(trails) != 3 {
		t.Errorf("%d calls", len(trails))
	}
}
