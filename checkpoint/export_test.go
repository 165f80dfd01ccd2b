package checkpoint

import "context"

// DeleteThreadKnowing deletes a thread and remembers the values of checkpoints only until there are so many.
func (c *Handle) DeleteThreadKnowing(ctx context.Context, thread string, values int) (int, error) {
	return c.deleteThread(ctx, thread, values)
}

// CopyThreadFrom is a part of a copy with other bounds.
func (c *Handle) CopyThreadFrom(ctx context.Context, from, to string, records int) (Part, error) {
	return c.copyThreadPart(ctx, from, to, "", bound{records, copyPartBytes, 0})
}

// PruneFrom is a part of a prune with another bound.
func (c *Handle) PruneFrom(ctx context.Context, threads []string, cursor string, records int) (Part, error) {
	return c.prunePart(ctx, threads, KeepLatest, cursor, records)
}

// DeleteForRunsFrom is a part of a deletion of runs with another bound.
func (c *Handle) DeleteForRunsFrom(ctx context.Context, runs []string, cursor string, records int) (Part, error) {
	return c.deleteForRunsPart(ctx, runs, cursor, records)
}

// LookAtLittle makes looks at graphs small until it is called back: all that is for large graphs is for small ones, too.
func LookAtLittle() (restore func()) {
	before := looks
	looks = looking{list: 3, candidates: 9, step: 60, page: 2, window: 4, few: 1, atOnce: 1, replaced: 1}
	return func() { looks = before }
}

// ErasePart is how many records go with a part of a call that erases.
const ErasePart = erasePart
