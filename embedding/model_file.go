package embedding

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/internal/wordpiece"
)

const (
	modelMagic     = "LOCIEMB1"
	maxModelHeader = 1 << 20 // bytes
	maxModelName   = 128     // bytes
	maxScale       = 1e6     // no sum of a text's tokens comes near the limits of float32
)

// modelHeader is the head of a model file; [NewStatic] describes it.
type modelHeader struct {
	Model      string `json:"model"`
	Dims       int    `json:"dims"`
	Vocabulary int    `json:"vocabulary"`
	Sections   struct {
		Vocabulary section `json:"vocabulary"`
		Scales     section `json:"scales"`
		Codes      section `json:"codes"`
	} `json:"sections"`
	SHA256 string `json:"sha256"`
}

// section is the offset and the length of a part of the payload.
type section [2]int

// damaged is the error for a file that breaks the format.
func damaged(format string, args ...any) error {
	err := loci.Errorf(loci.Internal, "the embedding model is damaged: "+format, args...)
	err.Op = "load embedding model"
	err.Recovery = "Install the program again, or choose another embedder."
	return err
}

// readModelHeader reads the head of a file and checks it, without a look at the
// payload.
func readModelHeader(file string) (h modelHeader, payload string, err error) {
	const start = len(modelMagic) + 4
	if len(file) < start || !strings.HasPrefix(file, modelMagic) {
		return h, "", damaged("it does not begin with %s", modelMagic)
	}
	length := int64(binary.LittleEndian.Uint32([]byte(file[len(modelMagic):start])))
	if length > maxModelHeader || length > int64(len(file)-start) {
		return h, "", damaged("its header has %d bytes, more than there are or than %d", length, maxModelHeader)
	}
	payload = file[start+int(length):]
	if err := json.Unmarshal([]byte(file[start:start+int(length)]), &h); err != nil {
		return h, "", damaged("its header cannot be read: %w", err)
	}
	switch {
	case h.Model == "" || len(h.Model) > maxModelName:
		return h, "", damaged("its name has %d bytes; it must have 1 to %d", len(h.Model), maxModelName)
	case h.Dims < 1 || h.Dims > vector.MaxDims:
		return h, "", damaged("it has %d dimensions; it must have 1 to %d", h.Dims, vector.MaxDims)
	case h.Vocabulary < 1 || h.Vocabulary > len(payload):
		return h, "", damaged("it has %d tokens in %d bytes", h.Vocabulary, len(payload))
	}
	return h, payload, nil
}

// checkAndLoadModel compares the payload with its checksum and makes the model.
func checkAndLoadModel(h modelHeader, payload string) (*staticModel, error) {
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload))) // only read
	if hex.EncodeToString(sum[:]) != strings.ToLower(h.SHA256) {
		return nil, damaged("its checksum is %x; the header says %q", sum, h.SHA256)
	}
	return loadModel(h, payload)
}

// loadModel checks the form of the payload and makes the model.
func loadModel(h modelHeader, payload string) (*staticModel, error) {
	tokens, err := h.Sections.Vocabulary.of(payload, "vocabulary", -1)
	if err != nil {
		return nil, err
	}
	scales, err := h.Sections.Scales.of(payload, "scales", 4*int64(h.Vocabulary))
	if err != nil {
		return nil, err
	}
	codes, err := h.Sections.Codes.of(payload, "codes", int64(h.Vocabulary)*int64(h.Dims))
	if err != nil {
		return nil, err
	}
	m := &staticModel{dims: h.Dims, codes: unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(codes))), len(codes))} // only read
	if m.tokenizer, err = wordpiece.New(tokens); err != nil {
		return nil, damaged("%w", err)
	}
	if m.tokenizer.Len() != h.Vocabulary {
		return nil, damaged("it has %d tokens; the header says %d", m.tokenizer.Len(), h.Vocabulary)
	}
	m.scales, m.shapes = make([]float32, h.Vocabulary), make([]tokenShape, h.Vocabulary)
	for i := range m.scales {
		m.shapes[i] = shapeOf(m.tokenizer.Token(int32(i)))
		x := math.Float32frombits(binary.LittleEndian.Uint32([]byte(scales[4*i : 4*i+4])))
		if !(x >= 0 && x <= maxScale) { // NaN fails every comparison
			return nil, damaged("the scale of token %d is %v; it must be 0 to %v", i, x, float64(maxScale))
		}
		m.scales[i] = x
	}
	return m, nil
}

// of returns the bytes of a section, which must have the length that is wanted;
// −1 stands for any.
func (s section) of(payload, name string, want int64) (string, error) {
	offset, length := s[0], s[1]
	if offset < 0 || length < 0 || offset > len(payload) || length > len(payload)-offset {
		return "", damaged("section %s, [%d, %d], is not within its %d bytes", name, offset, length, len(payload))
	}
	if want >= 0 && int64(length) != want {
		return "", damaged("section %s has %d bytes; it needs %d", name, length, want)
	}
	return payload[offset : offset+length], nil
}
