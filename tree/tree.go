// Package tree keeps trees of text files by path, with their versions, and tells a
// conversation what is in them. Name [Feature] in loci.Options.Features.
package tree

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// placeTree begins the places of trees inside a namespace. The tree's name follows, and
// "global", or "thread" and the thread.
const placeTree = "tree"

// DefaultName is the tree of a handle that names none.
const DefaultName = "memory"

// Defaults of [Feature].
const (
	DefaultMaxFileBytes  = 1 << 20
	DefaultMaxTreeBytes  = 1 << 30
	DefaultMaxEntries    = 250_000
	DefaultMaxDirEntries = 100_000
)

// The kinds of records that trees are made of.
const (
	KindFile  loci.Kind = "file"  // a file or a directory
	KindBlock loci.Kind = "block" // a part of a file's content
)

// Feature makes an engine keep trees of files, and bounds what a [Tree] holds. The zero
// value of each bound means its default. A lower limit never removes what is there
// already.
type Feature struct {
	MaxFileBytes  int   // of one file, at most 64 MiB; default 1 MiB
	MaxTreeBytes  int64 // of all files of a tree, without earlier versions; default 1 GiB
	MaxEntries    int64 // files and directories of a tree; default 250,000
	MaxDirEntries int64 // immediate children of a directory; default 100,000
}

// Kinds are files, which include directories, and their blocks.
func (Feature) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{{Kind: KindFile, Shown: string(KindFile), Status: statusFile,
		Change: "Write the file at its path, restore one of its versions there, or delete it."}, {Kind: KindBlock, Of: KindFile, Whole: fileOf}}
}

// fileOf selects the file of a block.
func fileOf(block *loci.Record) (f loci.Filter, err error) {
	id, err := loci.ParseID(block.Sequence)
	if err != nil {
		return f, &loci.Error{Code: loci.Internal, Op: "read block", Err: err}
	}
	f.IDs = []loci.ID{id}
	return f, nil
}

// PlaceOf returns where a file lies that an export has in a namespace. Where that can be
// read in two ways, it is the tree of a thread.
func (Feature) PlaceOf(_ loci.Kind, n loci.Namespace) (loci.Namespace, bool) {
	for _, labels := range []int{4, 3} { // of a thread's tree, and of one for all threads
		if k := len(n) - labels; k >= 0 && n[k] == placeTree {
			if place := n[:k].Inner(n[k:]...); hasForm(place) {
				return place, true
			}
		}
	}
	return n, false
}

// Check refuses limits out of range.
func (f Feature) Check() error {
	f = f.complete()
	switch {
	case f.MaxFileBytes < 1 || f.MaxFileBytes > 64<<20:
		return loci.Errorf(loci.Invalid, "max file bytes is %d; it must be 1 to %d", f.MaxFileBytes, 64<<20)
	case f.MaxTreeBytes < 1 || f.MaxEntries < 1 || f.MaxDirEntries < 1:
		return loci.Errorf(loci.Invalid, "the limits of a tree must be at least 1")
	}
	return nil
}

// complete puts the default in the place of each zero.
func (f Feature) complete() Feature {
	return Feature{
		MaxFileBytes:  cmp.Or(f.MaxFileBytes, DefaultMaxFileBytes),
		MaxTreeBytes:  cmp.Or(f.MaxTreeBytes, DefaultMaxTreeBytes),
		MaxEntries:    cmp.Or(f.MaxEntries, DefaultMaxEntries),
		MaxDirEntries: cmp.Or(f.MaxDirEntries, DefaultMaxDirEntries),
	}
}

// limits are those of the engine.
func (t *Tree) limits() Feature {
	f, _ := loci.FeatureOf[Feature](t.m)
	return f.complete()
}

// A Tree is a tree of text files in a handle's namespace. Paths are those of
// [CleanPath]; every method brings its path to that form first. Files hold valid
// UTF-8. Directories come with the first file below them and stay until deleted.
//
// Every change is made whole or not at all, also against other processes, and one that
// was acknowledged is never lost. A delete of a large directory is several changes. An
// error is an [*loci.Error] with an [Errno]; the handle's idempotency key makes one
// change repeatable.
type Tree struct {
	m         *loci.Memory // bound to the tree's own namespace
	name      string
	thread    string
	ancestors loci.Namespace // of the handle it was made from
}

