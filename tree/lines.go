package tree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// Lines writes files and directories with their earlier states, and the blocks of all of them.
func (Feature) Lines(ctx context.Context, m *loci.Memory, x *loci.Exporter) error {
	f := loci.Filter{Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{KindFile, KindBlock}, NotLive: true}
	return x.Each(ctx, m, f, loci.NewestFirst, func(ctx context.Context, r *loci.Record) error {
		if r.Kind == KindBlock || r.Slot == rootSlot {
			x.Parts++
		}
		return x.Write(ctx, r)
	})
}

// importedTree is what an export says of one tree of files.
type importedTree struct {
	namespace loci.Namespace
	entries   []*loci.Imported         // files and directories, without the root
	blocks    map[string][]loci.Record // by sequence: the file they are of
}

// A taker takes trees out of an export. A tree is put together again from what the
// export says: totals, counts of children and ids follow from it.
type taker struct {
	loci.PlainTaker
	m       *loci.Memory
	trees   map[string]*importedTree // by key of their namespace
	checked [][]*imported            // the files of each tree
}

// Take begins an import.
func (Feature) Take(m *loci.Memory) loci.Taker {
	return &taker{m: m, trees: map[string]*importedTree{}}
}

// Take keeps a record of a tree until Store.
func (t *taker) Take(d *loci.Imported) (kept bool, err error) {
	r := &d.Record
	r.Status = statusFile
	if !isPlace(r.Namespace) {
		return true, loci.Errorf(loci.Invalid, "namespace %s is not that of a tree of files", r.Namespace)
	}
	tree := t.trees[r.Namespace.Key()]
	if tree == nil {
		tree = &importedTree{namespace: r.Namespace, blocks: map[string][]loci.Record{}}
		t.trees[r.Namespace.Key()] = tree
	}
	if r.Kind == KindBlock {
		if len(r.Text) > maxBlock || !utf8.ValidString(r.Text) || r.Position < 0 {
			return true, loci.Errorf(loci.Invalid, "the block is not one that an export writes")
		}
		tree.blocks[r.Sequence] = append(tree.blocks[r.Sequence], *r)
		return true, nil
	}
	if path, err := CleanPath(slotPath(r.Slot)); err != nil || entrySlot(path) != r.Slot {
		return true, loci.Errorf(loci.Invalid, "slot is not that of a path: %q", slotPath(r.Slot))
	}
	if r.Slot != rootSlot {
		tree.entries = append(tree.entries, d)
	}
	return true, nil
}

// Check checks every file before anything is stored.
func (t *taker) Check() error {
	for _, key := range slices.Sorted(maps.Keys(t.trees)) {
		files, err := t.checkTree(t.trees[key])
		if err != nil {
			return err
		}
		if len(files) > 0 {
			t.checked = append(t.checked, files)
		}
	}
	return nil
}

// isPlace reports whether a namespace is one that [Of] makes.
func isPlace(n loci.Namespace) bool { return n.CheckPlace() == nil && hasForm(n) }

// hasForm is isPlace for any labels.
func hasForm(n loci.Namespace) bool {
	own := n[len(n.Owner()):]
	return len(own) > 3 && own[1] == placeTree &&
		(len(own) == 4 && own[3] == "global" || len(own) == 5 && own[3] == "thread")
}

// imported is one file or directory of an export, checked.
type imported struct {
	*loci.Imported
	path   string
	dir    bool
	body   entryBody
	state  manifest      // the current one
	blocks []loci.Record // of all states
	states []states      // of history
	text   string        // the current content

	redacted bool // the blocks do not fit the text, from which credentials were taken
}

// states is a kept state with its manifest.
type states struct {
	loci.Revision
	manifest manifest
}

// checkTree checks every file of a tree.
func (t *taker) checkTree(tree *importedTree) ([]*imported, error) {
	var files []*imported
	for _, d := range tree.entries {
		e, err := entryOf(&d.Record)
		if err != nil {
			return nil, loci.Errorf(loci.Invalid, "line %d: the entry is not one that an export writes", d.Line)
		}
		f := &imported{
			Imported: d, path: e.path, dir: e.body.Dir, state: e.manifest, blocks: tree.blocks[d.ID.String()],
			body: entryBody{Source: e.body.Source},
		}
		if !f.dir {
			if err := f.complete(t.m); err != nil {
				return nil, loci.Errorf(loci.Invalid, "line %d: %s: %w", d.Line, e.path, err)
			}
		}
		files = append(files, f)
	}
	// Directories come before what is in them.
	slices.SortFunc(files, func(a, b *imported) int { return strings.Compare(a.path, b.path) })
	for i := 1; i < len(files); i++ {
		if files[i].path == files[i-1].path {
			return nil, loci.Errorf(loci.Invalid, "line %d: %s appears twice", files[i].Line, files[i].path)
		}
	}
	return files, nil
}

