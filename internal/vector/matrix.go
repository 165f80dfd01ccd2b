package vector

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// MaxDims is the greatest number of dimensions, the limit of embedders. Sums of
// products of signed bytes would fit 32 bits up to 131071 dimensions.
const MaxDims = 4096

// A Matrix is a growing list of quantised vectors. A row keeps its number until
// [Matrix.Compact]. Reading is safe for concurrent use; appending and compacting
// need the caller's lock.
type Matrix struct {
	dims   int
	codes  []int8 // row by row, so that a scan reads memory in order
	scales []float32
	sketch *sketch // nil: there is none
	looker Looker  // see [Matrix.Look]; nil: nothing is to be looked at
}

// New makes an empty matrix of vectors with dims dimensions, 1 to [MaxDims]; any
// other number is a defect of the caller and panics.
func New(dims int) *Matrix {
	if dims < 1 || dims > MaxDims {
		panic(fmt.Sprintf("vector: %d dimensions; must be 1 to %d", dims, MaxDims))
	}
	return &Matrix{dims: dims}
}

// Of is a matrix of rows that lie elsewhere and that nobody changes; nothing may be
// appended to it. Scales that are negative or not finite must not be among them.
func Of(dims int, scales []float32, codes []int8) *Matrix {
	m := New(dims)
	if len(codes) != dims*len(scales) {
		panic(fmt.Sprintf("vector: %d codes in %d rows of %d dimensions", len(codes), len(scales), dims))
	}
	m.scales, m.codes = slices.Clip(scales), slices.Clip(codes)
	return m
}

// Sketched reports whether a coarse query asks a sketch of the matrix first.
func (m *Matrix) Sketched() bool { return m.sketch != nil }

// A Looker looks at bytes that lie in a file, to see whether they are what was written.
type Looker interface {
	Check(b []byte)
	CheckEach(b []byte, size int, numbers []int32) // of pieces of a size, those of some numbers, from 0
}

// Look has a looker called with the bytes of rows before they are read, each time, and once with those of the sketch.
func (m *Matrix) Look(l Looker) { m.looker = l }

// Raw returns the rows as they lie, for [Of]; nobody has looked at them.
func (m *Matrix) Raw() (scales []float32, codes []int8) { return m.scales, m.codes }

// Len returns the number of rows.
func (m *Matrix) Len() int { return len(m.scales) }

// Dims returns the number of dimensions.
func (m *Matrix) Dims() int { return m.dims }

// Grow makes room for n more rows, so that loading many copies none of them.
func (m *Matrix) Grow(n int) {
	m.codes = slices.Grow(m.codes, n*m.dims)
	m.scales = slices.Grow(m.scales, n)
}

// Append quantises v as [Quantize] does and returns its row. It panics when v has
// another number of dimensions.
func (m *Matrix) Append(v []float32) (row int) {
	m.check(len(v))
	scale := scaleOf(v)
	for _, x := range v {
		m.codes = append(m.codes, code(x, scale))
	}
	m.scales = append(m.scales, scale)
	return len(m.scales) - 1
}

// AppendQuantized adds a row as [Split] returned it and returns its number. The
// codes are copied. It panics when there are not Dims codes; a scale that is
// negative or not finite makes a zero row.
func (m *Matrix) AppendQuantized(scale float32, codes []byte) (row int) {
	m.check(len(codes))
	if !validScale(scale) {
		scale = 0
	}
	m.codes = append(m.codes, unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes))...)
	m.scales = append(m.scales, scale)
	return len(m.scales) - 1
}

// AppendRow adds a row of another matrix of as many dimensions and returns its number.
func (m *Matrix) AppendRow(from *Matrix, row int) int {
	m.check(from.dims)
	m.codes = append(m.codes, from.row(row)...)
	m.scales = append(m.scales, from.scales[row])
	return len(m.scales) - 1
}

// Score is the dot product of a query with a row; 0 for a query that is zero or not finite.
// A query of another number of dimensions panics.
func (m *Matrix) Score(q *Query, row int) float32 {
	m.check(len(q.codes))
	return m.score(q, dot(q.codes, m.row(row)), row)
}

// Between is the dot product of a row with one of a matrix of as many dimensions.
func (m *Matrix) Between(row int, other *Matrix, otherRow int) float64 {
	m.check(other.dims)
	sum := dotRows(m.row(row), other.row(otherRow))
	return float64(float64(sum)*float64(m.scales[row])) * float64(other.scales[otherRow]) // no sum can overflow
}

// AddTo adds a row to a sum of rows, of as many dimensions.
func (m *Matrix) AddTo(sum []float32, row int) { Axpy(sum, m.scales[row], m.row(row)) }

func (m *Matrix) row(row int) []int8 { return m.rows(row, 1) }

// rows are some from one on.
func (m *Matrix) rows(first, n int) []int8 {
	codes := m.codes[first*m.dims : (first+n)*m.dims]
	if m.looker != nil {
		m.looker.Check(bytesOf(codes))
	}
	return codes
}

func bytesOf(codes []int8) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes))
}

