package loci

import (
	"cmp"
	"context"
	"encoding/hex"

	"github.com/loci-memory/loci/internal/seal"
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

// entry is the event as the chain covers it.
func (e *Event) entry() seal.Entry {
	return seal.Entry{
		ID: e.ID, Entity: e.Entity, Type: string(e.Type), Kind: string(e.Kind), At: e.At.UnixMilli(), Actor: e.Actor,
		RequestID: e.RequestID, Mark: string(e.Mark),
		Nonce: e.Nonce, Payload: e.Payload, Digest: e.Digest, Former: e.Former,
	}
}

// Seal makes the event the next of a chain whose last hash is before. Stores call
// it inside the transaction that appends the event, when its mark is set.
func (e *Event) Seal(before Hash) {
	entry := e.entry()
	entry.Digest = entry.PayloadDigest()
	e.Digest, e.Hash = entry.Digest, entry.After(before)
}

// Reseal seals an event that is older than the marks of namespaces. Former is the hash it
// had then, and former that of the event before it. A change that broke the old chain
// also breaks the new one: bringing a file up to date hides nothing.
func (e *Event) Reseal(before, former Hash) {
	entry := e.entry()
	e.Hash = entry.After(before)
	if entry.FormerAfter(former, e.Namespace.former().Key()) != e.Former {
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

// VerifyEvents reads the whole audit log of a tenant and checks that every event is as it
// was written, that none was removed and that none came in between. known, when not zero,
// is a head noted earlier: it is a problem if that head is missing. Without it nobody
// notices a log that was rewritten, hashes included, from some point to its end. Others
// may write and erase meanwhile.
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
	elders := e.elders()
	v := seal.Verifier{Head: chain.Head, Known: known, Start: chain.Start, Problems: []string{}}
	all := EventFilter{Within: []Namespace{{}}}
	err = e.eachEvent(ctx, t, all, 1000, func(event *Event) (more bool, err error) {
		v.Check(lineOf(event, chain.Names, elders))
		return true, e.acquit(ctx, t, &v, 500)
	})
	if err = cmp.Or(err, e.acquit(ctx, t, &v, 1)); err != nil {
		return ChainReport{}, err
	}
	if v.End() {
		err = e.eachEvent(ctx, t, all, 1000, func(event *Event) (more bool, err error) {
			return v.Later(lineOf(event, chain.Names, elders)), nil
		})
		if err != nil {
			return ChainReport{}, err
		}
	}
	v.Settle()
	return ChainReport{
		Events: v.Events, Older: v.Older, Emptied: v.Emptied, Head: chain.Head, Problems: v.Problems, Found: v.Found,
	}, nil
}

// lineOf is an event as the proof reads it. The feature of its kind knows what belonged together.
func lineOf(e *Event, names NameKey, elders map[Kind]Elder) *seal.Line {
	l := &seal.Line{
		Entry: e.entry(), Seq: e.Seq, Hash: e.Hash, Erases: e.Type == EventErased,
		Place: e.Namespace.former().Key(), Unnamed: e.Unnamed,
		Renamed: !e.Unnamed && names.Mark(e.Namespace) != e.Mark,
	}
	if elder := elders[e.Kind]; elder != nil {
		l.Family, l.Part, l.Ends = elder.Family(e)
	}
	return l
}

// eachEvent calls do with the events that a filter selects, newest first, until it says
// that no more are needed. It reads limit of them at a time.
func (e *Engine) eachEvent(
	ctx context.Context, t Tenant, f EventFilter, limit int, do func(*Event) (more bool, err error),
) error {
	for page := (Page{Limit: limit}); ; {
		events, next, err := e.store.Events(ctx, t, f, page)
		if err != nil {
			return err
		}
		for i := range events {
			if more, err := do(&events[i]); err != nil || !more {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

// acquit clears the events about records that an older build erased together with others
// and without an event of their own. It waits until there are as many as least.
func (e *Engine) acquit(ctx context.Context, t Tenant, v *seal.Verifier, least int) error {
	quiet := v.Quiet(least)
	if len(quiet) == 0 {
		return nil
	}
	ids := make([]ID, len(quiet))
	for i, id := range quiet {
		ids[i] = id
	}
	untold, err := e.store.Untold(ctx, t, ids)
	gone := make([][16]byte, len(untold))
	for i, id := range untold {
		gone[i] = id
	}
	v.Acquit(gone)
	return err
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
