package checkpoint_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// While others prune and delete, whoever reads a checkpoint gets all of it.
func TestCheckpointsArePutWhilePruned(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for ctx.Err() == nil {
					_, err := checkpoint.Of(m).Prune(ctx, []string{"t"}, checkpoint.KeepLatest)
					if err != nil && ctx.Err() == nil && !errors.Is(err, loci.ErrConflict) {
						t.Errorf("prune: %v", err)
					}
				}
			})
		}
		others.Go(func() {
			for ctx.Err() == nil {
				c, err := checkpoint.Of(m).Get(ctx, "t", "", "")
				if err == nil && len(c.Values) != 2 {
					t.Errorf("checkpoint %s has values %v", c.ID, values(c))
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, loci.ErrNotFound) {
					t.Errorf("get: %v", err)
				}
			}
		})
		locitest.CheckpointHistory(t, m, "t", "", 60, locitest.PlainState)
		stop()
		others.Wait()
		wantValues(t, getCheckpoint(t, m, "t", "", "c59"), map[string]string{"same": "same of ", "step": "c59"})
		if _, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, m, s)[checkpoint.KindValue]; got != 2 {
			t.Errorf("%d values are left, want 2", got)
		}
	})
}

// An interruptedStore lets something happen between reading checkpoints and their values.
type interruptedStore struct {
	loci.Store
	between func()
}

func (s *interruptedStore) Records(ctx context.Context, t loci.Tenant,
	f loci.Filter, p loci.Page) ([]loci.Record, string, error) {
	if do := s.between; do != nil && slices.Contains(f.Kinds, checkpoint.KindValue) && len(f.IDs) > 0 {
		s.between = nil
		do()
	}
	return s.Store.Records(ctx, t, f, p)
}

// TestCheckpointErasedWhileItIsRead: a prune between the read of a checkpoint and the read of
// its values must not yield a checkpoint without its values.
func TestCheckpointErasedWhileItIsRead(t *testing.T) {
	for name, read := range map[string]func(m *loci.Memory) ([]checkpoint.Saved, error){
		"get": func(m *loci.Memory) ([]checkpoint.Saved, error) {
			c, err := checkpoint.Of(m).Get(t.Context(), "t", "", "")
			return []checkpoint.Saved{c}, err
		},
		"list": func(m *loci.Memory) ([]checkpoint.Saved, error) {
			page, err := checkpoint.Of(m).List(t.Context(), checkpoint.Query{Thread: "t"})
			return page.Checkpoints, err
		},
		"list of all": func(m *loci.Memory) ([]checkpoint.Saved, error) {
			page, err := checkpoint.Of(m).List(t.Context(), checkpoint.Query{})
			return page.Checkpoints, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &interruptedStore{Store: locitest.OpenMemory()}
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
			put := func(id string) {
				locitest.PutCheckpoint(t, m,
					locitest.Checkpoint("t", "", id, "", "{}", locitest.GraphState{"x": id}, map[string]string{"x": id}))
			}
			put("c1")
			s.between = func() {
				put("c2")
				if _, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
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
