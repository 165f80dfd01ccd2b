package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Rename moves a file, or a directory with all that is below it, to a path where
// there is nothing; directories above are made. Earlier versions go along. ENOENT,
// EEXIST, ENOTDIR, ENOSPC; EINVAL for the root, for a directory into itself, and
// where a path would get too long.
//
// All of it is one change, unless more than a few hundred entries are below and the
// handle has no idempotency key: then it goes in steps, as [Tree.Delete] does. A move that
// stops half way leaves a whole tree with each file in one of the two places: move again,
// and it goes on.
func (t *Tree) Rename(ctx context.Context, from, to string) error {
	from, err := CleanPath(from)
	if err != nil {
		return err
	}
	if to, err = CleanPath(to); err != nil {
		return err
	}
	for more := t.m.View().IdempotencyKey == "" && from != to; more; {
		if more, err = t.moveSome(ctx, from, to); err != nil {
			return err
		}
	}
	_, err = editTree(ctx, t, "rename file", []string{from, to}, func(ed *edit) (bool, loci.ID, error) {
		e, err := ed.source(from)
		switch {
		case err != nil:
			return false, loci.ID{}, err
		case from == to:
			return true, e.record.ID, nil
		}
		return true, e.record.ID, ed.rename(e, to)
	})
	return err
}

// source looks up what is to move.
func (ed *edit) source(from string) (*entry, error) {
	e, err := ed.entry(from)
	if err == nil && e == nil {
		err = errorf(loci.NotFound, ENOENT, "List the directory to see what is there.", "ENOENT: no such file or directory")
	}
	return e, err
}

// moveSome moves some of what is below a directory, if that is too much for one change. What
// comes last in the order of slots goes first, so that nothing is below what has gone. A
// directory that is made in the new place waits there for the one that comes.
func (t *Tree) moveSome(ctx context.Context, from, to string) (more bool, err error) {
	return editTree(ctx, t, "rename files", nil, func(ed *edit) (bool, loci.ID, error) {
		e, err := ed.source(from)
		if err != nil || !e.body.Dir {
			return false, loci.ID{}, err
		}
		last, err := ed.last(from, loci.Page{Limit: stepEntries + 1}, movedEntry)
		if err != nil || len(last) <= stepEntries {
			return false, loci.ID{}, err
		}
		if err := ed.awaitAt(e, to); err != nil {
			return false, loci.ID{}, err
		}
		last = last[:stepEntries]
		slices.Reverse(last)
		if err := ed.carry(e.path, to, last); err != nil {
			return false, loci.ID{}, err
		}
		e.record.UpdatedAt = ed.now
		ed.put(e, -1)
		ed.event(loci.EventUpdated, e, map[string]any{"version": e.record.Version + 1, "moved": len(last)})
		return true, loci.ID{}, nil
	})
}

// awaitAt makes the directory to which another one moves in steps, unless an earlier step has.
func (ed *edit) awaitAt(e *entry, to string) error {
	there, err := ed.destination(e, to)
	if err != nil || there != nil {
		return err
	}
	if err := ed.pathsFit(e, to); err != nil {
		return err
	}
	if err := ed.makeRoom(e, to); err != nil {
		return err
	}
	there, err = ed.standIn(to)
	if err == nil {
		there.body.Awaits = e.record.ID
	}
	return err
}

// destination looks up what is where an entry is to go: nothing, or the directory that waits for it.
func (ed *edit) destination(e *entry, to string) (*entry, error) {
	from := e.path
	if from == "/" || e.body.Dir && strings.HasPrefix(to, from+"/") {
		return nil, errorf(loci.Invalid, EINVAL, "Choose a path outside of the directory.", "a directory cannot be moved into itself")
	}
	there, err := ed.entry(to)
	if err == nil && there != nil && (!there.body.Dir || there.body.Awaits != e.record.ID) {
		err = errExists()
	}
	return there, err
}

func errExists() error {
	return errorf(loci.Conflict, EEXIST, "Delete what is there first, or choose another path.", "EEXIST: something is there already")
}

