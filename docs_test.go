package loci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	stores "github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// requirementsPage is the one page that speaks of requirements by name.
const requirementsPage = "docs/requirements.md"

// documents lists the Markdown files of the project.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
	})
	return paths
}

// walk visits the files of the project, not what was installed or built.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || name == "testdata" || name == "bin" || name == "dist" || len(name) > 1 && strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case !d.IsDir():
			visit(filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fences returns the blocks of code of a language in a document.
func fences(document, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(document, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// The examples below are those of docs/library.md.

func exampleMemory(ctx context.Context) (*loci.Engine, *loci.Memory) {
	s, err := stores.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	embedder, err := embedding.NewBuiltin()
	if err != nil {
		log.Fatal(err)
	}
	engine, err := loci.New(s, &loci.Options{Embedder: embedder,
		Features: []loci.Feature{item.Feature{}, session.Feature{}, tree.Feature{}}})
	if err != nil {
		log.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		log.Fatal(err)
	}
	memory, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "my program"})
	if err != nil {
		log.Fatal(err)
	}
	return engine, memory
}

func ExampleEngine_Memory() {
	ctx := context.Background()
	engine, alice := exampleMemory(ctx)
	tenant := alice.View().Tenant

	bob, err := engine.Memory(loci.View{
		Tenant:    tenant,
		Namespace: loci.Namespace{"user", "bob"},
		Also:      []loci.Namespace{{"org", "acme"}}, // may be read, not written
		Actor:     "billing service",
	})
	if err != nil {
		log.Fatal(err)
	}
	stored, err := alice.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."})
	if err != nil {
		log.Fatal(err)
	}
	_, err = bob.Fact(ctx, stored.ID)
	fmt.Println(loci.AsError(err).Code)
	// Output: not_found
}

func Example_sessions() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)

	sessions := session.Of(memory)
	said, err := session.ParseMessages([]byte(`[{"role": "user", "content": "Which seat did I like?"},
		{"role": "assistant", "content": "The window seat."}]`))
	if err != nil {
		log.Fatal(err)
	}
	done, err := sessions.Append(ctx, "", said) // "": a new session
	if err != nil {
		log.Fatal(err)
	}
	history, err := sessions.History(ctx, done.Session, session.HistoryQuery{Last: 50})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range history.Messages {
		fmt.Println(m.Seq, m.Speaker()+":", m.Text())
	}
	found, err := sessions.Search(ctx, session.Search{Text: "seat", Session: done.Session})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.Hits), done.Created)
	// Output:
	// 1 user: Which seat did I like?
	// 2 assistant: The window seat.
	// 2 true
}

func ExampleMemory_StoreFact() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)

	first, err := memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats.", Tags: []string{"travel"}})
	if err != nil {
		log.Fatal(err)
	}
	again, err := memory.StoreFact(ctx, loci.NewFact{Content: "prefers  WINDOW seats."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Outcome, again.Outcome, again.ID == first.ID)

	content := "Prefers aisle seats."
	fact, err := memory.ReviseFact(ctx, first.ID, loci.FactRevision{Content: &content, IfVersion: 2})
	if err != nil {
		log.Fatal(err)
	}
	earlier, err := memory.Revisions(ctx, first.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fact.Content, fact.Version, earlier[0].Text)

	blue := loci.NewFact{Content: "Blue.", Subject: "user", Predicate: "favourite colour"}
	green := loci.NewFact{Content: "Green.", Subject: "user", Predicate: "favourite colour"}
	if _, err := memory.StoreFact(ctx, blue); err != nil {
		log.Fatal(err)
	}
	newer, err := memory.StoreFact(ctx, green)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(newer.Outcome)
	// Output:
	// created duplicate_of true
	// Prefers aisle seats. 3 Prefers window seats.
	// superseded
}