// Of returns the tree of a name in the handle's namespace; "" is [DefaultName]. Each
// thread has its own tree under the same name; an empty thread means the tree that all
// threads share. Nothing is made before the first write.
func Of(m *loci.Memory, name, thread string) (*Tree, error) {
	name = cmp.Or(name, DefaultName)
	if err := loci.CheckLabel("tree", name); err != nil {
		return nil, err
	}
	place := m.Namespace().Inner(placeTree, name, "global")
	if thread != "" {
		if err := loci.CheckLabel("thread", thread); err != nil {
			return nil, err
		}
		place = m.Namespace().Inner(placeTree, name, "thread", thread)
	}
	inner, err := m.At(place)
	if err != nil {
		return nil, err
	}
	return &Tree{m: inner, name: name, thread: thread, ancestors: m.Namespace()}, nil
}

// Name returns the name of the tree.
func (t *Tree) Name() string { return t.name }

// Thread returns the thread whose tree it is; "" is the shared one.
func (t *Tree) Thread() string { return t.thread }

// Namespace returns where the tree keeps its records, for selecting its events and
// for counting.
func (t *Tree) Namespace() loci.Namespace { return slices.Clone(t.m.Namespace()) }

// FileInfo describes a file or a directory.
type FileInfo struct {
	Path      string    `json:"path"`
	Name      string    `json:"name"` // the last segment; empty for the root
	Dir       bool      `json:"dir"`
	ID        loci.ID   `json:"id"`
	Version   int64     `json:"version"` // grows with each change of the entry, not always by one
	Bytes     int64     `json:"bytes"`   // of a file
	Lines     int64     `json:"lines"`   // of a file: line ends, and an unended last line
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // of a file: of its content

	Unchanged bool `json:"unchanged,omitempty"` // returned by a write that changed nothing
}

// Counts say how much there is, or was.
type Counts struct {
	Files int64 `json:"files"`
	Dirs  int64 `json:"dirs"`
}

// entryBody is the part of an entry that only the tree reads. The root's entry also
// holds the totals of the tree; every change of the tree puts it, so that no two
// changes can miss one another.
type entryBody struct {
	Dir      bool  `json:"dir,omitempty"`
	Children int64 `json:"children,omitempty"` // of a directory

	// Awaits is, of a directory that was made for a move in steps, the one that is to come
	// in its place.
	Awaits loci.ID `json:"awaits,omitzero"`

	Files int64 `json:"files,omitempty"` // of the root: in the tree
	Dirs  int64 `json:"dirs,omitempty"`  // of the root: in the tree, itself not counted
	Bytes int64 `json:"bytes,omitempty"` // of the root: of all current contents

	Next    int64     `json:"next,omitempty"`    // of a file: the number of its next block
	Kept    []int64   `json:"kept,omitempty"`    // of a file: versions whose state is kept, rising
	Retired []retired `json:"retired,omitempty"` // of a file: blocks that only kept states need

	Source loci.Source `json:"source,omitzero"` // of a file: who wrote its current content
}

// An entry is a record of KindFile, taken apart.
type entry struct {
	record   loci.Record
	path     string
	body     entryBody
	manifest manifest // of a file
	asIs     bool     // only its path changes: body and manifest are not read
}

// The statuses of entries.
const (
	statusFile = "file"
	statusDir  = "dir"
)

func entryOf(r *loci.Record) (*entry, error) {
	e := &entry{record: *r, path: slotPath(r.Slot)}
	if err := loci.ReadBody(r, &e.body); err != nil {
		return nil, err
	}
	if e.body.Dir {
		return e, nil
	}
	m, err := manifestOf(r.Attributes)
	e.manifest = m
	return e, err
}

func (e *entry) info() (info FileInfo) {
	_, info.Name = splitPath(e.path)
	info.Path, info.Bytes, info.Lines = e.path, e.manifest.Bytes, e.manifest.lines()
	info.describe(&e.record)
	return info
}

