package vector

import (
	"encoding/binary"
	"fmt"
	"math"
)

// scaleBytes is the length of a blob's head.
const scaleBytes = 4

// Quantize turns a vector into the bytes a store keeps: its scale as
// little-endian float32, then one signed byte, −127 to 127, a dimension; a
// component is about scale·code. A vector with a NaN or an infinity comes from a
// broken embedder and becomes the zero vector, which scores 0 with everything.
func Quantize(v []float32) []byte {
	blob := make([]byte, scaleBytes+len(v))
	scale := scaleOf(v)
	binary.LittleEndian.PutUint32(blob, math.Float32bits(scale))
	switch codes := blob[scaleBytes:][:len(v)]; {
	case scale == 0:
	case scale < leastExact:
		for i, x := range v {
			codes[i] = byte(code(x, scale))
		}
	default: // the last bits of a number without a fraction are those of the integer
		for i, x := range v {
			codes[i] = byte(math.Float64bits(float64(x)/float64(scale) + toEven))
		}
	}
	return blob
}

// leastExact is a scale from which on no component has more than 127 steps, however the scale was rounded.
const leastExact = 1e-30

// Split returns the scale and the codes of a blob that [Quantize] made; the codes share
// its memory. A blob of another length than dims needs, or with a scale that is negative
// or not finite, is an error: the blob is damaged, or belongs to another space.
func Split(blob []byte, dims int) (scale float32, codes []byte, err error) {
	if len(blob) != scaleBytes+dims {
		return 0, nil, fmt.Errorf("vector: blob has %d bytes; %d dimensions need %d", len(blob), dims, scaleBytes+dims)
	}
	scale = math.Float32frombits(binary.LittleEndian.Uint32(blob))
	if !validScale(scale) {
		return 0, nil, fmt.Errorf("vector: blob has scale %v", scale)
	}
	return scale, blob[scaleBytes:], nil
}

// scaleOf returns what one step of a code is worth, or 0 for a vector that is
// zero, not finite, or too small to be told from zero.
func scaleOf(v []float32) float32 {
	var greatest uint32 // the bits of numbers that are not negative are in order, and of those that are none last
	for _, x := range v {
		greatest = max(greatest, math.Float32bits(x)&^signBit)
	}
	if greatest >= infinite {
		return 0
	}
	return math.Float32frombits(greatest) / 127
}

// The bit of a number's sign, and those of an infinite one.
const (
	signBit  = 1 << 31
	infinite = 0xff << 23
)

// code rounds x to a multiple of scale. Scales near the least float32 are
// themselves rounded, hence the clamp.
func code(x, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	steps := float64(x) / float64(scale)
	return int8(min(127, max(-127, int((steps+toEven)-toEven))))
}

// toEven rounds a small number to an integer, and half of one to an even integer, when it is added and taken off again:
// above it numbers have no fractions. math.RoundToEven asks each time what the processor can do.
const toEven = 3 << 51

func validScale(scale float32) bool { return scale >= 0 && scale <= math.MaxFloat32 }