// complete derives from the blocks whatever follows from them.
func (f *imported) complete(m *loci.Memory) error {
	byNumber := map[int64]*loci.Record{}
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
	for _, v := range slices.Backward(f.History) {
		state, err := readManifest(v.Attributes)
		if err != nil {
			return err
		}
		if state, _, err = rebuilt(state, byNumber, false); err != nil {
			return err
		}
		for _, b := range state.Blocks {
			last[b.N] = max(last[b.N], v.Version)
		}
		f.body.Kept = append(f.body.Kept, v.Version)
		f.states = append(f.states, states{v, state})
	}
	current := map[int64]bool{}
	for _, b := range f.state.Blocks {
		current[b.N] = true
	}
	var needed []loci.Record
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
	if loci.Redact(m, f.text) != f.text || slices.ContainsFunc(f.blocks, func(r loci.Record) bool {
		return loci.Redact(m, r.Text) != r.Text
	}) {
		// The blocks of earlier states would no longer fit: only the current one comes.
		f.text, f.states, f.blocks = loci.Redact(m, f.text), nil, nil
		f.redacted = true
	}
	return nil
}

// rebuilt makes a manifest again from the blocks it names.
func rebuilt(m manifest, byNumber map[int64]*loci.Record, current bool) (out manifest, text string, err error) {
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

// Store stores the files of all trees, in parts.
func (t *taker) Store(ctx context.Context, count func(loci.ImportReport)) error {
	for _, files := range t.checked {
		inner, err := t.m.At(files[0].Namespace)
		if err != nil {
			return err
		}
		tree := &Tree{m: inner}
		for len(files) > 0 {
			n, size := 0, 0
			for n < len(files) && (n == 0 || Fits(n, size)) {
				size += len(files[n].text)
				n++
			}
			report, err := storeFiles(ctx, tree, files[:n])
			if err != nil {
				return err
			}
			count(report)
			files = files[n:]
		}
	}
	return nil
}

func storeFiles(ctx context.Context, t *Tree, files []*imported) (loci.ImportReport, error) {
	return editTree(ctx, t, "import files", nil, func(ed *edit) (report loci.ImportReport, _ loci.ID, err error) {
		for _, f := range files {
			conflict, err := ed.importFile(f, &report)
			if err != nil {
				return report, loci.ID{}, inFile(f.path, err)
			}
			if conflict != "" {
				report.Conflicts++
				report.Skipped = append(report.Skipped, f.path+": "+conflict)
			}
		}
		return report, loci.ID{}, nil
	})
}

// importFile stores a file or a directory where there is none; it says why not
// where something else is there.
func (ed *edit) importFile(f *imported, report *loci.ImportReport) (conflict string, err error) {
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
func (ed *edit) importContent(f *imported) error {
	e, err := ed.create(f.path, false)
	if err != nil {
		return err
	}
	if f.redacted {
		return ed.replace(e, nil, f.text)
	}
	if err := ed.room(0, len(f.text)); err != nil {
		return err
	}
	free, err := f.Free(ed.ctx)
	if err != nil {
		return err
	}
	if free {
		e.record.ID = f.ID
	}
	r := &e.record
	r.Slot, r.Version, r.CreatedAt, r.UpdatedAt = entrySlot(f.path), f.Version, f.CreatedAt, f.UpdatedAt
	f.body.Next = max(f.body.Next, e.body.Next) // an empty file has no block to count from
	e.body, e.manifest = f.body, f.state
	if err := loci.SetBody(r, e.body); err != nil {
		return err
	}
	if r.Attributes, err = e.manifest.attributes(); err != nil {
		return err
	}
	history := make([]loci.Revision, 0, len(f.states))
	for _, s := range slices.Backward(f.states) { // newest first
		v := loci.Revision{Version: s.Version, UpdatedAt: s.UpdatedAt, ReplacedAt: s.ReplacedAt}
		if v.Attributes, err = s.manifest.attributes(); err != nil {
			return err
		}
		history = append(history, v)
	}
	ed.change.Put = append(ed.change.Put, loci.Put{Record: *r, History: history})
	for _, b := range f.blocks {
		b.ID, b.Sequence, b.Namespace, b.Slot, b.Status = blockID(r.ID, b.Position), r.ID.String(), r.Namespace, "", ""
		b.Attributes, b.Body = nil, nil
		ed.fresh = append(ed.fresh, loci.Put{Record: b, History: []loci.Revision{}})
	}
	ed.event(loci.EventImported, e, map[string]any{"bytes": e.manifest.Bytes})
	return nil
}
