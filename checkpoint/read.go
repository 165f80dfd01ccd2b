package checkpoint

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// listBytes bounds what a page of checkpoints holds, so that a list of large ones does
// not fill the memory; such a page ends early.
const listBytes = 32 << 20

// filter selects the handle's records of a kind.
func (c *Handle) filter(kind loci.Kind) loci.Filter {
	return loci.Filter{Within: []loci.Namespace{c.m.Namespace()}, Exact: true, Kinds: []loci.Kind{kind}, NotLive: true}
}

// heads lists all records of a kind in a range, in order of slot and without their
// texts.
func (c *Handle) heads(ctx context.Context, kind loci.Kind, slots loci.SlotRange) ([]loci.Record, error) {
	return c.firstOf(ctx, kind, slots, math.MaxInt, loci.Page{NoText: true})
}

// firstOf lists the first records of a kind in a range, in order of slot. The page says what it
// shows of each.
func (c *Handle) firstOf(
	ctx context.Context, kind loci.Kind, slots loci.SlotRange, most int, p loci.Page,
) (out []loci.Record, err error) {
	f := c.filter(kind)
	f.Slots = slots
	for p.Order = loci.SlotAscending; ; {
		p.Limit = min(1000, most-len(out))
		records, next, err := c.m.Records(ctx, f, p)
		if err != nil {
			return nil, err
		}
		out = append(out, records...)
		if p.Cursor = next; next == "" || len(out) == most {
			return out, nil
		}
	}
}

// at finds the record that holds a slot, or nil.
func (c *Handle) at(ctx context.Context, kind loci.Kind, slot string, p loci.Page) (*loci.Record, error) {
	f := c.filter(kind)
	f.Slot = &slot
	p.Limit = 1
	records, _, err := c.m.Records(ctx, f, p)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return &records[0], nil
}

// A stored is a checkpoint's record, without its text, and what its body says.
type stored struct {
	record loci.Record
	body
}

// body reads a checkpoint without its state. It is nil if there is none.
func (c *Handle) body(ctx context.Context, thread, namespace, id string) (*stored, error) {
	r, err := c.at(ctx, Kind, slotOf(thread, namespace, id), loci.Page{NoText: true})
	if err != nil || r == nil {
		return nil, err
	}
	s, err := readCheckpoint(r)
	return &s, err
}

func readCheckpoint(r *loci.Record) (s stored, err error) {
	s.record = *r
	return s, loci.ReadBody(r, &s.body)
}

// value is the record that holds a channel's value at a version.
func (s *stored) value(channel, version string) (id loci.ID, ok bool) {
	if s == nil || s.Versions[channel] != version {
		return loci.ID{}, false
	}
	id, ok = s.Values[channel]
	return id, ok
}

// A storedValue is the value of a channel with its record.
type storedValue struct {
	loci.Record
	body valueBody
}

func (v *storedValue) typed() Typed { return Typed{Type: v.body.Type, Data: []byte(v.Text)} }

// values reads the values of some records.
func (c *Handle) values(ctx context.Context, ids []loci.ID) (map[loci.ID]*storedValue, error) {
	records, err := c.valueRecords(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[loci.ID]*storedValue, len(records))
	for i := range records {
		v := &storedValue{Record: records[i]}
		if err := loci.ReadBody(&v.Record, &v.body); err != nil {
			return nil, err
		}
		out[v.ID] = v
	}
	return out, nil
}

// valueRecords reads some records of values, in no order.
func (c *Handle) valueRecords(ctx context.Context, ids []loci.ID) (out []loci.Record, err error) {
	for part := range slices.Chunk(ids, 500) {
		f := c.filter(KindValue)
		f.IDs = part
		records, _, err := c.m.Records(ctx, f, loci.Page{Limit: len(part)})
		if err != nil {
			return nil, err
		}
		out = append(out, records...)
	}
	return out, nil
}

