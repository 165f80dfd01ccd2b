package vector

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A sketch says of each row about where it points, in two bits a dimension, so that a scan
// of many rows reads a quarter of their bytes and looks closer at those alone that may reach
// what a row must reach.
//
// Rows that lie close together have much in common: what of them lies along their mean is kept as it
// is. The rest of a row is rotated at random, and each of its components becomes -3, -1, 1 or 3. What
// that says of a dot product is off by a normal error whose spread follows from how well the numbers
// fit (RaBitQ, Gao and Long 2024). A row is passed over when what its sketch says and sketchSpread times
// the spread stay below what it must reach. One in a billion of those at the threshold is passed over by
// mistake: as seldom as a damaged block has the right sum (docs/adr/0178).
//
// The error is normal where it lies in no direction more than in others. Rows of few dimensions,
// as of some words counted, have one that is not, and are always looked at.
const (
	sketchSpread  = 6
	sketchVersion = 2
	sketchHead    = 64     // bytes in front; the first is the version, and at longestAt is how long rows are
	sketchStep    = 0.9957 // of numbers that fit a normal component best, by its deviation
	sketchUneven  = 4.5    // times the mean error of a dimension
	sketchTailed  = 4.5    // times the squared mean of the squares: the mean of the fourth powers; 3 where it is normal

	longestAt = 4

	// askedOff is how far a query is rounded, as a part of its length, that spreads have room for.
	askedOff = 0.07

	// roundedOff is more than what float32 is off by, as a part of the longest row and the query; what is not
	// between leastNarrow and mostNarrow long is not left to it.
	roundedOff  = 1e-5
	leastNarrow = 1e-18
	mostNarrow  = 1e18
)

// Rows lie in blocks, so that many are asked side by side: first the codes, then the factors, what lies along the
// mean, and the spreads. Two dimensions are a nibble, which says what the query gives for it in a table of 16 bytes. A
// vector of 32 bytes has two nibbles of 32 rows. Eight vectors have 16 dimensions: 0 to 3 of them in the first two,
// of the first half of the rows and of the second one, and so on.
const (
	blockRows  = 64 // the scheduler cannot interrupt assembly, and a million rows in one call would hold up the collector
	laneRows   = blockRows / 2
	stepDims   = 16
	stepBytes  = stepDims * blockRows / 4
	tableBytes = 16 * stepDims / 2 // of a step
	mostDims   = 1024
	mostTable  = mostDims / stepDims * tableBytes
	said       = 3 * 4 * blockRows
)

// sketches reports whether vectors have sketches: a rotation wants a power of two, and sums are of 16 bits.
func sketches(dims int) bool { return dims == 128 || dims == 256 || dims == 512 || dims == 1024 }

// sketchBytes is how long the sketch of so many rows is.
func sketchBytes(dims, rows int) int {
	return sketchHead + 4*dims + (rows+blockRows-1)/blockRows*sketchBlock(dims)
}

func sketchBlock(dims int) int { return dims/stepDims*stepBytes + said }

// sketch is that of a matrix.
type sketch struct {
	bytes   []byte      // of all that follows
	looked  atomic.Bool // at them: see [Matrix.Look]
	longest float32     // no row is longer
	mean    []float32   // rotated, of unit length; zero: rows have none
	blocks  []byte
}

// fitted is what a sketch says of a row beside its codes.
type fitted struct {
	factor float32 // what the sum of products is worth
	along  float32 // the product with the mean
	spread float32
}

// Sketch makes the bytes that [Matrix.Use] takes; nil where vectors have none.
func (m *Matrix) Sketch() []byte {
	if !sketches(m.dims) || len(m.scales) == 0 {
		return nil
	}
	b := make([]byte, sketchBytes(m.dims, len(m.scales)))
	b[0] = sketchVersion
	r := newRotation(m.dims)
	mean := r.meanOf(m)
	for i, x := range mean {
		binary.LittleEndian.PutUint32(b[sketchHead+4*i:], math.Float32bits(float32(x)))
		mean[i] = float64(float32(x))
	}
	longest, size := 0.0, sketchBlock(m.dims)
	for row, codes := 0, make([]byte, m.dims); row < len(m.scales); row++ {
		f, length := r.sketch(m.row(row), m.scales[row], mean, codes)
		longest = max(longest, length)
		block := b[sketchHead+4*m.dims+row/blockRows*size:][:size]
		at := row % blockRows
		for dim := 0; dim+4 <= len(codes); dim += 4 { // they lie in one byte
			place, _ := placeOf(dim)
			c := codes[dim : dim+4]
			block[place+at] = c[0] | c[1]<<2 | c[2]<<4 | c[3]<<6
		}
		for i, x := range []float32{f.factor, f.along, f.spread} {
			binary.LittleEndian.PutUint32(block[size-said+4*(i*blockRows+at):], math.Float32bits(x))
		}
	}
	binary.LittleEndian.PutUint32(b[longestAt:], math.Float32bits(float32(longest*(1+roundedOff))))
	return b
}

