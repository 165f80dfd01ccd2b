package eino_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/eino"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tests/adapters"
)

// open opens a file of Loci as one process would, for the user alice.
func open(t *testing.T, file string) (*loci.Memory, loci.Store) {
	t.Helper()
	f := adapters.Open(t, file, nil)
	return f.Of(t, "alice"), f
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "loci.db") }

func must[T any](t *testing.T) func(T, error) T { return adapters.Must[T](t) }

// TestGraphResumes interrupts a graph in one process and goes on in another.
func TestGraphResumes(t *testing.T) {
	path := file(t)
	asked, booked := 0, 0
	run := func() (string, error) {
		m, s := open(t, path)
		defer s.Close()
		g := compose.NewGraph[string, string]()
		for _, err := range []error{
			g.AddLambdaNode("ask", compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
				asked++
				return in + ", window", nil
			})),
			g.AddLambdaNode("book", compose.InvokableLambda(func(_ context.Context, in string) (string, error) {
				booked++
				return "booked: " + in, nil
			})),
			g.AddEdge(compose.START, "ask"), g.AddEdge("ask", "book"), g.AddEdge("book", compose.END),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		r := must[compose.Runnable[string, string]](t)(
			g.Compile(t.Context(), compose.WithInterruptBeforeNodes([]string{"book"}),
				compose.WithCheckPointStore(eino.NewCheckPointStore(eino.Of(m)))))
		return r.Invoke(t.Context(), "Lisbon", compose.WithCheckPointID("trip"))
	}
	_, err := run()
	if _, interrupted := compose.ExtractInterruptInfo(err); !interrupted {
		t.Fatalf("not interrupted: %v", err)
	}
	if got := must[string](t)(run()); got != "booked: Lisbon, window" || asked != 1 || booked != 1 {
		t.Errorf("got %q, asked %d times, booked %d times", got, asked, booked)
	}
}

// TestCheckPointStore: checkpoints can be replaced and deleted, and LangGraph's threads stay
// apart from them.
func TestCheckPointStore(t *testing.T) {
	ctx := t.Context()
	m, s := open(t, file(t))
	c := eino.NewCheckPointStore(eino.Of(m))
	if err := checkpoint.Of(m).Put(ctx, checkpoint.Checkpoint{
		Thread: "a",
		ID:     "latest",
		State:  checkpoint.Typed{Type: "json", Data: []byte("{}")},
	}); err != nil {
		t.Fatal(err)
	}
	has := func(want string, there bool) {
		t.Helper()
		got, ok, err := c.Get(ctx, "a")
		if string(got) != want || ok != there || err != nil {
			t.Errorf("got %q, %v, %v", got, ok, err)
		}
	}
	has("", false)
	for _, state := range []string{"one\x00\xff", "sk-ant-api03-" + strings.Repeat("x", 95)} {
		if err := c.Set(ctx, "a", []byte(state)); err != nil {
			t.Fatal(err)
		}
		has(state, true)
	}
	for range 2 {
		if err := c.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		has("", false)
	}
	if _, err := checkpoint.Of(m).Get(ctx, "a", "", "latest"); err != nil {
		t.Errorf("the thread of LangGraph: %v", err)
	}
	for _, id := range []string{"", strings.Repeat("x", 1001)} {
		if err := c.Set(ctx, id, nil); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("id of %d bytes: %v", len(id), err)
		}
	}
	none := eino.NewCheckPointStore(func(context.Context) (*loci.Memory, error) { return nil, nil })
	if _, _, err := none.Get(ctx, "a"); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("no memory: %v", err)
	}
	s.Close()
	if _, _, err := c.Get(ctx, "a"); err == nil {
		t.Error("a store that is gone has no checkpoint: the graph would begin again")
	}
	if c.Set(ctx, "a", nil) == nil || c.Delete(ctx, "a") == nil {
		t.Error("a store that is gone took a checkpoint, or erased one")
	}
}

