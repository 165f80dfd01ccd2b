package genkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/core/x/session"
	"github.com/firebase/genkit/go/genkit"

	"github.com/loci-memory/loci"
	adapter "github.com/loci-memory/loci/adapters/genkit"
	"github.com/loci-memory/loci/checkpoint"
	conversation "github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tests/adapters"
)

// now has a fraction of a second that is all zeros, which must not change how a time is
// written.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// open opens a file of Loci as one process would, for the user alice.
func open(t *testing.T, file string) (*loci.Memory, loci.Store) {
	t.Helper()
	f := adapters.Open(t, file, now)
	return f.Of(t, "alice"), f
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "loci.db") }

func must[T any](t *testing.T) func(T, error) T { return adapters.Must[T](t) }

// cart is the state of a session.
type cart struct {
	Items []string `json:"items"`
	Key   string   `json:"key"`
}

// TestSessionGoesOn saves the state of a session in one process and loads it in another.
func TestSessionGoesOn(t *testing.T) {
	ctx, path := t.Context(), file(t)
	state := cart{Items: []string{"apples"}, Key: "sk-ant-api03-" + strings.Repeat("x", 95)}
	m, s := open(t, path)
	states := adapter.NewSessionStore[cart](adapter.Of(m))
	var none *session.NotFoundError
	if _, err := session.Load(ctx, states, "a"); !errors.As(err, &none) {
		t.Fatalf("a session that is not there: %v", err)
	}
	sess := must[*session.Session[cart]](t)(session.New(ctx, session.WithID[cart]("a"), session.WithStore(states)))
	if err := sess.UpdateState(ctx, state); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if sess.UpdateState(ctx, state) == nil || states.Delete(ctx, "a") == nil {
		t.Error("a store that is gone took a state, or erased one")
	}
	if _, err := session.Load(ctx, states, "a"); err == nil || errors.As(err, &none) {
		t.Errorf("a store that is gone: %v", err)
	}

	m, _ = open(t, path)
	states = adapter.NewSessionStore[cart](adapter.Of(m))
	if got := must[*session.Session[cart]](t)(session.Load(ctx, states, "a")).State(); !reflect.DeepEqual(got, state) {
		t.Errorf("got %+v", got)
	}
	if _, err := adapter.NewSessionStore[int](adapter.Of(m)).Get(ctx, "a"); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("another type of state: %v", err)
	}
	if err := checkpoint.Of(m).Put(ctx, checkpoint.Checkpoint{
		Thread: "a",
		ID:     "1",
		State:  checkpoint.Typed{Type: "json", Data: []byte("{}")},
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := states.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if got := must[*session.Data[cart]](t)(states.Get(ctx, "a")); got != nil {
			t.Errorf("still there: %+v", got)
		}
	}
	if _, err := checkpoint.Of(m).Get(ctx, "a", "", "1"); err != nil {
		t.Errorf("the thread of LangGraph: %v", err)
	}
	for _, id := range []string{"", strings.Repeat("x", 1001)} {
		if err := states.Save(ctx, id, &session.Data[cart]{}); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("id of %d bytes: %v", len(id), err)
		}
	}
	if states.Save(ctx, "a", nil) == nil {
		t.Error("nil is a state")
	}
}

