package vector

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A sketch says of each row about where it points, in two bits a dimension, so that a scan
// of many rows reads a quarter of their bytes and looks closer at those alone that may reach
// what a row must reach.
//
// A row is rotated at random, and each of its components becomes -3, -1, 1 or 3. What that says of
// a dot product is off by a normal error whose spread follows from how well the numbers fit the
// row (RaBitQ, Gao and Long 2024), and from the angle: of what lies along the row nothing is lost. A
// row whose score is more than what its sketch says and sketchSpread times the spread is not seen: one
// in 4,000. Whether a row is seen depends on it and the query alone, so a scan without a sketch
// sees the same rows ([Matrix.Sees]), whatever order they come in.
//
// The error is normal where it lies in no direction more than in others. Rows of few dimensions,
// as of some words counted, have one that is not, and are always looked at.
const (
	sketchSpread  = 3.5
	sketchVersion = 1
	sketchHead    = 64     // bytes before the codes; the first is the version
	sketchStep    = 0.9957 // of numbers that fit a normal component best, by its deviation
	sketchLeast   = 1e-8   // of the square of the spread, for what is rounded to float32
	sketchUneven  = 4.5    // times the mean error of a dimension
)

// sketches reports whether vectors have sketches: a rotation wants a power of two, the kernel takes
// 32 bytes at a time and adds 16-bit numbers.
func sketches(dims int) bool { return dims == 128 || dims == 256 || dims == 512 || dims == 1024 }

// sketch is that of a matrix.
type sketch struct {
	bytes   []byte      // of all that follows
	looked  atomic.Bool // at them: see [Matrix.Look]
	codes   []byte      // a row has dims/4; byte i has the dimensions i, i+dims/4, …
	factors []float32   // what the sum of products is worth
	spreads []float32
	lengths []float32
}

// fitted is what a sketch says beside its codes.
type fitted struct {
	factor float32 // what the sum of products is worth
	spread float32
	length float32 // of the row
}

// Sketch makes the bytes that [Matrix.Use] takes; nil where vectors have none.
func (m *Matrix) Sketch() []byte {
	if !sketches(m.dims) || len(m.scales) == 0 {
		return nil
	}
	n, rows := m.dims/4, len(m.scales)
	b := make([]byte, sketchHead+rows*(n+12))
	b[0] = sketchVersion
	codes, factors := b[sketchHead:], b[sketchHead+rows*n:]
	r := newRotation(m.dims)
	for row := range m.scales {
		f := r.sketch(m.row(row), m.scales[row], codes[row*n:(row+1)*n])
		for i, x := range []float32{f.factor, f.spread, f.length} {
			binary.LittleEndian.PutUint32(factors[4*(i*rows+row):], math.Float32bits(x))
		}
	}
	return b
}

// Use takes the sketch of the matrix, which is little-endian and begins at a multiple of 8. One of
// another version, or of another length, is left alone: what it would save is then not saved.
func (m *Matrix) Use(b []byte) {
	n, rows := m.dims/4, len(m.scales)
	if rows == 0 || !sketches(m.dims) || len(b) != sketchHead+rows*(n+12) || b[0] != sketchVersion {
		return
	}
	rest := b[sketchHead+rows*n:]
	numbers := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(rest))), 3*rows)
	m.sketch = &sketch{bytes: b, codes: b[sketchHead : sketchHead+rows*n], factors: numbers[:rows],
		spreads: numbers[rows : 2*rows], lengths: numbers[2*rows:]}
}

// coarse is a query as sketches are asked.
type coarse struct {
	codes  []int8  // rotated
	sum    int32   // of the codes
	worth  float64 // of a product
	slack  float64 // by factor: for what rounding the query takes
	spread float64 // by spread of a row
	length float64 // of the query

	bounds bounds
	narrow bool // the bounds are numbers that a float32 holds well
}

