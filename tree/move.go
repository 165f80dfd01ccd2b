package tree

import (
	"context"

	"github.com/loci-memory/loci"
)

// Delete erases a file, or a directory with all that is below it, earlier versions
// included, and returns how many of each there were, the directory itself counted. A
// missing path is no error: nothing was there. Deleting the root erases everything in it.
// Directories above stay.
//
// All of it is one change, unless more than a few hundred entries are below and the
// handle has no idempotency key: then it goes in steps, the deepest entries first, so
// that the writes of others wait for one step at most. A delete that stops half way
// leaves a whole tree with less in it: delete again.
func (t *Tree) Delete(ctx context.Context, path string) (Counts, error) {
	path, err := CleanPath(path)
	if err != nil {
		return Counts{}, err
	}
	var before Counts
	for more := t.m.View().IdempotencyKey == ""; more; {
		var n Counts
		if n, more, err = t.deleteSome(ctx, path); err != nil {
			return before, err
		}
		before.Files, before.Dirs = before.Files+n.Files, before.Dirs+n.Dirs
	}
	rest, err := t.delete(ctx, path, path)
	return Counts{before.Files + rest.Files, before.Dirs + rest.Dirs}, err
}

// Bounds of one step of a delete: it erases at most so many entries, and ends early once
// these have so many records.
const (
	stepEntries = 400
	stepRecords = 1200
)

// deleteSome erases some of what is below a directory, if that is too much for one change.
func (t *Tree) deleteSome(ctx context.Context, path string) (Counts, bool, error) {
	type step struct {
		n    Counts
		more bool
	}
	done, err := editTree(ctx, t, "delete files", nil, func(ed *edit) (s step, _ loci.ID, err error) {
		dir, err := ed.entry(path)
		if err != nil || dir == nil || !dir.body.Dir {
			return s, loci.ID{}, err
		}
		last, err := ed.last(path, stepEntries+1)
		if err != nil {
			return s, loci.ID{}, err
		}
		gone, fits := map[string]bool{}, 0
		for records := 0; fits < min(len(last), stepEntries) && records < stepRecords; fits++ {
			records += last[fits].records()
		}
		if s.more = fits < len(last); !s.more {
			return s, loci.ID{}, nil
		}
		for _, e := range last[:fits] {
			gone[e.path] = true
			ed.erase(e, &s.n)
		}
		for path := range gone {
			above, _ := splitPath(path)
			if gone[above] {
				continue
			}
			parent, err := ed.parent(path)
			if err == nil {
				err = ed.settle(parent, -1)
			}
			if err != nil {
				return s, loci.ID{}, err
			}
		}
		ed.put(ed.root, -1)
		return s, loci.ID{}, nil
	})
	return done.n, done.more, err
}

// records is how many records an entry is made of.
func (e *entry) records() int { return 1 + len(e.manifest.Blocks) + len(e.body.Retired) }

