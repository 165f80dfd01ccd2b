package batch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A counter commits changes of a tenant as a store does, and keeps what a table would.
type counter struct {
	*testing.T
	tenant  loci.Tenant
	state   State
	table   Tallies
	records map[loci.ID]*Held
	places  map[loci.Mark]*Place
	spaces  map[loci.Space]int64
	folds   int

	vectors map[loci.ID]map[int64]bool // spaces of what was written
}

func newCounter(t *testing.T) *counter {
	tenant, err := loci.NewTenant("counted")
	if err != nil {
		t.Fatal(err)
	}
	return &counter{
		T: t, tenant: tenant, table: Tallies{}, records: map[loci.ID]*Held{}, places: map[loci.Mark]*Place{},
		spaces: map[loci.Space]int64{}, vectors: map[loci.ID]map[int64]bool{},
		state: State{There: true, NameKey: loci.NewNameKey(), Tally: EmptyTally(0)},
	}
}

// commit runs a batch and requires that what is kept is what there is.
func (c *counter) commit(do func(*Batch)) {
	c.Helper()
	b := New(c.tenant, func(ops *Ops) {
		for _, n := range ops.Tallies {
			c.table.Add(n.TallyKey, n.Amounts)
			c.folds++
		}
		c.write(ops)
	})
	b.Found, b.Records, b.Places, b.Spaces = c.state, c.records, c.places, c.spaces
	b.Found.Seq++
	b.Begin()
	do(&b)
	b.Finish()
	c.state = b.State
	if len(c.state.Tally) > maxTally {
		c.Errorf("the tenant's row takes %d bytes of counts", len(c.state.Tally))
	}
	kept, known := c.state.Tallied(c.state.Seq)
	if !known {
		c.Fatal("the counts are not known")
	}
	if _, known := c.state.Tallied(c.state.Seq + 1); known {
		c.Fatal("the counts are known of a change that did not keep them")
	}
	kept.AddAll(c.table)
	want := Tallies{}
	for id, r := range c.records {
		n := Amounts{Records: 1, Passages: r.Passages, Bytes: r.Bytes}
		if r.Live && r.Passages > 0 {
			n.Searched = 1
		}
		want.Add(TallyKey{Namespace: r.Namespace, Kind: r.Kind, Status: r.Status, Live: r.Live}, n)
		for space := range c.vectors[id] {
			of := TallyKey{Namespace: r.Namespace, Kind: r.Kind, Space: space}
			want.Add(of, Amounts{Records: 1, Searched: n.Searched})
		}
	}
	if n := kept.Differ(want); n > 0 {
		c.Fatalf("%d counts differ: kept are %+v, there are %+v", n, kept, want)
	}
}

// write notes which vectors there are.
func (c *counter) write(ops *Ops) {
	for _, id := range ops.Erased {
		delete(c.vectors, id)
	}
	for _, u := range ops.Updates {
		if u.Put != nil && !u.Put.SameText {
			delete(c.vectors, u.Put.Record.ID)
		}
	}
	for _, v := range ops.Vectors {
		if c.vectors[v.Record] == nil {
			c.vectors[v.Record] = map[int64]bool{}
		}
		c.vectors[v.Record][v.Space] = true
	}
}

// Counts follow every change: what comes, changes its state, its text or its vectors, and goes.
func TestCountsFollowChanges(t *testing.T) {
	c := newCounter(t)
	r := rand.New(rand.NewPCG(1, 2))
	spaces := []loci.Space{{Model: "a", Dims: 2}, {Model: "b", Dims: 2}}
	var ids []loci.ID
	vectors := func(n int) loci.Vectors {
		v := loci.Vectors{Space: spaces[r.IntN(2)]}
		for range n {
			v.Rows = append(v.Rows, []float32{1, 0})
		}
		return v
	}
	at := time.Unix(1e9, 0)
	for range 600 {
		c.commit(func(b *Batch) {
			for range 1 + r.IntN(3) {
				var change loci.Change
				text := "some text"[:1+r.IntN(9)]
				put := loci.Put{Record: loci.Record{
					ID: loci.NewID(), Kind: loci.Kind([]string{"note", "item"}[r.IntN(2)]), Version: 1, Text: text,
					Namespace: loci.Namespace{string(rune('a' + r.IntN(20)))}, CreatedAt: at, UpdatedAt: at,
					Live: r.IntN(4) > 0, Status: []string{"", "done"}[r.IntN(2)],
					Passages: []loci.Span{{Start: 0, End: len(text)}}[:r.IntN(2)],
				}}
				id := put.Record.ID
				if len(ids) > 0 {
					id = ids[r.IntN(len(ids))]
				}
				old := b.Records[id]
				switch n := r.IntN(6); {
				case n == 0 && old != nil:
					change.Erase = []loci.Erase{{ID: id, Version: old.Version}}
				case n == 1 && old != nil:
					later := loci.RecordVectors{ID: id, Version: old.Version, Vectors: vectors(int(old.Passages))}
					b.PutVectors([]loci.RecordVectors{later})
					continue
				case n < 4 && old != nil:
					put.Record.ID, put.Record.Version, put.Record.Kind = id, old.Version+1, old.Kind
					for mark, place := range b.Places {
						if place.N == old.Namespace {
							put.Record.Namespace = loci.NamespaceFromKey(b.Places[mark].Key)
						}
					}
					put.SameText = r.IntN(2) == 0
					fallthrough
				default:
					if n := len(put.Record.Passages); n > 0 && r.IntN(2) == 0 {
						put.Vectors = []loci.Vectors{vectors(n)}
					}
					change.Put = []loci.Put{put}
					ids = append(ids, put.Record.ID)
				}
				if err := b.Apply(&change); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if c.folds == 0 {
		t.Error("nothing went to the table")
	}
	c.commit(func(b *Batch) {
		c.table = Tallies{}
		b.Forget()
	})
	if !slices.Equal(c.state.Tally, EmptyTally(c.state.Seq)) {
		t.Error("an erased tenant has counts")
	}
}