// Above calls visit for each row whose score is at least *least, in order. visit may raise
// that meanwhile, and ends the scan by an error. A coarse query asks the sketch first, if there
// is one. What it allocates does not depend on the rows.
func (m *Matrix) Above(q *Query, least *float64, visit func(row int, score float32) error) error {
	m.check(len(q.codes))
	if m.sketch != nil && q.turned != nil {
		return m.aboveCoarse(q, least, visit)
	}
	var sums [blockRows]int32
	for first := 0; first < len(m.scales); first += blockRows {
		n := min(blockRows, len(m.scales)-first)
		dots(q.codes, m.rows(first, n), sums[:n])
		scales := m.scales[first : first+n]
		for likely := q.plain.likely(sums[:n], scales, *least); likely != 0; likely &= likely - 1 {
			i := bits.TrailingZeros64(likely)
			score := m.score(q, sums[i], first+i)
			if float64(score) < *least {
				continue
			}
			if err := visit(first+i, score); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rows that are looked at closer lie anywhere in memory. They are on their way while sketches of others are read, until
// there are waitFor of them: most of a first block are, and then one in some sixty.
const (
	waitFor     = 32
	mostWaiting = waitFor + sketchesAtOnce*blockRows

	// rowsAtOnce is how many rows that lie anywhere are multiplied at once.
	rowsAtOnce = 4

	// sketchesAtOnce is how many blocks are asked with what a row must reach then.
	sketchesAtOnce = 4
)

// aboveCoarse is Above by sketches first.
func (m *Matrix) aboveCoarse(q *Query, least *float64, visit func(row int, score float32) error) error {
	m.lookAtSketch()
	a, memory := &q.turned.asking, &q.turned.waiting
	q.turned.ask(m.sketch, q.scale, a)
	var masks [sketchesAtOnce]uint64
	waiting, size, rows := 0, sketchBlock(m.dims), len(m.scales)
	for first, n := 0, 1; first < rows; n = sketchesAtOnce {
		a.aim(*least)
		n = min(n, (rows-first+blockRows-1)/blockRows)
		mayReach(m.sketch.blocks[first/blockRows*size:], m.dims, a, masks[:n])
		if left := rows - first; left < n*blockRows {
			masks[n-1] &= 1<<(left%blockRows) - 1
		}
		from := waiting
		for _, mask := range masks[:n] {
			for ; mask != 0; mask &= mask - 1 {
				memory[waiting] = int32(first + bits.TrailingZeros64(mask))
				waiting++
			}
			first += blockRows
		}
		prefetch(m.codes, m.dims, memory[from:waiting])
		if waiting < waitFor {
			continue
		}
		if err := m.visitEach(q, memory[:waiting], least, visit); err != nil {
			return err
		}
		waiting = 0
	}
	return m.visitEach(q, memory[:waiting], least, visit)
}

// visitEach calls visit for the rows of a list that score at least *least.
func (m *Matrix) visitEach(q *Query, rows []int32, least *float64, visit func(row int, score float32) error) error {
	if m.looker != nil {
		m.looker.CheckEach(bytesOf(m.codes), m.dims, rows)
	}
	padded := rows
	for len(padded) > 0 && len(padded)%rowsAtOnce != 0 && len(padded) < cap(padded) {
		padded = append(padded, rows[0]) // a kernel takes so many; one more costs less than a few by themselves
	}
	sums := q.turned.sums[:len(padded)]
	dotsAt(q.codes, m.codes, padded, sums)
	for i, row := range rows {
		score := m.score(q, sums[i], int(row))
		if float64(score) < *least {
			continue
		}
		if err := visit(int(row), score); err != nil {
			return err
		}
	}
	return nil
}

// Compact drops the rows that keep refuses and closes the gaps, in order. It
// returns the new number of each old row, −1 for those dropped, and gives memory
// back when more than half of it is left unused.
func (m *Matrix) Compact(keep func(row int) bool) (moved []int32) {
	moved = make([]int32, len(m.scales))
	n := 0
	for row := range moved {
		moved[row] = -1
		if !keep(row) {
			continue
		}
		moved[row] = int32(n)
		copy(m.codes[n*m.dims:(n+1)*m.dims], m.codes[row*m.dims:])
		m.scales[n] = m.scales[row]
		n++
	}
	m.codes, m.scales = m.codes[:n*m.dims], m.scales[:n]
	if cap(m.scales) > 2*n {
		m.codes, m.scales = slices.Clone(m.codes), slices.Clone(m.scales)
	}
	return moved
}

// A Query is a vector in 16-bit codes: the kernel multiplies those, and widens only the rows. One that is
// coarse is for one caller at a time.
type Query struct {
	codes  []int16
	scale  float64
	plain  first   // for a first look at scores
	turned *turned // see [Query.Coarsen]; nil: it is not
}

// NewQuery quantises a vector of at most [MaxDims] dimensions.
func NewQuery(v []float32) *Query {
	scale := scaleOf(v)
	q := &Query{codes: make([]int16, len(v)), scale: float64(scale)}
	for i, x := range v {
		q.codes[i] = int16(code(x, scale))
	}
	q.plain = firstOf(q.scale)
	return q
}

// Cosine is that of a query of unit length and a sum of rows ([Matrix.AddTo]), the same bits on every
// machine. 0: the sum has no direction, because its rows cancel out or are not finite.
func (q *Query) Cosine(sum []float32) float64 {
	if len(sum) != len(q.codes) {
		panic("vector: Cosine of different dimensions")
	}
	var dot, squares float64
	for i, x := range sum { // the conversions forbid fused multiply-adds
		dot += float64(float64(x) * float64(q.codes[i]))
		squares += float64(float64(x) * float64(x))
	}
	if squares == 0 || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return 0
	}
	return float64(dot*q.scale) / math.Sqrt(squares)
}

// score multiplies in float64, where no product of two scales and a sum can
// overflow, so that a score is never NaN.
func (m *Matrix) score(q *Query, sum int32, row int) float32 {
	return float32(float64(sum) * q.scale * float64(m.scales[row]))
}

func (m *Matrix) check(dims int) {
	if dims != m.dims {
		panic(fmt.Sprintf("vector: %d dimensions in a matrix of %d", dims, m.dims))
	}
}
