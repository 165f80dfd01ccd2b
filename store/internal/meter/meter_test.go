package meter_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/store/internal/meter"
)

// TestMeter: a commit counts by the first size that it fits, and one larger than all by itself.
func TestMeter(t *testing.T) {
	var m meter.Meter
	for _, writes := range []int{0, 1, 2, 3, 4, 256, 257} {
		m.Commit(writes)
	}
	m.Loaded(2)
	m.Dropped(1)
	w := m.Work()
	if !slices.Equal(w.Commits, []uint64{2, 1, 2, 0, 0, 0, 0, 0, 1, 1}) || w.Writes != 523 ||
		w.ShardsLoaded != 2 || w.ShardsDropped != 1 {
		t.Errorf("%+v", w)
	}
}
