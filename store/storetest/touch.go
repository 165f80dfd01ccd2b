package storetest

import (
	"time"

	"github.com/loci-memory/loci"
)

var touchCases = []testCase{
	{"a touch counts a use and is no edit", func(b *bench) {
		r := record(1, "walrus")
		b.apply(changeOf(embedded(r, 0.5)))
		before := b.state()
		b.touch(loci.Touch{ID: r.ID, At: at(50)})
		b.touch(loci.Touch{ID: r.ID, At: at(60)}, loci.Touch{ID: r.ID, At: at(70)})
		after := b.state()
		want := r
		want.Uses, want.UsedAt = 3, at(70)
		b.same("record", after.Records, []loci.Record{want})
		after.Records = before.Records
		b.same("all but the record", after, before)
		b.put(next(want)) // the version is still 1
	}},
	{"uses of the past count, too", func(b *bench) {
		r := record(1, "")
		r.Uses, r.UsedAt = 41, at(10)
		b.put(r)
		b.touch(loci.Touch{ID: r.ID, At: at(20)})
		if got := b.get(r.ID); got.Uses != 42 || !got.UsedAt.Equal(at(20)) {
			b.Errorf("%d uses, the last at %v; want 42 at %v", got.Uses, got.UsedAt, at(20))
		}
	}},
	{"a touch without a time counts no use", func(b *bench) {
		r := record(1, "")
		r.Uses, r.UsedAt, r.ExpiresAt = 5, at(10), at(100)
		b.put(r)
		b.touch(loci.Touch{ID: r.ID, ExpiresAt: at(200)})
		want := r
		want.ExpiresAt = at(200)
		b.same("record", b.get(r.ID), &want)
		b.touch(loci.Touch{ID: r.ID, At: at(20)})
		want.Uses, want.UsedAt = 6, at(20)
		b.same("record", b.get(r.ID), &want)
	}},
	{"an expiry for an older state is left out", func(b *bench) {
		r := record(1, "walrus")
		r.ExpiresAt = at(100)
		b.put(r)
		want := next(r)
		want.ExpiresAt = time.Time{}
		b.put(want) // between the read and its touch, somebody wrote without an expiry
		b.touch(loci.Touch{ID: r.ID, Version: 1, At: at(50), ExpiresAt: at(200)})
		want.Uses, want.UsedAt = 1, at(50)
		b.same("record", b.get(r.ID), &want)
		b.touch(loci.Touch{ID: r.ID, Version: 2, ExpiresAt: at(300)})
		want.ExpiresAt = at(300)
		b.same("record", b.get(r.ID), &want)
	}},
	{"a put does not undo uses", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.touch(loci.Touch{ID: r.ID, At: at(50)}) // between the read and the write of an edit
		b.put(next(r))
		want := next(r)
		want.Uses, want.UsedAt = 1, at(50)
		b.same("record", b.get(r.ID), &want)
	}},
	{"unknown ids are passed over", func(b *bench) {
		r := record(1, "")
		b.put(r)
		b.unchanged("touching nothing", func() {
			b.touch()
			b.touch(loci.Touch{ID: id(7), At: at(50), ExpiresAt: at(60)})
		})
		b.touch(loci.Touch{ID: id(7), At: at(50)}, loci.Touch{ID: r.ID, At: at(50)}, loci.Touch{ID: id(8), At: at(50)})
		if got := b.get(r.ID); got.Uses != 1 {
			b.Errorf("%d uses; want 1", got.Uses)
		}
		if len(b.state().Records) != 1 {
			b.Error("a touch made a record")
		}
	}},
	{"an erased record is not touched back", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.apply(erasure(r))
		b.unchanged("touching the erased", func() { b.touch(loci.Touch{ID: r.ID, At: at(50), ExpiresAt: at(60)}) })
	}},
	{"a moved expiry counts at once", func(b *bench) {
		r := record(1, "walrus")
		r.ExpiresAt = at(100)
		b.apply(changeOf(embedded(r, 0.5)))
		now := loci.Filter{Within: everywhere, At: at(150)}
		look := func(what string, want []loci.ID) {
			b.Helper()
			b.same("Records "+what, recordIDs(b.all(now)), want)
			b.same("Match by keyword "+what, hitIDs(b.match(words("walrus"), now, 10)), want)
			b.same("Match by similarity "+what, hitIDs(b.match(direction(spaceA), now, 10)), want)
			counts, err := b.store.Count(b.Context(), b.tenant, now)
			b.must("Count", err)
			if counts.Records != int64(len(want)) {
				b.Errorf("Count %s: %d records; want %d", what, counts.Records, len(want))
			}
		}
		look("after the expiry", nil)
		b.touch(loci.Touch{ID: r.ID, ExpiresAt: at(151)})
		look("after it was moved on", ids(1))
		b.touch(loci.Touch{ID: r.ID, ExpiresAt: at(150)})
		look("after it was moved back to the moment", nil)
		b.touch(loci.Touch{ID: r.ID, At: at(140)})
		look("after a use", nil)
	}},
	{"many touches at once", func(b *bench) {
		const n = 500
		var c loci.Change
		var touches []loci.Touch
		for i := range n {
			made := creation(record(i+1, ""))
			c.Put, c.Events = append(c.Put, made.Put...), append(c.Events, made.Events...)
			touches = append(touches, loci.Touch{ID: id(i + 1), At: at(1000 + i)})
		}
		b.apply(c)
		b.touch(touches...)
		for _, r := range b.all(loci.Filter{Within: everywhere}) {
			if r.Uses != 1 || r.UsedAt.Before(at(1000)) {
				b.Fatalf("record %v has %d uses, the last at %v", r.ID, r.Uses, r.UsedAt)
			}
		}
	}},
}

// touch counts uses and moves expiry times; it must succeed.
func (b *bench) touch(touches ...loci.Touch) {
	b.Helper()
	b.must("Touch", b.store.Touch(b.Context(), b.tenant, touches))
}
