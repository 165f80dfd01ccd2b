package loci

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A treeEdit is one change of a tree while it is decided: entries by path as they
// will be, and what happens to blocks.
type treeEdit struct {
	t       *Tree
	ctx     context.Context
	now     time.Time
	root    *entry
	entries map[string]*entry // what was looked up or made; nil: there is none
	pending []pendingEntry
	changed map[*entry]bool // what is in pending
	fresh   []Put           // blocks whose text is new
	change  Change
}

// pendingEntry is an entry to put; revisions as in [Put].
type pendingEntry struct {
	*entry
	revisions int
}

// editTree runs a change of the tree, one at a time in this process. decide returns
// the reply and the record it speaks of.
func editTree[R any](ctx context.Context, t *Tree, op string, request any, decide func(*treeEdit) (R, ID, error)) (reply R, err error) {
	key := t.m.view.Tenant.name + "\x00" + t.m.view.Namespace.Key()
	leave, err := t.m.engine.trees.enter(ctx, key)
	if err != nil {
		return reply, AsError(err)
	}
	defer leave()
	for attempt := range maxAttempts {
		if attempt > 0 { // as after a conflict: another process was quicker
			if err := pause(ctx, attempt); err != nil {
				return reply, AsError(err)
			}
		}
		reply, err = commit(ctx, t.m, op, request, func(now time.Time) (decision[R], error) {
			edit := &treeEdit{t: t, ctx: ctx, now: now, entries: map[string]*entry{}, changed: map[*entry]bool{}}
			// The root comes first: as long as it stays as it is, so does all that is
			// read after it.
			if err := edit.readRoot(); err != nil {
				return decision[R]{}, err
			}
			reply, record, err := decide(edit)
			if err != nil {
				return decision[R]{}, err
			}
			err = edit.finish()
			return decision[R]{change: edit.change, reply: reply, record: record}, err
		})
		if !errors.Is(err, errBlockGone) {
			return reply, err
		}
	}
	return reply, errUnsettled(op)
}

func (ed *treeEdit) readRoot() error {
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
func (ed *treeEdit) newEntry(path string, dir bool) *entry {
	status := statusFile
	if dir {
		status = statusDir
	}
	return &entry{path: path, body: entryBody{Dir: dir}, record: Record{ID: ed.t.m.engine.opts.NewID(), Kind: KindFile,
		Namespace: ed.t.m.view.Namespace, Live: true, Status: status, CreatedAt: ed.now, UpdatedAt: ed.now}}
}

// entry looks an entry up; nil: there is none.
func (ed *treeEdit) entry(path string) (*entry, error) {
	if e, ok := ed.entries[path]; ok {
		return e, nil
	}
	e, err := ed.t.entry(ed.ctx, path)
	if err == nil {
		ed.entries[path] = e
	}
	return e, err
}

// put notes that an entry changes. Of those put twice only the first one has a state
// to keep: no file is changed twice in one change.
func (ed *treeEdit) put(e *entry, revisions int) {
	if !ed.changed[e] {
		ed.changed[e] = true
		ed.pending = append(ed.pending, pendingEntry{e, revisions})
	}
}

// dir returns the entry of a directory and makes it, and those above it, if need
// be. ENOTDIR: a file is in the way.
func (ed *treeEdit) dir(path string) (*entry, error) {
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
func (ed *treeEdit) create(path string, dir bool) (*entry, error) {
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
		ed.event(EventCreated, e, nil)
	} else {
		ed.root.body.Files++
	}
	limits := &ed.t.m.engine.opts.Trees
	if n := ed.root.body.Files + ed.root.body.Dirs; n > limits.MaxEntries {
		return nil, treeError(TooLarge, ENOSPC, "Delete what is no longer needed.",
			"ENOSPC: the memory would have %d files and directories; the limit is %d", n, limits.MaxEntries)
	}
	return e, nil
}

// settle counts children in and out of a directory.
func (ed *treeEdit) settle(parent *entry, children int64) error {
	limits := &ed.t.m.engine.opts.Trees
	parent.body.Children += children
	parent.record.UpdatedAt = ed.now
	ed.put(parent, -1)
	if n := parent.body.Children; children > 0 && n > limits.MaxDirEntries {
		return treeError(TooLarge, ENOSPC, "Use another directory.",
			"ENOSPC: the directory would have %d entries; the limit is %d", n, limits.MaxDirEntries)
	}
	return nil
}

func (ed *treeEdit) event(typ EventType, e *entry, payload map[string]any) {
	ed.change.Events = append(ed.change.Events, ed.t.m.event(typ, &e.record, ed.now, payload))
}

// room refuses growth beyond the limits of a file and of the tree, and counts it.
func (ed *treeEdit) room(old, size int) error {
	limits := &ed.t.m.engine.opts.Trees
	if size > old && size > limits.MaxFileBytes {
		return treeError(TooLarge, EFBIG, "Use another file.", "EFBIG: the file would have %d bytes; the limit is %d", size, limits.MaxFileBytes)
	}
	ed.root.body.Bytes += int64(size - old)
	if n := ed.root.body.Bytes; size > old && n > limits.MaxTreeBytes {
		return treeError(TooLarge, ENOSPC, "Delete what is no longer needed.", "ENOSPC: the memory would have %d bytes; the limit is %d", n, limits.MaxTreeBytes)
	}
	return nil
}

// checkText refuses what no file may hold.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return treeError(Invalid, EINVAL, "", "content is not valid UTF-8")
	}
	return nil
}

