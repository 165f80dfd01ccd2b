package tree

import (
	"bytes"
	"context"

	"github.com/loci-memory/loci"
)

// Delete erases a file, or a directory with all that is below it, earlier versions
// included, and returns how many of each there were, the directory itself counted. A
// missing path is no error: nothing was there. Deleting the root erases everything in it.
// Directories above stay.
//
// All of it is one change, unless more than a few hundred entries are below: then it goes in
// steps, the deepest entries first, so that the writes of others wait for one step at most. A
// delete that stops half way leaves a whole tree with less in it: delete again. With an
// idempotency key the reply is kept with the last step.
func (t *Tree) Delete(ctx context.Context, path string) (Counts, error) {
	path, err := CleanPath(path)
	if err != nil {
		return Counts{}, err
	}
	return t.deleteOnly(ctx, path, nil)
}

// deleteOnly erases a clean path, and of what is there nothing that an extent lacks. It counts
// what it has erased before it failed, too.
func (t *Tree) deleteOnly(ctx context.Context, path string, only *Extent) (before Counts, err error) {
	all, err := t.delete(ctx, path, path, only, &before)
	if err != nil {
		return before, only.changed(before, err)
	}
	return all, nil
}

// Bounds of one step of a delete: it erases at most so many entries, and ends early once
// these have so many records.
const (
	stepEntries = 192
	stepRecords = 512
)

// deleteSome erases some of what is below a directory, if that is too much for one change.
func (ed *edit) deleteSome(dir *entry, only *Extent) (n Counts, some bool, err error) {
	if !dir.body.Dir {
		return n, false, nil
	}
	last, err := ed.last(dir.path, loci.Page{Limit: stepEntries + 1, Brief: true, Bodies: true}, goneEntry)
	if err != nil {
		return n, false, err
	}
	gone, fits := map[string]bool{}, 0
	for records := 0; fits < min(len(last), stepEntries) && records < stepRecords; fits++ {
		records += last[fits].records()
	}
	if fits == len(last) {
		return n, false, nil
	}
	for _, e := range last[:fits] {
		if err := only.check(e); err != nil {
			return n, false, err
		}
		gone[e.path] = true
		ed.erase(e, &n)
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
			return n, false, err
		}
	}
	ed.put(ed.root, -1)
	ed.change.More = true // until the last step nobody hears that anything is erased
	return n, true, nil
}

// records is how many records an entry is made of.
func (e *entry) records() int { return 1 + len(e.manifest.Blocks) + len(e.body.Retired) }

// goneEntry reads of a record that is to go what tells which records go with it.
func goneEntry(r *loci.Record) (e *entry, err error) {
	e = &entry{record: *r, path: slotPath(r.Slot)}
	if e.body.Dir = r.Status == statusDir; e.body.Dir {
		return e, nil
	}
	if bytes.Contains(r.Body, []byte("retired")) { // most have nothing to read there
		return entryOf(r)
	}
	e.manifest, err = manifestOf(r.Attributes)
	return e, err
}

// last lists entries below a directory, from the last one on in the order of their slots: in
// it everything comes behind the directory that it is in. page says how many, and what of them.
func (ed *edit) last(
	path string, page loci.Page, read func(*loci.Record) (*entry, error),
) (list []*entry, err error) {
	f, limit := ed.t.entries(), page.Limit
	page.Order = loci.SlotDescending
	for _, f.Slots = range []loci.SlotRange{deeperSlots(path), childSlots(path)} {
		if len(list) == limit {
			return list, nil
		}
		page.Limit = limit - len(list)
		records, _, err := ed.t.m.Records(ed.ctx, f, page)
		if err != nil {
			return nil, err
		}
		for i := range records {
			e, err := read(&records[i])
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// delete erases a clean path. request as in [loci.Commit]; before is what went in steps.
func (t *Tree) delete(
	ctx context.Context, path string, request any, only *Extent, before *Counts,
) (Counts, error) {
	return editTree(ctx, t, "delete file", request, func(ed *edit) (n Counts, _ loci.ID, err error) {
		ed.change.Settled = true // what is not here any more another caller may have erased
		e, err := ed.entry(path)
		if n = *before; err != nil || e == nil {
			ed.change.Last = n != Counts{}
			return n, loci.ID{}, err
		}
		step, more, err := ed.deleteSome(e, only)
		if err != nil || more {
			ed.change.Settled = false
			ed.then = func() { before.Files, before.Dirs = n.Files+step.Files, n.Dirs+step.Dirs }
			return n, loci.ID{}, err
		}
		below, err := ed.below(e, entryOf)
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
			if err := only.check(gone); err != nil {
				return n, loci.ID{}, err
			}
			ed.erase(gone, &n)
		}
		if len(below) > 0 {
			ed.put(ed.root, -1)
		}
		ed.change.Last = *before != Counts{}
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

// below lists everything below a directory, in the order of slots; nothing for a file.
func (ed *edit) below(e *entry, read func(*loci.Record) (*entry, error)) (list []*entry, err error) {
	if !e.body.Dir {
		return nil, nil
	}
	f := ed.t.entries()
	for _, f.Slots = range []loci.SlotRange{childSlots(e.path), deeperSlots(e.path)} {
		err := ed.t.eachEntry(ed.ctx, f, func(r *loci.Record) error {
			one, err := read(r)
			list = append(list, one)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// eachEntry calls yield for the records of entries that a filter selects, by slot.
func (t *Tree) eachEntry(ctx context.Context, f loci.Filter, yield func(*loci.Record) error) error {
	for page := (loci.Page{Limit: 1000, Order: loci.SlotAscending}); ; {
		records, next, err := t.m.Records(ctx, f, page)
		if err != nil {
			return err
		}
		for i := range records {
			if err := yield(&records[i]); err != nil {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
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
