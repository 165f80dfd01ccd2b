package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A search that guesses has the hits and scores, to the bit, of one that asks the filter about each entry that gets
// among the best: over segments and the heap, of records of several passages, with equal scores,
// of which the filter refuses none, some or most, and what is removed.
func TestGuessingMakesNoDifference(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(31, 32))
	now := time.UnixMilli(1_700_000_000_000).UTC()
	text := func() string { return fmt.Sprintf("w%d w%d w%d", random.IntN(9), random.IntN(30), random.IntN(5)) }
	right, failed := 0, 0
	for name, long := range map[string]int{"one passage": 0, "some of several": 4, "all of several": 1} {
		guessing, asking := New(space), New(space)
		guessing.guessFrom, asking.guessFrom = 0, 1<<40
		both := []*Index{guessing, asking}
		for _, x := range both {
			for _, key := range keysOf() {
				x.AddShard(key)
			}
		}
		const records = 1200
		var made []*loci.Record
		for i := range records {
			passages := []string{text()}
			if long > 0 && i%long == 0 {
				passages = append(passages, text(), passages[0])
			}
			r := record(i, places[min(random.IntN(6), 2)], passages...)
			r.Kind, r.Scope = kinds[min(random.IntN(8), 1)], []string{"", "few"}[min(i%20, 1)]
			if r.CreatedAt = now; i%3 == 0 {
				r.ExpiresAt = now.Add(time.Duration(random.IntN(100)) * time.Hour)
			}
			made = append(made, r)
			c := codes(r, uint64(i))
			for n, x := range both {
				if x.Upsert(r, c); i == 700 || i == 1000 {
					for _, key := range keysOf() {
						shelve(t, both[n], key)
					}
				}
			}
		}
		for round := range 3 {
			for range 60 {
				p := loci.Probe{Text: text(), Space: space, Vector: make([]float32, space.Dims)}
				p.Vector[random.IntN(space.Dims)], p.Vector[random.IntN(space.Dims)] = 1, 1
				f := loci.Filter{Within: []loci.Namespace{{"u"}, {"v"}}[:1+random.IntN(2)]}
				f.At = now.Add(time.Duration(random.IntN(100)) * time.Hour)
				if random.IntN(4) == 0 {
					f.Scopes = []string{"", "few"}[:1]
				}
				limit := 1 + random.IntN(60)
				want, err := asking.Match(p, f, limit, nil)
				if err != nil {
					t.Fatal(err)
				}
				guessing.unguessed.Store(0)
				got, err := guessing.Match(p, f, limit, nil)
				if guessing.unguessed.Load() > 0 {
					failed++
				} else {
					right++
				}
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, round %d, %q, %d of %+v: guessing\n%+v, %v\nasking\n%+v",
						name, round, p.Text, limit, f, got, err, want)
				}
			}
			for range records / 6 {
				r := made[random.IntN(records)]
				for _, x := range both {
					x.Remove(r.Namespace.Key(), r.ID)
				}
			}
		}
	}
	if min(right, failed) < 50 {
		t.Errorf("%d guesses were right and %d failed", right, failed)
	}
}

// Where the filter knows better of most, all is looked at, and the next lists are made without a guess.
func TestGuessesThatFail(t *testing.T) {
	t.Parallel()
	x, here := New(space), loci.Namespace{"u"}
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	for i := range 400 {
		r := record(i, here, fmt.Sprintf("w%d", i%7))
		if r.Scope = "many"; i%10 == 0 {
			r.Scope = "few"
		}
		x.Upsert(r, codes(r, uint64(i)))
	}
	p := loci.Probe{Space: space, Vector: make([]float32, space.Dims)}
	p.Vector[0] = 1
	search := func(scope string, want int) {
		t.Helper()
		f := loci.Filter{Within: []loci.Namespace{here}, Scopes: []string{scope}}
		hits, err := x.Match(p, f, 20, nil)
		if err != nil || len(hits) != min(want, 20) ||
			slices.ContainsFunc(hits, func(h loci.Hit) bool { return h.VectorRank == 0 }) {
			t.Errorf("of %s there are %d, %v", scope, len(hits), err)
		}
	}
	search("many", 360)
	if n := x.unguessed.Load(); n != 0 {
		t.Errorf("after a guess that was right %d lists are made without one", n)
	}
	search("few", 40)
	if n := x.unguessed.Load(); n != unguessed {
		t.Errorf("after one that was wrong it is %d", n)
	}
	for range 2 * unguessed {
		search("many", 360)
	}
	if n := x.unguessed.Load(); n != 0 {
		t.Errorf("in the end it is %d", n)
	}
}

// The greatest numbers stay, as many as there is room for, the least in front.
func TestFloats(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(33, 34))
	for n := 1; n < 40; n++ {
		best, all := make(floats, 0, n), []float64(nil)
		for range 2 * n {
			x := float64(random.IntN(n))
			best.push(x)
			all = append(all, x)
			slices.Sort(all)
			want := all[max(0, len(all)-n):]
			if best[0] != want[0] {
				t.Fatalf("in front of %v is %v", want, best[0])
			}
			if got := slices.Sorted(slices.Values(best)); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
}

// A guess keeps room for its best rows, not for all that were among them for a while.
func TestAGuessKeepsItsBestRowsAlone(t *testing.T) {
	t.Parallel()
	var rows []row
	for n := range 100_000 { // each is better than all before
		rows = append(withRoom(rows, float64(n-40)), row{score: float64(n)})
	}
	if cap(rows) > 200 {
		t.Errorf("there is room for %d rows, of which 40 are wanted", cap(rows))
	}
}
