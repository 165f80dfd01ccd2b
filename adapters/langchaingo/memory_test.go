package langchaingo_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/langchaingo"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tests/adapters"
)

// open opens a file of Loci as one process would, for the user alice.
func open(t *testing.T, file string) (*loci.Memory, loci.Store) {
	t.Helper()
	f := adapters.Open(t, file, nil)
	return f.Of(t, "alice"), f
}

func must[T any](t *testing.T) func(T, error) T { return adapters.Must[T](t) }

// A model records what it is asked.
type model struct {
	*fake.LLM
	asked []string
}

func (m *model) GenerateContent(ctx context.Context, messages []llms.MessageContent,
	options ...llms.CallOption) (*llms.ContentResponse, error) {
	var b strings.Builder
	for _, c := range messages {
		for _, p := range c.Parts {
			if text, ok := p.(llms.TextContent); ok {
				b.WriteString(text.Text)
			}
		}
	}
	m.asked = append(m.asked, b.String())
	return m.LLM.GenerateContent(ctx, messages, options...)
}

func newModel() *model { return &model{LLM: fake.NewFakeLLM([]string{"The window seat."})} }

// TestChainRemembers runs a chain in one process and goes on in another.
func TestChainRemembers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loci.db")
	for i, input := range []string{"I like the window seat.", "Where do I like to sit?"} {
		m, s := open(t, file)
		mem := must[*langchaingo.Memory](t)(
			langchaingo.NewMemory(m, "trip", &langchaingo.MemoryOptions{Options: langchaingo.Options{Strict: true}}))
		llm := newModel()
		if _, err := chains.Run(t.Context(), chains.NewConversation(llm, mem), input); err != nil {
			t.Fatal(err)
		}
		said := "Human: I like the window seat.\nAI: The window seat."
		if strings.Contains(llm.asked[0], said) != (i == 1) {
			t.Errorf("process %d asked %q", i, llm.asked[0])
		}
		s.Close()
	}
}

// TestBuffersOfLangChainGo: a history serves langchaingo's own memories.
func TestBuffersOfLangChainGo(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	h := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "", &langchaingo.Options{Strict: true}))
	buffer := memory.NewConversationWindowBuffer(2, memory.WithChatHistory(h))
	for range 3 {
		must[string](t)(chains.Run(t.Context(), chains.NewConversation(newModel(), buffer), "Where?"))
	}
	if n := len(must[[]llms.ChatMessage](t)(h.Messages(t.Context()))); n == 0 || n > 6 || h.Session() == "" {
		t.Errorf("%d messages in session %q", n, h.Session())
	}
}

// TestFailureDoesNotFailTheQuery takes the store away in the middle of a conversation.
func TestFailureDoesNotFailTheQuery(t *testing.T) {
	var logged bytes.Buffer
	for _, strict := range []bool{false, true} {
		m, s := open(t, filepath.Join(t.TempDir(), "loci.db"))
		var seen []langchaingo.Outcome
		opts := langchaingo.Options{Strict: strict, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Report: func(_ context.Context, o langchaingo.Outcome) { seen = append(seen, o) }}
		mem := must[*langchaingo.Memory](t)(
			langchaingo.NewMemory(m, "trip", &langchaingo.MemoryOptions{Options: opts, RelevantKey: "relevant"}))
		chain := chains.NewConversation(newModel(), mem)
		if _, err := chains.Run(t.Context(), chain, "a secret"); err != nil || len(seen) != 1 || !seen[0].Stored {
			t.Fatalf("%v, %+v", err, seen)
		}
		s.Close()
		seen = nil
		answer, err := chains.Run(t.Context(), chain, "a secret")
		var e *loci.Error
		switch {
		case strict && !errors.As(err, &e):
			t.Errorf("strict: %v", err)
		case !strict && (err != nil || answer != "The window seat."):
			t.Errorf("the query failed: %q, %v", answer, err)
		case !strict && (len(seen) != 3 || seen[2].Stored || seen[2].Err == nil):
			t.Errorf("outcomes: %+v", seen)
		}
		if mem.Clear(t.Context()) == nil ||
			mem.History().SetMessages(t.Context(), []llms.ChatMessage{llms.HumanChatMessage{Content: "x"}}) == nil {
			t.Error("an erase that failed says nothing")
		}
	}
	if text := logged.String(); strings.Count(text, "stored=false") != 3 || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}

