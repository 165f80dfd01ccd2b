package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A packed list says what the list of a term does, also of what has no place in its numbers: words that stand more
// than four times in a passage, and long passages. Lists are kept within a bound, and none has a passage that is removed.
func TestPackedListsSayWhatListsDo(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 9))
	const records, words = 1500, 40
	x, key := New(space), keysOf()[0]
	x.AddShard(key)
	for i := range records {
		text := make([]string, 1+random.IntN([]int{30, 120}[i%20/19]))
		for n := range text {
			text[n] = fmt.Sprintf("w%d", int(words*random.Float64()*random.Float64()))
			if n > 0 && random.IntN(6) == 0 {
				text[n] = text[n-1]
			}
		}
		r := record(i, places[0], strings.Join(text, " "))
		x.Upsert(r, codes(r, uint64(i)))
	}
	shelve(t, x, key)
	m, room := x.shards[key].segments[0], new([]posting)
	kept, others, repeated := 0, 0, 0
	look := func() {
		t.Helper()
		for i := range words {
			term, ok := m.findTerm(fmt.Sprintf("w%d", i))
			if !ok {
				t.Fatal("nobody says a word")
			}
			p, list := m.packed(room, term), m.list(term)
			if few := m.Holders[term] < notedFrom; few != (p == nil) {
				t.Fatalf("%d passages say a word; its list is packed: %v", m.Holders[term], p != nil)
			} else if few {
				continue
			}
			for _, q := range list {
				if !p.has(q.Passage) {
					t.Fatalf("a packed list lacks passage %d", q.Passage)
				}
			}
			said := slices.Clone(p.others)
			for _, number := range p.list {
				q := posting{Passage: number >> 8, Count: number>>6&3 + 1}
				if length := m.Passages[q.Passage].Length; length != number&63 || !p.counts[q.Count-1] {
					t.Fatalf("passage %d has %d words, and in the packed list %d", q.Passage, length, number&63)
				}
				if said = append(said, q); q.Count > 1 {
					repeated++
				}
			}
			slices.SortFunc(said, func(a, b posting) int { return int(a.Passage) - int(b.Passage) })
			if !slices.Equal(said, list) {
				t.Fatalf("a packed list says %v, the list %v", said, list)
			}
			others += len(p.others)
		}
		all := 0
		for _, p := range m.packs {
			all += p.len()
		}
		if kept = len(m.packs); all != m.packedNow || all > keptPacked*records || kept == 0 {
			t.Fatalf("%d postings of %d words are kept, %d are counted; the bound is %d", all, kept, m.packedNow, keptPacked*records)
		}
	}
	look()
	if kept == words || others == 0 || repeated == 0 || m.packed(room, m.mustFind(t, "w1")).has(records) {
		t.Errorf("%d of %d words are kept, %d postings are others, %d repeated", kept, words, others, repeated)
	}
	for i := range records / 8 {
		x.Remove(places[0].Key(), record(i*3, places[0]).ID)
	}
	look()
}

func (m *mapped) mustFind(t *testing.T, name string) uint32 {
	t.Helper()
	term, ok := m.findTerm(name)
	if !ok {
		t.Fatalf("nobody says %q", name)
	}
	return term
}

// Of several words that count as one, what many passages say stays as it is, and is asked for together with the others
// as if all were one list.
func TestWordsThatFewSayLieBesideTheOther(t *testing.T) {
	t.Parallel()
	key := keysOf()[0]
	const records = 600
	filled := func(skipFrom int) *Index {
		x := New(space)
		x.skipFrom = skipFrom
		x.AddShard(key)
		for i := range records {
			text := "a casa of somebody else, with a long story about what was once in it"
			switch {
			case i%100 == 0:
				text = "🏠 and 🏠, a casa"
			case i%100 == 50:
				text = "🏠 🏠 🏠"
			}
			r := record(i, places[0], text)
			x.Upsert(r, codes(r, uint64(i)))
		}
		shelve(t, x, key)
		return x
	}
	x, reading := filled(0), filled(1<<62)
	s := &search{filter: &loci.Filter{}}
	s.cover(x.shards[key])
	defer s.release()
	apart := s.findWord([]string{"🏠", "casa"})
	sh := &s.parts[1] // the first is on the heap
	in := &apart.in[1]
	if !in.apart || apart.holders != records || apart.heldIn(sh) != records || len(in.beside) != records/50 {
		t.Fatalf("%d of %d passages are held, %+v", apart.holders, records, in)
	}
	m := sh.part.(*mapped)
	want := union(sh.list(m.mustFind(t, "casa")), sh.list(m.mustFind(t, "🏠")))
	got := apart.listOf(sh)
	if !slices.Equal(got, want) || len(got) != records || apart.heldIn(sh) != records || in.apart {
		t.Errorf("together they are\n%v, want\n%v", got, want)
	}
	if few := s.findWord([]string{"🏠", "apart"}); few.in[1].apart || few.holders != records/50 {
		t.Errorf("words that few say: %+v", few)
	}
	for _, text := range []string{"casa", "casa, story", "somebody, casa, once"} {
		for _, limit := range []int{1, 7, 20} {
			var hits [2][]loci.Hit
			for i, x := range []*Index{x, reading} {
				p := conversation(loci.Probe{Text: text, Space: space})
				found, err := x.Match(p, loci.Filter{Within: places[:1]}, limit, nil)
				if hits[i] = found; err != nil || len(found) < limit {
					t.Fatalf("%q, %d: %d are found, %v", text, limit, len(found), err)
				}
			}
			if !reflect.DeepEqual(hits[0], hits[1]) {
				t.Errorf("%q, %d: skipping\n%+v\nreading\n%+v", text, limit, hits[0], hits[1])
			}
		}
	}
}
