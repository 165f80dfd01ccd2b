package loci

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
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
// all, goes unnoticed. Others may write and erase meanwhile.
func (e *Engine) VerifyEvents(ctx context.Context, t Tenant, known Hash) (ChainReport, error) {
	report, err := e.verifyOnce(ctx, t, known)
	if err == nil && len(report.Problems) > 0 {
		// The tenant may have been erased in the middle. What is really there is found again.
		report, err = e.verifyOnce(ctx, t, known)
	}
	return report, err
}

func (e *Engine) verifyOnce(ctx context.Context, t Tenant, known Hash) (ChainReport, error) {
	chain, err := e.store.Chain(ctx, t)
	if err != nil {
		return ChainReport{}, err
	}
	v := verifier{chain: chain, known: known, elders: e.elders(), erased: map[ID]bool{}, alongside: map[string]bool{},
		headSeen: chain.Head.IsZero()}
	v.report.Head, v.report.Problems = chain.Head, []string{}
	err = e.eachEvent(ctx, t, func(events []Event) (more bool, err error) {
		for i := range events {
			v.check(&events[i])
		}
		return true, e.acquit(ctx, t, &v)
	})
	if err != nil {
		return ChainReport{}, err
	}
	v.link(Hash{}, Hash{})
	if err := e.erasedSince(ctx, t, &v); err != nil {
		return ChainReport{}, err
	}
	switch {
	case !v.headSeen:
		v.problem("the last event is missing: the log was cut short")
	case !known.IsZero() && !v.report.Found:
		v.problem("no event has the hash %s: the log was rewritten", known)
	}
	return v.report, nil
}

// eachEvent calls do with the events of a tenant, newest first, page by page, until
// it says that no more are needed.
func (e *Engine) eachEvent(ctx context.Context, t Tenant, do func(events []Event) (more bool, err error)) error {
	for page := (Page{Limit: 1000}); ; {
		events, next, err := e.store.Events(ctx, t, EventFilter{Within: []Namespace{{}}}, page)
		if err != nil {
			return err
		}
		more, err := do(events)
		if page.Cursor = next; err != nil || !more || next == "" {
			return err
		}
	}
}

// acquit takes those events off the list of open ones whose records an older build
// erased together with others and without an event of their own.
func (e *Engine) acquit(ctx context.Context, t Tenant, v *verifier) error {
	var ids []ID
	for i := v.acquitted; i < len(v.open); i++ {
		if v.open[i].along {
			ids = append(ids, v.open[i].entity)
		}
	}
	if len(ids) > 0 {
		untold, err := e.store.Untold(ctx, t, ids)
		if err != nil {
			return err
		}
		gone := make(map[ID]bool, len(untold))
		for _, id := range untold {
			gone[id] = true
		}
		before := len(v.open)
		v.open = slices.DeleteFunc(v.open, func(o openEvent) bool { return o.along && gone[o.entity] })
		v.report.Emptied += int64(before - len(v.open))
	}
	v.acquitted = len(v.open)
	return nil
}

// erasedSince settles the open events: the records of some were erased after their
// erased events would have been read, by events that are in the log by now and
// continue what was read.
func (e *Engine) erasedSince(ctx context.Context, t Tenant, v *verifier) error {
	if len(v.open) == 0 {
		return nil
	}
	since := verifier{chain: v.chain, erased: map[ID]bool{}}
	err := e.eachEvent(ctx, t, func(events []Event) (more bool, err error) {
		for i := range events {
			if events[i].Seq <= v.newest.Seq {
				return false, nil
			}
			since.follow(&events[i])
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	since.link(v.newest.Hash, v.newest.Former)
	v.report.Problems = append(v.report.Problems, since.report.Problems...)
	for _, o := range v.open {
		if o.emptied && since.erased[o.entity] {
			v.report.Emptied++
			continue
		}
		v.problem("event %d (%s): its payload was changed", o.seq, o.id)
	}
	v.report.Problems = v.report.Problems[:min(len(v.report.Problems), maxProblems)]
	return nil
}

// A verifier reads a log from its end to its start.
type verifier struct {
	chain     Chain
	known     Hash
	elders    map[Kind]Elder
	report    ChainReport
	erased    map[ID]bool     // entities that an event read so far erased
	alongside map[string]bool // families of which an event read so far may have erased parts; see [Elder]
	open      []openEvent     // whose payloads are not what was written, and no event read so far says why
	acquitted int             // how many of them the store was asked about
	headSeen  bool
	newest    *Event
	later     *Event // the event after the one to come
}

// An openEvent is one whose payload is missing or another one.
type openEvent struct {
	seq     int64
	id      ID
	entity  ID
	emptied bool // it is missing, as after an erase
	along   bool // it is missing, and an older build may have erased the record without an event
}

// maxOpen bounds the open events that are looked at a second time.
const maxOpen = 100_000

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
	v.report.Events++
	v.headSeen = v.headSeen || e.Hash == v.chain.Head
	v.report.Found = v.report.Found || !v.known.IsZero() && (e.Hash == v.known || e.Former == v.known)
	if !e.Unnamed && v.chain.Names.Mark(e.Namespace) != e.Mark {
		v.problem("event %d (%s): its namespace was changed", e.Seq, e.ID)
	}
	if e.payloadDigest() != e.Digest {
		v.missing(e)
	}
	if where, _, ends := v.family(e); ends {
		v.alongside[where] = true
	}
	v.follow(e)
}

// missing judges an event whose payload is not the one it was written with.
func (v *verifier) missing(e *Event) {
	emptied := len(e.Payload)+len(e.Nonce) == 0
	where, part, _ := v.family(e)
	switch {
	case emptied && v.erased[e.Entity]:
		v.report.Emptied++
	case len(v.open) == maxOpen:
		v.problem("event %d (%s): its payload was changed", e.Seq, e.ID)
	default:
		v.open = append(v.open, openEvent{e.Seq, e.ID, e.Entity, emptied, emptied && part && v.alongside[where]})
	}
}

// follow checks the event after this one, and notes what this one erased.
func (v *verifier) follow(e *Event) {
	v.link(e.Hash, e.Former)
	if e.Type == EventErased {
		v.erased[e.Entity] = true
	}
	if v.newest == nil {
		v.newest = e
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

// family asks the feature of an event's kind what belonged together.
func (v *verifier) family(e *Event) (name string, part, ends bool) {
	if elder := v.elders[e.Kind]; elder != nil {
		return elder.Family(e)
	}
	return "", false, false
}

// elders are the features that erased parts without an event about each, by their kinds.
func (e *Engine) elders() map[Kind]Elder {
	byKind := map[Kind]Elder{}
	for _, f := range e.opts.Features {
		if elder, ok := f.(Elder); ok {
			for _, k := range f.Kinds() {
				byKind[k.Kind] = elder
			}
		}
	}
	return byKind
}
