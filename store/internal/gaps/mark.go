package gaps

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// A Mark says in a file which of its pages may have something to wipe: those that it names, and those that were
// written since. All others have nothing in their gaps, whoever reads it.
//
// What was written since is in the write-ahead log. A mark names the log and how many frames it had. The first
// transaction of a log cannot name it: it is known by the mark's nonce, which the log then has in its first
// commit. Where nothing was written since, as in a file that nobody has open, the mark is one of rest.
type Mark struct {
	Rest    bool
	Log     [8]byte // as the log's header has it
	Frames  uint32  // of the log before the transaction that wrote the mark
	Nonce   [16]byte
	Shape   Shape // of the file, where the mark is one of rest
	Unwiped Set
}

// A Shape is what page 1 says of a file, some of which changes with most of what another program does to it: the
// count of changes, and those of free pages and of changes of the schema, and how many pages there are.
type Shape [16]byte

// ShapeOf is the shape of a file with a first page and so many pages.
func ShapeOf(first []byte, pages uint32) (s Shape, err error) {
	if len(first) < 44 {
		return s, errors.New("the first page of the file is too short")
	}
	copy(s[:4], first[24:])
	copy(s[4:12], first[36:44])
	binary.BigEndian.PutUint32(s[12:], pages)
	return s, nil
}

// NewMark makes one with a nonce of its own.
func NewMark() (m Mark) {
	_, _ = rand.Read(m.Nonce[:]) // never fails
	return m
}

// MarkSize is the size of each mark, in bytes: one takes the place of another without moving anything, and none needs
// a page of its own.
const MarkSize = 960

// The layout: a word that nobody else writes, the kind, the fields, the size of the set and the set, zeros, and a sum
// of all.
const (
	word    = "loci gaps 1\n"
	sumSize = 8
	setAt   = len(word) + 1 + 8 + 4 + 16 + 16 + 2
)

// Bytes is the mark as it is written; ok is false where it names too many pages.
func (m *Mark) Bytes() (b []byte, ok bool) {
	b = append(make([]byte, 0, MarkSize), word...)
	rest := byte(0)
	if m.Rest {
		rest = 1
	}
	b = append(append(b, rest), m.Log[:]...)
	b = binary.BigEndian.AppendUint32(b, m.Frames)
	b = append(append(b, m.Nonce[:]...), m.Shape[:]...)
	if b, ok = m.Unwiped.appendTo(append(b, 0, 0), MarkSize-sumSize); !ok {
		return nil, false
	}
	binary.BigEndian.PutUint16(b[setAt-2:], uint16(len(b)-setAt))
	b = append(b, make([]byte, MarkSize-sumSize-len(b))...)
	sum := sha256.Sum256(b)
	return append(b, sum[:sumSize]...), true
}

// MarkOf reads a mark; ok is false where there is none, or it is damaged.
func MarkOf(b []byte) (m Mark, ok bool) {
	if len(b) != MarkSize || !bytes.HasPrefix(b, []byte(word)) {
		return m, false
	}
	body := b[:MarkSize-sumSize]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:sumSize], b[len(body):]) {
		return m, false
	}
	size := int(binary.BigEndian.Uint16(body[setAt-2:]))
	if setAt+size > len(body) {
		return m, false
	}
	if m.Unwiped, ok = setOf(body[setAt : setAt+size]); !ok {
		return Mark{}, false
	}
	rest := body[len(word):]
	m.Rest = rest[0] == 1
	n := 1 + copy(m.Log[:], rest[1:])
	m.Frames = binary.BigEndian.Uint32(rest[n:])
	n += 4 + copy(m.Nonce[:], rest[n+4:])
	copy(m.Shape[:], rest[n:])
	return m, true
}