// placeOf is where a block has the code of a dimension of its first row: in which byte, and how many bits to the left.
func placeOf(dim int) (at, shift int) {
	step, in := dim/stepDims, dim%stepDims
	return step*stepBytes + in/4*blockRows, 2 * (in % 4)
}

// Use takes the sketch of the matrix, which is little-endian and begins at a multiple of 8. One of
// another version, or of another length, is left alone: what it would save is then not saved.
func (m *Matrix) Use(b []byte) {
	rows := len(m.scales)
	if rows == 0 || !sketches(m.dims) || len(b) != sketchBytes(m.dims, rows) || b[0] != sketchVersion {
		return
	}
	mean := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b[sketchHead:]))), m.dims)
	m.sketch = &sketch{bytes: b, mean: mean, blocks: b[sketchHead+4*m.dims:]}
}

// lookAtSketch looks at the bytes before any of them is used.
func (m *Matrix) lookAtSketch() {
	if s := m.sketch; !s.looked.Load() {
		if m.looker != nil {
			m.looker.Check(s.bytes)
		}
		s.longest = math.Float32frombits(binary.LittleEndian.Uint32(s.bytes[longestAt:]))
		s.looked.Store(true)
	}
}

// asking is a query as the sketch of a matrix is asked.
type asking struct {
	table  [mostTable]byte
	bounds bounds
	slack  float64
}

// bounds are what the sum of a row is compared by: what it is worth, and what is added to it; what the mean and
// the spread are worth; and what a row must reach. The kernel knows their order.
type bounds struct{ worth, zero, along, spread, least float32 }

// aim says what a row must reach. A little less is enough where float32 is rounded.
func (a *asking) aim(least float64) { a.bounds.least = float32(least - a.slack) }

// turned is a query that is rotated, for all sketches.
type turned struct {
	y      []float64
	rest   []float64 // memory
	codes  []int32   // memory
	length float64   // longer by the root of the dimensions

	asking  asking             // memory
	waiting [mostWaiting]int32 // memory for [Matrix.aboveCoarse]
	sums    [mostWaiting]int32 // memory for [Matrix.visitEach]
}

// Coarsen makes the query one that asks sketches first, where a matrix has them.
func (q *Query) Coarsen() {
	dims := len(q.codes)
	if !sketches(dims) {
		return
	}
	t := turnedQueries.Get().(*turned)
	t.y, t.rest, t.codes = sized(t.y, dims), sized(t.rest, dims), sized(t.codes, dims)
	for i, sign := range signs()[:dims] {
		t.codes[i] = int32(q.codes[i]) * sign
	}
	mix(t.codes)
	square := int64(0)
	for i, v := range t.codes {
		t.y[i] = float64(v)
		square += int64(v) * int64(v)
	}
	t.length = math.Sqrt(float64(square))
	if length := t.length * q.scale / math.Sqrt(float64(dims)); length > leastNarrow && length < mostNarrow {
		q.turned = t
	}
}

// Release gives back what [Query.Coarsen] took, for another query.
func (q *Query) Release() {
	if q.turned != nil {
		turnedQueries.Put(q.turned)
		q.turned = nil
	}
}

