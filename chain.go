package loci

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Hash is a SHA-256 hash; the zero Hash is none.
type Hash [32]byte

// IsZero reports whether h is no hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hexadecimal form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the hexadecimal form.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return Errorf(Invalid, "a hash has 64 hexadecimal digits, not %d", len(text))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return Errorf(Invalid, "a hash has 64 hexadecimal digits: %w", err)
	}
	return nil
}

// A Chain is what a store says of a tenant's chain of events.
type Chain struct {
	Head  Hash  // of the last event; zero: there is none
	Start int64 // events up to this Seq are older than the chain: those of a file from before it
	Names NameKey
}

// nonceBytes are enough that nobody guesses a short payload from its digest.
const nonceBytes = 16

func newNonce() []byte {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails
	return nonce
}

// payloadDigest is the digest of what an event carries.
func (e *Event) payloadDigest() Hash {
	return Hash([]byte(digest("loci payload 1", string(e.Nonce), string(e.Payload))))
}

// chained is the hash of an event after another. It covers every field but Seq,
// which the order stands for, and what an erase takes: the digest stands for the
// payload, the mark for the namespace.
func (e *Event) chained(before Hash) Hash {
	return e.hashed("loci event 2", before, string(e.Mark), string(e.Former[:]))
}

// formerly is the hash of an event from before namespaces had marks.
func (e *Event) formerly(before Hash) Hash {
	return e.hashed("loci event 1", before, e.Namespace.former().Key())
}

func (e *Event) hashed(form string, before Hash, place string, more ...string) Hash {
	at := binary.BigEndian.AppendUint64(nil, uint64(e.At.UnixMilli()))
	parts := []string{form, string(before[:]), string(e.ID[:]), string(e.Type), string(e.Kind), string(e.Entity[:]),
		place, string(at), e.Actor, e.RequestID, string(e.Digest[:])}
	return Hash([]byte(digest(append(parts, more...)...)))
}

// Seal makes the event the next of a chain whose last hash is before. Stores call
// it inside the transaction that appends the event, when its mark is set.
func (e *Event) Seal(before Hash) {
	e.Digest = e.payloadDigest()
	e.Hash = e.chained(before)
}

// Reseal seals an event from before namespaces had marks, whose hash is Former.
// former is that of the event before it. What the old chain accuses, the new one
// does, too: bringing a file up to date acquits nothing.
func (e *Event) Reseal(before, former Hash) {
	e.Hash = e.chained(before)
	if e.formerly(former) != e.Former {
		e.Hash[0] ^= 0xff
	}
}

// A ChainReport says what [Engine.VerifyEvents] found.
type ChainReport struct {
	Events   int64    `json:"events"`              // in the chain
	Older    int64    `json:"older"`               // from before there was a chain: not proven
	Emptied  int64    `json:"emptied"`             // whose payload went with an erased memory
	Head     Hash     `json:"head"`                // of the chain; keep it elsewhere to prove later that nothing up to here was changed
	Problems []string `json:"problems"`            // at most 20; none: the log is whole
	Found    bool     `json:"found_head,omitzero"` // the head that was asked for is in the chain
}

// maxProblems bounds [ChainReport].Problems.
const maxProblems = 20

// VerifyEvents reads the whole audit log of a tenant and checks that every event
// is as it was written, that none was removed and that none came in between.
// known, when not zero, is a head noted earlier: that it is missing is a problem,
// too. Without one a log that was rewritten from some point to its end, hashes and
// all, goes unnoticed. Events may be written meanwhile.
func (e *Engine) VerifyEvents(ctx context.Context, t Tenant, known Hash) (ChainReport, error) {
	chain, err := e.store.Chain(ctx, t)
	if err != nil {
		return ChainReport{}, err
	}
	v := verifier{chain: chain, known: known, erased: map[ID]bool{}, headSeen: chain.Head.IsZero()}
	v.report.Head, v.report.Problems = chain.Head, []string{}
	for page := (Page{Limit: 1000}); ; {
		events, next, err := e.store.Events(ctx, t, EventFilter{Within: []Namespace{{}}}, page)
		if err != nil {
			return ChainReport{}, err
		}
		for i := range events {
			v.check(&events[i])
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	v.link(Hash{}, Hash{})
	switch {
	case !v.headSeen:
		v.problem("the last event is missing: the log was cut short")
	case !known.IsZero() && !v.report.Found:
		v.problem("no event has the hash %s: the log was rewritten", known)
	}
	return v.report, nil
}

// A verifier reads a log from its end to its start.
type verifier struct {
	chain    Chain
	known    Hash
	report   ChainReport
	erased   map[ID]bool // entities that an event read so far erased
	headSeen bool
	later    *Event // the event after the one to come
}

func (v *verifier) problem(format string, args ...any) {
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
	}
}

// check looks at one event and at the one after it.
func (v *verifier) check(e *Event) {
	if e.Seq <= v.chain.Start {
		v.report.Older++
		return
	}
	v.link(e.Hash, e.Former)
	v.report.Events++
	v.headSeen = v.headSeen || e.Hash == v.chain.Head
	v.report.Found = v.report.Found || !v.known.IsZero() && (e.Hash == v.known || e.Former == v.known)
	if !e.Unnamed && v.chain.Names.Mark(e.Namespace) != e.Mark {
		v.problem("event %d (%s): its namespace was changed", e.Seq, e.ID)
	}
	if e.payloadDigest() != e.Digest {
		if len(e.Payload)+len(e.Nonce) == 0 && v.erased[e.Entity] {
			v.report.Emptied++
		} else {
			v.problem("event %d (%s): its payload was changed", e.Seq, e.ID)
		}
	}
	if e.Type == EventErased {
		v.erased[e.Entity] = true
	}
	v.later = e
}

// link checks the event after the one with these hashes. The former one is proof as
// long as the name is there that it covers: so a head that was noted before a file was
// brought up to date goes on to prove what it did.
func (v *verifier) link(before, former Hash) {
	if e := v.later; e != nil {
		if e.chained(before) != e.Hash || !e.Former.IsZero() && !e.Unnamed && e.formerly(former) != e.Former {
			v.problem("event %d (%s): it was changed, or an event before it was changed, removed or put in", e.Seq, e.ID)
		}
	}
}
