package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// turn waits for the caller's turn among those who change a thread and namespace: whoever puts a checkpoint while
// another call prunes them waits for one change of it, and does not start over for each.
func (c *Handle) turn(ctx context.Context, thread, namespace string) (leave func(), err error) {
	return c.m.Turn(ctx, string(Kind), slotOf(thread, namespace))
}

// mark makes a change write the record of a thread and namespace as it was read, or erase it when
// nothing is left. So of two calls that add or take away checkpoints there, the second
// always sees what the first one did. Searches find a thread by its name, once: what its
// subgraphs have is not live.
func (c *Handle) mark(
	change *loci.Change, was *loci.Record, thread, namespace string, now time.Time, gone bool,
) error {
	var r loci.Record
	switch {
	case gone && was == nil:
		return nil
	case gone:
		change.Erase = append(change.Erase, loci.Erase{ID: was.ID, Version: was.Version})
		return nil
	case was == nil:
		slot := slotOf(thread, namespace)
		r = loci.Record{ID: c.m.NewID(), Kind: KindThread, Namespace: c.m.Namespace(), Slot: slot, CreatedAt: now}
		body := threadBody{Thread: thread, Namespace: namespace, Source: c.m.View().Source}
		if err := loci.SetBody(&r, body); err != nil {
			return err
		}
	default:
		r = *was
	}
	named := r.Live // older builds gave a thread no text
	if !named && namespace == "" {
		r.Live, r.Text = true, loci.Redact(c.m, thread)
	}
	r.Version, r.UpdatedAt = r.Version+1, now
	change.Put = append(change.Put, loci.Put{Record: r, SameText: named})
	return nil
}

// threadRecord is the record of a thread and namespace, or nil. A change reads it before all that it depends on, so
// that it is refused if others have changed any of that since.
func (c *Handle) threadRecord(ctx context.Context, thread, namespace string) (*loci.Record, error) {
	return c.at(ctx, KindThread, slotOf(thread, namespace), loci.Page{NoText: true})
}

// forsake makes a change erase the values that a checkpoint no longer refers to and no other one does. In a large graph
// it writes down which they are, for the next call that erases something there.
func (c *Handle) forsake(
	ctx context.Context, change *loci.Change, thread *loci.Record, was, is *body, now time.Time,
) error {
	left := map[loci.ID]bool{}
	for channel, id := range was.Values {
		if is.Values[channel] != id {
			left[id] = true
		}
	}
	for _, id := range is.Values {
		delete(left, id) // another channel has it
	}
	if len(left) == 0 {
		return nil
	}
	e := &erasure{c: c, room: unbounded, whole: looks.replaced}
	all, err := e.storedFew(ctx, loci.SlotsBeginning(slotOf(is.Thread, is.Namespace)))
	if errors.Is(err, errMany) && thread != nil {
		g, err := collectingOf(thread)
		if err != nil {
			return err
		}
		g = cmp.Or(g, newCollecting(now))
		if err := c.suspect(change, g, is.Thread, is.Namespace, inOrder(left), nil, now); err != nil {
			return err
		}
		return collects(thread, g)
	}
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].ID != is.ID {
			all[i].spare(left)
		}
	}
	c.eraseValues(change, inOrder(left))
	return nil
}

// spare takes what a checkpoint refers to out of a set of values to erase.
func (s *stored) spare(values map[loci.ID]bool) {
	for _, id := range s.Values {
		delete(values, id)
	}
}

// eraseValues erases values; they never change, so each has its first version.
func (c *Handle) eraseValues(change *loci.Change, ids []loci.ID) {
	for _, id := range ids {
		change.Erase = append(change.Erase, loci.Erase{ID: id, Version: 1})
	}
}

// inOrder lists ids, the oldest first: what was stored together lies together, so that the store
// changes few pages for many of them.
func inOrder(ids map[loci.ID]bool) []loci.ID { return slices.SortedFunc(maps.Keys(ids), byID) }

func byID(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) }

// storedIn lists checkpoints without their states, the oldest first.
func (c *Handle) storedIn(ctx context.Context, slots loci.SlotRange) ([]stored, error) {
	records, err := c.heads(ctx, Kind, slots)
	if err != nil {
		return nil, err
	}
	out := make([]stored, len(records))
	for i := range records {
		if out[i], err = readCheckpoint(&records[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A PruneStrategy says what [Handle.Prune] leaves.
type PruneStrategy string

// The strategies of LangGraph.
const (
	KeepLatest PruneStrategy = "keep_latest" // the latest checkpoint of each namespace, and what it is read with
	DeleteAll  PruneStrategy = "delete"      // nothing
)

// isCall reports whether a namespace belongs to one call of a subgraph. One without a colon is a
// subgraph's own memory, which outlives its calls.
func isCall(namespace string) bool { return strings.Contains(namespace, ":") }

// tasksChannel is where LangGraph writes what a step sends to tasks.
const tasksChannel = "__pregel_tasks"

// keep names the checkpoints of a namespace without which its latest cannot be read.
func (c *Handle) keep(ctx context.Context, all []stored) (kept map[string]bool, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	named := make(map[string]*stored, len(all))
	for i := range all {
		named[all[i].ID] = &all[i]
	}
	head := &all[len(all)-1]
	kept = map[string]bool{head.ID: true}
	if parent := named[head.Parent]; parent != nil && head.Format > 0 && head.Format < 4 {
		if kept[parent.ID], err = c.sends(ctx, parent); err != nil {
			return nil, err
		}
	}
	// It takes no more steps than there are checkpoints: the parents that a client names
	// may form a ring.
	replayed := head.replayed()
	for s, steps := head, 0; s != nil && steps < len(all); steps++ {
		kept[s.ID] = true
		maps.DeleteFunc(replayed, func(channel string, _ bool) bool { _, ok := s.Values[channel]; return ok })
		if len(replayed) == 0 {
			break
		}
		s = named[s.Parent]
	}
	return kept, nil
}

// sends reports whether a checkpoint has writes to tasks.
func (c *Handle) sends(ctx context.Context, s *stored) (bool, error) {
	f := c.filter(KindWrite)
	f.Slots = loci.SlotsBeginning(s.record.Slot)
	for p := (loci.Page{Limit: 100, Order: loci.SlotAscending, NoText: true}); ; {
		records, next, err := c.m.Records(ctx, f, p)
		if err != nil {
			return false, err
		}
		for i := range records {
			var b writeBody
			if err := loci.ReadBody(&records[i], &b); err != nil || b.Channel == tasksChannel {
				return b.Channel == tasksChannel, err
			}
		}
		if p.Cursor = next; next == "" {
			return false, nil
		}
	}
}

// replayed names the channels of a checkpoint that hold changes since a snapshot,
// whose value is made from the writes of ancestors.
func (s *stored) replayed() map[string]bool {
	var known struct {
		Counters map[string]json.RawMessage `json:"counters_since_delta_snapshot"`
	}
	out := map[string]bool{}
	if json.Unmarshal(s.record.Attributes, &known) != nil {
		return out // metadata of another form: no such channels
	}
	for channel := range known.Counters {
		out[channel] = true
	}
	return out
}

// caller is the checkpoint of the root graph that called a subgraph, or "".
func (s *stored) caller() string {
	var known struct {
		Parents map[string]string `json:"parents"`
	}
	if json.Unmarshal(s.record.Attributes, &known) != nil {
		return ""
	}
	return known.Parents[""]
}