// TestRetrieverInGraph answers from the memory of whoever asks.
func TestRetrieverInGraph(t *testing.T) {
	m, s := open(t, file(t))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{
		Content:   "Window.",
		Subject:   "alice",
		Predicate: "favourite seat",
		Metadata:  map[string]any{"year": 2024},
	}))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{Content: "Her cat sits on a seat by the fire and sleeps all day."}))
	type user struct{}
	var seen []eino.Outcome
	r := &eino.Retriever{
		Handle: func(ctx context.Context) (*loci.Memory, error) {
			if ctx.Value(user{}) != "alice" {
				return nil, errors.New("nobody asks")
			}
			return m, nil
		},
		Options: eino.Options{Logger: slog.New(slog.DiscardHandler), Report: func(_ context.Context, o eino.Outcome) {
			seen = append(seen, o)
		}},
	}
	var told []string
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			told = append(told, info.Type+" start "+retriever.ConvCallbackInput(in).Query)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			told = append(told, "end")
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, _ error) context.Context {
			told = append(told, "error")
			return ctx
		}).Build()
	chain := compose.NewChain[string, []*schema.Document]().AppendRetriever(r)
	run := must[compose.Runnable[string, []*schema.Document]](t)(chain.Compile(t.Context()))
	ask := func(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
		return run.Invoke(ctx, query, compose.WithRetrieverOption(opts...),
			compose.WithCallbacks(handler).DesignateNode("node_0"))
	}
	alice := context.WithValue(t.Context(), user{}, "alice")

	docs := must[[]*schema.Document](t)(ask(alice, "favourite seat"))
	if len(docs) != 2 || docs[0].Content != "alice favourite seat: Window." || docs[0].MetaData["year"] != 2024.0 || docs[0].Score() <= docs[1].Score() {
		t.Fatalf("%+v", docs)
	}
	if one := must[[]*schema.Document](t)(ask(alice, "favourite seat", retriever.WithTopK(1))); len(one) != 1 {
		t.Errorf("TopK 1 gives %d", len(one))
	}
	above := must[[]*schema.Document](t)(ask(alice, "favourite seat", retriever.WithScoreThreshold(docs[1].Score())))
	if len(above) != 1 {
		t.Errorf("%d documents above the score of the second", len(above))
	}
	if _, err := ask(alice, "seat", retriever.WithIndex("x")); !errors.Is(err, loci.ErrUnsupported) {
		t.Errorf("index: %v", err)
	}
	if none := must[[]*schema.Document](t)(ask(alice, " ")); len(none) != 0 {
		t.Errorf("%d documents for a blank query", len(none))
	}

	told, seen = nil, nil
	if none := must[[]*schema.Document](t)(ask(t.Context(), "seat")); len(none) != 0 || len(seen) != 1 || seen[0].Err == nil {
		t.Errorf("%v, %+v", none, seen)
	}
	if got := strings.Join(told, ", "); got != "Loci start seat, error" {
		t.Errorf("told %s", got)
	}
	s.Close()
	must[[]*schema.Document](t)(ask(alice, "seat"))
	r.Options.Strict = true
	if _, err := ask(alice, "seat"); err == nil {
		t.Error("strict: no error")
	}
}

// TestTurn holds a conversation; at its end the memory fails.
func TestTurn(t *testing.T) {
	var logged bytes.Buffer
	for _, strict := range []bool{false, true} {
		m, s := open(t, file(t))
		var seen []eino.Outcome
		h := must[*eino.History](t)(eino.NewHistory(m, "", &eino.Options{
			Strict: strict,
			Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Report: func(_ context.Context, o eino.Outcome) { seen = append(seen, o) },
		}))
		given := 0
		echo := func(_ context.Context, messages []*schema.Message) (*schema.Message, error) {
			given = len(messages)
			return schema.AssistantMessage("a secret", nil), nil
		}
		for turn := range 3 {
			must[*schema.Message](t)(h.Turn(t.Context(), schema.UserMessage("a secret"), echo))
			if given != 2*turn+1 || !seen[turn].Stored {
				t.Errorf("turn %d: %d messages, %+v", turn, given, seen)
			}
		}
		if _, err := h.Turn(t.Context(), schema.UserMessage("x"),
			func(context.Context, []*schema.Message) (*schema.Message, error) {
				return nil, io.EOF
			}); !errors.Is(err, io.EOF) || len(seen) != 3 {
			t.Errorf("a model that fails: %v, %+v", err, seen)
		}
		s.Close()
		reply, err := h.Turn(t.Context(), schema.UserMessage("a secret"), echo)
		if strict && err == nil || !strict && (err != nil || reply == nil || len(seen) != 5 || seen[4].Stored) {
			t.Errorf("strict %v: %v, %v, %+v", strict, reply, err, seen)
		}
		if h.Clear(t.Context()) == nil {
			t.Error("an erase that failed says nothing")
		}
	}
	if text := logged.String(); strings.Count(text, "stored=false") != 2 || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}