// TestRetriever answers from the memory of whoever asks.
func TestRetriever(t *testing.T) {
	m, s := open(t, file(t))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{
		Content:   "Window.",
		Subject:   "alice",
		Predicate: "favourite seat",
		Metadata:  map[string]any{"year": 2024},
	}))
	must[loci.Stored](t)(m.StoreFact(t.Context(), loci.NewFact{Content: "Her cat sits on a seat by the fire and sleeps all day.", Tags: []string{"pets"}}))
	g := genkit.Init(t.Context())
	var seen []adapter.Outcome
	opts := adapter.Options{Logger: slog.New(slog.DiscardHandler), Report: func(_ context.Context, o adapter.Outcome) {
		seen = append(seen, o)
	}}
	handle := func(ctx context.Context) (*loci.Memory, error) {
		if core.FromContext(ctx)["user"] != "alice" {
			return nil, errors.New("nobody asks")
		}
		return m, nil
	}
	notes := adapter.DefineRetriever(g, "notes", handle, &adapter.RetrieverOptions{Options: opts})
	opts.Strict = true
	strict := adapter.DefineRetriever(g, "strict", handle, &adapter.RetrieverOptions{Options: opts})
	ask := func(ctx context.Context, r ai.Retriever, text string, config any) ([]*ai.Document, error) {
		resp, err := genkit.Retrieve(ctx, g, ai.WithRetriever(r), ai.WithTextDocs(text), ai.WithConfig(config))
		if err != nil {
			return nil, err
		}
		return resp.Documents, nil
	}
	alice := core.WithActionContext(t.Context(), core.ActionContext{"user": "alice"})

	docs := must[[]*ai.Document](t)(ask(alice, notes, "favourite seat", nil))
	if len(docs) != 2 || docs[0].Content[0].Text != "alice favourite seat: Window." || docs[0].Metadata["year"] != 2024.0 || docs[0].Metadata["kind"] != "fact" {
		t.Fatalf("%+v", docs)
	}
	if at := docs[0].Metadata["created_at"]; at != "2026-01-02T03:04:05.000Z" {
		t.Errorf("created_at is %v", at)
	}
	for _, config := range []any{
		adapter.RetrieveConfig{Limit: 1},
		&adapter.RetrieveConfig{Tags: []string{"pets"}},
		map[string]any{"limit": 1},
	} {
		if one := must[[]*ai.Document](t)(ask(alice, notes, "favourite seat", config)); len(one) != 1 {
			t.Errorf("%+v gives %d", config, len(one))
		}
	}
	for _, config := range []any{map[string]any{"k": 1}, map[string]any{"limit": -1}} {
		if _, err := ask(alice, notes, "seat", config); err == nil {
			t.Errorf("%v is not refused", config)
		}
	}
	if none := must[[]*ai.Document](t)(ask(alice, notes, " ", nil)); len(none) != 0 {
		t.Errorf("%d documents for a blank query", len(none))
	}

	none := must[[]*ai.Document](t)(ask(t.Context(), notes, "seat", nil))
	if len(none) != 0 || len(seen) != 1 || seen[0].Err == nil {
		t.Errorf("%v, %+v", none, seen)
	}
	if _, err := ask(t.Context(), strict, "seat", nil); err == nil {
		t.Error("strict: no error")
	}
	s.Close()
	must[[]*ai.Document](t)(ask(alice, notes, "seat", nil))
}

