// The program that made ../schema6.db.gz, run once by the last build of schema 6:
// everything that schema 7 moves or makes nameless, and what looks like it and must stay.
package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store/sqlite"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func run(out string) error {
	dir := must(os.MkdirTemp("", ""))
	defer func() { _ = os.RemoveAll(dir) }()
	path, ctx := filepath.Join(dir, "x.db"), context.Background()
	s := must(sqlite.Open(path, nil))
	e := must(loci.New(s, &loci.Options{Embedder: embedding.NewLexical()}))
	at := func(labels ...string) *loci.Memory {
		return must(e.Memory(loci.View{Tenant: must(loci.NewTenant("default")), Namespace: labels, Actor: "old build"}))
	}
	say := func(m *loci.Memory, session, text string) {
		said := must(json.Marshal(map[string]string{"role": "user", "content": text}))
		must(m.Sessions().Append(ctx, session, []loci.Message{must(loci.ParseMessage(said))}))
	}
	org := at("org", "acme")
	say(org, "board", "The board meets on Tuesday.")
	say(org, "board", "The minutes are secret.")
	say(org, "gone", "What was said and cleared.")
	must(org.Sessions().Clear(ctx, "gone"))
	for _, agent := range []string{"sessions", "messages", "tree"} {
		m := at("org", "acme", agent)
		must(m.StoreFact(ctx, loci.NewFact{Content: "A fact of the agent " + agent + "."}))
		say(m, "own", "A word of the agent "+agent+".")
	}
	say(at(), "top", "A word at the top.")
	must(must(org.Tree("", "")).Write(ctx, "/plan.md", "The plan of all threads.", nil))
	threads := must(org.Tree("notes", "thread 7"))
	must(threads.Write(ctx, "/plan.md", "The plan of a thread.", nil))
	must(threads.Write(ctx, "/plan.md", "The plan of a thread, once more.", nil))
	must(must(at("user", "tree").Tree("thread", "")).Write(ctx, "/a.md", "A file that two readings of its place claim.", nil))
	must(at("user", "tree").StoreFact(ctx, loci.NewFact{Content: "The user tree is there."}))
	state := loci.Typed{Type: "json", Data: []byte(`{}`)}
	check(org.Checkpoints().Put(ctx, loci.Checkpoint{Thread: "t", ID: "1", State: state, Metadata: json.RawMessage(`{}`)}))
	a := must(org.StoreFact(ctx, loci.NewFact{Content: "Acme sells anvils."}))
	b := must(org.StoreFact(ctx, loci.NewFact{Content: "Anvils fall on coyotes."}))
	check(org.Link(ctx, a.ID, loci.LinkSupports, b.ID))
	check(org.Items().Put(ctx, loci.Namespace{"org", "acme", "sessions", "shared"}, "drink", json.RawMessage(`{"text":"tea"}`), nil))
	must(at("customers", "ada@example.com").StoreFact(ctx, loci.NewFact{Content: "She likes tea."}))
	left := at("customers", "gone@example.org")
	check(left.Erase(ctx, must(left.StoreFact(ctx, loci.NewFact{Content: "He left."})).ID))
	report := must(e.VerifyEvents(ctx, must(loci.NewTenant("default")), loci.Hash{}))
	fmt.Println(report.Events, report.Head, report.Problems)
	check(s.Close())
	f := must(os.Create(out))
	z := must(gzip.NewWriterLevel(f, gzip.BestCompression))
	must(z.Write(must(os.ReadFile(path))))
	check(z.Close())
	return f.Close()
}
