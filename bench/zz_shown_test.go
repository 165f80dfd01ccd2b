package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/loci-memory/loci"
)

func TestCtxShown(t *testing.T) {
	size, _ := strconv.Atoi(os.Getenv("CTXSIZE"))
	if size == 0 {
		t.Skip()
	}
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
	for range 5 {
		q := queries.query(g.notes.at(queries.rng.IntN(g.size)))
		b, err := g.memory.Context(g.ctx, loci.ContextQuery{Prompt: q, Agent: "bench"})
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, x := range b.Shown {
			n["shown "+string(x.Kind)]++
		}
		for _, x := range b.Omitted {
			n[fmt.Sprint("omitted ", x.Kind, " ", x.Reason, " ", x.Tokens > 0)]++
		}
		fmt.Println(q, b.Tokens, b.Tokenizer, n, b.Text[:300])
	}
	l.store.Close()
}
