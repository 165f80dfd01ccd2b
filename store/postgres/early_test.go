package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// A search that was made while the tenant's counter was on its way never hides what another server wrote before
// it, nor shows what that erased.
func TestEarlySearchesAreAsNewAsTheCounter(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, other := openAt(t, d.Server), openAt(t, d.Server)
	tn, everywhere := locitest.Tenant(t, "early"), loci.Filter{Within: []loci.Namespace{{}}}
	find := func(id loci.ID) int {
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id)}, everywhere, 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	for range 10 {
		id := loci.NewID()
		for range 3 { // the last of them searches early
			find(id)
		}
		created := creation(id)
		gone := loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}, Events: []loci.Event{created.Events[0]}}
		gone.Events[0].ID, gone.Events[0].Type = loci.NewID(), loci.EventErased
		if err := other.Apply(t.Context(), tn, created); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if find(id) != 1 {
				t.Fatal("what another server wrote is not found")
			}
		}
		if err := other.Apply(t.Context(), tn, gone); err != nil {
			t.Fatal(err)
		}
		if find(id) != 0 {
			t.Fatal("what another server erased is found")
		}
	}
}

// Half of the connections may be kept while something takes in the process, so that who searches for long leaves
// some to the others.
func TestSearchesLeaveConnectionsToOthers(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	tn := locitest.Tenant(t, "few")
	for most, want := range map[int]int{1: 0, 2: 1, 5: 2} {
		s := openWith(t, d.Server, &postgres.Options{MaxConns: most})
		for range 2 { // what was kept is given back
			inside := 0
			var nest func()
			nest = func() {
				inside++
				if err := postgres.LookWhile(t.Context(), s, tn, nest); err != nil {
					t.Fatal(err)
				}
			}
			if err := postgres.LookWhile(t.Context(), s, tn, nest); err != nil || inside != want {
				t.Errorf("%d of %d connections are kept, want %d; %v", inside, most, want, err)
			}
		}
	}
}

// A caller who goes while the counter is on its way gets an error, unless it has come by then, and leaves nothing open.
func TestSearchesThatAreCancelledOnTheWay(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openWith(t, d.Server, &postgres.Options{MaxConns: 2})
	tn, everywhere := locitest.Tenant(t, "gone"), loci.Filter{Within: []loci.Namespace{{}}}
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		ran := false
		err := postgres.LookWhile(ctx, s, tn, func() { ran = true; cancel() })
		if !ran || err != nil && !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "cancel") {
			t.Fatal(ran, err)
		}
		if _, err := s.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, everywhere, 1); err != nil {
			t.Fatal(err)
		}
	}
}
