package session

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// countedTokens counts how often somebody counts.
type countedTokens struct{ calls int }

// Count is part of [loci.Tokenizer].
func (c *countedTokens) Count(text string) int { c.calls++; return len(strings.Fields(text)) }

// Name is part of [loci.Tokenizer].
func (c *countedTokens) Name() string { return "words" }

// A summary counts as much of a long conversation as decides something, and what is decided is the same.
func TestOnlyWhatDecidesIsCounted(t *testing.T) {
	before := countedBytes
	t.Cleanup(func() { countedBytes = before })
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		counter := &countedTokens{}
		room := []int{100, 200, 1000, 4000, 100_000}[random.IntN(5)]
		o := SummaryOptions{ContextTokens: room, Messages: 1 + random.IntN(8)}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		var open []StoredMessage
		for range 1 + random.IntN(60) {
			said := Message{Type: MessageHuman, Data: []byte(`{"content":"` + strings.Repeat("so ", 1+random.IntN(40)) + `"}`)}
			open = append(open, StoredMessage{Message: said, Seq: int64(len(open) + 1)})
		}
		decide := func(bytes int) (*summarising, int) {
			countedBytes, counter.calls = bytes, 0
			w := &summarising{tokenizer: counter, o: o, system: 7, used: 7}
			for i := len(open) - 1; i >= 0; i-- {
				if w.read(open[i]) {
					w.older = i
					break
				}
			}
			w.out.Before = w.used + w.guess()
			if w.older+len(w.open) >= o.Messages && float64(w.out.Before) > o.Threshold*float64(o.ContextTokens) {
				w.choose()
			}
			return w, counter.calls
		}
		joined := func(w *summarising) int {
			if w.take == 0 { // there is no summary
				return 0
			}
			return w.older + w.take
		}
		whole, all := decide(1 << 30)
		some, few := decide(200)
		if all != len(open) || whole.older > 0 || whole.take != joined(some) || whole.through != some.through {
			t.Fatalf("round %d, %d messages, context %d: %d join with all counted, %d with %d counted", round, len(open), o.ContextTokens, whole.take, joined(some), few)
		}
		for i := some.take; i < len(open) && some.take > 0; i++ {
			if i >= some.older+some.take && some.tokens[i-some.older] != whole.tokens[i] {
				t.Fatalf("round %d: message %d, which stays, is not counted", round, i)
			}
		}
		if off := whole.out.Before - some.out.Before; off*off*9 > whole.out.Before*whole.out.Before && few > 8 {
			t.Errorf("round %d: %d tokens are guessed to be %d", round, whole.out.Before, some.out.Before)
		}
		if len(open) > 20 && o.ContextTokens == 100_000 && few > 14 {
			t.Errorf("round %d: %d of %d messages are counted, though they can be no summary", round, few, len(open))
		}
		if o.ContextTokens == 100 && len(some.open) > few+1 {
			t.Errorf("round %d: %d of %d messages are read, and %d counted, which fill the context", round, len(some.open), len(open), few)
		}
		if o.ContextTokens == 100 && few > 12 && len(open) > 40 {
			t.Errorf("round %d: %d of %d messages are counted, of which a few fill the context", round, few, len(open))
		}
	}
}