// describe writes into info, which is empty, what the entry of a record says without taking all of it apart.
func (n *names) describe(info *FileInfo, r *loci.Record) (err error) {
	if r.Status != statusDir {
		info.Bytes, info.Lines, err = sizeOf(r.Attributes)
	}
	info.Path, info.Name = n.path(r.Slot)
	info.describe(r)
	return err
}

// describe writes what a list of records says of an entry.
func (i *FileInfo) describe(r *loci.Record) {
	i.Dir, i.ID, i.Version = r.Status == statusDir, r.ID, r.Version
	i.CreatedAt, i.UpdatedAt = r.CreatedAt, r.UpdatedAt
}

// entries is the filter of the tree's entries.
func (t *Tree) entries() loci.Filter {
	return loci.Filter{Within: []loci.Namespace{t.m.Namespace()}, Exact: true, Kinds: []loci.Kind{KindFile}}
}

// entry reads the entry of a clean path, or nil.
func (t *Tree) entry(ctx context.Context, path string) (*entry, error) {
	slot := entrySlot(path)
	f := t.entries()
	f.Slot = &slot
	records, _, err := t.m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return entryOf(&records[0])
}

// file reads the entry of a file; ENOENT or EISDIR otherwise.
func (t *Tree) file(ctx context.Context, path string) (*entry, error) {
	if path == "/" {
		return nil, errIsDir()
	}
	return aFile(t.entry(ctx, path))
}

// aFile is the entry that was found; ENOENT if there is none, EISDIR for a directory.
func aFile(e *entry, err error) (*entry, error) {
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return nil, errNoFile()
	case e.body.Dir:
		return nil, errIsDir()
	}
	return e, nil
}

func errNoFile() error {
	return errorf(loci.NotFound, ENOENT, "List the directory to see what is there.", "ENOENT: file not found")
}

func errIsDir() error {
	return errorf(loci.Invalid, EISDIR, "List the directory, or name a file in it.", "EISDIR: path is a directory")
}

func errNotDir() error {
	return errorf(loci.Invalid, ENOTDIR, "Choose a path that does not lead through a file.", "ENOTDIR: a parent of the path is a file")
}

// Stat describes a file or a directory; ENOENT when there is none. The root is
// always there.
func (t *Tree) Stat(ctx context.Context, path string) (FileInfo, error) {
	path, err := CleanPath(path)
	if err != nil {
		return FileInfo{}, err
	}
	e, err := t.entry(ctx, path)
	switch {
	case err != nil:
		return FileInfo{}, err
	case e == nil && path == "/":
		return FileInfo{Path: "/", Dir: true}, nil
	case e == nil:
		return FileInfo{}, errorf(loci.NotFound, ENOENT, "List the directory to see what is there.", "ENOENT: no such file or directory")
	}
	return e.info(), nil
}

// Totals counts what the whole tree holds; bytes are those of the current contents.
func (t *Tree) Totals(ctx context.Context) (counts Counts, bytes int64, err error) {
	root, err := t.entry(ctx, "/")
	if err != nil || root == nil {
		return Counts{}, 0, err
	}
	return Counts{root.body.Files, root.body.Dirs}, root.body.Bytes, nil
}

// maxReadings bounds how often a read starts over because the file was changed
// under it.
const maxReadings = 16

// Read returns the content of a file; ENOENT, or EISDIR for a directory.
func (t *Tree) Read(ctx context.Context, path string) (string, error) {
	content, _, err := t.ReadInfo(ctx, path)
	return content, err
}

// ReadInfo is Read with the description of the state that was read.
func (t *Tree) ReadInfo(ctx context.Context, path string) (content string, info FileInfo, err error) {
	path, err = CleanPath(path)
	if err != nil {
		return "", FileInfo{}, err
	}
	for range maxReadings {
		e, err := t.file(ctx, path)
		if err != nil {
			return "", FileInfo{}, err
		}
		content, err := t.content(ctx, e, e.manifest.Blocks)
		if !errors.Is(err, errBlockGone) {
			return content, e.info(), err
		}
	}
	return "", FileInfo{}, errUnsettled("read file")
}

