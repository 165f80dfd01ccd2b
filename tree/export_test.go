package tree

import (
	"context"

	"github.com/loci-memory/loci"
)

// WriteAsBefore makes a file whose blocks count from 0, as builds before did.
func (t *Tree) WriteAsBefore(ctx context.Context, path, content string) error {
	_, err := editTree(ctx, t, "write file", nil, func(ed *edit) (struct{}, loci.ID, error) {
		e, err := ed.create(path, false)
		if err != nil {
			return struct{}{}, loci.ID{}, err
		}
		e.body.Next = 0
		return struct{}{}, loci.ID{}, ed.replace(e, nil, content)
	})
	return err
}
