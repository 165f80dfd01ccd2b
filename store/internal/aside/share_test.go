package aside

import (
	"slices"
	"testing"
	"time"
)

// Who was not searched for a while gives way first, then who holds more than its share, then
// who was not searched for longest.
func TestClaims(t *testing.T) {
	t.Parallel()
	now := time.Now()
	holders := []Holder[string]{
		{"heavy", 60, now},
		{"small", 10, now.Add(-2 * time.Second)},
		{"forgotten", 5, now.Add(-2 * recent)},
		{"large", 40, now.Add(-time.Second)},
		{"older", 8, now.Add(-3 * recent)},
		{"quiet", 26, now.Add(-3 * time.Second)},
	}
	// Four share 100: 25 each.
	want := []Claim[string]{
		{"older", 8},
		{"forgotten", 5},
		{"heavy", 35},
		{"large", 15},
		{"quiet", 25},
		{"small", 10},
		{"large", 25},
		{"heavy", 25},
	}
	if got := Claims(holders, 100, now); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := Claims(holders[4:5], 100, now); !slices.Equal(got, want[:1]) {
		t.Errorf("nobody was searched lately: %v", got)
	}
	if got := Claims[string](nil, 100, now); len(got) > 0 {
		t.Errorf("nobody: %v", got)
	}
}
