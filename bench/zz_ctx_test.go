package bench

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/token"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

func ctxOptions() loci.Options {
	o := loci.Options{Features: []loci.Feature{session.Feature{}, tree.Feature{}}}
	if name := os.Getenv("CTXTOK"); name != "" {
		o.Tokenizer, _ = token.Open(name)
	}
	return o
}

// keep under CTXDIR/growth-SIZE
func ctxStore(b *testing.B) *grown {
	size, _ := strconv.Atoi(os.Getenv("CTXSIZE"))
	dir := os.Getenv("CTXDIR")
	g := &grown{ctx: context.Background(), size: size}
	path := dir + "/growth-" + strconv.Itoa(size)
	if _, err := os.Stat(path); err != nil {
		if err := g.fill(path); err != nil {
			b.Fatal(err)
		}
	} else {
		source := newCorpus(4)
		for range size {
			g.notes.add(source.note())
		}
	}
	l, err := openLociWith(g.ctx, path, ctxOptions())
	if err != nil {
		b.Fatal(err)
	}
	g.loaded = l
	b.Cleanup(func() { _ = l.store.Close() })
	return g
}

func BenchmarkCtx(b *testing.B) {
	g := ctxStore(b)
	run := map[string]func(string) error{
		"context": func(p string) error {
			_, err := g.memory.Context(g.ctx, loci.ContextQuery{Prompt: p, Agent: "bench"})
			return err
		},
		"hybrid": func(p string) error { _, err := g.memory.Search(g.ctx, loci.Query{Text: p}); return err },
		"keyword": func(p string) error {
			_, err := g.memory.Search(g.ctx, loci.Query{Text: p, Mode: loci.Keyword})
			return err
		},
	}
	for _, name := range []string{"context", "hybrid", "keyword"} {
		queries := newCorpus(5)
		for range 60 {
			if err := run[name](queries.query(g.notes.at(queries.rng.IntN(g.size)))); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run[name](queries.query(g.notes.at(queries.rng.IntN(g.size)))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCtxCount(t *testing.T) {
	if os.Getenv("CTXCOUNT") == "" {
		t.Skip()
	}
	b := &testing.B{}
	_ = b
	size, _ := strconv.Atoi(os.Getenv("CTXSIZE"))
	n, _ := strconv.Atoi(os.Getenv("CTXCOUNT"))
	g := &grown{ctx: context.Background(), size: size}
	source := newCorpus(4)
	for range size {
		g.notes.add(source.note())
	}
	l, err := openLociWith(g.ctx, os.Getenv("CTXDIR")+"/growth-"+strconv.Itoa(size), ctxOptions())
	if err != nil {
		t.Fatal(err)
	}
	g.loaded = l
	queries := newCorpus(5)
	run := func(p string) error {
		switch os.Getenv("CTXWHAT") {
		case "hybrid":
			_, err := g.memory.Search(g.ctx, loci.Query{Text: p})
			return err
		case "keyword":
			_, err := g.memory.Search(g.ctx, loci.Query{Text: p, Mode: loci.Keyword})
			return err
		}
		_, err := g.memory.Context(g.ctx, loci.ContextQuery{Prompt: p, Agent: "bench"})
		return err
	}
	for i := range 60 + n {
		if i == 60 {
			_, _, _ = syscall.Syscall(syscall.SYS_GETPRIORITY, 7777, 1, 0)
		}
		if err := run(queries.query(g.notes.at(queries.rng.IntN(g.size)))); err != nil {
			t.Fatal(err)
		}
	}
	_, _, _ = syscall.Syscall(syscall.SYS_GETPRIORITY, 7777, 2, 0)
	l.store.Close()
}
