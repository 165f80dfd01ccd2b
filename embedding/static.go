package embedding

import (
	"context"
	_ "embed" // the built-in model
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/wordpiece"
)

//go:embed builtin.model
var builtinModel string

// Static is a semantic embedder that needs no network of neurons at run time: a
// static embedding. Every token of a WordPiece vocabulary has one vector, learnt
// from a sentence transformer; a text's vector is the sum of those of its tokens,
// brought to unit length, without those of words that it can only spell out in
// letters of a script it does not know, such as Arabic. It knows that a car is an automobile; it does not
// know the order of words.
//
// Texts are read as BERT's uncased models read them: without case and accents. Invalid
// UTF-8 counts for nothing. A text counts as a whole, whatever its length. Blank text,
// and text without a single token that carries weight, has no direction: its vector is
// zero.
//
// Sums are made in the order of the tokens, each product and each sum rounded to
// float32 on its own, with AVX2 and without. A text has the same bits on every
// machine.
type Static struct {
	header modelHeader
	load   func() (*staticModel, error)
	ids    sync.Pool // of *[]int32
}

// NewBuiltin makes the embedder of the model that is part of the program. Only its
// header is read; the rest is loaded with the first Embed, in about 2 ms. Its checksum
// is not compared, which would take some 8 ms of every process: a test compares it, and
// whoever can change the model in the program can change the program.
func NewBuiltin() (*Static, error) { return newStatic(builtinModel, loadModel) }

// NewStatic makes an embedder of a model file held in memory, in this format:
//
//	8 bytes    "LOCIEMB1": format, version 1
//	4 bytes    length of the header, little-endian
//	header     JSON, filled up with spaces so that the payload starts at a multiple of 64
//	payload    sections
//
// The header:
//
//	{"model": "builtin-1", "dims": D, "vocabulary": V,
//	 "sections": {"vocabulary": [offset, length], "scales": [offset, length], "codes": [offset, length]},
//	 "sha256": "of the payload", "source": {"teacher": …, "licence": …}}
//
// Offsets count from the start of the payload, in bytes. The sections:
//
//	vocabulary   V tokens in order of id, with a line feed between them
//	scales       V float32, little-endian, 0 to 1,000,000: what a step of the token's code is
//	             worth, the weight of the token included; 0 for a token that does not count
//	codes        V×D int8, a row of D for each token
//
// D is 1 to 4096. Unknown fields are allowed, "source" is for people. The file is
// kept, and shared by embedders of the same string. The first Embed checks it whole;
// a damaged file is an Internal error, of this function or of Embed.
func NewStatic(file string) (*Static, error) { return newStatic(file, checkAndLoadModel) }

func newStatic(file string, load func(modelHeader, string) (*staticModel, error)) (*Static, error) {
	header, payload, err := readModelHeader(file)
	if err != nil {
		return nil, err
	}
	return &Static{
		header: header,
		load:   sync.OnceValues(func() (*staticModel, error) { return load(header, payload) }),
		ids:    sync.Pool{New: func() any { return new([]int32) }},
	}, nil
}

// Model returns the name in the file's header, such as "builtin-1".
func (s *Static) Model() string { return s.header.Model }

// Dims returns the number of dimensions in the file's header.
func (s *Static) Dims() int { return s.header.Dims }

// Immediate says that calls wait for nothing but a processor, and end soon: some
// microseconds for a sentence.
func (*Static) Immediate() {}

// Embed returns one vector for each text. It fails when ctx ends, and with an
// Internal error when the model turns out to be damaged as it is loaded.
func (s *Static) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m, err := s.load()
	if err != nil {
		return nil, err
	}
	ids := s.ids.Get().(*[]int32)
	defer s.giveBack(ids)
	dims := s.header.Dims
	rows := make([][]float32, len(texts))
	backing := make([]float32, dims*len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows[i] = backing[i*dims : (i+1)*dims : (i+1)*dims]
		*ids = m.tokenizer.Append((*ids)[:0], text)
		m.embed(*ids, rows[i])
	}
	return rows, nil
}

// EmbedWeighed is Embed of one text with each word's vector times its weight. Nil: the
// model is damaged, or no word of weight is left.
func (s *Static) EmbedWeighed(text string, weight func(word string) float64) []float32 {
	m, err := s.load()
	if err != nil {
		return nil
	}
	ids := s.ids.Get().(*[]int32)
	defer s.giveBack(ids)
	*ids = m.tokenizer.Append((*ids)[:0], text)
	row := make([]float32, s.header.Dims)
	for rest := *ids; len(rest) > 0; {
		pieces := rest[:m.wordSize(rest)]
		rest = rest[len(pieces):]
		var word strings.Builder
		for i, id := range pieces {
			word.WriteString(strings.TrimPrefix(m.tokenizer.Token(id), inside[:min(i, 1)*len(inside)]))
		}
		m.add(row, pieces, float32(weight(word.String())))
	}
	if !normalize(row) {
		return nil
	}
	return row
}

// giveBack returns memory for ids to the pool.
func (s *Static) giveBack(ids *[]int32) {
	if cap(*ids) <= 64<<10 { // a huge text must not keep its memory
		s.ids.Put(ids)
	}
}

// staticModel is a model that was loaded. Its codes are those of the file.
type staticModel struct {
	tokenizer *wordpiece.Tokenizer
	scales    []float32
	shapes    []tokenShape
	codes     []int8
	dims      int
}

// embed writes the vector of some tokens to row, which is zero.
func (m *staticModel) embed(ids []int32, row []float32) {
	for len(ids) > 0 {
		n := m.wordSize(ids)
		m.add(row, ids[:n], 1)
		ids = ids[n:]
	}
	normalize(row)
}

// add adds the vectors of a word, times a weight, to row. A word that the vocabulary only
// spells out in letters of a script that it never learnt adds nothing: their vectors mean
// nothing, and with them every text would be a little like everything else. Spelled out in Latin
// letters it may be a code, which is like one spelled nearly the same; and characters of Chinese,
// Japanese and Korean say something alone.
func (m *staticModel) add(row []float32, word []int32, times float32) {
	spells := func(id int32) bool { return m.shapes[id].spells }
	if slices.ContainsFunc(word, spells) && m.familiarity(word) == strange {
		return
	}
	for _, id := range word {
		if scale := float32(m.scales[id] * times); scale != 0 {
			vector.Axpy(row, scale, m.codes[int(id)*m.dims:][:m.dims])
		}
	}
}

// normalize brings a vector to unit length and reports whether it has a direction:
// a zero or an infinite one stays as it is. Squares of float32 are exact in float64,
// and four sums in a fixed order give the same bits anywhere.
func normalize(row []float32) bool {
	var squares [4]float64
	for i, x := range row {
		squares[i&3] += float64(float64(x) * float64(x))
	}
	sum := squares[0] + squares[1] + squares[2] + squares[3]
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	factor := 1 / math.Sqrt(sum)
	for i, x := range row {
		row[i] = float32(float64(x) * factor)
	}
	return true
}