// bounds are what a first look in float32 needs, rounded so that it passes over no row that a look
// in float64 does not. The kernel knows their order.
type bounds struct {
	sum          int32 // 3 times that of the codes
	worth, worse float32
	slack        float32
	spread       float32
	least        float32 // that a row must reach
}

const (
	roundedOff  = 1e-6  // more than five steps in float32 are off, each by 6e-8
	leastNarrow = 1e-20 // in between no product of two loses digits that matter beside one of them
	mostNarrow  = 1e20
)

// narrowed makes the bounds.
func (c *coarse) narrowed() {
	within := func(x float64) bool { return x > leastNarrow && x < mostNarrow }
	c.narrow = within(c.worth) && (within(c.spread) || c.spread == 0) && c.slack < mostNarrow
	up := func(x float64) float32 { return float32(x * (1 + roundedOff)) }
	c.bounds = bounds{
		sum:    3 * c.sum,
		worth:  up(c.worth),
		worse:  float32(c.worth * (1 - roundedOff)),
		slack:  up(max(c.slack, leastNarrow)),
		spread: up(c.spread),
	}
}

// Coarsen makes the query one for which rows are passed over that their sketches do not show.
func (q *Query) Coarsen() {
	dims := len(q.codes)
	if !sketches(dims) {
		return
	}
	r := newRotation(dims)
	codes := make([]int8, dims)
	for i, c := range q.codes {
		codes[i] = int8(c)
	}
	y := r.turn(codes)
	greatest, square := int32(0), int64(0)
	for _, v := range y {
		greatest = max(greatest, v, -v)
		square += int64(v) * int64(v)
	}
	if greatest == 0 {
		return // every row scores 0
	}
	c := &coarse{codes: codes}
	step, lost := float64(greatest)/127, 0.0
	for i, v := range y {
		rounded := math.RoundToEven(float64(v) / step)
		c.codes[i] = int8(rounded)
		c.sum += int32(rounded)
		e := float64(v) - float64(rounded*step)
		lost += float64(e * e)
	}
	scale, root := q.scale/float64(dims), math.Sqrt(float64(dims))
	c.worth = step * scale
	c.slack = 3 * root * math.Sqrt(lost) * scale // no row's numbers are longer than 3·root
	c.spread = sketchSpread * math.Sqrt(float64(square)) / root * scale
	c.length = math.Sqrt(float64(square)) / root * q.scale
	c.narrowed()
	q.coarse = c
}

// most is more than any score with which a row is seen. The conversions forbid to fuse steps, so
// that it is the same on every processor.
func (c *coarse) most(products int32, factor, spread float32) float64 {
	sum := float64(2*products - 3*c.sum)
	return float64((float64(sum*c.worth)+c.slack)*float64(factor)) + float64(c.spread*float64(spread))
}

// sees reports whether a row is seen that has a score. If it is not, none with a greater one is.
func (c *coarse) sees(products int32, f fitted, score float64) bool {
	most, spread := c.most(products, f.factor, f.spread), float64(c.spread*float64(f.spread))
	if cos := score / float64(c.length*float64(f.length)); cos > 0 {
		spread -= float64(spread * math.Sqrt(max(0.01, 1-float64(cos*cos))))
		if most -= spread; math.IsNaN(most) { // Inf of Inf
			return true
		}
	}
	return !(most < score)
}

// Sees reports whether a row with a score is one that a coarse query sees; others see all.
func (m *Matrix) Sees(q *Query, row int, score float32) bool {
	c := q.coarse
	if c == nil {
		return true
	}
	var sums [1]int32
	if s := m.sketch; s != nil {
		m.lookAtSketch()
		n := m.dims / 4
		products(c.codes, s.codes[row*n:(row+1)*n], sums[:])
		return c.sees(sums[0], s.of(row), float64(score))
	}
	codes := make([]byte, m.dims/4)
	f := newRotation(m.dims).sketch(m.row(row), m.scales[row], codes)
	products(c.codes, codes, sums[:])
	return c.sees(sums[0], f, float64(score))
}

