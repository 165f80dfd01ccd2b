package tree

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
)

// An Extent is what a delete of a path would erase, as it was when somebody looked: for
// a question to a person, and for a delete that takes nothing else.
type Extent struct {
	Path string
	Dir  bool
	Counts
	Bytes int64    // of the files, without their earlier versions
	First []string // the paths of the first files

	// Mark stands for exactly these files in these versions: two extents of a path have
	// the same mark if a delete of it erases the same.
	Mark string

	files map[loci.ID]int64 // versions
	dirs  map[loci.ID]bool  // in any version, which changes with what is in them
}

// extentFirst is how many paths an extent names.
const extentFirst = 5

// Extent looks at what a delete of a path would erase now. A missing path is no error:
// there is nothing.
func (t *Tree) Extent(ctx context.Context, path string) (x Extent, err error) {
	x.files, x.dirs = map[loci.ID]int64{}, map[loci.ID]bool{}
	if x.Path, err = CleanPath(path); err != nil {
		return x, err
	}
	ed := &edit{t: t, ctx: ctx, entries: map[string]*entry{}}
	e, err := ed.entry(x.Path)
	if err != nil || e == nil {
		return x, err
	}
	x.Dir = e.body.Dir
	all, err := ed.below(e, entryOf)
	if err != nil {
		return x, err
	}
	if x.Path != "/" {
		all = append(all, e)
	}
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n", x.Path)
	for _, one := range all {
		if one.body.Dir {
			x.Dirs++
			x.dirs[one.record.ID] = true
			continue
		}
		x.Files++
		x.Bytes += one.manifest.Bytes
		x.files[one.record.ID] = one.record.Version
		_, _ = fmt.Fprintf(digest, "%s %d\n", one.record.ID, one.record.Version)
		if len(x.First) < extentFirst {
			x.First = append(x.First, one.path)
		}
	}
	x.Mark = base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:18])
	return x, nil
}

// DeleteExtent is [Tree.Delete] of the path of an extent that erases nothing which is not
// in it. Conflict: there is something else by now, or a file has changed since. Then nothing
// is erased, or, of a large directory, what was erased before is counted, and what came stays.
func (t *Tree) DeleteExtent(ctx context.Context, x Extent) (Counts, error) {
	path, err := CleanPath(x.Path)
	if err != nil {
		return Counts{}, err
	}
	return t.deleteOnly(ctx, path, &x)
}

// errNotShown is that of a delete which would erase what an extent does not have.
var errNotShown = errors.New("not in the extent")

// check refuses to erase what an extent does not have; nil has everything.
func (x *Extent) check(e *entry) error {
	if x == nil || e.body.Dir && x.dirs[e.record.ID] {
		return nil
	}
	if version, there := x.files[e.record.ID]; there && version == e.record.Version {
		return nil
	}
	return errNotShown
}

// changed tells the caller of a refused check, and what was erased before it.
func (x *Extent) changed(before Counts, err error) error {
	if !errors.Is(err, errNotShown) {
		return err
	}
	done := "nothing was deleted"
	if before != (Counts{}) {
		done = fmt.Sprintf("%d files were deleted, and what is new or changed stays", before.Files)
	}
	return errorf(loci.Conflict, EAGAIN, "Look at what is there now, and decide again.",
		"%s has changed meanwhile: %s", x.Path, done)
}
