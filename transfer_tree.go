package loci

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// importedTree is what an export says of one tree of files.
type importedTree struct {
	namespace Namespace
	entries   []imported          // files and directories, without the root
	blocks    map[string][]Record // by sequence: the file they are of
}

// treeRecord takes a record of a tree out of an export. The tree is put together
// again from what it says: totals, counts of children and ids follow from it.
func (in *importer) treeRecord(line *exportLine) error {
	m := in.m
	r := Record{ID: line.ID, Kind: line.Kind, Namespace: m.placeOf(line), Slot: string(line.Slot),
		Version: int64(line.Version), Live: line.Live, Sequence: line.Sequence, Position: line.Position, Text: line.Text,
		Status: statusFile, Attributes: line.Attributes, Body: line.Body}
	switch {
	case r.ID.IsZero():
		return Errorf(Invalid, "id is missing")
	case r.Version < 1:
		return Errorf(Invalid, "version is %d; it must be at least 1", r.Version)
	case line.CreatedAt.IsZero():
		return Errorf(Invalid, "created_at is missing")
	case !r.Namespace.isTree() || r.Namespace.CheckPlace() != nil:
		return Errorf(Invalid, "namespace %s is not that of a tree of files", r.Namespace)
	}
	if err := importTimes(&r, line); err != nil {
		return err
	}
	in.lines[r.ID] = in.n
	in.treeRecords++
	if in.trees == nil {
		in.trees = map[string]*importedTree{}
	}
	tree := in.trees[r.Namespace.Key()]
	if tree == nil {
		tree = &importedTree{namespace: r.Namespace, blocks: map[string][]Record{}}
		in.trees[r.Namespace.Key()] = tree
	}
	if r.Kind == KindBlock {
		if len(r.Text) > maxBlock || !utf8.ValidString(r.Text) || r.Position < 0 {
			return Errorf(Invalid, "the block is not one that an export writes")
		}
		tree.blocks[r.Sequence] = append(tree.blocks[r.Sequence], r)
		return nil
	}
	if path, err := CleanPath(slotPath(r.Slot)); err != nil || entrySlot(path) != r.Slot {
		return Errorf(Invalid, "slot is not that of a path: %q", slotPath(r.Slot))
	}
	if r.Slot != rootSlot {
		tree.entries = append(tree.entries, imported{Record: r})
		in.lastFile = &tree.entries[len(tree.entries)-1]
	}
	return nil
}

// A treeImport is one file or directory of an export, checked.
type treeImport struct {
	imported
	path   string
	dir    bool
	body   entryBody
	state  manifest // the current one
	blocks []Record // of all states
	states []states // of history
	text   string   // the current content
}

// states is a kept state with its manifest.
type states struct {
	Revision
	manifest manifest
}

// checkTree checks every file of a tree before anything is stored.
func (in *importer) checkTree(tree *importedTree) ([]*treeImport, error) {
	var files []*treeImport
	for i := range tree.entries {
		d := &tree.entries[i]
		e, err := entryOf(&d.Record)
		if err != nil {
			return nil, Errorf(Invalid, "line %d: the entry is not one that an export writes", in.lines[d.ID])
		}
		f := &treeImport{imported: *d, path: e.path, dir: e.body.Dir, state: e.manifest, blocks: tree.blocks[d.ID.String()]}
		if !f.dir {
			if err := f.complete(in.m.engine); err != nil {
				return nil, Errorf(Invalid, "line %d: %s: %w", in.lines[d.ID], e.path, err)
			}
		}
		files = append(files, f)
	}
	// Directories come before what is in them.
	slices.SortFunc(files, func(a, b *treeImport) int { return strings.Compare(a.path, b.path) })
	for i := 1; i < len(files); i++ {
		if files[i].path == files[i-1].path {
			return nil, Errorf(Invalid, "line %d: %s is there twice", in.lines[files[i].ID], files[i].path)
		}
	}
	return files, nil
}

// complete derives from the blocks whatever follows from them.
func (f *treeImport) complete(e *Engine) error {
	byNumber := map[int64]*Record{}
	for i := range f.blocks {
		b := &f.blocks[i]
		if byNumber[b.Position] != nil {
			return fmt.Errorf("block %d is there twice", b.Position)
		}
		byNumber[b.Position] = b
		f.body.Next = max(f.body.Next, b.Position+1)
	}
	var err error
	if f.state, f.text, err = rebuilt(f.state, byNumber, true); err != nil {
		return err
	}
	last := map[int64]int64{} // the newest kept version that has a block
	for _, v := range slices.Backward(f.history) {
		m, err := readManifest(v.Attributes)
		if err != nil {
			return err
		}
		if m, _, err = rebuilt(m, byNumber, false); err != nil {
			return err
		}
		for _, b := range m.Blocks {
			last[b.N] = max(last[b.N], v.Version)
		}
		f.body.Kept = append(f.body.Kept, v.Version)
		f.states = append(f.states, states{v, m})
	}
	current := map[int64]bool{}
	for _, b := range f.state.Blocks {
		current[b.N] = true
	}
	var needed []Record
	for i := range f.blocks {
		b := &f.blocks[i]
		switch b.Live = current[b.Position]; {
		case b.Live:
		case last[b.Position] == 0:
			continue // nothing needs it
		default:
			f.body.Retired = append(f.body.Retired, retired{N: b.Position, Version: b.Version, Until: last[b.Position]})
		}
		needed = append(needed, *b)
	}
	f.blocks = needed
	if e.redact(f.text) != f.text || slices.ContainsFunc(f.blocks, func(r Record) bool { return e.redact(r.Text) != r.Text }) {
		// The blocks of earlier states would no longer fit: only the current one comes.
		f.text, f.states = e.redact(f.text), nil
		f.blocks = nil
	}
	return nil
}