func ExampleMemory_StoreRule() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)

	rule, err := memory.StoreRule(ctx, loci.NewRule{Content: "Ask before booking."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := memory.MarkHelpful(ctx, rule); err != nil {
		log.Fatal(err)
	}
	if _, err := memory.StoreEpisode(ctx, loci.NewEpisode{Content: "Asked about seats.", Butler: "travel"}); err != nil {
		log.Fatal(err)
	}
	if err := memory.Confirm(ctx, loci.KindRule, rule); err != nil {
		log.Fatal(err)
	}
	if _, err := memory.Forget(ctx, loci.KindRule, rule); err != nil {
		log.Fatal(err)
	}
	stats, err := view.Lifecycle(ctx, memory, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Rules.Total, stats.Rules.Forgotten, stats.Episodes.Unconsolidated)
	// Output: 1 1 1
}

func ExampleMemory_Search() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)
	for _, in := range []loci.NewFact{
		{Content: "Prefers window seats.", Metadata: map[string]any{"year": 2024}},
		{Content: "Sold two seats.", Metadata: map[string]any{"year": 2019}},
	} {
		if _, err := memory.StoreFact(ctx, in); err != nil {
			log.Fatal(err)
		}
	}

	where, err := loci.ParseWhere(map[string]any{"year": map[string]any{"$gte": 2020}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := memory.Search(ctx, loci.Query{Text: "seats", Mode: loci.Hybrid, Limit: 5, Where: where})
	if err != nil {
		log.Fatal(err)
	}
	for _, match := range result.Matches {
		why := match.Explain
		fmt.Printf("%.2f from %.2f words and %.2f similarity: %s\n", match.Score, why.KeywordPart, why.VectorPart, match.Passage)
	}
	// Output: 0.77 from 0.40 words and 0.55 similarity: Prefers window seats.
}

func Example_items() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)

	items := item.Of(memory)
	place := loci.Namespace{"user", "alice", "settings"}
	value := json.RawMessage(`{"theme":"dark","note":"set on the phone"}`)
	if err := items.Put(ctx, place, "editor", value, &item.PutOptions{Index: []string{"note"}}); err != nil {
		log.Fatal(err)
	}
	entry, err := items.Get(ctx, place, "editor", true)
	if err != nil {
		log.Fatal(err)
	}
	found, err := items.Search(ctx, item.Query{Prefix: loci.Namespace{"user", "alice"}, Text: "phone"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(entry.Value), len(found))
	// Output: {"note":"set on the phone","theme":"dark"} 1
}

func ExampleMemory_Events() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)
	stored, err := memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."})
	if err != nil {
		log.Fatal(err)
	}

	if err := memory.Erase(ctx, stored.ID); err != nil {
		log.Fatal(err)
	}
	events, _, err := memory.Events(ctx, loci.EventFilter{Entity: stored.ID}, loci.Page{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Println(e.Type, e.Actor, string(e.Payload))
	}
	// Output:
	// erased my program {"bytes":21,"version":1}
	// created my program
}

func ExampleMemory_Recall() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)
	if _, err := memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats.", Subject: "user", Predicate: "seats", Scope: "travel"}); err != nil {
		log.Fatal(err)
	}

	found, err := memory.Recall(ctx, loci.RecallQuery{Topic: "seats on a flight", Scopes: []string{"travel"}, Touch: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Memories {
		fmt.Println(r.Record.Text, r.Explain.KeywordRank, r.Explain.Importance)
	}
	block, err := memory.Context(ctx, loci.ContextQuery{Prompt: "Book a flight", Agent: "travel"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(block.Shown), block.Tokens <= block.Budget)
	// Output:
	// Prefers window seats. 1 0.5
	// 1 true
}

func ExampleMemory_Export() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)
	_, other := exampleMemory(ctx)
	if _, err := memory.StoreFact(ctx, loci.NewFact{Content: "Prefers window seats."}); err != nil {
		log.Fatal(err)
	}

	var file bytes.Buffer
	if _, err := memory.Export(ctx, &file, nil); err != nil {
		log.Fatal(err)
	}
	report, err := other.Import(ctx, &file, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Format, report.Created, report.Existing)
	// Output: loci.export 1 0
}

// letters is an embedder in a few lines: how often each letter occurs.
type letters struct{}

func (letters) Model() string { return "letters-1" } // another name is another space
func (letters) Dims() int     { return 26 }

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		row, sum := make([]float32, 26), 0.0
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				row[r-'a']++
			}
		}
		for _, x := range row {
			sum += float64(x * x)
		}
		for j := range row {
			row[j] /= float32(max(1, math.Sqrt(sum))) // of unit length
		}
		rows[i] = row
	}
	return rows, nil
}

func ExampleEmbedder() {
	ctx := context.Background()
	s, err := stores.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := loci.New(s, &loci.Options{Embedder: letters{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(engine.Space())
	// Output: letters-1 (26 dimensions)
}

// The example of docs/files.md.
func Example_connect() {
	ctx := context.Background()
	_, memory := exampleMemory(ctx)

	files, err := tree.Of(memory, "", "") // the tree that all threads share
	if err != nil {
		log.Fatal(err)
	}
	if _, err := files.Append(ctx, "/notes/today", "Met Ann."); err != nil {
		log.Fatal(err)
	}
	messages, err := tree.ParseChat([]byte(`[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi."}]`))
	if err != nil {
		log.Fatal(err)
	}
	messages, err = tree.Connect(ctx, memory, messages, tree.ConnectorOptions{Content: tree.ContentFull})
	if err != nil {
		log.Fatal(err)
	}
	list, err := tree.FormatChat(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(list))

	// Output:
	// [{"role":"system","content":"Be brief."},{"role":"system","content":"Memory\n/notes/today: \"Met Ann.\""},{"role":"user","content":"Hi."}]
}
