// Package adapters is what the adapters for Go frameworks have in common, as one test:
// each of them runs it, so that the same calls give the same results in all.
package adapters

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
)

// An Adapter is one adapter, as the test drives it: each function translates to its
// framework and back, and does nothing else.
type Adapter struct {
	NewHistory func(m *loci.Memory, id string, o *Options) (History, error)

	// Retrieve asks a retriever of the adapter that is made for a handle and a query.
	Retrieve func(ctx context.Context, h Handle, q loci.Query, o *Options, text string) ([]Document, error)

	// OneMemory: a retriever is made for one memory, and a program makes one a request.
	// The others ask the handle in each call.
	OneMemory bool
}

// A Handle finds the memory of whoever asks.
type Handle = func(context.Context) (*loci.Memory, error)

// Options are those that the adapters share.
type Options struct {
	Last   int
	Strict bool
	Report func(context.Context, Outcome)
	Logger *slog.Logger
}

// An Outcome is what Report is told.
type Outcome struct {
	Op      string
	Session string
	Stored  bool
	Err     error
}

// A History is a conversation in the form of the test.
type History interface {
	Session() string
	Append(ctx context.Context, messages ...Message) error
	Messages(ctx context.Context) ([]Message, error)
	Clear(ctx context.Context) error
}

// A Message is what every framework can say.
type Message struct {
	Role string // "system", "user", "assistant" or "tool"; "": no message at all, such as nil
	Text string
	Tool string // which tool an assistant calls, with CallArguments, as call CallID
}

// The call of an assistant that a message of role tool answers.
const (
	CallID        = "call-1"
	CallArguments = `{"row":12}`
)

// A Document is what a retriever finds.
type Document struct {
	ID        string
	Text      string
	Kind      string
	CreatedAt time.Time
	Score     float64
	Metadata  map[string]any // of the memory alone
}

type userKey struct{}

// as is the context of a request of a user.
func as(t *testing.T, user string) context.Context {
	return context.WithValue(t.Context(), userKey{}, user)
}

// A File is a file of Loci as one process opens it.
type File struct {
	loci.Store
	engine *loci.Engine
}

// Open opens a file; "" is a new one. now may be nil.
func Open(t *testing.T, path string, now func() time.Time) *File {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "loci.db")
	}
	s := Must[loci.Store](t)(store.Open(t.Context(), "sqlite:"+path, nil))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	engine := Must[*loci.Engine](t)(loci.New(s, &loci.Options{Logger: slog.New(slog.DiscardHandler), Now: now,
		Features: []loci.Feature{session.Feature{}, checkpoint.Feature{}}}))
	return &File{Store: s, engine: engine}
}

// Of is the memory of a user.
func (f *File) Of(t *testing.T, user string) *loci.Memory {
	t.Helper()
	tenant := Must[loci.Tenant](t)(loci.NewTenant("default"))
	view := loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", user}, Actor: "test"}
	return Must[*loci.Memory](t)(f.engine.Memory(view))
}

// handle finds the memory of the user whom a context names.
func (f *File) handle(t *testing.T) Handle {
	return func(ctx context.Context) (*loci.Memory, error) {
		user, ok := ctx.Value(userKey{}).(string)
		if !ok {
			return nil, errors.New("nobody asks")
		}
		return f.Of(t, user), nil
	}
}

// Must ends the test at an error.
func Must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Readme holds the program in README.md to be the example that runs.
func Readme(t *testing.T) {
	readme := string(Must[[]byte](t)(os.ReadFile("README.md")))
	example := strings.ReplaceAll(string(Must[[]byte](t)(os.ReadFile("example_test.go"))), "\n\t", "\n")
	_, block, ok := strings.Cut(readme, "```go\n")
	block, _, _ = strings.Cut(block, "```")
	if !ok || !strings.Contains(example, block) {
		t.Errorf("not in example_test.go:\n%s", block)
	}
}
