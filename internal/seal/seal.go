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
	sum := digest(parts)
	return string(sum[:])
}

// digest hashes one text of all parts: hashed one by one, each would be two values on the
// heap, and every event has two dozen.
func digest(parts []string) Hash {
	size := 0
	for _, p := range parts {
		size += 4 + len(p)
	}
	data := make([]byte, 0, size)
	for _, p := range parts {
		data = binary.BigEndian.AppendUint32(data, uint32(len(p)))
		data = append(data, p...)
	}
	return sha256.Sum256(data)
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
	return digest([]string{"loci payload 1", string(e.Nonce), string(e.Payload)})
}

// After is the hash of the event after another. It covers every field but the position,
// which the order stands for, and what an erase takes: the digest stands for the payload,
// the mark for the namespace.
func (e *Entry) After(before Hash) Hash {
	return e.hash("loci event 2", before, e.Mark, string(e.Former[:]))
}

// FormerAfter is the hash as it was before namespaces had marks; it covered the key of the
// place instead.
func (e *Entry) FormerAfter(before Hash, place string) Hash {
	return e.hash("loci event 1", before, place)
}

func (e *Entry) hash(form string, before Hash, place string, more ...string) Hash {
	at := binary.BigEndian.AppendUint64(nil, uint64(e.At))
	parts := []string{form, string(before[:]), string(e.ID[:]), e.Type, e.Kind, string(e.Entity[:]),
		place, string(at), e.Actor, e.RequestID, string(e.Digest[:])}
	return digest(append(parts, more...))
}
