package tree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// An edit is one change of a tree while it is decided: entries by path as they
// will be, and what happens to blocks.
type edit struct {
	t       *Tree
	ctx     context.Context
	now     time.Time
	root    *entry
	entries map[string]*entry // what was looked up or made; nil: there is none
	pending []pendingEntry
	changed map[*entry]bool // what is in pending
	fresh   []loci.Put      // blocks whose text is new
	change  loci.Change
	then    func() // as in [loci.Decision]
}

// pendingEntry is an entry to put; revisions as in [loci.Put].
type pendingEntry struct {
	*entry
	revisions int
}

// editTree runs a change of the tree, one at a time in this process. decide returns
// the reply and the record it speaks of.
func editTree[R any](
	ctx context.Context, t *Tree, op string, request any, decide func(*edit) (R, loci.ID, error),
) (reply R, err error) {
	leave, err := t.m.Turn(ctx)
	if err != nil {
		return reply, err
	}
	defer func() { leave() }()
	var waiting error
	return loci.Commit(ctx, t.m, op, request, func(now time.Time) (loci.Decision[R], error) {
		if waiting != nil {
			return loci.Decision[R]{}, waiting
		}
		edit := &edit{t: t, ctx: ctx, now: now, entries: map[string]*entry{}, changed: map[*entry]bool{}}
		// The root comes first: as long as it stays as it is, so does all that is
		// read after it.
		if err := edit.readRoot(); err != nil {
			return loci.Decision[R]{}, err
		}
		reply, record, err := decide(edit)
		if err == nil {
			err = edit.finish()
		}
		if errors.Is(err, errBlockGone) { // another process was quicker
			return loci.Decision[R]{}, loci.ErrStale
		}
		d := loci.Decision[R]{Change: edit.change, Embed: loci.EmbedFirst, Reply: reply, Record: record}
		if edit.then != nil {
			d.Then = func() { // others have their turn before the next step
				edit.then()
				leave()
				if leave, waiting = t.m.Turn(ctx); waiting != nil {
					leave = func() {}
				}
			}
		}
		return d, err
	})
}

func (ed *edit) readRoot() error {
	root, err := ed.t.entry(ed.ctx, "/")
	if err != nil {
		return err
	}
	if root == nil {
		root = ed.newEntry("/", true)
	}
	ed.root, ed.entries["/"] = root, root
	return nil
}

// newEntry makes an entry that is not in the store yet: its version is 0.
func (ed *edit) newEntry(path string, dir bool) *entry {
	status, body := statusFile, entryBody{Dir: dir, Next: firstBlock}
	if dir {
		status, body.Next = statusDir, 0
	}
	return &entry{path: path, body: body, record: loci.Record{ID: ed.t.m.NewID(), Kind: KindFile,
		Namespace: ed.t.m.Namespace(), Live: true, Status: status, CreatedAt: ed.now, UpdatedAt: ed.now}}
}

// entry looks an entry up; nil: there is none.
func (ed *edit) entry(path string) (*entry, error) {
	if e, ok := ed.entries[path]; ok {
		return e, nil
	}
	e, err := ed.t.entry(ed.ctx, path)
	if err == nil {
		ed.entries[path] = e
	}
	return e, err
}

// put notes that an entry changes. If an entry is put twice, only the first put keeps a
// state: no file has two versions in one change.
func (ed *edit) put(e *entry, revisions int) {
	if !ed.changed[e] {
		ed.changed[e] = true
		ed.pending = append(ed.pending, pendingEntry{e, revisions})
	}
}

// dir returns the entry of a directory and makes it, and those above it, if need
// be. ENOTDIR: a file is in the way.
func (ed *edit) dir(path string) (*entry, error) {
	e, err := ed.entry(path)
	switch {
	case err != nil:
		return nil, err
	case e != nil && !e.body.Dir:
		return nil, errNotDir()
	case e != nil:
		return e, nil
	}
	return ed.create(path, true)
}

// create makes an entry where there is none, and the directories above it.
func (ed *edit) create(path string, dir bool) (*entry, error) {
	above, _ := splitPath(path)
	parent, err := ed.dir(above)
	if err != nil {
		return nil, err
	}
	if err := ed.settle(parent, 1); err != nil {
		return nil, err
	}
	e := ed.newEntry(path, dir)
	ed.entries[path] = e
	if dir {
		ed.root.body.Dirs++
		ed.put(e, -1)
		ed.event(loci.EventCreated, e, nil)
	} else {
		ed.root.body.Files++
	}
	limits := ed.t.limits()
	if n := ed.root.body.Files + ed.root.body.Dirs; n > limits.MaxEntries {
		return nil, errorf(loci.TooLarge, ENOSPC, "Delete what is no longer needed.",
			"ENOSPC: the memory would have %d files and directories; the limit is %d", n, limits.MaxEntries)
	}
	return e, nil
}