// TestConversation holds a conversation with a tool; at its end the memory fails.
func TestConversation(t *testing.T) {
	ctx := t.Context()
	var logged bytes.Buffer
	for _, strict := range []bool{false, true} {
		m, s := open(t, file(t))
		g := genkit.Init(ctx)
		seat := genkit.DefineTool(g, "seat", "Reads the seat.", func(*ai.ToolContext, struct{}) (map[string]any, error) {
			return map[string]any{"seat": "12A"}, nil
		})
		given := 0
		model := genkit.DefineModel(g, "test/model", &ai.ModelOptions{Supports: &ai.ModelSupports{
			Multiturn:  true,
			Tools:      true,
			SystemRole: true,
		}},
			func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				given = len(req.Messages)
				switch last := req.Messages[given-1]; {
				case last.Text() == "fail":
					return nil, io.EOF
				case last.Role == ai.RoleUser:
					return &ai.ModelResponse{
						Request: req,
						Message: ai.NewModelMessage(ai.NewTextPart("a secret"), ai.NewToolRequestPart(&ai.ToolRequest{
							Name:  "seat",
							Ref:   "1",
							Input: map[string]any{},
						})),
					}, nil
				}
				return &ai.ModelResponse{Request: req, Message: ai.NewModelTextMessage("a secret")}, nil
			})
		var seen []adapter.Outcome
		h := must[*adapter.History](t)(adapter.NewHistory(m, "", &adapter.Options{
			Strict: strict,
			Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Report: func(_ context.Context, o adapter.Outcome) { seen = append(seen, o) },
		}))
		ask := func(text string) (*ai.ModelResponse, error) {
			return h.Generate(ctx, g, ai.NewUserTextMessage(text),
				ai.WithModel(model), ai.WithSystem("Be brief."), ai.WithTools(seat))
		}
		for turn := range 2 {
			must[*ai.ModelResponse](t)(ask("a secret"))
			if given != 4*(turn+1) || !seen[turn].Stored { // the system message, then those of each turn except the last reply
				t.Errorf("turn %d: %d messages, %+v", turn, given, seen)
			}
		}
		var roles []string
		for _, m := range must[[]*ai.Message](t)(h.Messages(ctx)) {
			roles = append(roles, string(m.Role))
		}
		if got := strings.Join(roles, " "); got != "user model tool model user model tool model" {
			t.Errorf("stored %s", got)
		}
		if _, err := ask("fail"); err == nil || len(seen) != 2 {
			t.Errorf("a model that fails: %v, %+v", err, seen)
		}
		s.Close()
		reply, err := ask("a secret")
		if strict && err == nil || !strict && (err != nil || reply.Text() != "a secret" || len(seen) != 4 || seen[3].Stored) {
			t.Errorf("strict %v: %v, %v, %+v", strict, reply, err, seen)
		}
		if h.Clear(ctx) == nil {
			t.Error("an erase that failed says nothing")
		}
	}
	if text := logged.String(); strings.Count(text, "stored=false") != 2 || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}

// TestMessagesComeBack stores each kind of part.
func TestMessagesComeBack(t *testing.T) {
	m, _ := open(t, file(t))
	signed := ai.NewToolRequestPart(&ai.ToolRequest{Name: "seat", Ref: "1", Input: map[string]any{"row": 12.0}})
	signed.Metadata = map[string]any{"signature": []byte{0, 255}, "n": 1.0}
	marked := ai.NewTextPart("marked")
	marked.Metadata = map[string]any{"cache": true}
	said := []*ai.Message{
		ai.NewSystemTextMessage("Be brief."),
		ai.NewMessage(ai.RoleUser, map[string]any{"ttl": 60.0}, ai.NewTextPart("<b>Grüße</b>\n")),
		{Role: ai.RoleUser},
		ai.NewUserMessage(ai.NewTextPart("")),
		ai.NewUserMessage(ai.NewTextPart("a panorama"), ai.NewMediaPart("image/png", "https://example.org/seat.png"), ai.NewMediaPart("video/mp4", "https://example.org/x"),
			ai.NewJSONPart("{}"), ai.NewDataPart("raw"), ai.NewCustomPart(map[string]any{"a": 1.0}), ai.NewResourcePart("file:///x"), marked),
		ai.NewModelMessage(ai.NewReasoningPart("hm", []byte("sig")), signed, ai.NewTextPart("between"),
			ai.NewToolRequestPart(&ai.ToolRequest{
				Name:    "seat",
				Ref:     "2",
				Input:   []any{"odd"},
				Partial: true,
			}), ai.NewToolRequestPart(&ai.ToolRequest{Name: "seat", Ref: "3", Input: "text"})),
		ai.NewMessage(ai.RoleTool, map[string]any{"m": "x"}, ai.NewToolResponsePart(&ai.ToolResponse{
			Name:   "seat",
			Ref:    "1",
			Output: map[string]any{"seat": "12A"},
		}),
			ai.NewToolResponsePart(&ai.ToolResponse{
				Name:    "seat",
				Ref:     "2",
				Output:  "12B",
				Content: []*ai.Part{ai.NewTextPart("more")},
			}), ai.NewToolResponsePart(&ai.ToolResponse{Name: "seat", Ref: "3"})),
		ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Name: "seat", Output: "{}"})),
		ai.NewModelTextMessage("Done."),
	}
	h := must[*adapter.History](t)(adapter.NewHistory(m, "s", &adapter.Options{Strict: true}))
	if err := h.Append(t.Context(), said...); err != nil {
		t.Fatal(err)
	}
	got := must[[]*ai.Message](t)(h.Messages(t.Context()))
	if len(got) != len(said) {
		t.Fatalf("%d of %d messages", len(got), len(said))
	}
	for i := range said {
		same := got[i].Role == said[i].Role && reflect.DeepEqual(got[i].Metadata, said[i].Metadata) &&
			len(got[i].Content) == len(said[i].Content)
		for j := 0; same && j < len(said[i].Content); j++ {
			if !reflect.DeepEqual(got[i].Content[j], said[i].Content[j]) {
				t.Errorf("%d.%d: got %+v, want %+v", i, j, got[i].Content[j], said[i].Content[j])
			}
		}
		if !same {
			t.Errorf("%d: got %+v", i, got[i])
		}
	}
	found := must[conversation.Hits](t)(conversation.Of(m).Search(t.Context(), conversation.Search{Text: "panorama", Session: "s"}))
	if len(found.Hits) == 0 {
		t.Error("the words of a message with an image are not found")
	}
	for _, bad := range []*ai.Message{nil, {Role: "critic"}, {Role: ai.RoleTool}, {Role: ai.RoleUser, Content: []*ai.Part{nil}},
		ai.NewMessage(ai.RoleTool, nil, ai.NewTextPart("x")),
		ai.NewUserMessage(ai.NewCustomPart(map[string]any{"f": func() {}}))} {
		err := h.Append(t.Context(), ai.NewUserTextMessage("fine"), bad)
		if loci.AsError(err).Code != loci.Invalid || !strings.HasPrefix(err.Error(), "messages[1]: ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if got := must[[]*ai.Message](t)(h.Messages(t.Context())); len(got) != len(said) {
		t.Errorf("half of a batch was stored: %d messages", len(got))
	}
}

