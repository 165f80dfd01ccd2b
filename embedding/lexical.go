package embedding

import (
	"context"
	"math"
	"math/bits"
	"sync"
)

// dims is the number of buckets features are hashed to: a power of two.
const dims = 256

// Weights of features, in units that cancel out when a vector is normalised.
// Everything up to the last step is integer arithmetic: it gives the same sum in
// any order and on any machine.
const (
	wordWeight     = 1024 // of a word's stem
	stopWordWeight = 96   // of a word such as "the", so that a text of nothing else has a vector, too
	pairWeight     = 768  // of two neighbouring characters of a script without spaces
	charWeight     = 256  // of one such character
	symbolWeight   = 512  // of an emoji or another symbol
	// gramsWeight is shared by the character n-grams of a word: the root of the
	// sum of their squares, so that long words do not drown out short ones.
	gramsWeight = 1152
)

// Lexical is a deterministic embedder that knows spelling only. It hashes the
// stems of the words, their character 3- to 5-grams, and single and paired
// characters of Chinese, Japanese and Korean into 256 signed sums.
//
// Texts are compared after Unicode NFKC, without case and without Latin accents.
// The space is frozen: "lexical-1" means the same on every machine and in every
// version of this package.
//
// Vectors have unit length, also of texts without any letter. Only blank text has
// no direction: its vector is zero. Invalid UTF-8 is read as U+FFFD.
type Lexical struct {
	pool sync.Pool // of *analysis
}

// NewLexical makes a lexical embedder. It is safe for concurrent use.
func NewLexical() *Lexical {
	return &Lexical{pool: sync.Pool{New: func() any { return newAnalysis() }}}
}

// Model returns "lexical-1".
func (*Lexical) Model() string { return "lexical-1" }

// Dims returns 256.
func (*Lexical) Dims() int { return dims }

// Embed returns one vector for each text. It fails only when ctx ends.
func (l *Lexical) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	a := l.pool.Get().(*analysis)
	defer func() {
		if a.small() { // a huge text must not keep its memory
			l.pool.Put(a)
		}
	}()
	rows := make([][]float32, len(texts))
	backing := make([]float32, dims*len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows[i] = backing[i*dims : (i+1)*dims : (i+1)*dims]
		a.embed(text, rows[i])
	}
	return rows, nil
}

// embed writes the vector of a text to row, which is zero.
func (a *analysis) embed(text string, row []float32) {
	a.read(text)
	var sums vectorSums
	for _, t := range a.terms {
		a.addTerm(&sums, t)
	}
	if !sums.normalize(row) && len(a.text) > 0 {
		// Nothing but punctuation, or features that cancel each other out.
		row[mix(hashBytes(offset64, a.text))%dims] = 1
	}
}

// addTerm adds the features of a term, weighted by how often it occurs.
func (a *analysis) addTerm(sums *vectorSums, t term) {
	often := sublinear(t.count)
	spelling := a.text[t.start:t.end]
	switch t.kind {
	case character:
		sums.add(hashBytes(charSeed, spelling), charWeight*often)
	case pair:
		sums.add(hashBytes(charSeed, spelling), pairWeight*often)
	case symbol:
		sums.add(hashBytes(charSeed, spelling), symbolWeight*often)
	case word:
		if stopWords()[string(spelling)] {
			sums.add(hashBytes(wordSeed, spelling), stopWordWeight*often)
			return
		}
		sums.add(hashString(wordSeed, stem(spelling)), wordWeight*often)
		a.addGrams(sums, spelling, often)
	}
}

// addGrams adds the character 3- to 5-grams of a word, whose ends count as
// characters: a prefix is not an infix.
func (a *analysis) addGrams(sums *vectorSums, spelling []byte, often int64) {
	runes := a.runes[:0]
	runes = append(runes, '<')
	digits := true
	for _, r := range string(spelling) {
		runes = append(runes, r)
		digits = digits && '0' <= r && r <= '9'
	}
	runes = append(runes, '>')
	a.runes = runes
	if digits {
		return // 2025 is not nearly 2026
	}
	n := len(runes)
	squares := uint64(16*max(0, n-2) + 9*max(0, n-3) + 4*max(0, n-4))
	unit := gramsWeight * often * 16 / int64(squareRoot(squares*256))
	for i := range runes {
		h := gramSeed
		for j, r := range runes[i:min(n, i+5)] {
			h = hashRune(h, r)
			if j >= 2 { // short ones outlive a typing error: they weigh 4, 3 and 2
				sums.add(h, unit*int64(6-j))
			}
		}
	}
}

// vectorSums are the signed sums of a vector's buckets. 256 KiB of text cannot
// bring one near 2^53, above which float64 would round.
type vectorSums [dims]int64

// add adds a feature to the bucket its hash names, with the sign it names.
func (s *vectorSums) add(hash uint64, weight int64) {
	h := mix(hash)
	if h&dims != 0 {
		weight = -weight
	}
	s[h%dims] += weight
}

// normalize writes the sums, scaled to unit length, to row; false if all are zero.
func (s *vectorSums) normalize(row []float32) bool {
	var squares float64
	for _, x := range s {
		squares += float64(float64(x) * float64(x)) // the conversion forbids a fused multiply-add
	}
	if squares == 0 {
		return false
	}
	length := math.Sqrt(squares)
	for i, x := range s {
		row[i] = float32(float64(x) / length)
	}
	return true
}

// sublinear returns 16·(1 + log2 n), with straight lines between the powers of two.
func sublinear(n int) int64 {
	whole := bits.Len(uint(n)) - 1
	return int64(16*(1+whole) + 16*(n-1<<whole)>>whole)
}

// squareRoot returns the integer part of the root; the argument is small.
func squareRoot(n uint64) uint64 { return uint64(math.Sqrt(float64(n))) }
