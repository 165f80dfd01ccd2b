package intake

import (
	"fmt"
	"strings"
	"testing"
)

// TestWeight: what costs more weighs more, and a record of an export always fits.
func TestWeight(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		line string
		want int
	}{
		{`{"type":"header"}`, 2},
		{`{"type":"end","records":1}`, 2},
		{`{"type":"link"}`, 2},
		{`{"type":"revision","text":"` + long(1000) + `"}`, 2},
		{`{"type":"revision","text":"` + long(4000) + `"}`, 4},
		{`{"type":"record"}`, 5},
		{`{"type":"record","text":"` + long(1050) + `"}`, 15},
		{`{"type":"record","text":"` + strings.Repeat("ж", 210) + `"}`, 13},
		{`{"type":"record","text":"` + strings.Repeat("ab-cd ", 210) + `"}`, 27},
		{`{"type":"record","text":"` + strings.Repeat("a-b-C", 210) + `"}`, 35},
		{`{"type":"record","text":"` + strings.Repeat("--1-2 - ж-ж-", 105) + `"}`, 23},
		{`{"type":"record","body":"` + long(20_000) + `"}`, 15},
		{`{"type":"record","text":"` + long(8_000_000) + `"}`, 10_000},
		{`{"type":"relation"}`, 5},
		{`{"type":"entity","name":"a"}`, 5},
		{`{"type":"entity","name":"a","observations":["","",""]}`, 15},
		{`{"type":"entity","name":"` + long(1500) + `","observations":["","",""]}`, 58},
		{`no JSON`, 5},
	} {
		if got := Weight([]byte(c.line)); got != c.want {
			t.Errorf("%.60s: %d, want %d", c.line, got, c.want)
		}
	}
	// A short line may be many records, each with a name that is long.
	many := fmt.Sprintf(`{"type":"entity","name":"%s","observations":[%s""]}`, long(200_000), strings.Repeat(`"",`, 9_999))
	if got := Weight([]byte(many)); got < 10*MaxWeight {
		t.Errorf("an entity of 2 GB of notes weighs %d", got)
	}
}
