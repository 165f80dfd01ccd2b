package rest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

// A gate lets changes through when as many as together wait before it, or one by one.
type gate struct {
	loci.Store
	together atomic.Int64
	waiting  atomic.Int64
	opened   chan struct{}
	panics   atomic.Bool
}

func (g *gate) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if n := g.together.Load(); n > 0 && len(c.Erase) > 0 {
		if g.waiting.Add(1) == n {
			close(g.opened)
		}
		select {
		case <-g.opened:
		case <-time.After(10 * time.Second):
			return loci.Errorf(loci.Unavailable, "the others did not come")
		}
		if g.panics.Load() {
			panic("a store that is broken")
		}
	}
	return g.Store.Apply(ctx, t, c)
}

// The deletes of a batch that follow one another reach the store together, which erases them
// in one go. What comes before and after them has its place, and a panic is no end of the
// program.
func TestDeletesOfABatchGoTogether(t *testing.T) {
	g := &gate{Store: memory.Open(), opened: make(chan struct{})}
	b := newBench(t, g, nil)
	const put, erase = `{"op":"put","namespace":["n"],"key":"k%d","value":{"a":1}}`, `{"op":"delete","namespace":["n"],"key":"k%d"}`
	each := func(op string, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(op, i))
		}
		return strings.Join(out, ",")
	}
	batch := func(parts ...string) string { return `{"operations":[` + strings.Join(parts, ",") + `]}` }
	if r := b.send("POST", "/v1/items/batch", batch(each(put, 4))); r.status != 200 || strings.Contains(r.body, "error") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	g.together.Store(4)
	mixed := batch(fmt.Sprintf(put, 4), each(erase, 4), fmt.Sprintf(put, 1))
	if r := b.send("POST", "/v1/items/batch", mixed); r.status != 200 || strings.Contains(r.body, "error") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for key, want := range map[string]int{"k0": 404, "k1": 200, "k2": 404, "k3": 404, "k4": 200} {
		if r := b.send("POST", "/v1/items/get", `{"namespace":["n"],"key":"`+key+`"}`); r.status != want {
			t.Errorf("%s: %d %s, want %d", key, r.status, r.body, want)
		}
	}
	g.together.Store(1)
	g.waiting.Store(0)
	g.opened = make(chan struct{})
	g.panics.Store(true)
	if r := b.send("POST", "/v1/items/batch", batch(each(erase, 2))); r.status != 500 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
