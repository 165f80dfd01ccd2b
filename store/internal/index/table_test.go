package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/effort"
)

// Words that nobody has seen before cost the same however many there are, in English and where a text may be in six
// languages. Four times as many take some six times as long, as they leave the processor's caches; quadratic time would
// make it sixteen times.
func TestWordsNeverSeenCostTheSame(t *testing.T) {
	here := loci.Namespace{"u"}
	for name, lead := range map[string]string{"English": "the and is of ", "six languages": "de der di "} {
		take := func(records int) {
			random := rand.New(rand.NewPCG(1, 2))
			x := New(loci.Space{})
			x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
			for i := range records {
				var text strings.Builder
				text.WriteString(lead)
				for range 100 {
					fmt.Fprintf(&text, "%s ", letters(random, 6))
				}
				x.Upsert(record(i, here, text.String()), nil)
			}
		}
		for _, small := range []int{40, 160} {
			effort.Grows(t, fmt.Sprint(name, ", of ", small, " records"), small, 4*small, 10, take)
		}
	}
}

// letters are so many at random.
func letters(random *rand.Rand, n int) string {
	word := make([]byte, n)
	for i := range word {
		word[i] = byte('a' + random.IntN(26))
	}
	return string(word)
}

// A table finds what a map would find, whatever comes and leaves, and however many hashes are the same.
func TestTableFindsWhatAMapFinds(t *testing.T) {
	t.Parallel()
	for _, hashes := range []uint32{1, 3, 1 << 6, 1 << 31} {
		random := rand.New(rand.NewPCG(1, uint64(hashes)))
		texts := make([]string, 300)
		for i := range texts {
			texts[i] = fmt.Sprint("word", i)
		}
		hash := func(text string) uint32 { return (hashOf(text) % hashes) * (1<<31 - 1) }
		var have table
		want := map[uint32]bool{}
		for step := range 5000 {
			n := uint32(random.IntN(len(texts)))
			if have.remove(hash(texts[n]), uint32(len(texts))+n); want[n] {
				have.remove(hash(texts[n]), n)
				delete(want, n)
			} else {
				have.add(hash(texts[n]), n)
				want[n] = true
			}
			if 4*have.used > 3*len(have.slots) {
				t.Fatalf("%d hashes, step %d: %d of %d slots are taken", hashes, step, have.used, len(have.slots))
			}
			if have.used != len(want) {
				t.Fatalf("%d hashes, step %d: %d are in the table, want %d", hashes, step, have.used, len(want))
			}
			if step%50 > 0 {
				continue
			}
			for i, text := range texts {
				got, ok := have.find(hash(text), func(n uint32) bool { return texts[n] == text })
				likely := have.likely(hash(text))
				if ok && likely == 0 || likely > 0 && hash(texts[likely-1]) != hash(text) {
					t.Fatalf("%d hashes, step %d: likely %s is %d", hashes, step, text, likely)
				}
				if ok != want[uint32(i)] || ok && got != uint32(i) {
					t.Fatalf("%d hashes, step %d: %s is %d, %t; want %t", hashes, step, text, got, ok, want[uint32(i)])
				}
			}
		}
	}
}

// An empty table has nothing, and nothing leaves it.
func TestEmptyTable(t *testing.T) {
	t.Parallel()
	var none table
	none.remove(1, 1)
	if _, ok := none.find(1, func(uint32) bool { return true }); ok || none.used != 0 {
		t.Error("something is in an empty table")
	}
}
