package followtest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/store/internal/follow"
)

// besideWrites: what comes while a shard is read, and what changes of that which was read, is read once, and no
// segment holds it twice.
func besideWrites(b *bench) {
	s, other := b.open(), b.open()
	s.fill(0, 60)
	come, edited := 60, 0
	s.Shelf().Reading = func(string) {
		if come < 100 {
			other.fill(come, come+8)
			other.put(edited, 2, fmt.Sprint("edited walrus number", edited))
			come, edited = come+8, edited+1
		}
	}
	if n := s.reads(func() { s.answers() }); come < 100 || n > int64(come+edited) {
		b.Errorf("%d records were read, of %d and %d edited", n, come, edited)
	}
	s.Shelf().Reading = nil
	gone := 0
	b.EditImage(b.T, func(v string) string {
		var m follow.Image
		if err := json.Unmarshal([]byte(v), &m); err != nil {
			b.Fatal(err)
		}
		for _, k := range m.Segments {
			gone += len(k.Gone)
		}
		return v
	})
	if gone > edited {
		b.Errorf("%d entries of segments are gone; %d were edited", gone, edited)
	}
	b.same("from the records", b.open().answers(), b.fromRecords())
}

// inParts: an image that is far behind is brought to the tenant in segments as large as all others.
func inParts(b *bench) {
	s := b.open()
	s.fill(0, 100)
	s.answers()
	s.tidy()
	kept := b.segments()
	for n := range 96 {
		s.put(n, 2, fmt.Sprint("edited walrus number", n))
	}
	next := b.open()
	got := next.answers()
	fresh := slices.DeleteFunc(b.segments(), func(name string) bool { return slices.Contains(kept, name) })
	if len(fresh) < 3 {
		b.Errorf("96 records that changed are in %d segments", len(fresh))
	}
	b.same("from the records", got, b.fromRecords())
}
