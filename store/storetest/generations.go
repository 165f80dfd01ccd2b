package storetest

import (
	"fmt"

	"github.com/loci-memory/loci"
)

var generationCases = []testCase{
	{"spaces count the vectors of what is no longer live, too", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.9), embedded(record(2, "harbour"), 0.5)))
		gone := record(1, "walrus")
		gone.Version, gone.Live = 2, false
		b.apply(changeOf(loci.Put{Record: gone, SameText: true}))
		b.wantSpaces(map[loci.Space]int64{spaceA: 2})
		erase := []loci.Erase{{ID: id(1), Version: 2}}
		b.apply(loci.Change{Erase: erase, Events: []loci.Event{event(loci.EventErased, gone)}})
		b.wantSpaces(map[loci.Space]int64{spaceA: 1})
	}},
	{"the first vectors choose the active space", func(b *bench) {
		b.wantActive(loci.Space{})
		b.put(record(1, "walrus"))
		b.wantActive(loci.Space{})
		b.apply(changeOf(loci.Put{
			Record:  record(2, "walrus"),
			Vectors: append(vectors(spaceB, axis(spaceB)), vectors(spaceA, axis(spaceA))...),
		}))
		b.wantActive(spaceB)
		b.apply(changeOf(embedded(record(3, "walrus"), 0.5)))
		b.putVectors(rowsOf(record(1, ""), spaceC, 0.5))
		b.wantActive(spaceB)
		b.as("other", func() {
			b.put(record(1, "walrus"))
			b.putVectors(rowsOf(record(9, ""), spaceA, 0.5)) // passed over: there is no such record
			b.wantActive(loci.Space{})
			b.putVectors(rowsOf(record(1, ""), spaceC, 0.5))
			b.wantActive(spaceC)
		})
		b.wantActive(spaceB)
	}},
	{"a change of no effect chooses no space", func(b *bench) {
		b.put(record(1, "walrus"))
		b.conflict("a put of a taken id", changeOf(embedded(record(1, "walrus"), 0.5)))
		b.wantActive(loci.Space{})
	}},
	{"a put brings vectors of two spaces", func(b *bench) {
		b.apply(changeOf(loci.Put{Record: record(1, "walrus"),
			Vectors: append(vectors(spaceA, leaning(spaceA, 0.9)), vectors(spaceB, leaning(spaceB, 0.3))...)}))
		b.near("similarity", b.byID(direction(spaceA), 10)[id(1)].Similarity, 0.9)
		b.near("similarity in the other space", b.byID(direction(spaceB), 10)[id(1)].Similarity, 0.3)
		b.wantSpaces(map[loci.Space]int64{spaceA: 1, spaceB: 1})
	}},
	{"a switch is made once, and when nothing is missing", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.9), embedded(record(2, "walrus"), 0.5), loci.Put{Record: record(3, "no vectors")}))
		ended, silent := record(4, "not live"), record(5, "")
		ended.Live = false
		b.put(ended, silent)
		b.putVectors(rowsOf(record(1, ""), spaceB, 0.1))
		switchTo := func(from, to loci.Space, lacking int64) error {
			return b.store.SwitchSpace(b.Context(), b.tenant, from, to, lacking)
		}
		b.unchanged("refused switches", func() {
			b.refused("a switch with two missing", switchTo(spaceA, spaceB, 1), loci.Conflict)
			b.refused("a switch from another space", switchTo(spaceB, spaceC, 9), loci.Conflict)
			b.refused("a switch from none", switchTo(loci.Space{}, spaceB, 9), loci.Conflict)
			b.refused("a switch to none", switchTo(spaceA, loci.Space{}, 9), loci.Invalid)
		})
		b.must("SwitchSpace", switchTo(spaceA, spaceB, 2))
		b.wantActive(spaceB)
		b.refused("a second switch", switchTo(spaceA, spaceB, 2), loci.Conflict)
		b.must("SwitchSpace back", switchTo(spaceB, spaceA, 1))
		b.must("SwitchSpace to itself", switchTo(spaceA, spaceA, 1))
		b.wantActive(spaceA)
	}},
	{"of many switches at once one is made", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.9)))
		won := make(chan int, writers)
		b.together(b.handles(), func(w int, s loci.Store) error {
			err := s.SwitchSpace(b.Context(), b.tenant, spaceA, loci.Space{Model: fmt.Sprint("model ", w), Dims: 8}, 1)
			if err == nil {
				won <- w
			} else if codeOf(err) != loci.Conflict {
				return err
			}
			return nil
		})
		if len(won) != 1 {
			b.Fatalf("%d switches were made", len(won))
		}
		b.wantActive(loci.Space{Model: fmt.Sprint("model ", <-won), Dims: 8})
	}},
	{"a change made for another active space conflicts", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.9)))
		expecting := func(active loci.Space, p loci.Put) loci.Change {
			c := changeOf(p)
			c.Active = &active
			return c
		}
		b.apply(expecting(spaceA, embedded(record(2, "walrus"), 0.5)))
		b.apply(expecting(spaceB, embedded(record(3, "walrus"), 0.5))) // it brings what is searched
		b.apply(expecting(spaceB, loci.Put{Record: record(4, "walrus")}))
		inB := loci.Put{Record: record(5, "walrus"), Vectors: vectors(spaceB, axis(spaceB))}
		b.conflict("vectors for another space", expecting(spaceB, inB))
		b.conflict("vectors for the first space", expecting(loci.Space{}, inB))
		b.conflict("the same name, other dimensions", expecting(spaceC, inB))
		b.apply(expecting(spaceA, inB)) // its embedder of A did not answer
		b.apply(changeOf(loci.Put{Record: record(6, "walrus"), Vectors: vectors(spaceB, axis(spaceB))}))
	}},
	{"dropped vectors are gone, and nothing else", func(b *bench) {
		const n = 25
		for i := 1; i <= n; i++ {
			b.apply(changeOf(loci.Put{Record: record(i, "walrus"),
				Vectors: append(vectors(spaceA, leaning(spaceA, 0.9)), vectors(spaceB, leaning(spaceB, 0.5))...)}))
		}
		if hits := b.found(direction(spaceB)); len(hits) != n { // an index of the space that is dropped
			b.Fatalf("%d hits", len(hits))
		}
		before := b.state()
		b.unchanged("dropping the active space", func() {
			_, err := b.store.DropVectors(b.Context(), b.tenant, spaceA, 10)
			b.refused("dropping the active space", err, loci.Conflict)
			got, err := b.store.DropVectors(b.Context(), b.tenant, spaceC, 10)
			b.must("DropVectors of a space without any", err)
			b.same("dropped", got, 0)
		})
		for _, want := range []int{10, 10, 5, 0} {
			got, err := b.store.DropVectors(b.Context(), b.tenant, spaceB, 10)
			b.must("DropVectors", err)
			b.same("dropped", got, want)
		}
		b.same("hits", b.found(direction(spaceB)), nil)
		b.wantSpaces(map[loci.Space]int64{spaceA: n})
		after := b.state()
		b.same("records", after.Records, before.Records)
		b.same("hits in the active space", b.match(both("harbour walrus", spaceA), loci.Filter{}, 3), before.Hits[4])
		b.putVectors(rowsOf(record(7, ""), spaceB, 0.4)) // the space may come again
		b.same("hits", b.found(direction(spaceB)), ids(7))
		if _, err := b.store.DropVectors(b.Context(), b.tenant, spaceB, 0); codeOf(err) != loci.Invalid {
			b.Errorf("a limit of 0: %v", err)
		}
	}},
	{"dropping in one tenant spares the others", func(b *bench) {
		b.stockMore()
		b.as("other", b.stockMore)
		n, err := b.store.DropVectors(b.Context(), b.tenant, spaceB, 100)
		b.must("DropVectors", err)
		b.same("dropped", n, 1)
		b.as("other", func() { b.wantSpaces(map[loci.Space]int64{spaceA: 2, spaceB: 1}) })
	}},
	{"an erase takes the vectors of every generation", func(b *bench) {
		r := record(1, "walrus")
		b.apply(changeOf(loci.Put{
			Record: r, Vectors: append(vectors(spaceA, axis(spaceA)), vectors(spaceB, axis(spaceB))...),
		}))
		b.apply(erasure(r))
		b.wantSpaces(map[loci.Space]int64{})
		b.same("hits", append(b.found(direction(spaceA)), b.found(direction(spaceB))...), nil)
		b.wantActive(spaceA)
	}},
	{"an erased tenant has no active space", func(b *bench) {
		b.stockMore()
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		b.wantActive(loci.Space{})
		b.apply(changeOf(loci.Put{Record: record(1, "walrus"), Vectors: vectors(spaceC, axis(spaceC))}))
		b.wantActive(spaceC)
	}},
	{"every handle follows a switch", func(b *bench) {
		handles := b.handles()
		r := record(1, "walrus")
		b.apply(changeOf(embedded(r, 0.9)))
		for i, step := range []struct{ from, to loci.Space }{{spaceA, spaceB}, {spaceB, spaceC}, {spaceC, spaceA}} {
			for _, h := range handles {
				b.store = h
				b.wantActive(step.from)
				b.same("hits", b.found(direction(step.from)), ids(1))
			}
			b.store = handles[i%len(handles)]
			b.putVectors(rowsOf(r, step.to, 0.5))
			b.must("SwitchSpace", b.store.SwitchSpace(b.Context(), b.tenant, step.from, step.to, 0))
			if n, err := b.store.DropVectors(b.Context(), b.tenant, step.from, 10); n != 1 || err != nil {
				b.Errorf("DropVectors: %d, %v", n, err)
			}
			for _, h := range handles {
				b.store = h
				b.wantActive(step.to)
				b.same("hits in the old space", b.found(direction(step.from)), nil)
				b.same("hits in the new space", b.found(direction(step.to)), ids(1))
				made := step.from // which a handle that wrote earlier may remember
				c := changeOf(loci.Put{Record: record(9, "walrus"), Vectors: vectors(step.from, axis(step.from))})
				c.Active = &made
				b.conflict("a write for the old space", c)
			}
		}
		b.store = handles[0]
	}},
}

// wantActive requires which space is the active one.
func (b *bench) wantActive(want loci.Space) {
	b.Helper()
	got, err := b.store.ActiveSpace(b.Context(), b.tenant)
	b.must("ActiveSpace", err)
	if got != want {
		b.Errorf("the active space is %v, want %v", got, want)
	}
}