// TestMessagesComeBack stores each kind of message.
func TestMessagesComeBack(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	call := func(arguments string) []llms.ToolCall {
		return []llms.ToolCall{{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "seat", Arguments: arguments}}}
	}
	said := []llms.ChatMessage{
		llms.SystemChatMessage{Content: "Be brief."},
		llms.HumanChatMessage{Content: "<b>Grüße & \"more\"</b>\n"},
		llms.HumanChatMessage{},
		llms.AIChatMessage{Content: "Let me see.", ToolCalls: call(`{"row":12,"price":1.50}`), ReasoningContent: "hm"},
		llms.ToolChatMessage{ID: "1", Content: "12A"},
		llms.AIChatMessage{ToolCalls: call("not JSON")},
		llms.ToolChatMessage{Content: "no such call"},
		llms.AIChatMessage{FunctionCall: &llms.FunctionCall{Name: "old", Arguments: "{}"}},
		llms.FunctionChatMessage{Name: "old", Content: "done"},
		llms.GenericChatMessage{Role: "critic", Name: "Ann", Content: "Too long."},
	}
	h := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "s", &langchaingo.Options{Strict: true}))
	if err := h.AddMessages(t.Context(), said...); err != nil {
		t.Fatal(err)
	}
	if got := must[[]llms.ChatMessage](t)(h.Messages(t.Context())); !reflect.DeepEqual(got, said) {
		t.Errorf("got %#v", got)
	}
	err := h.AddMessages(t.Context(), llms.HumanChatMessage{Content: "fine"},
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{{ID: "1"}}})
	if loci.AsError(err).Code != loci.Invalid || !strings.HasPrefix(err.Error(), "messages[1]: tool_calls[0]") {
		t.Errorf("a call of a tool without a name: %v", err)
	}
	if got := must[[]llms.ChatMessage](t)(h.Messages(t.Context())); len(got) != len(said) {
		t.Errorf("half of a batch was stored: %d messages", len(got))
	}
}

// TestForeignMessages reads what another client wrote into the session.
func TestForeignMessages(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	said := must[[]session.Message](t)(session.ParseMessages([]byte(`[{"type":"human","data":{"content":["a",{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"x"}}]}},
		{"type":"remove","data":{"id":"1"}},{"role":"developer","content":"c"},{"type":"AIMessageChunk","data":{"content":"d"}}]`)))
	must[session.Appended](t)(session.Of(m).Append(t.Context(), "s", said))
	h := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "s", &langchaingo.Options{Strict: true}))
	want := []llms.ChatMessage{
		llms.HumanChatMessage{Content: "a\nb"},
		llms.SystemChatMessage{Content: "c"},
		llms.AIChatMessage{Content: "d"},
	}
	if got := must[[]llms.ChatMessage](t)(h.Messages(t.Context())); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
}

// TestLast: a window never begins with the result of a tool; without a window every page is
// read.
func TestLast(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	all := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "s", &langchaingo.Options{Strict: true}))
	var said []llms.ChatMessage
	for range 1200 {
		said = append(said, llms.HumanChatMessage{Content: "Hi."})
	}
	said = append(said, llms.AIChatMessage{ToolCalls: []llms.ToolCall{{
		ID:           "1",
		Type:         "function",
		FunctionCall: &llms.FunctionCall{Name: "f", Arguments: "{}"},
	}}},
		llms.ToolChatMessage{ID: "1", Content: "x"}, llms.AIChatMessage{Content: "y"})
	if err := all.SetMessages(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if got := must[[]llms.ChatMessage](t)(all.Messages(t.Context())); !reflect.DeepEqual(got, said) {
		t.Errorf("%d of %d messages", len(got), len(said))
	}
	last := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "s", &langchaingo.Options{Strict: true, Last: 2}))
	if got := must[[]llms.ChatMessage](t)(last.Messages(t.Context())); len(got) != 1 || got[0].GetContent() != "y" {
		t.Errorf("got %#v", got)
	}
}

