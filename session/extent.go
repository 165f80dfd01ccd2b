package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
)

// An Extent is what clearing a session would erase, as it was when somebody looked: for a
// question to a person, and for a clear that takes nothing else.
type Extent struct {
	Session  string
	Messages int64

	// Mark stands for exactly these messages in these versions: two extents of a session
	// have the same mark if clearing it erases the same.
	Mark string

	shown map[loci.ID]int64 // versions
}

// Extent looks at what clearing a session would erase now. A missing one is no error:
// there is nothing.
func (s *Handle) Extent(ctx context.Context, id string) (Extent, error) {
	x := Extent{Session: id, shown: map[loci.ID]int64{}}
	if err := checkSessionID(id); err != nil {
		return x, err
	}
	st, err := s.find(ctx, id)
	if err != nil || st == nil {
		return x, err
	}
	all, err := s.erases(ctx, st.body.ID)
	if err != nil {
		return x, err
	}
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n", st.record.ID)
	for _, e := range all {
		x.Messages++
		x.shown[e.ID] = e.Version
		_, _ = fmt.Fprintf(digest, "%s %d\n", e.ID, e.Version)
	}
	x.Mark = base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:18])
	return x, nil
}

// ClearExtent is [Handle.Clear] of the session of an extent that erases no message which is
// not in it. Conflict: there is one by now, or one has changed since. Nothing is erased if it
// was there when the clear began; else the error says how many messages went before.
func (s *Handle) ClearExtent(ctx context.Context, x Extent) (Cleared, error) {
	if err := checkSessionID(x.Session); err != nil {
		return Cleared{}, err
	}
	return s.clear(ctx, x.Session, map[string]any{"session_id": x.Session}, &x) // the request of Clear: it is the same
}

// errNotShown says that a message is not in an extent.
var errNotShown = errors.New("a message is not in the extent")

// has reports whether an extent has a message in a version; nil has all.
func (x *Extent) has(id loci.ID, version int64) bool {
	if x == nil {
		return true
	}
	shown, there := x.shown[id]
	return there && shown == version
}

// check refuses messages that an extent does not have. The session was read before: while it
// stays as it is, so do its messages.
func (s *Handle) check(ctx context.Context, st *state, only *Extent) error {
	if only == nil {
		return nil
	}
	all, err := s.erases(ctx, st.body.ID)
	if err != nil {
		return err
	}
	for _, e := range all {
		if !only.has(e.ID, e.Version) {
			return errNotShown
		}
	}
	return nil
}

// changed tells the caller of a message that was not shown, and what was erased before it.
func (x *Extent) changed(before Cleared, err error) error {
	if !errors.Is(err, errNotShown) {
		return err
	}
	done := "nothing was deleted"
	if before.Messages > 0 {
		done = fmt.Sprintf("%d messages were deleted, and the others stay", before.Messages)
	}
	return &loci.Error{Code: loci.Conflict, Msg: "the session has changed meanwhile: " + done,
		Recovery: "Read what is new in it, and decide again."}
}
