package genkit

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/firebase/genkit/go/core/x/session"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
)

var _ session.Store[struct{}] = (*SessionStore[struct{}])(nil)

// A SessionStore keeps the state of Genkit's sessions, such as in session.WithStore. The
// state is stored as the JSON it is: nothing is taken out of it, credentials included,
// and no search finds it. The last save wins.
type SessionStore[S any] struct{ handle Handle }

// NewSessionStore returns a store over the checkpoints of a handle's namespace.
func NewSessionStore[S any](handle Handle) *SessionStore[S] { return &SessionStore[S]{handle} }

// Where a session is among the checkpoints of the handle: apart from the threads of
// LangGraph, which may have the same names.
const (
	threadPrefix = "genkit:"
	stateID      = "latest"
	stateType    = "json"
)

// Get reads a session; nil where there is none.
func (s *SessionStore[S]) Get(ctx context.Context, id string) (*session.Data[S], error) {
	checkpoints, err := checkpointsOf(ctx, s.handle, id)
	if err != nil {
		return nil, err
	}
	saved, err := checkpoints.Get(ctx, threadPrefix+id, "", stateID)
	switch {
	case errors.Is(err, loci.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, loci.AsError(err)
	}
	data := &session.Data[S]{}
	if err := json.Unmarshal(saved.State.Data, data); err != nil {
		return nil, &loci.Error{Code: loci.Invalid, Op: "read session", Msg: "the stored state does not fit the type of the program's state", Err: err,
			Recovery: "Read it with the type it was saved with, or delete it."}
	}
	return data, nil
}

// Save stores a session, in place of what was there. Up to 16 MiB of JSON, and 1000
// bytes of id.
func (s *SessionStore[S]) Save(ctx context.Context, id string, data *session.Data[S]) error {
	checkpoints, err := checkpointsOf(ctx, s.handle, id)
	if err != nil {
		return err
	}
	if data == nil {
		return loci.Errorf(loci.Invalid, "data must not be nil")
	}
	state, err := json.Marshal(data)
	if err != nil {
		return loci.Errorf(loci.Invalid, "the state is not JSON: %w", err)
	}
	err = checkpoints.Put(ctx, checkpoint.Checkpoint{
		Thread: threadPrefix + id, ID: stateID, State: checkpoint.Typed{Type: stateType, Data: state},
	})
	if err != nil {
		return loci.AsError(err)
	}
	return nil
}

// Delete erases a session. One that is not there is no error.
func (s *SessionStore[S]) Delete(ctx context.Context, id string) error {
	checkpoints, err := checkpointsOf(ctx, s.handle, id)
	if err != nil {
		return err
	}
	if _, err := checkpoints.DeleteThread(ctx, threadPrefix+id); err != nil && !errors.Is(err, loci.ErrNotFound) {
		return loci.AsError(err)
	}
	return nil
}

func checkpointsOf(ctx context.Context, handle Handle, id string) (*checkpoint.Handle, error) {
	const most = 1000
	if id == "" || len(id) > most {
		return nil, loci.Errorf(loci.Invalid, "session id has %d bytes; it must have 1 to %d", len(id), most)
	}
	memory, err := handle.memory(ctx)
	if err != nil {
		return nil, loci.AsError(err)
	}
	return checkpoint.Of(memory), nil
}