var turnedQueries = sync.Pool{New: func() any { return new(turned) }}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// ask makes the query one for a sketch. The conversions forbid to fuse steps: it is the same on every processor.
func (t *turned) ask(s *sketch, scale float64, a *asking) {
	along, dims, root := 0.0, float64(len(t.y)), math.Sqrt(float64(len(t.y)))
	y, rest, codes := t.y, t.rest[:len(t.y)], t.codes[:len(t.y)]
	mean := s.mean[:len(y)]
	for i, m := range mean {
		along += float64(y[i] * float64(m))
	}
	square, most := 0.0, 0.0
	for at := 0; at+stepDims <= len(y); at += stepDims {
		y, mean, rest, sum := y[at:at+stepDims], mean[at:at+stepDims], rest[at:at+stepDims], 0.0
		for i, m := range mean {
			v := y[i] - float64(along*float64(m))
			rest[i] = v
			square += float64(v * v)
			sum += math.Abs(v)
		}
		most = max(most, sum)
	}
	// What a step adds up to has one byte. Each of its numbers may be rounded up by a half.
	step := most / (255.0/3 - stepDims/2)
	if step == 0 {
		step = 1
	}
	lost, all := 0.0, int32(0)
	for i, v := range rest {
		rounded := float64(v/step+toEven) - toEven
		n := int32(rounded)
		codes[i] = n
		all += max(n, -n)
		e := v - float64(rounded*step)
		lost += float64(e * e)
	}
	t.fill(a.table[:])
	worth := step * scale / dims
	off := 1.0
	if square > 0 {
		off = max(1, math.Sqrt(lost/square)/askedOff)
	}
	a.bounds = bounds{
		worth:  float32(2 * worth),
		zero:   float32(-3 * float64(all) * worth),
		along:  float32(along * scale / root),
		spread: float32(sketchSpread * math.Sqrt(square) * scale / (dims * root) * off),
	}
	a.slack = roundedOff * float64(s.longest) * (t.length * scale / root)
}

// fill makes the table: what the query gives for each code of two dimensions, and three times the size of what is
// negative, so that nothing in it is.
func (t *turned) fill(table []byte) {
	for c := t.codes; len(c) >= 2 && len(table) >= 16; c, table = c[2:], table[16:] {
		first, more := steps(c[0]), uint64(max(c[1], -c[1]))*0x01010101
		first |= first << 32
		low, high := more<<32, 2*more+3*more<<32 // for the second code 0 and 1, and for 2 and 3
		if c[1] < 0 {
			low, high = 3*more+2*more<<32, more
		}
		binary.LittleEndian.PutUint64(table, first+low)
		binary.LittleEndian.PutUint64(table[8:], first+high)
	}
}

// steps are what a number gives for the codes 0 to 3, each in a byte, the least of them 0.
func steps(n int32) uint64 {
	if n < 0 {
		return uint64(-n) * 0x00010203
	}
	return uint64(n) * 0x03020100
}

// rotation turns vectors of integers. A turned one is longer by the root of the dimensions.
type rotation struct {
	y    []int32
	rest []float64 // memory for sketch
	off  []float64
}

func newRotation(dims int) *rotation {
	return &rotation{make([]int32, dims), make([]float64, dims), make([]float64, dims)}
}

// turn changes some signs, always the same, and mixes. No number exceeds 1024·128.
func (r *rotation) turn(codes []int8) []int32 {
	y := r.y[:len(codes)]
	for i, sign := range signs()[:len(codes)] {
		y[i] = int32(codes[i]) * sign
	}
	mix(y)
	return r.y
}

// mix makes the Walsh-Hadamard transform of at least four numbers: sums and differences of neighbours, then of pairs,
// and so on. Two rounds are made at once, as most of the time goes into reading and writing.
func mix[T int32 | float64](y []T) {
	half := 1
	for ; 4*half <= len(y); half *= 4 {
		for at := 0; at+4*half <= len(y); at += 4 * half {
			if half == 1 {
				q := y[at : at+4 : at+4]
				a, b, c, d := q[0]+q[1], q[0]-q[1], q[2]+q[3], q[2]-q[3]
				q[0], q[1], q[2], q[3] = a+c, b+d, a-c, b-d
				continue
			}
			y0 := y[at : at+half]
			y1, y2, y3 := y[at+half:][:len(y0)], y[at+2*half:][:len(y0)], y[at+3*half:][:len(y0)]
			for i := range y0 {
				a, b, c, d := y0[i]+y1[i], y0[i]-y1[i], y2[i]+y3[i], y2[i]-y3[i]
				y0[i], y1[i], y2[i], y3[i] = a+c, b+d, a-c, b-d
			}
		}
	}
	if half < len(y) { // the number of rounds is odd
		a, b := y[:half], y[half:][:half]
		for i, v := range b {
			a[i], b[i] = a[i]+v, a[i]-v
		}
	}
}

// signs are those of all dimensions that rows may have.
var signs = sync.OnceValue(func() *[mostDims]int32 {
	var all [mostDims]int32
	for i := range all {
		all[i] = sign(i)
	}
	return &all
})

