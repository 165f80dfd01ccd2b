// Package reminder is an example of a kind of memory in a package of its own: texts with
// a due date, which stay until they are done. It imports the root alone and has every
// guarantee of the kernel, which also searches them, erases them by id and exports them.
package reminder

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// Kind is the kind of the records.
const Kind loci.Kind = "reminder"

const maxText = 1000 // bytes

// A Reminder is something to do.
type Reminder struct {
	ID   loci.ID   `json:"id"`
	Text string    `json:"text"`
	Due  time.Time `json:"due"`
	Done bool      `json:"done"`
}

// A Handle keeps the reminders of a namespace.
type Handle struct{ m *loci.Memory }

// Of returns the reminders of a handle's namespace.
func Of(m *loci.Memory) *Handle { return &Handle{m} }

// Put stores a reminder. The same text for the same time is one reminder.
func (h *Handle) Put(ctx context.Context, text string, due time.Time) (Reminder, error) {
	text = loci.Redact(h.m, strings.TrimSpace(text))
	if text == "" || len(text) > maxText {
		return Reminder{}, loci.Errorf(loci.Invalid, "text has %d bytes; it must have 1 to %d", len(text), maxText)
	}
	request := map[string]any{"text": text, "due": due}
	// A decision is made again after a conflict: it reads, and changes nothing by itself.
	return loci.Commit(ctx, h.m, "put reminder", request, func(now time.Time) (d loci.Decision[Reminder], err error) {
		r := loci.Record{ID: h.m.NewID(), Kind: Kind, Namespace: h.m.Namespace(), Version: 1, Live: true,
			CreatedAt: now, UpdatedAt: now, Slot: slotOf(due, text), Text: text}
		same, _, err := h.find(ctx, loci.Filter{Slot: &r.Slot}, loci.Page{})
		if len(same) > 0 {
			d.Record = same[0].ID
			d.Reply, err = read(&same[0])
		}
		if err != nil || len(same) > 0 {
			return d, err
		}
		if r.Attributes, err = loci.MarshalJSON(map[string]time.Time{"due": due}); err != nil {
			return d, err
		}
		return h.change(loci.Put{Record: r}, loci.EventCreated)
	})
}

// Done takes a reminder off the list and out of searches.
func (h *Handle) Done(ctx context.Context, id loci.ID) (Reminder, error) {
	return loci.Commit(ctx, h.m, "do reminder", id, func(now time.Time) (d loci.Decision[Reminder], err error) {
		found, _, err := h.find(ctx, loci.Filter{IDs: []loci.ID{id}, NotLive: true}, loci.Page{})
		if err != nil || len(found) == 0 {
			return d, cmp.Or(err, error(loci.Errorf(loci.NotFound, "no reminder with id %s", id)))
		}
		r := found[0]
		d.Record = r.ID // an erase of it takes the stored reply along
		if d.Reply, err = read(&r); err != nil || d.Reply.Done {
			return d, err // somebody else was quicker
		}
		r.Version, r.UpdatedAt, r.Slot, r.Live = r.Version+1, now, "", false
		return h.change(loci.Put{Record: r, SameText: true}, loci.EventUpdated)
	})
}

// List returns a page of the open reminders that are due by a time, the earliest first.
func (h *Handle) List(ctx context.Context, by time.Time, page loci.Page) (list []Reminder, next string, err error) {
	page.Order = loci.SlotAscending
	due := loci.SlotRange{From: " ", To: slotOf(by.Add(time.Millisecond), "")}
	found, next, err := h.find(ctx, loci.Filter{Slots: due}, page)
	for i := 0; i < len(found) && err == nil; i++ {
		list = append(list, Reminder{})
		list[i], err = read(&found[i])
	}
	return list, next, err
}

// slotOf is what one open reminder may hold. Written times sort as times do.
func slotOf(due time.Time, text string) string { return loci.ShowTime(due) + " " + text }

// find reads reminders of the namespace.
func (h *Handle) find(ctx context.Context, f loci.Filter, page loci.Page) ([]loci.Record, string, error) {
	f.Within, f.Exact, f.Kinds = []loci.Namespace{h.m.Namespace()}, true, []loci.Kind{Kind}
	return h.m.Records(ctx, f, page)
}

// change is the decision to store a record and to tell of it.
func (h *Handle) change(put loci.Put, typ loci.EventType) (loci.Decision[Reminder], error) {
	r := &put.Record
	events := []loci.Event{h.m.Event(typ, r, r.UpdatedAt, map[string]any{"version": r.Version})}
	reply, err := read(r)
	change := loci.Change{Put: []loci.Put{put}, Events: events}
	return loci.Decision[Reminder]{Change: change, Reply: reply, Record: r.ID, Embed: loci.EmbedFirst}, err
}

func read(r *loci.Record) (Reminder, error) {
	var a struct{ Due time.Time }
	if err := json.Unmarshal(r.Attributes, &a); err != nil {
		return Reminder{}, loci.Errorf(loci.Internal, "due of reminder %s: %w", r.ID, err)
	}
	return Reminder{ID: r.ID, Text: r.Text, Due: a.Due, Done: !r.Live}, nil
}

// Feature makes an engine keep reminders: name it in loci.Options.Features.
type Feature struct{}

// Kinds says that a reminder stands for itself, so that the kernel does all that for it.
func (Feature) Kinds() []loci.FeatureKind { return []loci.FeatureKind{{Kind: Kind, Memory: true}} }

// Check finds nothing to refuse: there are no options.
func (Feature) Check() error { return nil }

// Lines has nothing to write: the kernel writes what stands for itself.
func (Feature) Lines(context.Context, *loci.Memory, *loci.Exporter) error { return nil }

// Take begins an import.
func (Feature) Take(m *loci.Memory) loci.Taker { return taker{m: m} }

type taker struct {
	loci.PlainTaker
	m *loci.Memory
}

// Take checks a reminder of an export as Put would; the kernel stores it.
func (t taker) Take(d *loci.Imported) (kept bool, err error) {
	if err := d.Clean(false); err != nil {
		return false, err
	}
	r, err := read(&d.Record)
	if err != nil || r.Text == "" || len(r.Text) > maxText {
		return false, loci.Errorf(loci.Invalid, "text must have 1 to %d bytes, attributes.due must be a time", maxText)
	}
	if d.Slot = ""; d.Live {
		d.Slot = slotOf(r.Due, r.Text)
	}
	return false, nil
}
