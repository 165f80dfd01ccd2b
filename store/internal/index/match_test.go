package index

import (
	"testing"

	"github.com/loci-memory/loci"
)

// Where few passages are searched, the limit for few of them holds.
func TestFewHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	x, key := New(loci.Space{}), keysOf()[0]
	x.AddShard(key)
	hits := func(few int) int {
		t.Helper()
		found, err := x.Match(loci.Probe{Text: "zebra", Few: few}, loci.Filter{Within: places[:1]}, 7, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for i := range 4999 {
		x.Upsert(record(i, places[0], "zebra"), nil)
	}
	if got := []int{hits(0), hits(20), hits(3)}; got[0] != 7 || got[1] != 20 || got[2] != 3 {
		t.Errorf("of 4,999 passages %v are found", got)
	}
	x.Upsert(record(4999, places[0], "zebra"), nil)
	if got := []int{hits(0), hits(20), hits(3)}; got[0] != 7 || got[1] != 7 || got[2] != 7 {
		t.Errorf("of 5,000 passages %v are found", got)
	}
}