// oldValues reads what a checkpoint that is put again refers to.
func (c *Handle) oldValues(ctx context.Context, old *stored) (map[loci.ID]*storedValue, error) {
	if old == nil {
		return nil, nil
	}
	var ids []loci.ID
	for _, id := range old.Values {
		ids = append(ids, id)
	}
	return c.values(ctx, ids)
}

// latestValue finds the value of a channel at a version that was stored last.
func (c *Handle) latestValue(ctx context.Context, thread, namespace, channel, version string) (loci.ID, error) {
	f := c.filter(KindValue)
	f.Slots = loci.SlotsBeginning(slotOf(thread, namespace, channel, version))
	records, _, err := c.m.Records(ctx, f, loci.Page{Limit: 1, Order: loci.SlotDescending, NoText: true})
	if err != nil || len(records) == 0 {
		return loci.ID{}, err
	}
	return records[0].ID, nil
}

// errErased says that the value of a checkpoint is not there.
var errErased = errors.New("a value of the checkpoint is missing")

// load makes checkpoints of their records.
func (c *Handle) load(ctx context.Context, records []loci.Record, values bool) ([]Saved, error) {
	bodies := make([]stored, len(records))
	var ids []loci.ID
	for i := range records {
		var err error
		if bodies[i], err = readCheckpoint(&records[i]); err != nil {
			return nil, err
		}
		if values {
			for _, id := range bodies[i].Values {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b loci.ID) int { return slices.Compare(a[:], b[:]) })
	held, err := c.values(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out := make([]Saved, len(records))
	for i := range bodies {
		out[i] = bodies[i].saved()
		if out[i].Writes, err = c.writes(ctx, bodies[i].record.Slot); err != nil {
			return nil, err
		}
		if !values {
			continue
		}
		for channel, id := range bodies[i].Values {
			if held[id] == nil {
				return nil, errErased
			}
			out[i].Values[channel] = held[id].typed()
		}
	}
	return out, nil
}

func (s *stored) saved() Saved {
	versions, metadata := s.Versions, s.record.Attributes
	if versions == nil {
		versions = map[string]string{}
	}
	if metadata == nil {
		metadata = json.RawMessage("{}")
	}
	return Saved{CreatedAt: s.record.CreatedAt, Writes: []Write{}, Checkpoint: Checkpoint{
		Thread: s.Thread, Namespace: s.Namespace, ID: s.ID, Parent: s.Parent, Format: s.Format,
		State: Typed{Type: s.Type, Data: []byte(s.record.Text)}, Metadata: metadata,
		TypedMetadata: Typed{Type: s.MetadataType, Data: s.Metadata}, Versions: versions, Values: map[string]Typed{}}}
}

// writes reads the pending writes of the checkpoint with a slot, in the order in
// which LangGraph applies them.
func (c *Handle) writes(ctx context.Context, slot string) ([]Write, error) {
	f := c.filter(KindWrite)
	f.Slots = loci.SlotsBeginning(slot)
	out := []Write{}
	for p := (loci.Page{Limit: 1000, Order: loci.SlotAscending}); ; {
		records, next, err := c.m.Records(ctx, f, p)
		if err != nil {
			return nil, err
		}
		for i := range records {
			var b writeBody
			if err := loci.ReadBody(&records[i], &b); err != nil {
				return nil, err
			}
			out = append(out, Write{Task: b.Task, TaskPath: b.TaskPath, Index: b.Index, Channel: b.Channel,
				Value: Typed{Type: b.Type, Data: []byte(records[i].Text)}})
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b Write) int {
		return cmp.Or(strings.Compare(a.TaskPath, b.TaskPath), strings.Compare(a.Task, b.Task),
			cmp.Compare(a.Index, b.Index))
	})
	return out, nil
}

// A Query selects checkpoints for [Handle.List]; the zero query selects all of them.
type Query struct {
	Thread    string     // empty: every thread
	Namespace *string    // nil: every namespace
	ID        string     // only this one
	Before    string     // only ids below this one
	Where     loci.Where // of the metadata

	Limit  int    // 1 to 1000; default 100
	Cursor string // from the page before

	WithoutValues bool // leave out the values of channels
}

// A Page is a part of a list. A page of large checkpoints may hold fewer than the limit.
type Page struct {
	Checkpoints []Saved `json:"checkpoints"`
	Next        string  `json:"next,omitempty"` // the cursor of the following page; "": the end
}

// List lists checkpoints with their pending writes: those of one thread by id, the
// greatest first; those of all threads by when they were stored, the latest first.
func (c *Handle) List(ctx context.Context, q Query) (Page, error) {
	q.Limit = cmp.Or(q.Limit, 100)
	if q.Limit < 1 || q.Limit > loci.MaxSearchLimit {
		return Page{}, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to %d", q.Limit, loci.MaxSearchLimit)
	}
	namespace := ""
	if q.Namespace != nil {
		namespace = *q.Namespace
	}
	err := cmp.Or(
		checkName("thread_id", q.Thread, MaxThreadBytes, true),
		checkName("checkpoint_ns", namespace, MaxGraphBytes, true),
		checkName("checkpoint_id", q.ID, MaxID, true), checkName("before", q.Before, MaxID, true),
	)
	if err != nil {
		return Page{}, err
	}
	if q.Thread == "" {
		return c.listAll(ctx, q)
	}
	return c.listThread(ctx, q)
}

// listAll goes through the checkpoints of all threads.
func (c *Handle) listAll(ctx context.Context, q Query) (page Page, err error) {
	f := c.filter(Kind)
	f.Where = q.Where
	page.Checkpoints = []Saved{}
	size, ended := 0, map[string]bool{}
	for p := (loci.Page{Cursor: q.Cursor}); len(page.Checkpoints) < q.Limit && size < listBytes; {
		p.Limit = min(q.Limit-len(page.Checkpoints), 16)
		records, next, err := c.m.Records(ctx, f, p)
		if err != nil {
			return Page{}, err
		}
		for i := range records {
			s, err := readCheckpoint(&records[i])
			if err != nil {
				return Page{}, err
			}
			if q.Namespace != nil && s.Namespace != *q.Namespace || q.ID != "" && s.ID != q.ID ||
				q.Before != "" && s.ID >= q.Before {
				continue
			}
			if s.Copied && !ended[s.Thread] {
				switch _, by, err := c.copyingInto(ctx, s.Thread); {
				case err != nil:
					return Page{}, err
				case by != nil:
					continue
				}
				ended[s.Thread] = true
			}
			if err := c.add(ctx, &page, &size, records[i], q); err != nil {
				return Page{}, err
			}
		}
		p.Cursor, page.Next = next, next
		if next == "" {
			break
		}
	}
	return page, nil
}

// add puts a checkpoint on a page, unless it was erased meanwhile.
func (c *Handle) add(ctx context.Context, page *Page, size *int, r loci.Record, q Query) error {
	saved, err := c.load(ctx, []loci.Record{r}, !q.WithoutValues)
	if err != nil {
		if errors.Is(err, errErased) {
			if still, lookErr := c.at(ctx, Kind, r.Slot, loci.Page{NoText: true}); lookErr == nil && still == nil {
				return nil
			}
		}
		return loci.AsError(err)
	}
	page.Checkpoints = append(page.Checkpoints, saved[0])
	*size += len(saved[0].State.Data)
	for _, v := range saved[0].Values {
		*size += len(v.Data)
	}
	for _, w := range saved[0].Writes {
		*size += len(w.Value.Data)
	}
	return nil
}

// A namespaceList goes through the checkpoints of one namespace of a thread.
type namespaceList struct {
	namespace string
	filter    loci.Filter
	page      loci.Page
	ready     []loci.Record
	ids       []string
	done      bool
}

// listThread merges the lists of a thread's namespaces.
func (c *Handle) listThread(ctx context.Context, q Query) (page Page, err error) {
	last, err := parsePlace(q.Cursor)
	if err != nil {
		return page, err
	}
	page.Checkpoints = []Saved{}
	if _, by, err := c.copyingInto(ctx, q.Thread); err != nil || by != nil {
		return page, err
	}
	lists, err := c.namespaceLists(ctx, q, last)
	if err != nil {
		return page, err
	}
	for size := 0; ; {
		best, err := c.next(ctx, lists)
		if err != nil || best == nil {
			return page, err
		}
		if len(page.Checkpoints) == q.Limit || size >= listBytes {
			page.Next = last.cursor()
			return page, nil
		}
		r := best.ready[0]
		last = &listPlace{ID: best.ids[0], Namespace: best.namespace}
		best.ready, best.ids = best.ready[1:], best.ids[1:]
		if err := c.add(ctx, &page, &size, r, q); err != nil {
			return Page{}, err
		}
	}
}

// namespaceLists makes a list for each namespace a query asks for, each from the
// place where the page begins.
func (c *Handle) namespaceLists(ctx context.Context, q Query, last *listPlace) (lists []*namespaceList, err error) {
	var namespaces []string
	if q.Namespace != nil {
		namespaces = []string{*q.Namespace}
	} else if namespaces, err = c.namespaces(ctx, q.Thread); err != nil {
		return nil, err
	}
	for _, namespace := range namespaces {
		f := c.filter(Kind)
		f.Where = q.Where
		f.Slots = loci.SlotsBeginning(slotOf(q.Thread, namespace))
		before := func(slot string) { f.Slots.To = min(f.Slots.To, slot) }
		if q.Before != "" {
			before(slotOf(q.Thread, namespace, q.Before))
		}
		if q.ID != "" {
			slot := slotOf(q.Thread, namespace, q.ID)
			f.Slot = &slot
		}
		if last != nil {
			slot := slotOf(q.Thread, namespace, last.ID)
			if namespace > last.Namespace { // its checkpoint of the same id comes next
				slot += "\x00"
			}
			before(slot)
		}
		lists = append(lists, &namespaceList{
			namespace: namespace, filter: f, page: loci.Page{Limit: min(q.Limit+1, 16), Order: loci.SlotDescending},
		})
	}
	return lists, nil
}

// namespaces lists the namespaces of a thread that have checkpoints.
func (c *Handle) namespaces(ctx context.Context, thread string) (out []string, err error) {
	records, err := c.heads(ctx, KindThread, loci.SlotsBeginning(slotOf(thread)))
	if err != nil {
		return nil, err
	}
	for i := range records {
		var b threadBody
		if err := loci.ReadBody(&records[i], &b); err != nil {
			return nil, err
		}
		out = append(out, b.Namespace)
	}
	return out, nil
}

// next finds the list whose next checkpoint is the greatest, or nil at the end of all
// lists.
func (c *Handle) next(ctx context.Context, lists []*namespaceList) (best *namespaceList, err error) {
	for _, l := range lists {
		for len(l.ready) == 0 && !l.done {
			if l.ready, l.page.Cursor, err = c.m.Records(ctx, l.filter, l.page); err != nil {
				return nil, err
			}
			l.done, l.ids = l.page.Cursor == "", nil
			for i := range l.ready {
				s, err := readCheckpoint(&l.ready[i])
				if err != nil {
					return nil, err
				}
				l.ids = append(l.ids, s.ID)
			}
		}
		if len(l.ready) > 0 && (best == nil || l.ids[0] > best.ids[0]) {
			best = l // of equal ids the first namespace's
		}
	}
	return best, nil
}

// A listPlace is the last checkpoint of a page.
type listPlace struct {
	ID        string `json:"id"`
	Namespace string `json:"ns"`
}

func (p *listPlace) cursor() string {
	data, _ := json.Marshal(p) // two texts: cannot fail
	return base64.RawURLEncoding.EncodeToString(data)
}

func parsePlace(cursor string) (*listPlace, error) {
	if cursor == "" {
		return nil, nil
	}
	var p listPlace
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || json.Unmarshal(data, &p) != nil || p.ID == "" {
		return nil, loci.Errorf(loci.Invalid, "cursor is not one that a list of this thread returned")
	}
	return &p, nil
}
