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

// Segments of which more is gone than left are merged, too, if what is left is not much, and those of which nothing is
// left in any case.
func TestMergesTakeWhatIsMostlyGone(t *testing.T) {
	for _, c := range []struct{ gone, loose, segments int }{
		{19, 0, 1}, {21, 0, 0}, {21, 14, 1}, {40, 0, 0}, {40, 60, 0},
	} {
		x := New(loci.Space{})
		key := KeyOf(record(1, loci.Namespace{"u"}, "apple"))
		x.AddShard(key)
		for id := range 40 {
			x.Upsert(record(id+1, loci.Namespace{"u"}, "apple"), nil)
		}
		shelve(t, x, key)
		for id := range c.gone {
			x.Remove(key.Namespace, record(id+1, loci.Namespace{"u"}, "apple").ID)
		}
		for id := range c.loose {
			x.Upsert(record(100+id, loci.Namespace{"u"}, "apple"), nil)
		}
		if x.Merge(key, 16); x.Shelved(key) != c.segments {
			t.Errorf("%d of 40 gone, %d on the heap: %d segments are left, want %d", c.gone, c.loose, x.Shelved(key), c.segments)
		}
		if n := x.Records(key); n != 40-c.gone+c.loose {
			t.Errorf("there are %d records, want %d", n, 40-c.gone+c.loose)
		}
	}
}