// sign is 1 or -1, at random and always the same for a dimension.
func sign(i int) int32 {
	x := (uint64(i) + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return 1 - 2*int32(bits.OnesCount64(x)%2)
}

// meanOf is the direction of the mean of a matrix, turned; zero: it has none.
func (r *rotation) meanOf(m *Matrix) []float64 {
	mean, square := make([]float64, m.dims), 0.0
	for row, scale := range m.scales {
		for i, c := range m.row(row) {
			mean[i] += float64(float64(scale) * float64(c))
		}
	}
	for i := range mean {
		mean[i] *= float64(sign(i))
	}
	mix(mean)
	for _, v := range mean {
		square += float64(v * v)
	}
	length := math.Sqrt(square)
	for i := range mean {
		if mean[i] /= length; !(length > leastNarrow && length < math.MaxFloat64) {
			mean[i] = 0
		}
	}
	return mean
}

// always is of a row that is always looked at.
var always = fitted{spread: float32(math.Inf(1))}

// sketch writes the codes of a row and returns what is said beside them, and how long it is; 0: nothing is said of it.
func (r *rotation) sketch(row []int8, scale float32, mean []float64, codes []byte) (f fitted, length float64) {
	y, square, along, root := r.turn(row), int64(0), 0.0, math.Sqrt(float64(len(row)))
	for i, v := range y {
		square += int64(v) * int64(v)
		along += float64(float64(v) * mean[i])
	}
	clear(codes)
	if square == 0 || scale == 0 {
		return fitted{}, 0
	}
	rest, left := r.rest, 0.0
	for i, v := range y {
		rest[i] = float64(v) - float64(along*mean[i])
		left += float64(rest[i] * rest[i])
	}
	if length = float64(scale) * math.Sqrt(float64(square)) / root; length < leastNarrow || length > mostNarrow {
		return always, 0
	}
	step := math.Sqrt(left/float64(len(y))) * sketchStep
	fits, numbers := 0.0, 0.0
	for i, v := range rest {
		switch {
		case v >= step:
			codes[i] = 3
		case v >= 0:
			codes[i] = 2
		case v >= -step:
			codes[i] = 1
		}
		number := float64(2*int(codes[i]) - 3)
		fits, numbers = fits+float64(number*v), numbers+number*number
	}
	f.along = float32(float64(scale) * along / root)
	if left == 0 {
		return f, length
	}
	worth := left / fits
	ratio := worth * numbers / fits
	f.factor = float32(float64(scale) * worth)
	f.spread = float32(float64(scale) * math.Sqrt(left*(max(0, ratio-1)+askedOff*askedOff*ratio)))
	if r.uneven(codes, worth) {
		return always, length
	}
	return f, length
}

// uneven reports whether what the numbers say of the rest of a row is wrong in some dimensions more than in
// others. It is turned back for that.
func (r *rotation) uneven(codes []byte, worth float64) bool {
	greatest, square, fourth := 0.0, 0.0, 0.0
	for i, v := range r.rest {
		r.off[i] = v - float64(worth*float64(2*int(codes[i])-3))
	}
	mix(r.off)
	for _, e := range r.off {
		e2 := float64(e * e)
		greatest, square, fourth = max(greatest, e2), square+e2, fourth+float64(e2*e2)
	}
	n := float64(len(codes))
	return greatest*n > sketchUneven*sketchUneven*square || fourth*n > sketchTailed*square*square
}

// mayReachPortable writes a bit for each row of some blocks that may reach what it must.
func mayReachPortable(blocks []byte, dims int, a *asking, masks []uint64) {
	size := sketchBlock(dims)
	for n := range masks {
		var sums [blockRows]uint16
		block := blocks[n*size : (n+1)*size]
		for dim := 0; dim < dims; dim += 4 {
			at, _ := placeOf(dim)
			low, high := a.table[8*dim:8*dim+16], a.table[8*dim+16:8*dim+32]
			for row, c := range block[at : at+blockRows] {
				sums[row] += uint16(low[c&15]) + uint16(high[c>>4])
			}
		}
		mask, by := uint64(0), &a.bounds
		numbers := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(block[size-said:]))), 3*blockRows)
		for row, sum := range sums { // the conversions forbid to fuse steps, so that it is what the kernel does
			x := float32(float32(sum)*by.worth) + by.zero
			x = float32(x*numbers[row]) + float32(numbers[blockRows+row]*by.along)
			if x += float32(numbers[2*blockRows+row] * by.spread); !(x < by.least) {
				mask |= 1 << row
			}
		}
		masks[n] = mask
	}
}
