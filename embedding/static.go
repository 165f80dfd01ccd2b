package embedding

import (
	"context"
	_ "embed" // the built-in model
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/gloss"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/wordpiece"
)

//go:embed builtin.model
var builtinModel string

// Static is a semantic embedder that needs no network of neurons at run time: a
// static embedding. Every token of a WordPiece vocabulary has one vector, learnt
// from a sentence transformer; a text's vector is the sum of those of its tokens,
// brought to unit length, without those of words that it can only spell out in
// letters of a script it does not know. It knows that a car is an automobile; it does not
// know the order of words. The built-in model has learnt English alone; everyday words of eleven other languages
// count as the English ones that they mean.
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
	model  string
	glossy bool // words of other languages count as what they mean
	load   func() (*staticModel, error)
	ids    sync.Pool // of *[]int32
}

// The spaces of the built-in model: that of earlier builds, in which words of other languages than English count as
// the pieces that the vocabulary cuts them into, and the one in which they count as what they mean.
const (
	builtinPieces  = "builtin-1"
	builtinGlossed = "builtin-2"
)

// NewBuiltin makes the embedder of the model that is part of the program, which also knows words of other
// languages. Only its header is read; the rest is loaded with the first Embed, in about 2 ms. Its checksum
// is not compared, which would take some 8 ms of every process: a test compares it, and
// whoever can change the model in the program can change the program.
func NewBuiltin() (*Static, error) {
	s, err := newStatic(builtinModel, loadModel)
	if err != nil {
		return nil, err
	}
	s.model, s.glossy = builtinGlossed, true
	return s, nil
}

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
		model:  header.Model,
		load:   sync.OnceValues(func() (*staticModel, error) { return load(header, payload) }),
		ids:    sync.Pool{New: func() any { return new([]int32) }},
	}, nil
}

// Model returns the name of the space of its vectors: that in the file's header, or "builtin-2".
func (s *Static) Model() string { return s.model }

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
		s.add(m, rows[i], s.glosses(m, text, ids, gloss.Words), text, ids, nil)
		normalize(rows[i])
	}
	return rows, nil
}

// EmbedQuery is Embed of what somebody looks for: a misspelt word of another language counts as the one it stands for.
func (s *Static) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	m, err := s.load()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	ids := s.ids.Get().(*[]int32)
	defer s.giveBack(ids)
	row := make([]float32, s.header.Dims)
	s.add(m, row, s.glosses(m, query, ids, gloss.Asked), query, ids, nil)
	normalize(row)
	return row, nil
}

// EmbedWeighed is EmbedQuery of one text with each word's vector times its weight. Nil: the
// model is damaged, or no word of weight is left.
func (s *Static) EmbedWeighed(text string, weight func(word string) float64) []float32 {
	m, err := s.load()
	if err != nil {
		return nil
	}
	ids := s.ids.Get().(*[]int32)
	defer s.giveBack(ids)
	row := make([]float32, s.header.Dims)
	s.add(m, row, s.glosses(m, text, ids, gloss.Asked), text, ids, weight)
	if !normalize(row) {
		return nil
	}
	return row
}

// add adds the vectors of a text's words to row, each times its weight; weight nil: as they are. words are its glosses.
func (s *Static) add(
	m *staticModel, row []float32, words []gloss.Word, text string, ids *[]int32, weight func(word string) float64,
) {
	if words == nil {
		*ids = m.tokenizer.Append((*ids)[:0], text)
		m.addWords(row, *ids, weight)
	}
	for i := range words {
		switch w := &words[i]; {
		case w.Small:
		case w.English != "":
			first, second, several := strings.Cut(w.English, gloss.Or)
			share := 1.0
			if several {
				share = 0.5
			}
			if weight != nil {
				share *= weight(w.Text)
			}
			m.addTimes(row, first, ids, share)
			m.addTimes(row, second, ids, share)
		case w.Spelled(): // else its characters are those of other words, too
			*ids = m.tokenizer.Append((*ids)[:0], w.Text)
			m.addWords(row, *ids, weight)
		}
	}
}

// glosses are the words of a text that is not all English; nil: it is, or is read as if it were.
func (s *Static) glosses(
	m *staticModel, text string, ids *[]int32, read func(string, func(string) bool) []gloss.Word,
) []gloss.Word {
	if !s.glossy {
		return nil
	}
	return read(text, func(word string) bool {
		*ids = m.tokenizer.Append((*ids)[:0], word)
		return len(*ids) == 1
	})
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

// addWords adds the vectors of words to row, each times its weight.
func (m *staticModel) addWords(row []float32, ids []int32, weight func(word string) float64) {
	for len(ids) > 0 {
		pieces, times := ids[:m.wordSize(ids)], 1.0
		ids = ids[len(pieces):]
		if weight != nil {
			times = weight(m.wordOf(pieces))
		}
		m.add(row, pieces, float32(times))
	}
}

// addTimes adds the vectors of a text's words, all times as much.
func (m *staticModel) addTimes(row []float32, text string, ids *[]int32, times float64) {
	*ids = m.tokenizer.Append((*ids)[:0], text)
	m.addWords(row, *ids, func(string) float64 { return times })
}

// wordOf is the word that the vocabulary cuts into pieces.
func (m *staticModel) wordOf(pieces []int32) string {
	var word strings.Builder
	for i, id := range pieces {
		word.WriteString(strings.TrimPrefix(m.tokenizer.Token(id), inside[:min(i, 1)*len(inside)]))
	}
	return word.String()
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
	var a, b, c, d float64
	rest := row
	for len(rest) >= 4 { // an array of sums would be read and written in memory
		a += float64(float64(rest[0]) * float64(rest[0]))
		b += float64(float64(rest[1]) * float64(rest[1]))
		c += float64(float64(rest[2]) * float64(rest[2]))
		d += float64(float64(rest[3]) * float64(rest[3]))
		rest = rest[4:]
	}
	for i, sum := range []*float64{&a, &b, &c}[:len(rest)] {
		*sum += float64(float64(rest[i]) * float64(rest[i]))
	}
	sum := a + b + c + d
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	factor := 1 / math.Sqrt(sum)
	for i, x := range row {
		row[i] = float32(float64(x) * factor)
	}
	return true
}
