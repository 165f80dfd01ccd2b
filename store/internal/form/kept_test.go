package form_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// menders note what is made again, up to the first that fails.
type menders struct {
	made  []string
	fails string
}

var errMending = errors.New("it fails")

func (m *menders) did(what string) error {
	m.made = append(m.made, what)
	if what == m.fails {
		return errMending
	}
	return nil
}

func (m *menders) Recount(context.Context, loci.Tenant) error    { return m.did("counts") }
func (m *menders) Redescribe(context.Context, loci.Tenant) error { return m.did("blocks") }
func (m *menders) Remeasure(context.Context, loci.Tenant) error  { return m.did("holding") }

// TestWhatIsWrongIsMadeAgain: what a check found wrong is said and made again, that alone; what is not known is counted,
// and no fault; the first failure ends it.
func TestWhatIsWrongIsMadeAgain(t *testing.T) {
	holding := loci.Holding{Records: 1, Bytes: 2}
	for name, c := range map[string]struct {
		kept   form.Kept
		fails  string
		faults int
		made   []string
	}{
		"nothing":         {form.Kept{Held: &holding, Really: holding}, "", 0, nil},
		"nothing is kept": {form.Kept{Really: holding}, "", 0, nil},
		"not known":       {form.Kept{Uncounted: true}, "", 0, []string{"counts"}},
		"counts":          {form.Kept{Wrong: 2}, "", 1, []string{"counts"}},
		"blocks":          {form.Kept{Misplaced: 2}, "", 1, []string{"blocks"}},
		"holding":         {form.Kept{Held: &loci.Holding{}, Really: holding}, "", 1, []string{"holding"}},
		"all": {
			form.Kept{Wrong: 1, Misplaced: 1, Held: &loci.Holding{}, Really: holding}, "", 3,
			[]string{"blocks", "counts", "holding"},
		},
		"blocks fail": {
			form.Kept{Wrong: 1, Misplaced: 1, Held: &loci.Holding{}, Really: holding}, "blocks", 2, []string{"blocks"},
		},
		"counts fail": {
			form.Kept{Wrong: 1, Held: &loci.Holding{}, Really: holding}, "counts", 1, []string{"counts"},
		},
	} {
		m := &menders{fails: c.fails}
		faults, err := c.kept.Mend(t.Context(), loci.Tenant{}, m)
		if len(faults) != c.faults || !slices.Equal(m.made, c.made) || (err != nil) != (c.fails != "") {
			t.Errorf("%s: faults %q, made again %q, %v; want %d, %q", name, faults, m.made, err, c.faults, c.made)
		}
	}
}
