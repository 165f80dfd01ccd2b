// Package erase deletes memories as a user would and reads every byte that is left.
package erase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tree"
)

// TestDeletedMemoryLeavesNoBytes saves notes, corrects one of them twice, deletes
// it, and scans the data directory while the store is open and after it closed:
// neither its texts, nor a word of them, nor their vectors, nor the key of the
// request are there. A note that stays is the control: the scan finds it.
func TestDeletedMemoryLeavesNoBytes(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "tenants"), nil)
	if err != nil {
		t.Fatal(err)
	}
	lexical := embedding.NewLexical()
	engine, err := loci.New(s, &loci.Options{Features: locitest.Features(), Embedder: lexical})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	bind := func(key string) *loci.Memory {
		m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test", IdempotencyKey: key})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	texts := []string{"Zanzibarquux prefers the wobblefrotz at dawn.", "Corrected: the grumplewick at dusk.", "Finally the snorblethwaite at noon."}
	stored, err := bind("request-glimmerfax").StoreFact(ctx, loci.NewFact{
		Content:  texts[0],
		Tags:     []string{"tagplonk"},
		Metadata: map[string]any{"fieldwumpus": "valuekrill"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // neighbours, so that its page is one among others
		if _, err := bind("").StoreFact(ctx, loci.NewFact{Content: fmt.Sprintf("An ordinary note, number %d, of no particular length.", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range texts[1:] {
		if _, err := bind("").ReviseFact(ctx, stored.ID, loci.FactRevision{Content: &text}); err != nil {
			t.Fatal(err)
		}
	}
	if result, err := bind("").Search(ctx, loci.Query{Text: "snorblethwaite"}); err != nil || len(result.Matches) == 0 {
		t.Fatalf("the note is not found before it is deleted: %v", err)
	}
	gone := [][]byte{[]byte("tagplonk"), []byte("fieldwumpus"), []byte("valuekrill"), []byte("request-glimmerfax")}
	for _, text := range texts {
		rows, err := lexical.Embed(ctx, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		gone = append(gone, []byte(text), vector.Quantize(rows[0])[4:])
		for _, word := range strings.Fields(strings.Trim(text, ".")) {
			if len(word) > 9 {
				gone = append(gone, []byte(word), []byte(strings.ToLower(word)))
			}
		}
	}
	// What the client sent last is on disk until now: the scan sees it.
	if found := scan(t, dir, gone); len(found) == 0 {
		t.Fatal("the scan finds nothing before the delete")
	}
	if err := bind("").EraseFact(ctx, stored.ID); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, gone); len(found) > 0 {
		t.Errorf("after the delete: %v", found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, gone); len(found) > 0 {
		t.Errorf("after the store closed: %v", found)
	}
	if found := scan(t, dir, [][]byte{[]byte("An ordinary note, number 17,")}); len(found) == 0 {
		t.Error("the scan does not find a note that stays")
	}
}

// mirrored is a space other than the lexical one, with other bytes.
type mirrored struct{ *embedding.Lexical }

func (mirrored) Model() string { return "mirrored-1" }

func (m mirrored) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	rows, err := m.Lexical.Embed(ctx, texts)
	for _, row := range rows {
		slices.Reverse(row)
	}
	return rows, err
}

// TestErasedVectorsOfEveryGenerationAreGone deletes a note while it has vectors of two
// generations, and another one after the old generation was dropped, whose bytes may still lie
// between others.
func TestErasedVectorsOfEveryGenerationAreGone(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "loci.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	lexical := embedding.NewLexical()
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	engine := func(e loci.Embedder) *loci.Engine {
		engine, err := loci.New(s, &loci.Options{
			Features:    locitest.Features(),
			Embedder:    e,
			EmbedderFor: embedding.Config{}.ForSpace,
		})
		if err != nil {
			t.Fatal(err)
		}
		return engine
	}
	bind := func(e *loci.Engine) *loci.Memory {
		m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	next := engine(mirrored{lexical})
	m := bind(engine(lexical))
	save := func(m *loci.Memory, text string) (loci.ID, [][]byte) {
		stored, err := m.StoreFact(ctx, loci.NewFact{Content: text})
		if err != nil {
			t.Fatal(err)
		}
		var bytes [][]byte
		for _, e := range []loci.Embedder{lexical, mirrored{lexical}} {
			rows, err := e.Embed(ctx, []string{text})
			if err != nil {
				t.Fatal(err)
			}
			bytes = append(bytes, vector.Quantize(rows[0])[4:])
		}
		return stored.ID, append(bytes, []byte(text))
	}
	for i := range 300 {
		save(m, fmt.Sprintf("An ordinary note, number %d, of no particular length.", i))
	}
	later, laterBytes := save(m, "Snorblethwaite is deleted after the switch.")
	early, earlyBytes := save(bind(next), "Zanzibarquux is deleted while both are there.")
	for _, part := range earlyBytes {
		if len(scan(t, dir, [][]byte{part})) == 0 {
			t.Fatal("the scan does not find what is there")
		}
	}
	if err := m.EraseFact(ctx, early); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, earlyBytes); len(found) > 0 {
		t.Errorf("with two generations: %v", found)
	}
	if report, err := next.Reindex(ctx, tenant, nil); err != nil || report.Dropped != 301 {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := m.EraseFact(ctx, later); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, laterBytes); len(found) > 0 {
		t.Errorf("after the switch: %v", found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, append(earlyBytes, laterBytes...)); len(found) > 0 {
		t.Errorf("after the store closed: %v", found)
	}
}

// left is scan after a delete. The index beside the file may be made again without the note,
// and that may come after the answer.
func left(t *testing.T, dir string, parts [][]byte) (found []string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		found = scan(t, dir, parts)
		behind := !slices.ContainsFunc(found, func(s string) bool { return !strings.Contains(s, ".segm holds ") })
		if len(found) == 0 || !behind || time.Now().After(end) {
			return found
		}
	}
}

// scan lists the files below dir that hold one of the byte strings.
func scan(t *testing.T, dir string, parts [][]byte) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		for _, part := range parts {
			if bytes.Contains(data, part) {
				found = append(found, fmt.Sprintf("%s holds %.40q", filepath.Base(path), part))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDeletedFilesLeaveNoBytes writes a file of several blocks and changes it in every way
// until some of its versions are no longer kept. Then it moves the file and deletes the
// directory it is in: nothing of any version is left, nor of its path.
func TestDeletedFilesLeaveNoBytes(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "loci.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := loci.New(s, &loci.Options{
		Features: locitest.Features(), Embedder: embedding.NewLexical(), Retention: loci.RetentionOptions{Revisions: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := tree.Of(m, "", "")
	if err != nil {
		t.Fatal(err)
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(files.Write(ctx, "/keep/this", strings.Repeat("An ordinary line that stays.\n", 300), nil))
	must(files.Write(ctx, "/dirglimmerfax/nameplonk", strings.Repeat("The line of the wobblefrotz.\n", 500), nil))
	gone := [][]byte{[]byte("wobblefrotz"), []byte("dirglimmerfax"), []byte("nameplonk")}
	for i := range 8 {
		word := fmt.Sprintf("grumplewick%d", i)
		gone = append(gone, []byte(word))
		must(files.Append(ctx, "/dirglimmerfax/nameplonk", word))
		must(files.Insert(ctx, "/dirglimmerfax/nameplonk", int64(i*50), "inserted "+word))
		if i > 0 {
			must(files.Update(ctx, "/dirglimmerfax/nameplonk", fmt.Sprintf("grumplewick%d", i-1), word))
		}
	}
	gone = append(gone, []byte("movedkrill"))
	must(nil, files.Rename(ctx, "/dirglimmerfax", "/movedkrill"))
	if found := scan(t, dir, gone); len(found) == 0 {
		t.Fatal("the scan finds nothing before the delete")
	}
	must(files.Delete(ctx, "/movedkrill"))
	if found := left(t, dir, gone); len(found) > 0 {
		t.Errorf("after the delete: %v", found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := left(t, dir, gone); len(found) > 0 {
		t.Errorf("after the store closed: %v", found)
	}
	if found := scan(t, dir, [][]byte{[]byte("An ordinary line that stays."), []byte("keep\x00this")}); len(found) == 0 {
		t.Error("the scan does not find a file that stays")
	}
}
