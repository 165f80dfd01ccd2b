package index

import (
	"testing"

	"github.com/loci-memory/loci"
)

// Small segments are merged as far as that takes little memory, however few records they have.
func TestMergesTakeLittleMemory(t *testing.T) {
	x := New(loci.Space{})
	key := KeyOf(record(1, loci.Namespace{"u"}, "apple"))
	x.AddShard(key)
	for id := 1; id < 7; id++ {
		x.Upsert(record(id, loci.Namespace{"u"}, "apple"), nil)
		if id%2 == 0 {
			shelve(t, x, key)
		}
	}
	size := int64(x.shards[key].segments[0].Size)
	for _, c := range []struct {
		bytes    int64
		segments int
	}{{size - 1, 3}, {size, 2}, {1 << 20, 0}} {
		x.merge(key, 100, c.bytes)
		if n := x.Shelved(key); n != c.segments {
			t.Errorf("up to %d bytes: %d segments are left, want %d", c.bytes, n, c.segments)
		}
	}
	if n := len(numbersFound(t, x, "apple")); n != 6 {
		t.Errorf("%d records are found, want 6", n)
	}
}
