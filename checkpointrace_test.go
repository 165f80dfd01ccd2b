package loci_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
)

// While others prune and delete, whoever reads a checkpoint gets all of it.
func TestCheckpointsArePutWhilePruned(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for ctx.Err() == nil {
					if _, err := m.Checkpoints().Prune(ctx, []string{"t"}, loci.KeepLatest); err != nil && ctx.Err() == nil && !errors.Is(err, loci.ErrConflict) {
						t.Errorf("prune: %v", err)
					}
				}
			})
		}
		others.Go(func() {
			for ctx.Err() == nil {
				c, err := m.Checkpoints().Get(ctx, "t", "", "")
				if err == nil && len(c.Values) != 2 {
					t.Errorf("checkpoint %s has values %v", c.ID, values(c))
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, loci.ErrNotFound) {
					t.Errorf("get: %v", err)
				}
			}
		})
		history(t, m, "t", "", 60, plain)
		stop()
		others.Wait()
		wantValues(t, getCheckpoint(t, m, "t", "", "c59"), map[string]string{"same": "same of ", "step": "c59"})
		if _, err := m.Checkpoints().Prune(t.Context(), []string{"t"}, loci.KeepLatest); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, m, s)[loci.KindCheckpointValue]; got != 2 {
			t.Errorf("%d values are left, want 2", got)
		}
	})
}

// An interruptedStore lets something happen between reading checkpoints and their values.
type interruptedStore struct {
	loci.Store
	between func()
}

func (s *interruptedStore) Records(ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page) ([]loci.Record, string, error) {
	if do := s.between; do != nil && slices.Contains(f.Kinds, loci.KindCheckpointValue) {
		s.between = nil
		do()
	}
	return s.Store.Records(ctx, t, f, p)
}

func TestCheckpointErasedWhileItIsRead(t *testing.T) {
	for name, read := range map[string]func(m *loci.Memory) ([]loci.SavedCheckpoint, error){
		"get": func(m *loci.Memory) ([]loci.SavedCheckpoint, error) {
			c, err := m.Checkpoints().Get(t.Context(), "t", "", "")
			return []loci.SavedCheckpoint{c}, err
		},
		"list": func(m *loci.Memory) ([]loci.SavedCheckpoint, error) {
			page, err := m.Checkpoints().List(t.Context(), loci.CheckpointQuery{Thread: "t"})
			return page.Checkpoints, err
		},
		"list of all": func(m *loci.Memory) ([]loci.SavedCheckpoint, error) {
			page, err := m.Checkpoints().List(t.Context(), loci.CheckpointQuery{})
			return page.Checkpoints, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &interruptedStore{Store: openMemory()}
			m := bind(t, newEngine(t, s, loci.Options{}), "u")
			put := func(id string) {
				putCheckpoint(t, m, checkpoint("t", "", id, "", "{}", graphState{"x": id}, map[string]string{"x": id}))
			}
			put("c1")
			s.between = func() {
				put("c2")
				if _, err := m.Checkpoints().Prune(t.Context(), []string{"t"}, loci.KeepLatest); err != nil {
					t.Error(err)
				}
			}
			got, err := read(m)
			if err != nil {
				t.Fatal(err)
			}
			if name == "get" && got[0].ID != "c2" {
				t.Errorf("got %s", got[0].ID)
			}
			for _, c := range got {
				wantValues(t, c, map[string]string{"x": c.ID})
			}
		})
	}
}
