package eino

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/compose"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
)

var _ compose.CheckPointStore = (*CheckPointStore)(nil)

// A CheckPointStore keeps what interrupted graphs and agents need to go on, such as in
// compose.WithCheckPointStore and adk.RunnerConfig. Each id holds the latest bytes,
// which are stored as they are: nothing is taken out of them, credentials included, and
// no search finds them.
type CheckPointStore struct{ handle Handle }

// NewCheckPointStore returns a store over the checkpoints of a handle's namespace.
func NewCheckPointStore(handle Handle) *CheckPointStore { return &CheckPointStore{handle} }

// Where a checkpoint of Eino is among those of the handle: apart from the threads of
// LangGraph, which may have the same names.
const (
	threadPrefix = "eino:"
	checkPointID = "latest"
	stateType    = "eino"
)

// Get returns the bytes of an id; false where there are none.
func (s *CheckPointStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	checkpoints, err := s.checkpoints(ctx, id)
	if err != nil {
		return nil, false, err
	}
	saved, err := checkpoints.Get(ctx, threadPrefix+id, "", checkPointID)
	switch {
	case errors.Is(err, loci.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, loci.AsError(err)
	}
	return saved.State.Data, true, nil
}

// Set stores the bytes of an id, in place of those before. Up to 16 MiB, and 1000 bytes
// of id.
func (s *CheckPointStore) Set(ctx context.Context, id string, data []byte) error {
	checkpoints, err := s.checkpoints(ctx, id)
	if err != nil {
		return err
	}
	err = checkpoints.Put(ctx, checkpoint.Checkpoint{
		Thread: threadPrefix + id, ID: checkPointID, State: checkpoint.Typed{Type: stateType, Data: data},
	})
	if err != nil {
		return loci.AsError(err)
	}
	return nil
}

// Delete erases the bytes of an id, such as when its run is over: Eino itself leaves
// them. An id that is not there is no error.
func (s *CheckPointStore) Delete(ctx context.Context, id string) error {
	checkpoints, err := s.checkpoints(ctx, id)
	if err != nil {
		return err
	}
	if _, err := checkpoints.DeleteThread(ctx, threadPrefix+id); err != nil && !errors.Is(err, loci.ErrNotFound) {
		return loci.AsError(err)
	}
	return nil
}

func (s *CheckPointStore) checkpoints(ctx context.Context, id string) (*checkpoint.Handle, error) {
	const most = 1000
	if id == "" || len(id) > most {
		return nil, loci.Errorf(loci.Invalid, "checkpoint id has %d bytes; it must have 1 to %d", len(id), most)
	}
	memory, err := s.handle.memory(ctx)
	if err != nil {
		return nil, loci.AsError(err)
	}
	return checkpoint.Of(memory), nil
}
