package index

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	sequences "github.com/loci-memory/loci/internal/sequence"
)

// A signature says where the name stands that a text begins with, of who says it ("Ann: …"): how many
// of the words of its first passage are before it, and how many it has. 0: there is none.
type signature uint8

const (
	speakerBits = 2 // of the flags of an entry in a segment; those of a signature are above
	nameBits    = 2
	mostName    = 1<<nameBits - 1
	mostBefore  = 1<<(8-speakerBits-nameBits) - 1
)

func speakerIn(flags uint32) loci.Speaker        { return loci.Speaker(flags & (1<<speakerBits - 1)) }
func signatureIn(flags uint32) signature         { return signature(flags & 0xff >> speakerBits) }
func (s signature) before() int                  { return int(s >> nameBits) }
func (s signature) words() int                   { return int(s & mostName) }
func (s signature) flags(by loci.Speaker) uint32 { return uint32(by) | uint32(s)<<speakerBits }

// signatureOf finds the name that a record begins with. What is searched of one with a heading
// begins with that.
func signatureOf(r *loci.Record) signature {
	if len(r.Passages) == 0 || r.Passages[0].Start != 0 || retrieval.Words(r.Heading) != "" {
		return 0
	}
	before, name := sequences.Name(r.Text)
	if name == "" {
		return 0
	}
	n, words := placed(before), placed(name)
	if n > mostBefore || words == 0 || words > mostName {
		return 0
	}
	return signature(n<<nameBits | words)
}

// placed counts the words of a text that have a position.
func placed(text string) (n int) {
	retrieval.Analyze(text, func(t retrieval.Token) {
		if t.Kind.HasPosition() {
			n++
		}
	})
	return n
}

// signer is the name of who says an entry, as the terms of its words; "": it does not say.
func (sh *scoring) signer(e *seen) string {
	n := e.signed.words()
	if n == 0 {
		return ""
	}
	skip := e.signed.before()
	terms := make([]string, 0, mostName)
	for _, w := range sh.wordsOf(e.first) {
		if w&overlaid != 0 {
			continue
		}
		if skip--; skip < 0 && len(terms) < n {
			_, term := sh.spelled(w)
			terms = append(terms, term)
		}
	}
	return strings.Clone(strings.Join(terms, " "))
}