// settle adjusts the number of children of a directory.
func (ed *edit) settle(parent *entry, children int64) error {
	ed.count(parent, children)
	if children > 0 {
		return ed.checkChildren(parent.body.Children)
	}
	return nil
}

// count is settle without a limit.
func (ed *edit) count(parent *entry, children int64) {
	parent.body.Children += children
	parent.record.UpdatedAt = ed.now
	ed.put(parent, -1)
}

// checkChildren refuses a directory with more children than one may have.
func (ed *edit) checkChildren(n int64) error {
	if limits := ed.t.limits(); n > limits.MaxDirEntries {
		return errorf(loci.TooLarge, ENOSPC, "Use another directory.",
			"ENOSPC: the directory would have %d entries; the limit is %d", n, limits.MaxDirEntries)
	}
	return nil
}

func (ed *edit) event(typ loci.EventType, e *entry, payload map[string]any) {
	ed.change.Events = append(ed.change.Events, ed.t.m.Event(typ, &e.record, ed.now, payload))
}

// room refuses growth beyond the limits of a file and of the tree, and counts it.
func (ed *edit) room(old, size int) error {
	limits := ed.t.limits()
	if size > old && size > limits.MaxFileBytes {
		return errorf(loci.TooLarge, EFBIG, "Use another file.", "EFBIG: the file would have %d bytes; the limit is %d", size, limits.MaxFileBytes)
	}
	ed.root.body.Bytes += int64(size - old)
	if n := ed.root.body.Bytes; size > old && n > limits.MaxTreeBytes {
		return errorf(loci.TooLarge, ENOSPC, "Delete what is no longer needed.", "ENOSPC: the memory would have %d bytes; the limit is %d", n, limits.MaxTreeBytes)
	}
	return nil
}

// checkText refuses what no file may hold.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return errorf(loci.Invalid, EINVAL, "", "content is not valid UTF-8")
	}
	return nil
}

// append adds to the end of a file by its last block alone.
func (ed *edit) append(e *entry, content string) error {
	state := e.manifest.Blocks
	if len(state) == 0 {
		if content == "" {
			return nil
		}
		return ed.replace(e, nil, loci.Redact(ed.t.m, content))
	}
	last := &state[len(state)-1]
	records, err := ed.t.blockRecords(ed.ctx, e.record.ID, []block{*last})
	if err != nil {
		return err
	}
	old := records[0].Text
	if records[0].Version != last.Version || len(old) != last.Bytes {
		return errBlockGone
	}
	sep := "\n"
	if strings.HasSuffix(old, "\n") || strings.HasPrefix(content, "\n") {
		sep = ""
	}
	// A credential may stretch across the seam.
	tail := loci.Redact(ed.t.m, old+sep+content)
	if !strings.HasPrefix(tail, old) {
		whole, err := ed.t.blockRecords(ed.ctx, e.record.ID, state)
		if err != nil {
			return err
		}
		return ed.replace(e, whole, loci.Redact(ed.t.m, joinTexts(whole)+sep+content))
	}
	size := int(e.manifest.Bytes)
	if err := ed.room(size, size+len(tail)-len(old)); err != nil || tail == old {
		return err
	}
	next := manifest{Blocks: slices.Clone(state[:len(state)-1]), Bytes: e.manifest.Bytes - int64(last.Bytes)}
	end := max(cutBlock(tail), len(old))
	if end > len(old) {
		ed.grow(&records[0], tail[:end])
	}
	next.add(last.N, records[0].Version, tail[:end])
	ed.addBlocks(e, &next, tail[end:])
	ed.setManifest(e, next, nil)
	return nil
}

// grow puts a longer text into a block.
func (ed *edit) grow(r *loci.Record, text string) {
	r.Version++
	r.UpdatedAt, r.Text, r.Passages = ed.now, text, nil
	ed.fresh = append(ed.fresh, loci.Put{Record: *r})
}

// addBlocks cuts a text into new blocks at the end of a manifest.
func (ed *edit) addBlocks(e *entry, m *manifest, text string) {
	for text != "" {
		end := cutBlock(text)
		n := e.body.Next
		e.body.Next++
		part := text[:end]
		ed.fresh = append(ed.fresh, loci.Put{Record: loci.Record{
			ID: blockID(e.record.ID, n), Kind: KindBlock, Namespace: e.record.Namespace, Version: 1,
			Live: true, CreatedAt: ed.now, UpdatedAt: ed.now, Sequence: e.record.ID.String(),
			Position: n, Text: part,
		}})
		m.add(n, 1, part)
		text = text[end:]
	}
}

func joinTexts(records []loci.Record) string {
	var text strings.Builder
	for i := range records {
		text.WriteString(records[i].Text)
	}
	return text.String()
}

