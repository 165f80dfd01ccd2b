package mcp_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

// stuck stands for a remote embedder that does not answer for some texts.
type stuck struct{ concepts }

func (s stuck) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if strings.Contains(strings.Join(texts, " "), "stuck") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.concepts.Embed(ctx, texts)
}

func TestNoteToolsTimeOut(t *testing.T) {
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "loci.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	engine, err := loci.New(s, &loci.Options{
		Features: locitest.Features(),
		Embedder: stuck{},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	patient := dialOptions(t, engine, mcp.Options{Principal: alice(t)}, tool.Config{Entries: []tool.Instance{notes}})
	id := patient.ask("memory_save", args{"content": "Likes tea."}).id("note_id")
	c := dialOptions(t, engine, mcp.Options{Principal: alice(t)}, tool.Config{Entries: []tool.Instance{notes},
		SearchTimeout: tool.Duration(1500 * time.Millisecond), WriteTimeout: tool.Duration(time.Second)})
	c.ask("memory_save", args{"content": "The embedder is stuck."}).refused(loci.Unavailable, "tool timed out after 1s")
	c.ask("memory_update", args{"note_id": id, "content": "Now it is stuck."}).refused(loci.Unavailable, "tool timed out after 1s")
	c.ask("memory_search", args{"query": "is it stuck"}).refused(loci.Unavailable, "tool timed out after 1.5s")
	// What timed out has left nothing behind, and the connection goes on.
	c.ask("memory_search", args{"query": "stuck again"}).refused(loci.Unavailable, "tool timed out after 1.5s")
	if hits := patient.ask("memory_search", args{"query": "embedder tea"}).list(); len(hits) != 1 || hits[0]["text"] != "Likes tea." {
		t.Errorf("notes after the timeouts: %v", hits)
	}
}

func TestDefaultTimeouts(t *testing.T) {
	set, err := tool.New(nil, tool.Config{Entries: []tool.Instance{notes}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range set.Tools() {
		want := 10 * time.Second
		if one.Tier == tool.ReadOnly {
			want = 15 * time.Second
		}
		if one.Timeout != want {
			t.Errorf("%s stops after %v, want %v", one.Name, one.Timeout, want)
		}
	}
}

func TestSecretsAreScrubbed(t *testing.T) {
	token := "AKIA" + "IOSFODNN7EXAMPLF"
	c := dial(t, newEngine(t), alice(t), notes)
	id := c.ask("memory_save", args{"content": "The deploy key is " + token + ", says Ana."}).id("note_id")
	hits := c.ask("memory_search", args{"query": "deploy key"}).list()
	if len(hits) != 1 || hits[0]["text"] != "The deploy key is [REDACTED], says Ana." || hits[0]["note_id"] != id {
		t.Errorf("hits: %v", hits)
	}
}

func TestLongNoteIsOneHitWithItsBestPassage(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	filler := strings.Repeat("Nothing of interest happens in this sentence. ", 40)
	c.ask("memory_save", args{"content": filler + "The spare key lies under the blue flowerpot. " + filler})
	hits := c.ask("memory_search", args{"query": "spare key flowerpot"}).list()
	if len(hits) != 1 {
		t.Fatalf("%d hits of one note", len(hits))
	}
	text := hits[0]["text"].(string)
	if !strings.Contains(text, "blue flowerpot") || len(text) > 700 {
		t.Errorf("the passage has %d bytes: %.80q…", len(text), text)
	}
}
