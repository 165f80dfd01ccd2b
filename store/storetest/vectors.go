package storetest

import (
	"fmt"

	"github.com/loci-memory/loci"
)

var vectorCases = []testCase{
	{"spaces are never mixed", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.9),
			loci.Put{Record: record(2, "walrus"), Vectors: vectors(spaceB, leaning(spaceB, 0.8))},
			loci.Put{Record: record(3, "walrus"), Vectors: vectors(spaceC, leaning(spaceC, 0.7))},
			loci.Put{Record: record(4, "walrus")}))
		for space, own := range map[loci.Space]int{spaceA: 1, spaceB: 2, spaceC: 3} {
			b.same("hits by similarity", b.found(direction(space)), ids(own))
			for _, h := range b.match(both("walrus", space), loci.Filter{}, 10) {
				if h.Embedded != (h.ID == id(own)) || (h.VectorRank != 0) != (h.ID == id(own)) {
					b.Errorf("in %v: hit %+v", space, h)
				}
			}
		}
		b.same("hits in an unknown space", b.found(loci.Probe{Vector: axis(spaceA), Space: loci.Space{Model: "Model-a", Dims: 8}}), nil)
		b.wantSpaces(map[loci.Space]int64{spaceA: 1, spaceB: 1, spaceC: 1})
	}},
	{"a record may have vectors in several spaces", func(b *bench) {
		r := record(1, "walrus")
		b.apply(changeOf(embedded(r, 0.9)))
		b.putVectors(rowsOf(r, spaceB, 0.5), rowsOf(r, spaceC, 0.3))
		for space, want := range map[loci.Space]float64{spaceA: 0.9, spaceB: 0.5, spaceC: 0.3} {
			b.near("similarity", b.byID(direction(space), 10)[r.ID].Similarity, want)
		}
		b.wantSpaces(map[loci.Space]int64{spaceA: 1, spaceB: 1, spaceC: 1})
	}},
	{"the same text keeps its passages and vectors", func(b *bench) {
		r := fullRecordOfOnePassage(1)
		b.apply(changeOf(embedded(r, 0.9)))
		b.putVectors(rowsOf(r, spaceB, 0.5))
		before := b.match(both("walrus", spaceA), loci.Filter{}, 10)
		r = next(r)
		r.Tags = []string{"new"}
		// Vectors are ignored with SameText.
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Vectors: vectors(spaceA, leaning(spaceA, 0.1))}))
		b.same("record", b.get(r.ID), &r)
		before[0].Version = 2
		b.same("hits", b.match(both("walrus", spaceA), loci.Filter{}, 10), before)
		b.near("similarity in the other space", b.byID(direction(spaceB), 10)[r.ID].Similarity, 0.5)
	}},
	{"a changed text drops the vectors of every space", func(b *bench) {
		for n, after := range map[int][]loci.Vectors{
			1: nil, 2: vectors(spaceA, leaning(spaceA, 0.2)), 3: vectors(spaceC, leaning(spaceC, 0.4)),
		} {
			r := record(n, "walrus")
			b.apply(changeOf(embedded(r, 0.9)))
			b.putVectors(rowsOf(r, spaceB, 0.5))
			r = next(r)
			r.Text, r.Passages = cut("telescope")
			b.apply(changeOf(loci.Put{Record: r, Vectors: after}))
		}
		b.wantSpaces(map[loci.Space]int64{spaceA: 1, spaceC: 1})
		b.same("hits in space A", b.found(direction(spaceA)), ids(2))
		b.near("similarity in space A", b.byID(direction(spaceA), 10)[id(2)].Similarity, 0.2)
		b.same("hits in space B", b.found(direction(spaceB)), nil)
		b.same("hits in space C", b.found(direction(spaceC)), ids(3))
		b.same("hits of the old word", b.found(words("walrus")), nil)
	}},
	{"vectors are put for the current version alone", func(b *bench) {
		r := record(1, "walrus")
		b.put(r, next(r), record(2, "telescope"))
		b.unchanged("vectors of another version", func() {
			b.putVectors()
			b.putVectors(rowsOf(r, spaceA, 0.5))
			b.putVectors(rowsOf(next(next(r)), spaceA, 0.5), rowsOf(record(7, ""), spaceA, 0.5))
		})
		before := b.state()
		b.putVectors(rowsOf(r, spaceA, 0.1), rowsOf(next(r), spaceA, 0.6), rowsOf(record(7, ""), spaceA, 0.5),
			rowsOf(record(2, ""), spaceA, 0.7))
		b.same("hits", b.found(direction(spaceA)), ids(2, 1))
		b.near("similarity", b.byID(direction(spaceA), 10)[r.ID].Similarity, 0.6)
		after := b.state()
		b.same("records", after.Records, before.Records)
		b.same("events", after.Events, before.Events)
		b.putVectors(rowsOf(next(r), spaceA, 0.3)) // a second time replaces
		b.near("similarity", b.byID(direction(spaceA), 10)[r.ID].Similarity, 0.3)
		b.wantSpaces(map[loci.Space]int64{spaceA: 2})
	}},
	{"an erased record is not embedded back", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.apply(erasure(r))
		b.unchanged("vectors for the erased", func() { b.putVectors(rowsOf(r, spaceA, 0.5)) })
	}},
	{"what lacks vectors is listed by id, page by page", func(b *bench) {
		var want []loci.ID
		for n := 1; n <= 40; n++ {
			r := record(n, "walrus")
			r.CreatedAt = at(1000 - n) // imports bring times that disagree with ids
			switch n % 5 {
			case 0:
				b.apply(changeOf(embedded(r, 0.5)))
			case 1:
				r.Live = false
				b.put(r)
			case 2:
				r.Text, r.Passages = "not searched", nil
				b.put(r)
			default:
				b.put(r)
				want = append(want, r.ID)
			}
		}
		for _, limit := range []int{1, 3, 15, 16, 17, 1000} {
			var got []loci.ID
			for after := (loci.ID{}); ; {
				records, err := b.store.Unembedded(b.Context(), b.tenant, spaceA, after, limit)
				b.must("Unembedded", err)
				if len(records) == 0 {
					break
				}
				if len(records) > limit {
					b.Fatalf("%d records; the limit is %d", len(records), limit)
				}
				got = append(got, recordIDs(records)...)
				after = records[len(records)-1].ID
			}
			b.same(fmt.Sprint("ids, so many at once: ", limit), got, want)
		}
		for _, limit := range []int{0, -1} {
			records, err := b.store.Unembedded(b.Context(), b.tenant, spaceA, loci.ID{}, limit)
			if len(records) > 0 || err != nil && codeOf(err) != loci.Invalid {
				b.Errorf("limit %d: %d records, error %v; want none, or Invalid", limit, len(records), err)
			}
		}
		full, err := b.store.Unembedded(b.Context(), b.tenant, spaceA, loci.ID{}, 1)
		b.must("Unembedded", err)
		b.same("the record", full, []loci.Record{*b.get(want[0])})
		other, err := b.store.Unembedded(b.Context(), b.tenant, spaceB, loci.ID{}, 1000)
		b.must("Unembedded", err)
		if len(other) != 24 {
			b.Errorf("%d records lack vectors in another space; want 24", len(other))
		}
	}},
	{"putting vectors completes a record", func(b *bench) {
		b.put(record(1, "walrus"), record(2, "telescope"))
		for n := 1; n <= 2; n++ {
			records, err := b.store.Unembedded(b.Context(), b.tenant, spaceA, loci.ID{}, 10)
			b.must("Unembedded", err)
			if len(records) != 3-n || records[0].ID != id(n) {
				b.Fatalf("records %v lack vectors", recordIDs(records))
			}
			b.putVectors(rowsOf(records[0], spaceA, 0.5))
		}
		records, err := b.store.Unembedded(b.Context(), b.tenant, spaceA, loci.ID{}, 10)
		b.must("Unembedded", err)
		b.same("records that lack vectors", records, nil)
	}},
	{"a space may be of 1 to 4096 dimensions", func(b *bench) {
		for i, dims := range []int{1, 2, 3, 7, 31, 257, 1024, 4096} {
			space := loci.Space{Model: "dims", Dims: dims}
			v := make([]float32, dims)
			v[dims-1] = 1
			b.apply(changeOf(loci.Put{Record: record(i+1, "x"), Vectors: vectors(space, v)}))
			hits := b.match(loci.Probe{Vector: v, Space: space}, loci.Filter{}, 10)
			b.same("hits", hitIDs(hits), ids(i+1))
			b.near(fmt.Sprint("similarity in dimensions ", dims), hits[0].Similarity, 1)
		}
	}},
	{"odd names of models are names", func(b *bench) {
		for i, model := range []string{"a", "A", "a/b", "openai/text-embedding-3:large", "á", "a\u0301", "'", "%", "日本", " "} {
			space := loci.Space{Model: model, Dims: 8}
			b.apply(changeOf(loci.Put{Record: record(i+1, "x"), Vectors: vectors(space, axis(space))}))
			b.same("hits", b.found(direction(space)), ids(i+1))
		}
	}},
}

// rowsOf are vectors for a record of one passage.
func rowsOf(r loci.Record, s loci.Space, similarity float64) loci.RecordVectors {
	return loci.RecordVectors{ID: r.ID, Version: r.Version, Vectors: vectors(s, leaning(s, similarity))[0]}
}

// putVectors stores vectors; it must succeed.
func (b *bench) putVectors(vectors ...loci.RecordVectors) {
	b.Helper()
	b.must("PutVectors", b.store.PutVectors(b.Context(), b.tenant, vectors))
}

// wantSpaces requires how many records each space covers.
func (b *bench) wantSpaces(want map[loci.Space]int64) {
	b.Helper()
	got, err := b.store.Spaces(b.Context(), b.tenant)
	b.must("Spaces", err)
	b.same("spaces", got, want)
}
