//go:build system

// These tests drive programs of the system: `make test-postgres-system`.

package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/postgres"
)

// TestPooler: two servers share two connections behind a pooler in transaction mode, so that
// each transaction follows one of another tenant. Nothing of that one is left, and nothing is
// lost.
func TestPooler(t *testing.T) {
	through := throughPooler(t, 2)
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	if _, err := postgres.Migrate(t.Context(), through(d.Owner), postgres.Migration{Role: d.Role}); err != nil {
		t.Errorf("a migration through a pooler: %v", err)
	}
	nodes := []loci.Store{openAt(t, through(d.Server)), openAt(t, through(d.Server))}
	names := []string{"a", "b", "c"}
	var group sync.WaitGroup
	var mu sync.Mutex
	ids := map[string][]loci.ID{}
	for i := range 8 {
		group.Go(func() {
			for n := range 15 {
				name := names[(i+n)%len(names)]
				text, _, _ := strings.Cut(storm.Write(t.Context(), nodes[i%2], name), " ")
				id, err := loci.ParseID(text)
				if err != nil {
					t.Errorf("%q: %v", text, err)
					continue
				}
				mu.Lock()
				ids[name] = append(ids[name], id)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	for _, name := range names {
		tn := locitest.Tenant(t, name)
		for _, node := range nodes {
			n, err := node.Count(t.Context(), tn, everywhere)
			if err != nil || n.Records != int64(len(ids[name])) {
				t.Errorf("%s holds %+v, %v; %d were written", name, n, err, len(ids[name]))
			}
			last := ids[name][len(ids[name])-1]
			for _, other := range names {
				if found(t, node, other, last) != (other == name) {
					t.Errorf("a word of %s in %s", name, other)
				}
			}
		}
		locitest.LogIsWhole(t, locitest.NewEngine(t, nodes[0], loci.Options{}), tn)
	}
	var left []string
	query(t, through(d.Server), "SELECT coalesce(current_setting('loci.tenant', true), '') || coalesce(current_setting('lock_timeout'), '')", &left)
	if left[0] != "0" {
		t.Errorf("a connection behind the pooler keeps %q of the transactions before", left[0])
	}
}

// TestPoolerThatMixesStatements: a pooler that does not keep the prepared statements of each
// client is named, with what helps.
func TestPoolerThatMixesStatements(t *testing.T) {
	through := throughPooler(t, 2)
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openAt(t, strings.Replace(through(d.Server), "&default_query_exec_mode=exec", "&pool_max_conns=1", 1))
	tn := locitest.Tenant(t, "a")
	other, err := pgx.Connect(t.Context(), through(d.Server))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	// Somebody else takes one connection behind the pooler, then both are free again: what was
	// prepared on one is not on the other.
	for i := 0; err == nil && i < 10; i++ {
		for _, sql := range []string{"BEGIN", "ROLLBACK"} {
			if err = s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
				break
			}
			if _, err := other.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
		}
	}
	e := loci.AsError(err)
	if e == nil || !strings.Contains(e.Recovery, "default_query_exec_mode=exec") {
		t.Errorf("a pooler without prepared statements: %v", err)
	}
}
