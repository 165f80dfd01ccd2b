//go:build !race

// These tests count what calls read and allocate and start no goroutine: the race detector has
// nothing to see, and `make test` runs them without it.

package item_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// A path behind those that pick too much costs nothing.
func TestPathsThatPickTooMuchAreNotFollowed(t *testing.T) {
	small := loci.Options{Content: loci.ContentOptions{MaxBytes: 8 << 10}}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), small), "u")
	members := map[string]string{}
	for i := range 400 {
		members[fmt.Sprintf("k%03d", i)] = "a text"
	}
	value, err := json.Marshal(map[string]any{"a": members})
	if err != nil {
		t.Fatal(err)
	}
	cost := func(paths int) float64 {
		index := make([]string, paths)
		for i := range index {
			index[i] = "$"
		}
		return locitest.Allocations(func() {
			err := item.Of(m).Put(t.Context(), m.View().Namespace, "k", value, &item.PutOptions{Index: index})
			if err == nil || err.Error() != "index picks more than 8192 bytes of the value: pick less" {
				t.Errorf("%d paths: %v", paths, err)
			}
		})
	}
	if few, many := cost(4), cost(64); many > 1.2*few {
		t.Errorf("4 paths take %v allocations, 64 take %v", few, many)
	}
}

// A namespaceCounter counts the namespaces that are read from a store.
type namespaceCounter struct {
	loci.Store
	read int
}

func (c *namespaceCounter) Namespaces(ctx context.Context, t loci.Tenant, f loci.Filter) ([]loci.Namespace, error) {
	found, err := c.Store.Namespaces(ctx, t, f)
	c.read += len(found)
	return found, err
}

// Of many namespaces those are read that lie below what a query names.
func TestNamespacesBelowAPrefixAloneAreRead(t *testing.T) {
	s := &namespaceCounter{Store: locitest.OpenMemory()}
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	for i := range 50 {
		locitest.PutItem(t, m, loci.Namespace{"u", fmt.Sprint("n", i), "in"}, "k", `{"a":1}`, nil)
	}
	for name, c := range map[string]struct {
		q           item.NamespaceQuery
		found, read int
	}{
		"a prefix":           {item.NamespaceQuery{Prefix: []string{"u", "n7"}}, 1, 1},
		"below":              {item.NamespaceQuery{Below: loci.Namespace{"u", "n7"}}, 1, 1},
		"below, a prefix":    {item.NamespaceQuery{Below: loci.Namespace{"u"}, Prefix: []string{"n7"}}, 1, 1},
		"a wildcard":         {item.NamespaceQuery{Prefix: []string{"u", "*", "in"}}, 50, 50},
		"another's":          {item.NamespaceQuery{Prefix: []string{"v", "n7"}}, 0, 50},
		"below another's":    {item.NamespaceQuery{Below: loci.Namespace{"v"}}, 0, 50},
		"what can be none":   {item.NamespaceQuery{Prefix: []string{"u", strings.Repeat("n", 300)}}, 0, 50},
		"all, one at a time": {item.NamespaceQuery{Limit: 1}, 1, 50},
	} {
		before := s.read
		found, err := item.Of(m).Namespaces(t.Context(), c.q)
		if err != nil || len(found) != c.found || s.read-before != c.read {
			t.Errorf("%s: %d found, %d read, %v; want %d and %d", name, len(found), s.read-before, err, c.found, c.read)
		}
	}
}