// append adds to the end of a file by its last block alone.
func (ed *treeEdit) append(e *entry, content string) error {
	state := e.manifest.Blocks
	if len(state) == 0 {
		if content == "" {
			return nil
		}
		return ed.replace(e, nil, ed.t.m.engine.redact(content))
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
	// A credential may stand on both sides of the seam.
	tail := ed.t.m.engine.redact(old + sep + content)
	if !strings.HasPrefix(tail, old) {
		whole, err := ed.t.blockRecords(ed.ctx, e.record.ID, state)
		if err != nil {
			return err
		}
		return ed.replace(e, whole, ed.t.m.engine.redact(joinTexts(whole)+sep+content))
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
func (ed *treeEdit) grow(r *Record, text string) {
	r.Version++
	r.UpdatedAt, r.Text = ed.now, text
	r.Passages = ed.t.m.engine.passages(text)
	ed.fresh = append(ed.fresh, Put{Record: *r})
}

// addBlocks cuts a text into new blocks at the end of a manifest.
func (ed *treeEdit) addBlocks(e *entry, m *manifest, text string) {
	for text != "" {
		end := cutBlock(text)
		n := e.body.Next
		e.body.Next++
		part := text[:end]
		ed.fresh = append(ed.fresh, Put{Record: Record{ID: blockID(e.record.ID, n), Kind: KindBlock, Namespace: e.record.Namespace,
			Version: 1, Live: true, CreatedAt: ed.now, UpdatedAt: ed.now, Sequence: e.record.ID.String(), Position: n,
			Text: part, Passages: ed.t.m.engine.passages(part)}})
		m.add(n, 1, part)
		text = text[end:]
	}
}

func joinTexts(records []Record) string {
	var text strings.Builder
	for i := range records {
		text.WriteString(records[i].Text)
	}
	return text.String()
}

// replace gives a file another content: the blocks at its front and at its end that
// stay as they are stay. old are the records of all blocks it has; content is redacted.
func (ed *treeEdit) replace(e *entry, old []Record, content string) error {
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

// compareBlocks finds what of a content is new: the blocks before front and those
// from back on stay, middle takes the place of those between.
func compareBlocks(old []Record, content string) (front, back int, middle string) {
	middle, back = content, len(old)
	for front < len(old) && strings.HasPrefix(middle, old[front].Text) {
		middle = middle[len(old[front].Text):]
		front++
	}
	for back > front && strings.HasSuffix(middle, old[back-1].Text) {
		back--
		middle = middle[:len(middle)-len(old[back].Text)]
	}
	// Small leftovers go together with their neighbours: many small changes must not
	// leave many small blocks.
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
func (ed *treeEdit) setManifest(e *entry, next manifest, gone []Record) {
	keep := *ed.t.m.engine.opts.Revisions
	typ := EventCreated
	if v := e.record.Version; v > 0 {
		typ = EventUpdated
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
			ed.change.Erase = append(ed.change.Erase, Erase{ID: blockID(e.record.ID, r.N), Version: r.Version})
		}
	}
	for i := range gone {
		r := &gone[i]
		if !needed(e.record.Version) {
			ed.change.Erase = append(ed.change.Erase, Erase{ID: r.ID, Version: r.Version})
			continue
		}
		r.Version++
		r.Live = false
		ed.change.Put = append(ed.change.Put, Put{Record: *r, SameText: true, Revisions: -1})
		still = append(still, retired{N: r.Position, Version: r.Version, Until: e.record.Version})
	}
	e.body.Retired, e.manifest = still, next
	e.record.UpdatedAt = ed.now
	ed.put(e, keep)
	ed.event(typ, e, map[string]any{"version": e.record.Version + 1, "bytes": next.Bytes})
}

// finish turns what was noted into the change. Nothing noted changes nothing.
func (ed *treeEdit) finish() error {
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
		if err := setBody(r, p.body); err != nil {
			return err
		}
		if !p.body.Dir {
			var err error
			if r.Attributes, err = encodeJSON(p.manifest); err != nil {
				return &Error{Code: Internal, Op: "write manifest", Err: err}
			}
		}
		ed.change.Put = append(ed.change.Put, Put{Record: *r, SameText: r.Version > 1, Revisions: p.revisions})
	}
	ed.embed()
	return nil
}

// embed puts the new blocks into the change, with their vectors: all of them are
// embedded in one call.
func (ed *treeEdit) embed() {
	var texts []string
	for i := range ed.fresh {
		texts = append(texts, ed.fresh[i].Record.searched()...)
	}
	for _, v := range ed.t.m.engine.embedTexts(ed.ctx, ed.t.m.view.Tenant, texts) {
		rows := v.Rows
		for i := range ed.fresh {
			n := len(ed.fresh[i].Record.Passages)
			if n > 0 {
				ed.fresh[i].Vectors = append(ed.fresh[i].Vectors, Vectors{Space: v.Space, Rows: rows[:n:n]})
			}
			rows = rows[n:]
		}
	}
	ed.change.Put = append(ed.change.Put, ed.fresh...)
}
