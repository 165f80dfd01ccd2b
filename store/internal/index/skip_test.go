package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A search that skips has the hits and scores, to the bit, of one that reads all postings: over segments and
// the heap, several namespaces and kinds, equal texts, long and short passages, conversations of
// a few and of many, what is removed, tags and conditions.
func TestSkippingMakesNoDifference(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	word := func() string {
		n := int(120 * random.Float64() * random.Float64() * random.Float64())
		if n < 2 { // asked for together with what few have in its place
			return [][]string{{"casa", "🏠"}, {"running", "🏃"}}[n][random.IntN(40)/39]
		}
		return fmt.Sprintf("w%d", n)
	}
	text := func() string {
		words := make([]string, 1+random.IntN(1+random.IntN(30)))
		for i := range words {
			words[i] = word()
		}
		return strings.Join(words, " ")
	}
	for name, talks := range map[string]func(i int) string{
		"no conversations": func(int) string { return "" },
		"some":             func(i int) string { return []string{"", "a", fmt.Sprint("alone ", i), fmt.Sprint("talk ", i/20)}[i%4] },
		"one":              func(int) string { return "all" },
	} {
		skipping, reading := New(space), New(space)
		skipping.skipFrom, reading.skipFrom = 0, 1<<62
		both := []*Index{skipping, reading}
		for _, x := range both {
			for _, key := range keysOf() {
				x.AddShard(key)
			}
		}
		const records = 1800
		var made []*loci.Record
		for i := range records {
			passages := []string{text()}
			if i%7 == 0 {
				passages = append(passages, text(), passages[0])
			}
			if i > 0 && i%5 == 0 {
				passages = []string{made[random.IntN(i)].Text}
			}
			r := record(i, places[min(random.IntN(6), 2)], passages...)
			r.Kind = kinds[min(random.IntN(8), 1)]
			if r.Sequence = talks(i); r.Sequence != "" {
				r.Position = int64(random.IntN(records))
			}
			for n, tag := range []string{"half", "few"} {
				if i%[]int{2, 40}[n] == 0 {
					r.Tags = append(r.Tags, tag)
				}
			}
			made = append(made, r)
			c := codes(r, uint64(i))
			for _, x := range both {
				x.Upsert(r, c)
			}
			if i == 1000 || i == 1500 { // the rest stays on the heap
				for _, x := range both {
					for _, key := range keysOf() {
						shelve(t, x, key)
					}
				}
			}
		}
		for round := range 3 {
			skipping.readCost = []int{1, readCost, 1000}[round] // what is quicker makes no difference
			for range 25 {
				words := make([]string, 1+random.IntN([]int{6, 40}[random.IntN(8)/7]))
				for i := range words {
					words[i] = word()
				}
				p := conversation(loci.Probe{Text: strings.Join(words, " "), Space: space})
				if random.IntN(3) > 0 {
					p.Vector = make([]float32, space.Dims)
					p.Vector[random.IntN(space.Dims)] = 1
				}
				f := loci.Filter{Within: []loci.Namespace{{"u"}, {"v"}}[:1+random.IntN(2)]}
				switch random.IntN(6) {
				case 0:
					f.Tags = []string{"half"}
				case 1:
					f.Tags = []string{"few", "half"}
				case 2:
					f.Kinds = kinds[:1]
				}
				limit := 1 + random.IntN(40)
				want, err := reading.Match(p, f, limit, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := skipping.Match(p, f, limit, nil)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, round %d, %q, %d of %+v: skipping\n%+v, %v\nreading\n%+v",
						name, round, p.Text, limit, f, got, err, want)
				}
			}
			for range records / 6 { // what is removed stays in what is noted
				r := made[random.IntN(records)]
				for _, x := range both {
					x.Remove(r.Namespace.Key(), r.ID)
				}
			}
		}
	}
}