// pathsFit refuses a move of a directory that would make a path below it too long, before
// anything moves.
func (ed *edit) pathsFit(e *entry, to string) error {
	if strings.Count(to, "/") <= strings.Count(e.path, "/") {
		return nil
	}
	f := ed.t.entries()
	for _, f.Slots = range []loci.SlotRange{childSlots(e.path), deeperSlots(e.path)} {
		if err := ed.t.eachEntry(ed.ctx, f, func(r *loci.Record) error {
			_, err := CleanPath(to + slotPath(r.Slot)[len(e.path):])
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// standIn looks up a directory and makes it, and those above it, where what is moved is to
// lie. No limit holds for it: it goes when the one that it stands for comes.
func (ed *edit) standIn(path string) (*entry, error) {
	e, err := ed.entry(path)
	switch {
	case err != nil:
		return nil, err
	case e != nil && !e.body.Dir:
		return nil, errNotDir()
	case e != nil:
		return e, nil
	}
	above, _ := splitPath(path)
	parent, err := ed.standIn(above)
	if err != nil {
		return nil, err
	}
	ed.count(parent, 1)
	e = ed.newEntry(path, true)
	ed.entries[path] = e
	ed.root.body.Dirs++
	ed.put(e, -1)
	ed.event(loci.EventCreated, e, nil)
	return e, nil
}

// rename moves an entry, with what is below it, in one change.
func (ed *edit) rename(e *entry, to string) error {
	from := e.path
	there, err := ed.destination(e, to)
	if err != nil {
		return err
	}
	if there == nil {
		if err := ed.makeRoom(e, to); err != nil {
			return err
		}
	}
	below, err := ed.below(e, movedEntry)
	if err != nil {
		return err
	}
	if err := ed.carry(from, to, append([]*entry{e}, below...)); err != nil {
		return err
	}
	e.body.Awaits = loci.ID{}
	ed.event(loci.EventUpdated, e, map[string]any{"version": e.record.Version + 1, "moved": len(below) + 1})
	return nil
}

// makeRoom makes the directories above the path that an entry is to move to.
func (ed *edit) makeRoom(e *entry, to string) error {
	above, _ := splitPath(to)
	target, err := ed.dir(above)
	if err != nil {
		return err
	}
	source, err := ed.parent(e.path)
	if err != nil || target == source {
		return err
	}
	return ed.checkChildren(target.body.Children + 1)
}

// movedEntry reads a record that is to move: of a file only its path changes.
func movedEntry(r *loci.Record) (*entry, error) {
	if r.Status == statusDir {
		return entryOf(r)
	}
	return &entry{record: *r, path: slotPath(r.Slot), asIs: true}, nil
}

// carry moves entries, in the order of their slots, from below one directory to below
// another. Of a directory that is among them, so is all that is still below it.
func (ed *edit) carry(from, to string, list []*entry) error {
	if err := ed.lookUp(from, to, list); err != nil {
		return err
	}
	gone := map[string]*entry{} // directories by the path that they had
	for _, e := range list {
		old, path := e.path, to+e.path[len(from):]
		if _, err := CleanPath(path); err != nil {
			return err
		}
		above, _ := splitPath(old)
		source := gone[above]
		if source == nil {
			var err error
			if source, err = ed.parent(old); err != nil {
				return err
			}
		}
		newAbove, _ := splitPath(path)
		target, err := ed.standIn(newAbove)
		if err != nil {
			return err
		}
		replaced, err := ed.replaceStandIn(e, path)
		if err != nil {
			return err
		}
		switch {
		case replaced:
			ed.count(source, -1)
		case source != target:
			ed.count(source, -1)
			ed.count(target, 1)
		}
		if e.body.Dir {
			gone[old] = e
		}
		e.path, ed.entries[old], ed.entries[path] = path, nil, e
		ed.put(e, -1)
	}
	return nil
}

// replaceStandIn takes the directory away that waits for one at a path, if there is one. What
// is below it is then below the one that comes.
func (ed *edit) replaceStandIn(e *entry, path string) (bool, error) {
	there, err := ed.entry(path)
	if err != nil || there == nil {
		return false, err
	}
	if !e.body.Dir || !there.body.Dir {
		return false, errExists()
	}
	e.body.Children += there.body.Children
	ed.erase(there, &Counts{})
	return true, nil
}

// lookUp notes what is where entries are to go. Nothing is, unless there is a directory that
// waits; what was carried before lies behind all of them in the order of slots.
func (ed *edit) lookUp(from, to string, list []*entry) error {
	waits := ed.entries[to]
	for _, e := range list {
		if path := to + e.path[len(from):]; path != to {
			ed.entries[path] = nil
		}
	}
	if waits == nil || waits.record.Version == 0 {
		return nil
	}
	f := ed.t.entries()
	for _, within := range []loci.SlotRange{childSlots(to), deeperSlots(to)} {
		f.Slots = loci.SlotRange{}
		for _, e := range list {
			slot := entrySlot(to + e.path[len(from):])
			if !within.Contains(slot) {
				continue
			}
			if f.Slots.From == "" {
				f.Slots.From = slot
			}
			f.Slots.To = slot + "\x00"
		}
		if f.Slots.From == "" {
			continue
		}
		if err := ed.note(f); err != nil {
			return err
		}
	}
	return nil
}

// note reads entries so that they need not be looked up one by one.
func (ed *edit) note(f loci.Filter) error {
	return ed.t.eachEntry(ed.ctx, f, func(r *loci.Record) error {
		there, err := entryOf(r)
		if err == nil {
			ed.entries[there.path] = there
		}
		return err
	})
}