// TestForeignMessages reads what another client wrote into the session.
func TestForeignMessages(t *testing.T) {
	m, _ := open(t, file(t))
	said := must[[]conversation.Message](t)(conversation.ParseMessages([]byte(`[{"type":"human","data":{"content":["a",{"type":"text","text":"b"},{"type":"image_url","image_url":"x"},{"type":"audio","text":7}]}},
		{"role":"assistant","content":"see","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"f","arguments":""}}]},
		{"role":"tool","tool_call_id":"1","content":"{}"},{"role":"tool","tool_call_id":"2","content":"[]"},
		{"type":"remove","data":{"id":"1"}},{"role":"developer","content":"c"},{"type":"AIMessageChunk","data":{"content":"e"}},
		{"type":"tool","data":{"content":"what is left","tool_call_id":"3","additional_kwargs":{"genkit":{"index":5}}}}]`)))
	must[conversation.Appended](t)(conversation.Of(m).Append(t.Context(), "s", said))
	h := must[*adapter.History](t)(adapter.NewHistory(m, "s", &adapter.Options{Strict: true}))
	want := []*ai.Message{ai.NewUserMessage(ai.NewTextPart("a"), ai.NewTextPart("b"), ai.NewMediaPart("", "x")),
		ai.NewModelMessage(ai.NewTextPart("see"), ai.NewToolRequestPart(&ai.ToolRequest{
			Name:  "f",
			Ref:   "1",
			Input: map[string]any{"a": 1.0},
		}),
			ai.NewToolRequestPart(&ai.ToolRequest{Name: "f", Ref: "2", Input: ""})),
		ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Ref: "1", Output: "{}"})),
		ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Ref: "2", Output: "[]"})),
		ai.NewSystemTextMessage("c"), ai.NewModelTextMessage("e"),
		ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Ref: "3", Output: "what is left"}))}
	got := must[[]*ai.Message](t)(h.Messages(t.Context()))
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%d: got %s", i, must[[]byte](t)(json.Marshal(got[i:])))
			break
		}
	}
}

// TestReadme: the program in README.md is the example that runs.
func TestReadme(t *testing.T) { adapters.Readme(t) }