// last lists up to limit entries below a directory, from the last one on in the order of
// their slots: in it everything comes behind the directory that it is in.
func (ed *edit) last(path string, limit int) (list []*entry, err error) {
	f := ed.t.entries()
	for _, f.Slots = range []loci.SlotRange{deeperSlots(path), childSlots(path)} {
		if len(list) == limit {
			return list, nil
		}
		page := loci.Page{Limit: limit - len(list), Order: loci.SlotDescending}
		records, _, err := ed.t.m.Records(ed.ctx, f, page)
		if err != nil {
			return nil, err
		}
		if list, err = appendEntries(list, records); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// appendEntries reads records of entries and adds them to a list.
func appendEntries(list []*entry, records []loci.Record) ([]*entry, error) {
	for i := range records {
		one, err := entryOf(&records[i])
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// delete erases a clean path. request as in [loci.Commit].
func (t *Tree) delete(ctx context.Context, path string, request any) (Counts, error) {
	return editTree(ctx, t, "delete file", request, func(ed *edit) (n Counts, _ loci.ID, err error) {
		e, err := ed.entry(path)
		if err != nil || e == nil {
			return n, loci.ID{}, err
		}
		below, err := ed.below(e)
		if err != nil {
			return n, loci.ID{}, err
		}
		if path == "/" {
			e.body.Children = 0
		} else {
			parent, err := ed.parent(path)
			if err != nil {
				return n, loci.ID{}, err
			}
			if err := ed.settle(parent, -1); err != nil {
				return n, loci.ID{}, err
			}
			below = append(below, e)
		}
		for _, gone := range below {
			ed.erase(gone, &n)
		}
		if len(below) > 0 {
			ed.put(ed.root, -1)
		}
		return n, loci.ID{}, nil // a reply that names what is erased would go with it
	})
}

// parent looks up the directory an entry is in.
func (ed *edit) parent(path string) (*entry, error) {
	above, _ := splitPath(path)
	parent, err := ed.entry(above)
	if err == nil && (parent == nil || !parent.body.Dir) {
		err = &loci.Error{Code: loci.Internal, Op: "read tree", Msg: "a directory of the tree is missing: the store is damaged", Err: EIO}
	}
	return parent, err
}

// below lists everything below a directory; nothing for a file.
func (ed *edit) below(e *entry) (list []*entry, err error) {
	if !e.body.Dir {
		return nil, nil
	}
	f := ed.t.entries()
	for _, f.Slots = range []loci.SlotRange{childSlots(e.path), deeperSlots(e.path)} {
		for page := (loci.Page{Limit: 1000, Order: loci.SlotAscending}); ; {
			records, next, err := ed.t.m.Records(ed.ctx, f, page)
			if err != nil {
				return nil, err
			}
			if list, err = appendEntries(list, records); err != nil {
				return nil, err
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
	}
	return list, nil
}

// erase takes an entry out of the tree, with every block of every state.
func (ed *edit) erase(e *entry, n *Counts) {
	if e.body.Dir {
		n.Dirs++
		ed.root.body.Dirs--
	} else {
		n.Files++
		ed.root.body.Files--
		ed.root.body.Bytes -= e.manifest.Bytes
	}
	ed.change.Erase = append(ed.change.Erase, loci.Erase{ID: e.record.ID, Version: e.record.Version})
	for _, b := range e.manifest.Blocks {
		ed.change.Erase = append(ed.change.Erase, loci.Erase{ID: blockID(e.record.ID, b.N), Version: b.Version})
	}
	for _, r := range e.body.Retired {
		ed.change.Erase = append(ed.change.Erase, loci.Erase{ID: blockID(e.record.ID, r.N), Version: r.Version})
	}
	ed.event(loci.EventErased, e, map[string]any{"version": e.record.Version, "bytes": e.manifest.Bytes})
}

// Rename moves a file, or a directory with all that is below it, to a path where
// there is nothing; directories above are made. Earlier versions go along. ENOENT,
// EEXIST, ENOTDIR, ENOSPC; EINVAL for the root, for a directory into itself, and
// where a path would get too long.
func (t *Tree) Rename(ctx context.Context, from, to string) error {
	from, err := CleanPath(from)
	if err != nil {
		return err
	}
	if to, err = CleanPath(to); err != nil {
		return err
	}
	_, err = editTree(ctx, t, "rename file", []string{from, to}, func(ed *edit) (bool, loci.ID, error) {
		e, err := ed.entry(from)
		switch {
		case err != nil:
			return false, loci.ID{}, err
		case e == nil:
			return false, loci.ID{}, errorf(loci.NotFound, ENOENT, "List the directory to see what is there.", "ENOENT: no such file or directory")
		case from == to:
			return true, e.record.ID, nil
		}
		return true, e.record.ID, ed.rename(e, to)
	})
	return err
}

func (ed *edit) rename(e *entry, to string) error {
	from := e.path
	if from == "/" || e.body.Dir && len(to) > len(from) && to[:len(from)+1] == from+"/" {
		return errorf(loci.Invalid, EINVAL, "Choose a path outside of the directory.", "a directory cannot be moved into itself")
	}
	there, err := ed.entry(to)
	if err != nil {
		return err
	}
	if there != nil {
		return errorf(loci.Conflict, EEXIST, "Delete what is there first, or choose another path.", "EEXIST: something is there already")
	}
	above, _ := splitPath(to)
	target, err := ed.dir(above)
	if err != nil {
		return err
	}
	source, err := ed.parent(from)
	if err != nil {
		return err
	}
	if target != source {
		if err := ed.settle(source, -1); err != nil {
			return err
		}
		if err := ed.settle(target, 1); err != nil {
			return err
		}
	}
	below, err := ed.below(e)
	if err != nil {
		return err
	}
	for _, moved := range append(below, e) {
		moved.path = to + moved.path[len(from):]
		if _, err := CleanPath(moved.path); err != nil {
			return err
		}
		ed.put(moved, -1)
	}
	ed.event(loci.EventUpdated, e, map[string]any{"version": e.record.Version + 1, "moved": len(below) + 1})
	return nil
}
