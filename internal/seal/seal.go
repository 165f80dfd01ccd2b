// Package seal makes the hashes that stand for what is not kept, or must not change: a
// digest of parts, the mark of a namespace whose name may go, and the chain of an audit
// log, with what judges a log that is read back.
package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// A Hash is a SHA-256 hash; the zero Hash is none.
type Hash = [32]byte

// Digest hashes parts so that no two different lists of parts collide: each part is led
// by its length.
func Digest(parts ...string) string {
	var room [usual]byte
	d := digest(room[:0])
	for _, part := range parts {
		d = add(d, part)
	}
	sum := sha256.Sum256(d)
	return string(sum[:])
}

// A digest is one text of all parts: hashed one by one, each would be two values on the
// heap, and every event has two dozen.
type digest []byte

// usual is what a digest of most events has room in: a caller keeps it off the heap.
const usual = 512

func add[T string | []byte](d digest, part T) digest {
	return append(binary.BigEndian.AppendUint32(d, uint32(len(part))), part...)
}

// keyBytes is the length of the key of a tenant's marks. nonceBytes is long enough that
// nobody can guess a short payload from its digest.
const (
	keyBytes   = 32
	nonceBytes = 16
)

// NewKey makes a key for marks.
func NewKey() []byte { return random(keyBytes) }

// NewNonce makes what leads the payload of an event in its digest.
func NewNonce() []byte { return random(nonceBytes) }

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data) // never fails
	return data
}

// MarkBytes are the bytes of a mark for each label.
const MarkBytes = 16

// Mark stands for a namespace, of which each prefix is given by its key, the shortest
// first. So the mark of a namespace begins with the mark of every one that contains it.
func Mark(key []byte, prefixes ...string) string {
	out := make([]byte, 0, MarkBytes*len(prefixes))
	for _, prefix := range prefixes {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(prefix))
		out = append(out, h.Sum(nil)[:MarkBytes]...)
	}
	return string(out)
}

// An Entry is an event as the chain covers it.
type Entry struct {
	ID, Entity       [16]byte
	Type, Kind       string
	At               int64 // Unix milliseconds
	Actor, RequestID string

	Mark string // of its namespace

	Nonce, Payload []byte
	Digest         Hash // of both, as it was noted

	Former Hash // the hash of an event from before there were marks; else zero
}

// PayloadDigest is the digest of what the event carries.
func (e *Entry) PayloadDigest() Hash {
	var room [usual]byte
	return sha256.Sum256(add(add(add(digest(room[:0]), "loci payload 1"), e.Nonce), e.Payload))
}

// After is the hash of the event after another. It covers every field but the position,
// which the order stands for, and what an erase takes: the digest stands for the payload,
// the mark for the namespace.
func (e *Entry) After(before Hash) Hash {
	var room [usual]byte
	return sha256.Sum256(add(e.fields(room[:0], "loci event 2", &before, e.Mark), e.Former[:]))
}

// FormerAfter is the hash as it was before namespaces had marks; it covered the key of the
// place instead.
func (e *Entry) FormerAfter(before Hash, place string) Hash {
	var room [usual]byte
	return sha256.Sum256(e.fields(room[:0], "loci event 1", &before, place))
}

func (e *Entry) fields(d digest, form string, before *Hash, place string) digest {
	d = add(add(add(d, form), before[:]), e.ID[:])
	d = add(add(add(d, e.Type), e.Kind), e.Entity[:])
	d = add(d, place)
	d = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(d, 8), uint64(e.At))
	return add(add(add(d, e.Actor), e.RequestID), e.Digest[:])
}