// replace gives a file another content. It keeps the blocks at its front and end that do
// not change. old are the records of all blocks it has; content is redacted.
func (ed *edit) replace(e *entry, old []loci.Record, content string) error {
	if err := ed.room(int(e.manifest.Bytes), len(content)); err != nil {
		return err
	}
	for i := range old {
		if b := &e.manifest.Blocks[i]; old[i].Version != b.Version || len(old[i].Text) != b.Bytes {
			return errBlockGone
		}
	}
	front, back, middle := compareBlocks(old, content)
	gone := slices.Clone(old[front:back])
	next := manifest{}
	for i := range front {
		r := &old[i]
		if i == len(old)-1 { // only something at the end is new: the last block may take some of it
			if end := cutBlock(r.Text + middle); end > len(r.Text) {
				text := (r.Text + middle)[:end]
				middle = middle[end-len(r.Text):]
				ed.grow(r, text)
			}
		}
		next.add(r.Position, r.Version, r.Text)
	}
	ed.addBlocks(e, &next, middle)
	for i := back; i < len(old); i++ {
		next.add(old[i].Position, old[i].Version, old[i].Text)
	}
	ed.setManifest(e, next, gone)
	return nil
}

// compareBlocks finds what is new in a content: the blocks before front and those from
// back on stay, and middle takes the place of those between.
func compareBlocks(old []loci.Record, content string) (front, back int, middle string) {
	middle, back = content, len(old)
	for front < len(old) && strings.HasPrefix(middle, old[front].Text) {
		middle = middle[len(old[front].Text):]
		front++
	}
	for back > front && strings.HasSuffix(middle, old[back-1].Text) {
		back--
		middle = middle[:len(middle)-len(old[back].Text)]
	}
	// Small leftovers are joined with their neighbours: many small changes must not leave
	// many small blocks.
	for front > 0 && middle != "" && back < len(old) && len(middle)+len(old[front-1].Text) <= maxBlock {
		front--
		middle = old[front].Text + middle
	}
	for back < len(old) && middle != "" && len(middle)+len(old[back].Text) <= maxBlock {
		middle += old[back].Text
		back++
	}
	return front, back, middle
}

// setManifest gives a file its next state; gone are the records of the blocks that
// it loses. Blocks that no kept state needs are erased.
func (ed *edit) setManifest(e *entry, next manifest, gone []loci.Record) {
	keep := ed.t.m.Settings().Revisions
	typ := loci.EventCreated
	if v := e.record.Version; v > 0 {
		typ = loci.EventUpdated
		e.body.Kept = append(e.body.Kept, v)
		e.body.Kept = e.body.Kept[max(0, len(e.body.Kept)-keep):]
	}
	var oldest int64
	if len(e.body.Kept) > 0 {
		oldest = e.body.Kept[0]
	}
	needed := func(until int64) bool { return oldest > 0 && until >= oldest }
	var still []retired
	for _, r := range e.body.Retired {
		if needed(r.Until) {
			still = append(still, r)
		} else {
			ed.change.Erase = append(ed.change.Erase, loci.Erase{ID: blockID(e.record.ID, r.N), Version: r.Version})
		}
	}
	for i := range gone {
		r := &gone[i]
		if !needed(e.record.Version) {
			ed.change.Erase = append(ed.change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
			continue
		}
		r.Version++
		r.Live = false
		ed.change.Put = append(ed.change.Put, loci.Put{Record: *r, SameText: true, Revisions: -1})
		still = append(still, retired{N: r.Position, Version: r.Version, Until: e.record.Version})
	}
	e.body.Retired, e.body.Source, e.manifest = still, ed.t.m.View().Source, next
	e.record.UpdatedAt = ed.now
	ed.put(e, keep)
	ed.event(typ, e, map[string]any{"version": e.record.Version + 1, "bytes": next.Bytes})
}

// finish turns what was noted into the change, which is empty if nothing was noted.
func (ed *edit) finish() error {
	if len(ed.pending) == 0 {
		return nil
	}
	ed.root.record.UpdatedAt = ed.now
	ed.put(ed.root, -1)
	for i := range ed.pending {
		p := &ed.pending[i]
		r := &p.record
		r.Version++
		r.Slot = entrySlot(p.path)
		if p.asIs {
			moved := loci.Put{Record: *r, SameText: true, Moves: true, Revisions: p.revisions}
			ed.change.Put = append(ed.change.Put, moved)
			continue
		}
		if err := loci.SetBody(r, p.body); err != nil {
			return err
		}
		if !p.body.Dir {
			var err error
			if r.Attributes, err = p.manifest.attributes(); err != nil {
				return err
			}
		}
		ed.change.Put = append(ed.change.Put, loci.Put{Record: *r, SameText: r.Version > 1, Revisions: p.revisions})
	}
	ed.change.Put = append(ed.change.Put, ed.fresh...)
	return nil
}
