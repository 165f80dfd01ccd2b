package checkpoint

import "context"

// CopyThreadBeyond copies a thread as one that has more than so many bytes of texts, if it has.
func (c *Handle) CopyThreadBeyond(ctx context.Context, from, to string, bytes int64) (int, error) {
	return c.copyThread(ctx, from, to, bytes, MaxCopied)
}

// CopyThreadOf copies a thread if it has no more than so many records.
func (c *Handle) CopyThreadOf(ctx context.Context, from, to string, records int64) (int, error) {
	return c.copyThread(ctx, from, to, copyBytes, records)
}

// DeleteThreadKnowing deletes a thread and remembers the values of checkpoints only until there are so many.
func (c *Handle) DeleteThreadKnowing(ctx context.Context, thread string, values int) (int, error) {
	return c.deleteThread(ctx, thread, values)
}