func (m *Matrix) lookAtSketch() {
	if m.look != nil && !m.sketch.looked.Load() {
		m.look(m.sketch.bytes)
		m.sketch.looked.Store(true)
	}
}

func (s *sketch) of(row int) fitted { return fitted{s.factors[row], s.spreads[row], s.lengths[row]} }

// rotation turns vectors of integers. A turned one is longer by the root of the dimensions.
type rotation struct {
	y    []int32
	said []int32 // memory for sketch
}

func newRotation(dims int) *rotation { return &rotation{make([]int32, dims), make([]int32, dims)} }

// turn changes some signs, always the same, and mixes. No number exceeds 1024·128.
func (r *rotation) turn(codes []int8) []int32 {
	for i, c := range codes {
		r.y[i] = int32(c) * sign(i)
	}
	mix(r.y)
	return r.y
}

// mix makes the Walsh-Hadamard transform.
func mix(y []int32) {
	for half := 1; half < len(y); half *= 2 {
		for at := 0; at < len(y); at += 2 * half {
			a, b := y[at:at+half], y[at+half:at+2*half]
			for i, v := range b {
				a[i], b[i] = a[i]+v, a[i]-v
			}
		}
	}
}

// sign is 1 or -1, at random and always the same for a dimension.
func sign(i int) int32 {
	x := (uint64(i) + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return 1 - 2*int32(bits.OnesCount64(x)%2)
}

// sketch writes the codes of a row and returns what is said beside them.
func (r *rotation) sketch(row []int8, scale float32, out []byte) (f fitted) {
	y, square := r.turn(row), int64(0)
	for _, v := range y {
		square += int64(v) * int64(v)
	}
	clear(out)
	step := math.Sqrt(float64(square)/float64(len(y))) * sketchStep
	along, length := int64(0), int64(0)
	for i, v := range y {
		code := int64(0)
		switch {
		case float64(v) >= step:
			code = 3
		case v >= 0:
			code = 2
		case float64(v) >= -step:
			code = 1
		}
		out[i%len(out)] |= byte(code) << (2 * (i / len(out)))
		number := 2*code - 3
		r.said[i] = int32(number)
		along, length = along+number*int64(v), length+number*number
	}
	if square == 0 {
		return fitted{}
	}
	worth := float64(square) / float64(along)
	ratio := worth * float64(length) / float64(along)
	long := float64(scale) * math.Sqrt(float64(square))
	f = fitted{factor: float32(float64(scale) * worth), length: float32(long / math.Sqrt(float64(len(y)))),
		spread: float32(long * math.Sqrt(max(sketchLeast, ratio-1)))}
	if r.uneven(row, worth) {
		f.spread = float32(math.Inf(1))
	}
	return f
}

// uneven reports whether what the numbers say of a row is wrong in some dimension more than in
// others. They are turned back for that.
func (r *rotation) uneven(row []int8, worth float64) bool {
	mix(r.said)
	greatest, square := 0.0, 0.0
	for i, c := range row {
		e := float64(c) - float64(worth*float64(r.said[i]*sign(i)))/float64(len(row))
		greatest, square = max(greatest, e*e), square+float64(e*e)
	}
	return greatest*float64(len(row)) > sketchUneven*sketchUneven*square
}

// productsPortable writes the sum of the products of the query with the codes of each sketch.
func productsPortable(query []int8, codes []byte, sums []int32) {
	n := len(query) / 4
	q0, q1, q2, q3 := query[:n], query[n:2*n], query[2*n:3*n], query[3*n:4*n]
	for i := range sums {
		sum := int32(0)
		for j, b := range codes[i*n : (i+1)*n] {
			sum += int32(q0[j])*int32(b&3) + int32(q1[j])*int32(b>>2&3) +
				int32(q2[j])*int32(b>>4&3) + int32(q3[j])*int32(b>>6)
		}
		sums[i] = sum
	}
}