// TestMessagesComeBack stores each kind of message.
func TestMessagesComeBack(t *testing.T) {
	m, _ := open(t, file(t))
	url, index := "https://example.org/seat.png", 0
	call := func(arguments string) schema.ToolCall {
		return schema.ToolCall{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "seat", Arguments: arguments}}
	}
	more := call("")
	more.Index, more.Extra = &index, map[string]any{"signature": "abc"}
	said := []*schema.Message{
		schema.SystemMessage("Be brief."),
		{Role: schema.User, Content: "<b>Grüße</b>\n", Name: "Ann", Extra: map[string]any{"n": 1.5}},
		{Role: schema.User},
		{
			Role: schema.User,
			UserInputMultiContent: []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: "a panorama"},
				{
					Type:  schema.ChatMessagePartTypeImageURL,
					Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}},
				},
			},
		},
		{Role: schema.Assistant, Content: "Let me see.", ToolCalls: []schema.ToolCall{call(`{"row":12,"price":1.50}`)}, ReasoningContent: "hm",
			ResponseMeta: &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{TotalTokens: 3}}},
		{Role: schema.Tool, Content: "12A", ToolCallID: "1", ToolName: "seat"},
		schema.AssistantMessage("", []schema.ToolCall{call("not JSON"), more}),
		{Role: schema.Tool, Content: "no such call"},
	}
	h := must[*eino.History](t)(eino.NewHistory(m, "s", &eino.Options{Strict: true}))
	if err := h.Append(t.Context(), said...); err != nil {
		t.Fatal(err)
	}
	got := must[[]*schema.Message](t)(h.Messages(t.Context()))
	for i := range said {
		if !reflect.DeepEqual(got[i], said[i]) {
			t.Errorf("%d: got %+v", i, got[i])
		}
	}
	found := must[session.Hits](t)(session.Of(m).Search(t.Context(), session.Search{Text: "panorama", Session: "s"}))
	if len(found.Hits) == 0 {
		t.Error("the words of a message in parts are not found")
	}
	err := h.Append(t.Context(), schema.UserMessage("fine"), &schema.Message{
		Role:  schema.User,
		Extra: map[string]any{"f": func() {}},
	})
	if loci.AsError(err).Code != loci.Invalid || !strings.HasPrefix(err.Error(), "messages[1]: ") {
		t.Errorf("a function as extra: %v", err)
	}
	if err := h.Append(t.Context(), nil); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("nil: %v", err)
	}
	if got := must[[]*schema.Message](t)(h.Messages(t.Context())); len(got) != len(said) {
		t.Errorf("half of a batch was stored: %d messages", len(got))
	}
}

// TestForeignMessages reads what another client wrote into the session.
func TestForeignMessages(t *testing.T) {
	m, _ := open(t, file(t))
	url := "x"
	said := must[[]session.Message](t)(session.ParseMessages([]byte(`[{"type":"human","data":{"content":["a",{"type":"text","text":"b"}],"additional_kwargs":{"extra":"odd","eino_tool_calls":7}}},
		{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"x"}}]},
		{"type":"remove","data":{"id":"1"}},{"role":"developer","content":"c"},{"role":"function","name":"f","content":"d"},{"type":"AIMessageChunk","data":{"content":"e"}}]`)))
	must[session.Appended](t)(session.Of(m).Append(t.Context(), "s", said))
	h := must[*eino.History](t)(eino.NewHistory(m, "s", &eino.Options{Strict: true}))
	want := []*schema.Message{schema.UserMessage("a\nb"),
		{
			Role: schema.User,
			UserInputMultiContent: []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: "see"},
				{
					Type:  schema.ChatMessagePartTypeImageURL,
					Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}},
				},
			},
		},
		schema.SystemMessage("c"), {Role: schema.Tool, ToolName: "f", Content: "d"}, schema.AssistantMessage("e", nil)}
	if got := must[[]*schema.Message](t)(h.Messages(t.Context())); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	last := must[*eino.History](t)(eino.NewHistory(m, "s", &eino.Options{Strict: true, Last: 2}))
	if got := must[[]*schema.Message](t)(last.Messages(t.Context())); len(got) != 1 || got[0].Content != "e" {
		t.Errorf("a window that begins with a result: %v", got)
	}
}

// TestReadme: the program in README.md is the example that runs.
func TestReadme(t *testing.T) { adapters.Readme(t) }