// ReadLines returns lines first to last of a file, counted from 1, with their line
// ends, and reads no more of it than that takes. last beyond the end, or 0, is the
// end. A first line beyond the end is EINVAL.
func (t *Tree) ReadLines(ctx context.Context, path string, first, last int64) (string, error) {
	path, err := CleanPath(path)
	if err != nil {
		return "", err
	}
	for range maxReadings {
		e, err := t.file(ctx, path)
		if err != nil {
			return "", err
		}
		if n := e.manifest.lines(); first < 1 || first > max(n, 1) || last != 0 && last < first {
			return "", errorf(loci.Invalid, EINVAL, "", "lines %d to %d: the file has %d lines", first, last, n)
		}
		blocks, before := e.manifest.covering(first, last)
		text, err := t.content(ctx, e, blocks)
		if err == nil {
			return cutLines(text, first-before, last-before, last == 0), nil
		}
		if !errors.Is(err, errBlockGone) {
			return "", err
		}
	}
	return "", errUnsettled("read file")
}

func errUnsettled(op string) error {
	return &loci.Error{Code: loci.Unavailable, Op: op, Msg: "the file changes faster than it can be read", Err: EAGAIN, Recovery: "Try again."}
}

// List returns the immediate children of a directory in order of name, which is
// that of their bytes. A path that is missing, or a file, has none.
func (t *Tree) List(ctx context.Context, path string) (list []FileInfo, err error) {
	for page := (loci.Page{Limit: 1000}); ; {
		part, next, err := t.ListPage(ctx, path, page)
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = part // mostly all of it
		} else {
			list = append(list, part...)
		}
		if page.Cursor = next; next == "" {
			return list, nil
		}
	}
}

// ListPage is List, a page at a time. The page's order is always that of names.
func (t *Tree) ListPage(ctx context.Context, path string, page loci.Page) (list []FileInfo, next string, err error) {
	path, err = CleanPath(path)
	if err != nil {
		return nil, "", err
	}
	return t.infos(ctx, childSlots(path), page)
}

func (t *Tree) infos(
	ctx context.Context, slots loci.SlotRange, page loci.Page,
) (list []FileInfo, next string, err error) {
	return t.infosOf(ctx, nil, slots, page)
}

func (t *Tree) infosOf(
	ctx context.Context, statuses []string, slots loci.SlotRange, page loci.Page,
) (list []FileInfo, next string, err error) {
	f := t.entries()
	f.Slots, f.Statuses = slots, statuses
	page.Order, page.Brief = loci.SlotAscending, true
	var names names
	var damaged error
	page.Each = func(r *loci.Record) {
		if len(list) == fullFrom {
			list = slices.Grow(list, cmp.Or(page.Limit, 2*fullFrom)-fullFrom)
		}
		list = append(list, FileInfo{})
		if failed := names.describe(&list[len(list)-1], r); failed != nil {
			damaged = failed
		}
	}
	_, next, err = t.m.Records(ctx, f, page)
	if err == nil {
		err = damaged
	}
	if err != nil {
		return nil, "", err
	}
	return list, next, nil
}

// fullFrom is from how many on a list has room for the whole page.
const fullFrom = 64

// Files lists the files of the whole tree, a page at a time, directory by directory.
func (t *Tree) Files(ctx context.Context, page loci.Page) (list []FileInfo, next string, err error) {
	return t.infosOf(ctx, []string{statusFile}, loci.SlotRange{}, page)
}

// Walk calls yield for every entry below a directory, or for the file itself, until yield
// returns false. A directory comes before what is in it; there is no other order.
func (t *Tree) Walk(ctx context.Context, path string, yield func(FileInfo) bool) error {
	path, err := CleanPath(path)
	if err == nil && yield == nil {
		err = loci.Errorf(loci.Invalid, "yield must not be nil: pass a function")
	}
	if err != nil {
		return err
	}
	e, err := t.entry(ctx, path)
	if err != nil || e == nil {
		return err
	}
	if !e.body.Dir {
		yield(e.info())
		return nil
	}
	for _, slots := range []loci.SlotRange{childSlots(path), deeperSlots(path)} {
		for page := (loci.Page{Limit: 1000}); ; {
			list, next, err := t.infos(ctx, slots, page)
			if err != nil {
				return err
			}
			for _, info := range list {
				if !yield(info) {
					return nil
				}
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
	}
	return nil
}
