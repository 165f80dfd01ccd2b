package loci_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A brokenLedger is a store that, from a given look on, fails to read how many tokens models
// took.
type brokenLedger struct {
	loci.Store
	looks, good int
}

func (s *brokenLedger) Events(
	ctx context.Context,
	t loci.Tenant,
	f loci.EventFilter,
	p loci.Page,
) ([]loci.Event, string, error) {
	if slices.Contains(f.Types, loci.EventReserved) {
		if s.looks++; s.looks > s.good {
			return nil, "", errors.New("disk on fire")
		}
	}
	return s.Store.Events(ctx, t, f, p)
}

// TestConsolidateNeedsItsLedger: as long as nobody knows what is left of a budget, no
// model is asked, whenever counting begins to fail.
func TestConsolidateNeedsItsLedger(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		locitest.Episode(t, locitest.Bind(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "user", "u"), "home", "something")
		for good := range 4 {
			asked := 0
			answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
				asked++
				return loci.Completion{Text: "{}"}, nil
			})
			broken := &brokenLedger{Store: s, good: good}
			_, err := locitest.NewEngine(t, broken, locitest.Quiet(locitest.NewClock())).Consolidate(t.Context(),
				locitest.Tenant(t, "t"), loci.ConsolidateOptions{Completer: answer})
			if broken.looks <= good {
				if good < 3 {
					t.Errorf("only %d looks: before, and after a reservation", broken.looks)
				}
				continue
			}
			if err == nil || asked > 0 {
				t.Errorf("counting failed at look %d, and the model was asked %d times: %v", good+1, asked, err)
			}
		}
	})
}
