package transformer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// maxHeader bounds the JSON header of a file; the format's own limit is 100 MB.
const maxHeader = 16 << 20

// A tensor is an entry of a file's header.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // from the end of the header
}

// A wanted tensor is what the network needs.
type wanted struct {
	name  string
	shape []int
}

// A tensorFile is a file in the format safetensors: the length of a JSON header
// in 8 bytes, the header, the numbers.
type tensorFile struct {
	path    string
	prefix  string // in front of every name, such as "bert."
	start   int64  // of the numbers
	tensors map[string]tensor
	sample  [sha256.Size]byte // hash of the header and of parts of the numbers
}

// sizes of the types of numbers that are read, in bytes.
var sizes = map[string]int64{"F32": 4, "F16": 2, "BF16": 2}

// openTensors reads and checks the header.
func openTensors(path string) (file *tensorFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var length [8]byte
	if _, err := io.ReadFull(f, length[:]); err != nil {
		return nil, errors.New("it is shorter than its header")
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n)+8 > info.Size() {
		return nil, fmt.Errorf("its header claims %d bytes", n)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, err
	}
	file = &tensorFile{path: path, start: int64(n) + 8, tensors: map[string]tensor{}}
	if err := file.parse(header, info.Size()-file.start); err != nil {
		return nil, err
	}
	return file, file.takeSample(f, header, info.Size())
}

func (file *tensorFile) parse(header []byte, size int64) error {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return fmt.Errorf("its header is not JSON: %w", err)
	}
	for name, raw := range entries {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("the entry of %q: %w", name, err)
		}
		if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > size {
			return fmt.Errorf("%q lies outside of the file, which may be cut off", name)
		}
		file.tensors[name] = t
		if strings.HasPrefix(name, "bert.") {
			file.prefix = "bert."
		}
	}
	return nil
}

// takeSample hashes 4 KiB at each of 256 places, evenly over the file.
func (file *tensorFile) takeSample(f *os.File, header []byte, size int64) error {
	h := sha256.New()
	h.Write(header)
	_ = binary.Write(h, binary.LittleEndian, size) // a hash takes everything
	block := make([]byte, 4096)
	for i := range int64(256) {
		at := file.start + (size-file.start)/256*i
		n, err := f.ReadAt(block, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h.Write(block[:n])
	}
	h.Sum(file.sample[:0])
	return nil
}

// named is the name of a tensor in the file, whose layers may stand below the name of the
// network; what is put on top of that does not.
func (file *tensorFile) named(name string) string {
	if strings.HasPrefix(name, classifierLayer+".") {
		return name
	}
	return file.prefix + name
}

// check compares an entry with what is wanted.
func (file *tensorFile) check(w wanted) error {
	t, ok := file.tensors[file.named(w.name)]
	if !ok {
		return fmt.Errorf("the tensor %s is missing", w.name)
	}
	size, ok := sizes[t.DType]
	if !ok {
		return fmt.Errorf("%s has numbers of type %s; F32, F16 and BF16 are supported", w.name, t.DType)
	}
	if !slices.Equal(t.Shape, w.shape) {
		return fmt.Errorf("%s has the shape %v; config.json wants %v", w.name, t.Shape, w.shape)
	}
	for _, n := range w.shape {
		size *= int64(n)
	}
	if t.Offsets[1]-t.Offsets[0] != size {
		return fmt.Errorf("%s has %d bytes in place of %d", w.name, t.Offsets[1]-t.Offsets[0], size)
	}
	return nil
}

// load reads a tensor that was checked.
func (file *tensorFile) load(f io.ReaderAt, name string) ([]float32, error) {
	t := file.tensors[file.named(name)]
	raw := make([]byte, t.Offsets[1]-t.Offsets[0])
	if _, err := f.ReadAt(raw, file.start+t.Offsets[0]); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	row := make([]float32, int64(len(raw))/sizes[t.DType])
	for i := range row {
		switch t.DType {
		case "F32":
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		case "BF16":
			row[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		default:
			row[i] = fromHalf(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	}
	return row, nil
}

// fromHalf widens an IEEE 754 binary16.
func fromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero and what is below the least normal number, in steps of 2^-24
		x := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(x) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
