package locitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/session"
)

// Checkpoint makes one with a state and metadata.
func Checkpoint(
	thread, namespace, id, parent, metadata string, versions GraphState, values map[string]string,
) checkpoint.Checkpoint {
	c := checkpoint.Checkpoint{
		Thread: thread, Namespace: namespace, ID: id, Parent: parent,
		State:    checkpoint.Typed{Type: "json", Data: []byte(`{"id":"` + id + `"}`)},
		Metadata: []byte(metadata), Versions: versions, Values: map[string]checkpoint.Typed{},
	}
	for channel, v := range values {
		c.Values[channel] = checkpoint.Typed{Type: "text", Data: []byte(v)}
	}
	return c
}

// A GraphState is what a test puts: the values of channels at versions.
type GraphState map[string]string // channel → version

// CheckpointHistory puts n checkpoints of a thread and namespace, each the parent of the next,
// with an unchanged channel and one that changes, and a write on each.
func CheckpointHistory(t testing.TB, m *loci.Memory, thread, namespace string, n int, metadata func(i int) string) {
	t.Helper()
	parent := ""
	for i := range n {
		id := fmt.Sprintf("c%02d", i)
		versions := GraphState{"same": "1", "step": fmt.Sprint(i)}
		in := Checkpoint(thread, namespace, id, parent, metadata(i), versions, map[string]string{"step": namespace + id})
		if i == 0 {
			in.Values["same"] = checkpoint.Typed{Type: "text", Data: []byte("same of " + namespace)}
		}
		PutCheckpoint(t, m, in)
		writes := []checkpoint.Write{Write("task", 0, "ch", "w"+id)}
		if err := checkpoint.Of(m).PutWrites(t.Context(), thread, namespace, id, writes); err != nil {
			t.Fatal(err)
		}
		parent = id
	}
}

// PlainState is no metadata, whatever the number of the checkpoint.
func PlainState(int) string { return "{}" }

// PutCheckpoint stores a checkpoint.
func PutCheckpoint(t testing.TB, m *loci.Memory, c checkpoint.Checkpoint) {
	t.Helper()
	if err := checkpoint.Of(m).Put(t.Context(), c); err != nil {
		t.Fatalf("put %s: %v", c.ID, err)
	}
}

// PutWrites stores writes to a checkpoint of a thread, in the namespace without a name.
func PutWrites(t testing.TB, m *loci.Memory, thread, id string, writes ...checkpoint.Write) {
	t.Helper()
	if err := checkpoint.Of(m).PutWrites(t.Context(), thread, "", id, writes); err != nil {
		t.Fatalf("put writes: %v", err)
	}
}

// Write makes a write of a text to a channel.
func Write(task string, index int, channel, value string) checkpoint.Write {
	return checkpoint.Write{
		Task: task, Index: index, Channel: channel, Value: checkpoint.Typed{Type: "text", Data: []byte(value)},
	}
}

// LogIsWhole requires that the audit log of a tenant accuses nobody.
func LogIsWhole(t testing.TB, e *loci.Engine, tn loci.Tenant) {
	t.Helper()
	report, err := e.VerifyEvents(context.WithoutCancel(t.Context()), tn, loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("the log of a healthy store: %+v, %v", report, err)
	}
}

// Quiet gives an engine a clock and throws its log away.
func Quiet(c *Clock) loci.Options {
	return loci.Options{Now: c.Now, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// AppendTo appends messages to a session.
func AppendTo(t testing.TB, m *loci.Memory, id string, messages ...session.Message) session.Appended {
	t.Helper()
	done, err := session.Of(m).Append(t.Context(), id, messages)
	if err != nil {
		t.Fatalf("append to %q: %v", id, err)
	}
	return done
}

// HistoryOf reads messages of a session.
func HistoryOf(t testing.TB, m *loci.Memory, id string, q session.HistoryQuery) []session.StoredMessage {
	t.Helper()
	h, err := session.Of(m).History(t.Context(), id, q)
	if err != nil {
		t.Fatal(err)
	}
	return h.Messages
}

// Said are the numbers and the texts of messages.
func Said(messages []session.StoredMessage) (out []string) {
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%d %s", m.Seq, m.Text()))
	}
	return out
}

// Spoken makes a message of a type.
func Spoken(typ session.MessageType, text string) session.Message {
	data, err := json.Marshal(map[string]any{"content": text, "type": typ})
	if err != nil {
		panic(err)
	}
	return session.Message{Type: typ, Data: data}
}

// Summarise summarises the session s.
func Summarise(t testing.TB, m *loci.Memory, o session.SummaryOptions) session.Summarised {
	t.Helper()
	done, err := session.Of(m).Summarise(t.Context(), "s", o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Talk fills the session s: a system message, then questions and answers of ten words each.
func Talk(t testing.TB, m *loci.Memory, turns int) {
	t.Helper()
	AppendTo(t, m, "s", Spoken(session.MessageSystem, "You help with travel."))
	for i := range turns {
		AppendTo(t, m, "s", Spoken(session.MessageHuman, fmt.Sprintf("On day %d I want to see the cathedral of Lisbon.", i)),
			Spoken(session.MessageAI, fmt.Sprintf("Day %d is booked. The guide Marta%d waits at nine.", i, i)))
	}
}

// WordTokens counts words, which is easy to reckon with.
type WordTokens struct{}

// Name implements [loci.Tokenizer].
func (WordTokens) Name() string { return "words" }

// Count implements [loci.Tokenizer].
func (WordTokens) Count(text string) int { return len(strings.Fields(text)) }

// A Writer is a language model whose answers are numbered summaries; it keeps what it was asked.
type Writer struct {
	mu      sync.Mutex
	Prompts []loci.Prompt
	Err     error
	Before  func()
	Usage   loci.Usage
}

// Model implements [loci.Completer].
func (*Writer) Model() string { return "writer-1" }

// Complete implements [loci.Completer].
func (w *Writer) Complete(_ context.Context, p loci.Prompt) (loci.Completion, error) {
	if w.Before != nil {
		w.Before()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Prompts = append(w.Prompts, p)
	return loci.Completion{Text: fmt.Sprintf("Summary %d of the talk.", len(w.Prompts)), Usage: w.Usage}, w.Err
}

// Consolidate consolidates the episodes of tenant t.
func Consolidate(t testing.TB, e *loci.Engine, opts loci.ConsolidateOptions) loci.ConsolidateReport {
	t.Helper()
	report, err := e.Consolidate(t.Context(), Tenant(t, "t"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Episode stores an episode of a butler.
func Episode(t testing.TB, m *loci.Memory, butler, content string) loci.ID {
	t.Helper()
	id, err := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: content, Butler: butler})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