// rebuilt makes a manifest anew from the blocks it names.
func rebuilt(m manifest, byNumber map[int64]*Record, current bool) (out manifest, text string, err error) {
	var all strings.Builder
	for _, b := range m.Blocks {
		r := byNumber[b.N]
		switch {
		case r == nil:
			return out, "", fmt.Errorf("block %d is missing: the file was changed while it was exported; export again", b.N)
		case b.Bytes > len(r.Text) || current && b.Bytes != len(r.Text) || !utf8.ValidString(r.Text[:b.Bytes]):
			return out, "", fmt.Errorf("block %d does not fit: the file was changed while it was exported; export again", b.N)
		}
		part := r.Text[:b.Bytes]
		version := b.Version
		if current {
			version = r.Version
		}
		out.add(b.N, version, part)
		all.WriteString(part)
	}
	return out, all.String(), nil
}

// storeTrees stores the files of all trees, some megabytes in a change.
func (in *importer) storeTrees(ctx context.Context, progress func(done int64)) error {
	for _, files := range in.checked {
		inner := *in.m.plain()
		inner.view.Also, inner.view.Namespace = nil, files[0].Namespace
		t := &Tree{m: &inner}
		for len(files) > 0 {
			n, size := 0, 0
			for n < len(files) && n < 200 && (n == 0 || size < 4<<20) {
				size += len(files[n].text)
				n++
			}
			if err := in.storeFiles(ctx, t, files[:n]); err != nil {
				return err
			}
			files = files[n:]
			if progress != nil {
				progress(in.report.Created + in.report.Existing + in.report.Conflicts)
			}
		}
	}
	return nil
}

func (in *importer) storeFiles(ctx context.Context, t *Tree, files []*treeImport) error {
	report, err := editTree(ctx, t, "import files", nil, func(ed *treeEdit) (report ImportReport, _ ID, err error) {
		for _, f := range files {
			conflict, err := ed.importFile(f, &report)
			if err != nil {
				return report, ID{}, inFile(f.path, err)
			}
			if conflict != "" {
				report.Conflicts++
				report.Skipped = append(report.Skipped, f.path+": "+conflict)
			}
		}
		return report, ID{}, nil
	})
	in.report.Created += report.Created
	in.report.Existing += report.Existing
	in.report.Conflicts += report.Conflicts
	in.report.Skipped = append(in.report.Skipped, report.Skipped...)
	in.report.Skipped = in.report.Skipped[:min(len(in.report.Skipped), maxSkipped)]
	return err
}

// importFile stores a file or a directory where there is none; it says why not
// where something else is there.
func (ed *treeEdit) importFile(f *treeImport, report *ImportReport) (conflict string, err error) {
	there, err := ed.entry(f.path)
	if err != nil {
		return "", err
	}
	if there != nil {
		same := there.body.Dir == f.dir
		if same && !f.dir {
			content, err := ed.t.content(ed.ctx, there, there.manifest.Blocks)
			if err != nil {
				return "", err
			}
			same = content == f.text
		}
		if !same {
			return "something else is there", nil
		}
		report.Existing++
		return "", nil
	}
	if f.dir {
		_, err = ed.dir(f.path)
	} else {
		err = ed.importContent(f)
	}
	if ErrnoOf(err) == ENOTDIR {
		return "a file is in the way", nil
	}
	report.Created++
	return "", err
}

// importContent stores a file with its earlier states, under its own id where that
// is free.
func (ed *treeEdit) importContent(f *treeImport) error {
	e, err := ed.create(f.path, false)
	if err != nil {
		return err
	}
	if f.blocks == nil {
		return ed.replace(e, nil, f.text)
	}
	if err := ed.room(0, len(f.text)); err != nil {
		return err
	}
	taken, _, err := ed.t.m.engine.store.Records(ed.ctx, ed.t.m.view.Tenant, Filter{Within: []Namespace{{}}, IDs: []ID{f.ID}, NotLive: true}, Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(taken) == 0 {
		e.record.ID = f.ID
	}
	r := &e.record
	r.Slot, r.Version, r.CreatedAt, r.UpdatedAt = entrySlot(f.path), f.Version, f.CreatedAt, f.UpdatedAt
	e.body, e.manifest = f.body, f.state
	if err := setBody(r, e.body); err != nil {
		return err
	}
	if r.Attributes, err = encodeJSON(e.manifest); err != nil {
		return &Error{Code: Internal, Op: "write manifest", Err: err}
	}
	history := make([]Revision, 0, len(f.states))
	for _, s := range slices.Backward(f.states) { // newest first
		v := Revision{Version: s.Version, UpdatedAt: s.UpdatedAt, ReplacedAt: s.ReplacedAt}
		if v.Attributes, err = encodeJSON(s.manifest); err != nil {
			return &Error{Code: Internal, Op: "write manifest", Err: err}
		}
		history = append(history, v)
	}
	ed.change.Put = append(ed.change.Put, Put{Record: *r, History: history})
	for _, b := range f.blocks {
		b.ID, b.Sequence, b.Namespace, b.Slot, b.Status = blockID(r.ID, b.Position), r.ID.String(), r.Namespace, "", ""
		b.Attributes, b.Body = nil, nil
		b.Passages = ed.t.m.engine.passages(b.Text)
		ed.fresh = append(ed.fresh, Put{Record: b, History: []Revision{}})
	}
	ed.event(EventImported, e, map[string]any{"bytes": e.manifest.Bytes})
	return nil
}