// TestSetMessages replaces in one step, and keeps what belongs to the session.
func TestSetMessages(t *testing.T) {
	ctx := t.Context()
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	must[session.Session](t)(session.Of(m).Create(ctx, session.New{ID: "s", Metadata: []byte(`{"title":"Lisbon"}`), MaxMessages: 9}))
	h := must[*langchaingo.History](t)(langchaingo.NewHistory(m, "s", nil))
	for _, err := range []error{h.AddUserMessage(ctx, "a"), h.AddAIMessage(ctx, "b"),
		h.SetMessages(ctx, []llms.ChatMessage{llms.HumanChatMessage{Content: "c"}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if h.SetMessages(ctx, []llms.ChatMessage{llms.HumanChatMessage{Content: "d"}, nil}) == nil {
		t.Error("nil is a message")
	}
	s := must[session.Session](t)(session.Of(m).Session(ctx, "s"))
	got := must[[]llms.ChatMessage](t)(h.Messages(ctx))
	if len(got) != 1 || got[0].GetContent() != "c" || s.MaxMessages != 9 || string(s.Metadata) != `{"title":"Lisbon"}` {
		t.Errorf("%v %+v", got, s)
	}
	if err := h.SetMessages(ctx, nil); err != nil {
		t.Error(err)
	}
	if _, err := session.Of(m).Session(ctx, "s"); !errors.Is(err, loci.ErrNotFound) || h.Clear(ctx) != nil {
		t.Errorf("still there: %v", err)
	}
}

// TestRelevant: the prompt gets the notes that fit the input.
func TestRelevant(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{Content: "Prefers window seats."}))
	mem := must[*langchaingo.Memory](t)(langchaingo.NewMemory(m, "s", &langchaingo.MemoryOptions{
		Options:        langchaingo.Options{Strict: true},
		RelevantKey:    "relevant",
		ReturnMessages: true,
	}))
	for input, want := range map[string]bool{"window seats": true, " ": false, "zebra": false} {
		got := must[map[string]any](t)(mem.LoadMemoryVariables(t.Context(), map[string]any{"input": input}))
		if text := got["relevant"].(string); strings.Contains(text, "Prefers window seats.") != want || !want && text != "" {
			t.Errorf("%q: %q", input, text)
		}
		if _, ok := got["history"].([]llms.ChatMessage); !ok {
			t.Errorf("history is a %T", got["history"])
		}
	}
}

// TestChosen: an output that the chain does not name, or that is not text, is an error of the
// chain, not of the memory.
func TestChosen(t *testing.T) {
	m, _ := open(t, filepath.Join(t.TempDir(), "loci.db"))
	two := map[string]any{"a": "x", "b": 1}
	for _, c := range []struct{ key, want string }{{"", "set OutputKey"}, {"b", "is a int"}, {"c", `no output "c"`}, {"a", ""}} {
		mem := must[*langchaingo.Memory](t)(langchaingo.NewMemory(m, "s", &langchaingo.MemoryOptions{OutputKey: c.key}))
		err := mem.SaveContext(t.Context(), map[string]any{"q": "x"}, two)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.key, err)
		}
	}
}

// TestRetriever answers a question from the memory.
func TestRetriever(t *testing.T) {
	m, s := open(t, filepath.Join(t.TempDir(), "loci.db"))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{
		Content:   "Window.",
		Subject:   "alice",
		Predicate: "favourite seat",
		Metadata:  map[string]any{"year": 2024},
	}))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{Content: "Has a cat."}))
	r := &langchaingo.Retriever{
		Memory:  m,
		Query:   loci.Query{Limit: 1},
		Options: langchaingo.Options{Logger: slog.New(slog.DiscardHandler)},
	}
	llm := newModel()
	must[string](t)(chains.Run(t.Context(), chains.NewRetrievalQAFromLLM(llm, r), "Which seat?"))
	if !strings.Contains(llm.asked[0], "alice favourite seat: Window.") || strings.Contains(llm.asked[0], "cat") {
		t.Errorf("asked %q", llm.asked[0])
	}
	docs := must[[]schema.Document](t)(r.GetRelevantDocuments(t.Context(), "seat"))
	if len(docs) != 1 || docs[0].Metadata["year"] != 2024.0 || docs[0].Metadata["kind"] != "fact" || docs[0].Score <= 0 {
		t.Errorf("%+v", docs)
	}
	if docs := must[[]schema.Document](t)(r.GetRelevantDocuments(t.Context(), "")); len(docs) != 0 {
		t.Errorf("%d documents for an empty query", len(docs))
	}
	if _, err := new(langchaingo.Retriever).GetRelevantDocuments(t.Context(), "seat"); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("no memory: %v", err)
	}
	s.Close()
	if docs := must[[]schema.Document](t)(r.GetRelevantDocuments(t.Context(), "seat")); docs == nil || len(docs) != 0 {
		t.Errorf("%v", docs)
	}
	r.Options.Strict = true
	if _, err := r.GetRelevantDocuments(t.Context(), "seat"); err == nil {
		t.Error("strict: no error")
	}
}

// TestReadme: the program in README.md is the example that runs.
func TestReadme(t *testing.T) { adapters.Readme(t) }
