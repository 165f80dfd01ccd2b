package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// What a checkpoint is in an export: each value of a channel once, before the first checkpoint
// that refers to it, and the writes of a checkpoint after it. Texts of an export are Unicode, so
// bytes are in the bodies, in base64.
type (
	valueLine struct {
		valueBody
		Data []byte `json:"data"`
	}
	checkpointLine struct {
		body
		State []byte `json:"state"`
	}
	writeLine struct {
		writeBody
		Thread    string `json:"thread"`
		Namespace string `json:"ns,omitempty"`
		Data      []byte `json:"data"`
	}
)

// Lines writes the checkpoints of every thread, the oldest first, with their values and writes.
func (Feature) Lines(ctx context.Context, m *loci.Memory, x *loci.Exporter) error {
	f := loci.Filter{Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{KindThread}, NotLive: true}
	namespaces, err := m.Namespaces(ctx, f)
	if err != nil {
		return err
	}
	for _, n := range namespaces {
		inner, err := m.At(n)
		if err != nil {
			return err
		}
		c, copies := Of(inner), map[string]bool{} // of the threads so far: whether it is a copy that has not ended
		f.Within, f.Exact = []loci.Namespace{n}, true
		err = x.Each(ctx, inner, f, loci.SlotAscending, func(ctx context.Context, r *loci.Record) error {
			var b threadBody
			if err := loci.ReadBody(r, &b); err != nil {
				return err
			}
			if _, known := copies[b.Thread]; !known { // its root graph comes first, unless an earlier part had it
				clear(copies)
				root, err := c.at(ctx, KindThread, slotOf(b.Thread, ""), loci.Page{NoText: true})
				if err != nil {
					return err
				}
				var of threadBody
				if root != nil {
					err = loci.ReadBody(root, &of)
				}
				if copies[b.Thread] = of.Copy != nil; err != nil {
					return err
				}
			}
			if copies[b.Thread] { // what a copy has so far is no thread
				return nil
			}
			return c.threadLines(ctx, x, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seenBefore is how many checkpoints before the one at which a part goes on are looked at for values that are written
// already. One that only older ones refer to, as after a fork, is written again, which an import takes.
const seenBefore = 1000

// threadLines writes the checkpoints of a thread and namespace.
func (c *Handle) threadLines(ctx context.Context, x *loci.Exporter, thread threadBody) error {
	var written map[loci.ID]bool // values
	f := c.filter(Kind)
	f.Slots = loci.SlotsBeginning(slotOf(thread.Thread, thread.Namespace))
	return x.Each(ctx, c.m, f, loci.SlotAscending, func(ctx context.Context, r *loci.Record) (err error) {
		if written == nil {
			if written, err = c.valuesBefore(ctx, f.Slots.From, r.Slot); err != nil {
				return err
			}
		}
		found, err := c.fetched(ctx, r, written)
		if errors.Is(err, errErased) { // it or some of its values went meanwhile
			if r, err = c.at(ctx, Kind, r.Slot, loci.Page{}); err != nil || r == nil {
				return err
			}
			if found, err = c.fetched(ctx, r, written); errors.Is(err, errErased) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		return c.checkpointLines(ctx, x, r.ID, &found, written)
	})
}

// valuesBefore are the values of the last checkpoints of a graph before a slot.
func (c *Handle) valuesBefore(ctx context.Context, from, to string) (map[loci.ID]bool, error) {
	f := c.filter(Kind)
	f.Slots = loci.SlotRange{From: from, To: to}
	page := loci.Page{Limit: seenBefore, NoText: true, Order: loci.SlotDescending}
	records, _, err := c.m.Records(ctx, f, page)
	written := map[loci.ID]bool{}
	for i := range records {
		s, err := readCheckpoint(&records[i])
		if err != nil {
			return nil, err
		}
		for _, id := range s.Values {
			written[id] = true
		}
	}
	return written, err
}

func (c *Handle) checkpointLines(
	ctx context.Context, x *loci.Exporter, id loci.ID, f *Fetched, written map[loci.ID]bool,
) error {
	write := func(id loci.ID, kind loci.Kind, body any, attributes json.RawMessage) error {
		r := &loci.Record{ID: id, Kind: kind, Namespace: c.m.Namespace(), Version: 1, CreatedAt: f.CreatedAt,
			UpdatedAt: f.CreatedAt, Attributes: attributes}
		if err := loci.SetBody(r, body); err != nil {
			return err
		}
		if kind != Kind {
			x.Parts++
		}
		return x.Write(ctx, r)
	}
	for _, channel := range slices.Sorted(maps.Keys(f.IDs)) {
		value, id := f.Values[channel], f.IDs[channel]
		if written[id] {
			continue
		}
		written[id] = true
		line := valueLine{valueBody{channel, f.Versions[channel], value.Type}, value.Data}
		if err := write(id, KindValue, line, nil); err != nil {
			return err
		}
	}
	line := checkpointLine{State: f.State.Data, body: body{
		Thread: f.Thread, Namespace: f.Namespace, ID: f.ID, Parent: f.Parent, Format: f.Format, Type: f.State.Type,
		MetadataType: f.TypedMetadata.Type, Metadata: f.TypedMetadata.Data, Versions: f.Versions, Values: f.IDs,
	}}
	if err := write(id, Kind, line, f.Metadata); err != nil {
		return err
	}
	ids, err := c.writeIDs(ctx, f)
	if err != nil {
		return err
	}
	for _, w := range f.Writes {
		id, stored := ids[writeKey{w.Task, w.Index}]
		if !stored { // erased meanwhile
			continue
		}
		body := writeBody{f.ID, w.Task, w.TaskPath, w.Index, w.Channel, w.Value.Type}
		line := writeLine{body, f.Thread, f.Namespace, w.Value.Data}
		if err := write(id, KindWrite, line, nil); err != nil {
			return err
		}
	}
	return nil
}

// A writeKey names a write among those of a checkpoint.
type writeKey struct {
	task  string
	index int
}

// writeIDs are the ids of the writes of a checkpoint.
func (c *Handle) writeIDs(ctx context.Context, f *Fetched) (map[writeKey]loci.ID, error) {
	if len(f.Writes) == 0 {
		return nil, nil
	}
	records, err := c.heads(ctx, KindWrite, loci.SlotsBeginning(slotOf(f.Thread, f.Namespace, f.ID)))
	ids := make(map[writeKey]loci.ID, len(records))
	for i := range records {
		var b writeBody
		if err := loci.ReadBody(&records[i], &b); err != nil {
			return nil, err
		}
		ids[writeKey{b.Task, b.Index}] = records[i].ID
	}
	return ids, err
}

// An importing is a checkpoint of an export.
type importing struct {
	line      checkpointLine
	place     loci.Namespace
	metadata  json.RawMessage
	createdAt time.Time
	writes    []Write
}

// A taker takes checkpoints out of an export: each is put as a graph would put it, so that ids
// and which values are shared follow from what is said.
type taker struct {
	loci.PlainTaker
	m      *loci.Memory
	values map[loci.ID]Typed
	list   []*importing          // in the order of the export
	placed map[string]*importing // by where they belong
}

// Take begins an import.
func (Feature) Take(m *loci.Memory) loci.Taker {
	return &taker{m: m, values: map[loci.ID]Typed{}, placed: map[string]*importing{}}
}

func placeKey(n loci.Namespace, thread, namespace, id string) string {
	return slotOf(n.Key(), thread, namespace, id)
}

// Take keeps a record until [taker.Store].
func (t *taker) Take(d *loci.Imported) (kept bool, err error) {
	r := &d.Record
	read := func(body any) error {
		if err := loci.UnmarshalJSON(r.Body, body); err != nil {
			return loci.Errorf(loci.Invalid, "body is not one that an export writes: %s", err)
		}
		return nil
	}
	switch r.Kind {
	case KindValue:
		var v valueLine
		err = read(&v)
		t.values[r.ID] = Typed{v.Type, v.Data}
		r.ID = t.m.NewID() // a value may be there again: see [seenBefore]. No record will have the id
	case Kind:
		in := &importing{place: r.Namespace, metadata: r.Attributes, createdAt: r.CreatedAt}
		if err = read(&in.line); err == nil {
			t.list = append(t.list, in)
			t.placed[placeKey(r.Namespace, in.line.Thread, in.line.Namespace, in.line.ID)] = in
		}
	case KindWrite:
		var w writeLine
		if err = read(&w); err != nil {
			break
		}
		in := t.placed[placeKey(r.Namespace, w.Thread, w.Namespace, w.ID)]
		if in == nil {
			return true, loci.Errorf(loci.Invalid, "the write is of the checkpoint %q, which is not before it", loci.ClipLabel(w.ID))
		}
		in.writes = append(in.writes, Write{w.Task, w.TaskPath, w.Index, w.Channel, Typed{w.Type, w.Data}})
	default:
		err = loci.Errorf(loci.Invalid, "kind %s is not in an export", r.Kind)
	}
	return true, err
}

// Check checks every checkpoint before anything is stored.
func (t *taker) Check() error {
	for _, in := range t.list {
		whole, err := t.whole(in)
		if err == nil {
			err = whole.check()
		}
		if err == nil {
			err = eachWrite(in.writes)
		}
		if err != nil {
			e := *loci.AsError(err)
			e.Msg = fmt.Sprintf("checkpoint %q: %s", loci.ClipLabel(in.line.ID), e.Msg)
			return &e
		}
	}
	return nil
}

// whole is a checkpoint with all of its values.
func (t *taker) whole(in *importing) (Checkpoint, error) {
	l := &in.line
	out := Checkpoint{
		Thread: l.Thread, Namespace: l.Namespace, ID: l.ID, Parent: l.Parent, Format: l.Format,
		State: Typed{l.Type, l.State}, Metadata: in.metadata, TypedMetadata: Typed{l.MetadataType, l.Metadata},
		Versions: l.Versions, Values: map[string]Typed{},
	}
	for channel, id := range l.Values {
		v, ok := t.values[id]
		if !ok {
			return out, loci.Errorf(loci.Invalid, "the value of the channel %q is not in the export", loci.ClipLabel(channel))
		}
		out.Values[channel] = v
	}
	return out, nil
}

// Store puts the checkpoints that are not there, each with its writes. What is there stays; a
// write of it that is missing is added, so that an import that was stopped can be repeated.
func (t *taker) Store(ctx context.Context, count func(loci.ImportReport)) error {
	for _, in := range t.list {
		m, err := t.m.At(in.place)
		if err != nil {
			return err
		}
		report, err := t.store(ctx, Of(m), in)
		if err != nil {
			return err
		}
		count(report)
	}
	return nil
}

func (t *taker) store(ctx context.Context, c *Handle, in *importing) (report loci.ImportReport, err error) {
	whole, err := t.whole(in)
	if err != nil {
		return report, err
	}
	there, err := c.Get(ctx, whole.Thread, whole.Namespace, whole.ID)
	switch {
	case err == nil && !same(&there.Checkpoint, &whole):
		report.Conflicts, report.Skipped = 1, []string{fmt.Sprintf("checkpoint %s: another one of this id is there", whole.ID)}
		return report, nil
	case err == nil:
		report.Existing = 1
	case loci.AsError(err).Code != loci.NotFound:
		return report, err
	default:
		report.Created = 1
		if err := t.put(ctx, c, in, &whole); err != nil {
			return report, err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(in.writes), func(w Write) bool {
		return slices.ContainsFunc(there.Writes, func(old Write) bool {
			return old.Task == w.Task && old.Index == w.Index
		})
	})
	if len(missing) == 0 {
		return report, nil
	}
	_, err = loci.Commit(ctx, c.m, "import checkpoint writes", nil, func(now time.Time) (loci.Decision[bool], error) {
		return c.decideWrites(ctx, slotOf(whole.Thread, whole.Namespace, whole.ID), whole.ID, missing, now)
	})
	return report, err
}

// put stores a checkpoint as of when it was first stored. A value that the parent has is left to
// it, so that it stays one record.
func (t *taker) put(ctx context.Context, c *Handle, in *importing, whole *Checkpoint) error {
	out := *whole
	out.Values = maps.Clone(whole.Values)
	for channel := range out.Versions {
		if _, ok := out.Values[channel]; !ok {
			out.Values[channel] = Typed{Type: EmptyType}
		}
	}
	parent := t.placed[placeKey(in.place, whole.Thread, whole.Namespace, whole.Parent)]
	if parent != nil && whole.Parent != whole.ID {
		kept, err := c.body(ctx, whole.Thread, whole.Namespace, whole.Parent)
		if err != nil {
			return err
		}
		for channel, id := range in.line.Values {
			if _, has := kept.value(channel, whole.Versions[channel]); has && parent.line.Values[channel] == id {
				delete(out.Values, channel)
			}
		}
	}
	_, err := loci.Commit(ctx, c.m, "import checkpoint", nil, func(now time.Time) (loci.Decision[bool], error) {
		d, err := c.decidePut(ctx, &out, now)
		for i := range d.Change.Put {
			if r := &d.Change.Put[i].Record; r.Kind == Kind && !in.createdAt.IsZero() {
				r.CreatedAt = in.createdAt
			}
		}
		return d, err
	})
	return err
}

// same reports whether two checkpoints of an id hold the same state. The parent may have been
// pruned, and metadata are written in more than one form.
func same(a, b *Checkpoint) bool {
	equal := func(v, w Typed) bool { return v.Type == w.Type && bytes.Equal(v.Data, w.Data) }
	return equal(a.State, b.State) && maps.Equal(a.Versions, b.Versions) && maps.EqualFunc(a.Values, b.Values, equal)
}
