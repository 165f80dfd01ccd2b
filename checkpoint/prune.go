package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of a look at a graph of a thread that is pruned in parts.
const (
	mostKept  = 10_000  // checkpoints that the latest is read with
	mostNamed = 100_000 // values that these name
)

// Prune erases old checkpoints of threads and returns how many. KeepLatest leaves the
// latest of each namespace with its writes and values. It also leaves its parent, where
// the format keeps what was sent to tasks there, and its ancestors up to the last
// snapshots of channels that keep changes only (DeltaChannel). What a subgraph left goes
// with the checkpoint of the root graph that called it. Each namespace of a thread is one
// change, unless it is large.
func (c *Handle) Prune(ctx context.Context, threads []string, strategy PruneStrategy) (erased int, err error) {
	if threads, err = pruned(threads, strategy); err != nil {
		return 0, err
	}
	all := c.begin("prune threads")
	if erased, err = all.prune(ctx, threads, strategy, place{}); err != nil {
		return erased, err
	}
	return erased, all.settle(ctx)
}

// pruned are the threads that a call prunes: one that is named again costs as much again.
func pruned(threads []string, strategy PruneStrategy) ([]string, error) {
	if strategy != KeepLatest && strategy != DeleteAll {
		return nil, loci.OneOf("strategy", string(strategy), KeepLatest, DeleteAll)
	}
	for _, thread := range threads {
		if err := checkThread(thread); err != nil {
			return nil, err
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(threads))), nil
}

func (e *erasure) prune(
	ctx context.Context, threads []string, strategy PruneStrategy, from place,
) (erased int, err error) {
	for i, thread := range threads {
		if e.at = (place{Thread: []byte(thread)}); e.full() {
			break
		}
		e.look(lookThread)
		last, n := i == len(threads)-1, 0
		if strategy == DeleteAll {
			n, err = e.deleteThread(ctx, thread, last)
		} else {
			if thread == string(from.Thread) {
				e.at.Graph, e.at.Root = from.Graph, from.Root
			}
			n, err = e.keepLatest(ctx, thread, last)
		}
		if erased += n; err != nil || e.left {
			break
		}
	}
	return erased, err
}

// keepLatest prunes a thread: subgraphs first, while the root's checkpoints still
// say which of them were called from what goes. last says that the call erases nothing after it.
func (e *erasure) keepLatest(ctx context.Context, thread string, last bool) (erased int, err error) {
	if err := e.c.settled(ctx, thread); err != nil {
		return 0, err
	}
	f := e.c.filter(KindThread)
	f.Slots = loci.SlotsBeginning(slotOf(thread))
	if len(e.at.Graph) > 0 || e.at.Root {
		f.Slots.To = slotOf(thread, string(e.at.Graph)) + "\x00"
	}
	root := &keeping{c: e.c, thread: thread, bounded: e.room != unbounded}
	for {
		records, _, err := e.c.m.Records(ctx, f, loci.Page{Limit: 100, Order: loci.SlotDescending, NoText: true})
		if err != nil || len(records) == 0 {
			return erased, err
		}
		for i := range records {
			var b threadBody
			if err := loci.ReadBody(&records[i], &b); err != nil {
				return erased, err
			}
			e.at.Graph, e.at.Root = []byte(b.Namespace), b.Namespace == ""
			if e.full() {
				return erased, nil
			}
			e.look(lookThread)
			n, err := e.pruneGraph(ctx, thread, b.Namespace, root, last && b.Namespace == "")
			if erased += n; err != nil || e.left {
				return erased, err
			}
			f.Slots.To = records[i].Slot
		}
	}
}

// pruneGraph prunes a namespace of a thread. root is what the root graph keeps.
func (e *erasure) pruneGraph(
	ctx context.Context, thread, graph string, root *keeping, last bool,
) (erased int, err error) {
	k := &keeping{c: e.c, thread: thread, graph: graph, bounded: e.room != unbounded}
	goes, err := e.goesWhole(ctx, k, root)
	if err != nil {
		return 0, err
	}
	n, err := e.pruneWhole(ctx, k, goes, last)
	if erased += n; errors.Is(err, errMany) {
		if goes {
			n, err = e.deleteGraph(ctx, thread, graph)
			return erased + n, err
		}
		n, err = e.checkpoints(ctx, k)
		erased += n
		if err == nil && !e.left {
			n, err = e.pruneWhole(ctx, k, goes, last) // what others put meanwhile may have taken the place of what was kept
			if erased += n; errors.Is(err, errMany) {
				err = nil
			}
		}
	}
	if err == nil && !goes && !e.full() {
		err = e.sweep(ctx, k)
	}
	if err == nil && !e.full() {
		err = e.collect(ctx, thread, graph)
	}
	return erased, err
}

// pruneWhole prunes a graph that is looked at as a whole, so that the values of each checkpoint go with it. Another one
// is errMany.
func (e *erasure) pruneWhole(ctx context.Context, k *keeping, goes, last bool) (int, error) {
	if e.room != unbounded {
		e.whole = looks.atOnce
		if few, err := e.few(ctx, k.slots()); err != nil || !few {
			return 0, cmp.Or(err, errMany)
		}
	}
	return e.drop(ctx, k.thread, k.graph, last, func(all []stored) (map[string]bool, error) {
		kept, err := e.c.keep(ctx, all)
		if err != nil {
			return nil, err
		}
		if goes {
			kept = nil
		}
		chosen := map[string]bool{}
		for i := range all {
			if !kept[all[i].ID] {
				chosen[all[i].ID] = true
			}
		}
		return chosen, nil
	})
}

// goesWhole reports whether a graph is the call of a subgraph that goes with the checkpoint that called it.
func (e *erasure) goesWhole(ctx context.Context, k, root *keeping) (bool, error) {
	if !isCall(k.graph) {
		return false, nil
	}
	head, err := k.latest(ctx)
	if err != nil || head == nil || head.caller() == "" {
		return false, err
	}
	caller, err := e.c.body(ctx, k.thread, "", head.caller())
	if err != nil || caller == nil {
		return false, err
	}
	if root.kept == nil {
		if err := root.look(ctx); err != nil {
			return false, err
		}
	}
	return root.kept[caller.record.Slot] == nil, nil
}

// A keeping is what a prune leaves of a graph, found from its latest checkpoint and not by looking at all of them. It
// holds as long as the record of the thread stays as it was.
type keeping struct {
	c             *Handle
	thread, graph string
	bounded       bool               // it refuses to look at too many
	kept          map[string]*stored // by slot; nil: not looked at yet
	values        map[loci.ID]bool   // that these name
	version       int64              // of the thread's record
	tried         bool               // a change was made of it that may have been refused
	alone         bool               // there is nothing else in the graph
	list          valueList          // the values that a sweep has not looked at
	rest          []loci.ID          // and those that it found, which had no room in a step
}

func (k *keeping) slots() loci.SlotRange { return loci.SlotsBeginning(slotOf(k.thread, k.graph)) }

// latest is the latest checkpoint, or nil.
func (k *keeping) latest(ctx context.Context) (*stored, error) {
	f := k.c.filter(Kind)
	f.Slots = k.slots()
	records, _, err := k.c.m.Records(ctx, f, loci.Page{Limit: 1, Order: loci.SlotDescending, NoText: true})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	s, err := readCheckpoint(&records[0])
	return &s, err
}

// look finds what [Handle.keep] names.
func (k *keeping) look(ctx context.Context) error {
	k.kept, k.values, k.alone = map[string]*stored{}, map[loci.ID]bool{}, false
	k.rest = nil
	k.list = valueList{c: k.c, prefix: slotOf(k.thread, k.graph)}
	head, err := k.latest(ctx)
	if err != nil || head == nil {
		return err
	}
	k.add(head)
	parent := func(s *stored) (*stored, error) {
		if s.Parent == "" {
			return nil, nil
		}
		return k.c.body(ctx, k.thread, k.graph, s.Parent)
	}
	if head.Format > 0 && head.Format < 4 {
		before, err := parent(head)
		if err != nil {
			return err
		}
		if before != nil {
			sends, err := k.c.sends(ctx, before)
			if err != nil {
				return err
			}
			if sends {
				k.add(before)
			}
		}
	}
	replayed, seen := head.replayed(), map[string]bool{}
	for s := head; s != nil && !seen[s.ID]; { // the parents that a client names may form a ring
		seen[s.ID] = true
		k.add(s)
		if k.bounded && (len(k.kept) > mostKept || len(k.values) > mostNamed) {
			return &loci.Error{Code: loci.TooLarge,
				Msg: fmt.Sprintf("the latest checkpoint of thread %q is read with more than %d earlier ones, or %d values of them, and a prune keeps them all",
					loci.ClipLabel(k.thread), mostKept, mostNamed),
				Recovery: "Let its channels take snapshots more often, or delete the thread."}
		}
		maps.DeleteFunc(replayed, func(channel string, _ bool) bool { _, ok := s.Values[channel]; return ok })
		if len(replayed) == 0 {
			break
		}
		if s, err = parent(s); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeping) add(s *stored) {
	k.kept[s.record.Slot] = s
	for _, id := range s.Values {
		k.values[id] = true
	}
}

// current looks again unless the record of the thread is as the last step left it.
func (k *keeping) current(ctx context.Context, e *erasure) (*loci.Record, error) {
	r, err := k.c.threadRecord(ctx, k.thread, k.graph)
	if err != nil || r == nil {
		return nil, err
	}
	if k.kept == nil || k.tried || k.version != r.Version {
		if err := k.look(ctx); err != nil {
			return nil, err
		}
		e.look(len(k.kept))
	}
	k.tried, k.version = true, r.Version
	return r, nil
}

// step makes a change of the graph. What is known of it holds for the next one if this one was not refused.
func (k *keeping) step(
	ctx context.Context, e *erasure, decide func(change *loci.Change, r *loci.Record, now time.Time) error,
) error {
	changed := false
	k.tried = false
	err := e.step(ctx, k.thread, k.graph, func(now time.Time) (change loci.Change, ends bool, err error) {
		r, err := k.current(ctx, e)
		if err != nil || r == nil {
			return change, false, err
		}
		if err = decide(&change, r, now); err != nil {
			return change, false, err
		}
		if changed = !change.Empty(); changed {
			k.c.account(&change, []loci.Record{*r}, now)
			err = k.c.mark(&change, r, k.thread, k.graph, now, false)
		}
		return change, false, err
	})
	if changed {
		k.version++
	}
	return err
}

// checkpoints erases the checkpoints of a graph that are not kept, the oldest first, with their writes. Their values
// go afterwards: which of them a checkpoint between still names, only all of them say.
func (e *erasure) checkpoints(ctx context.Context, k *keeping) (erased int, err error) {
	for more := true; more && !e.full(); {
		gone := 0
		more = false // unless the graph is there
		err := k.step(ctx, e, func(change *loci.Change, _ *loci.Record, now time.Time) (err error) {
			gone, more, err = e.oldest(ctx, k, change, now)
			return err
		})
		if err != nil {
			return erased, err
		}
		erased += gone
	}
	return erased, nil
}

// oldest makes a change erase the oldest checkpoints that are not kept. What is kept and has such a parent loses it.
func (e *erasure) oldest(
	ctx context.Context, k *keeping, change *loci.Change, now time.Time,
) (gone int, more bool, err error) {
	c := e.c
	heads, err := c.firstOf(ctx, Kind, k.slots(), stepRecords+len(k.kept)+1, loci.Page{Brief: true})
	if err != nil {
		return 0, false, err
	}
	heads = slices.DeleteFunc(heads, func(r loci.Record) bool { return k.kept[r.Slot] != nil })
	fits, err := e.sizer().fit(ctx, Kind, idsOf(heads[:min(len(heads), stepRecords)]))
	if err != nil {
		return 0, false, err
	}
	written := e.writesOf(k.slots())
	went := map[string]bool{}
	for i := range heads {
		r := &heads[i]
		room := stepRecords - len(change.Erase)
		if room == 0 || i == fits {
			more = true
			break
		}
		writes, whole, err := written.some(ctx, r.Slot, room-1)
		if err != nil {
			return 0, false, err
		}
		for i := range writes {
			change.Erase = append(change.Erase, loci.Erase{ID: writes[i].ID, Version: writes[i].Version})
		}
		if !whole {
			more = true
			break
		}
		change.Erase = append(change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
		change.Events = append(change.Events, c.m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version}))
		went[r.Slot] = true
	}
	for _, slot := range slices.Sorted(maps.Keys(k.kept)) {
		s := k.kept[slot]
		if s.Parent == "" || !went[slotOf(k.thread, k.graph, s.Parent)] {
			continue
		}
		r := s.record
		b := s.body
		b.Parent = ""
		if err := loci.SetBody(&r, b); err != nil {
			return 0, false, err
		}
		r.Version, r.UpdatedAt = r.Version+1, now
		change.Put = append(change.Put, loci.Put{Record: r, SameText: true})
		k.kept[slot] = &stored{record: r, body: b}
	}
	return len(went), more, nil
}

// sweep erases the values of a graph that nothing refers to any more, once all that is there is kept: those of
// checkpoints that went in parts, and of calls that were stopped.
func (e *erasure) sweep(ctx context.Context, k *keeping) error {
	for more := true; more && !e.full(); {
		more = false
		err := k.step(ctx, e, func(change *loci.Change, r *loci.Record, _ time.Time) (err error) {
			if !k.alone { // others may have put checkpoints since
				heads, err := e.c.firstOf(ctx, Kind, k.slots(), len(k.kept)+1, loci.Page{Brief: true})
				if k.alone = len(heads) == len(k.kept); err != nil || !k.alone {
					return err
				}
			}
			if more, err = e.values(ctx, k, change); err == nil && !more {
				more, err = e.c.forgetLists(ctx, change, r, slotOf(k.thread, k.graph))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// values makes a change erase values that what is kept does not name.
func (e *erasure) values(ctx context.Context, k *keeping, change *loci.Change) (more bool, err error) {
	ids, looked := k.rest, 0
	for more = true; more && len(ids) < stepRecords && looked < 8*stepRecords; {
		records, err := k.list.next(ctx, stepRecords-len(ids))
		if err != nil {
			return false, err
		}
		for i := range records {
			if !k.values[records[i].ID] {
				ids = append(ids, records[i].ID)
			}
		}
		looked, more = looked+len(records), len(records) > 0
	}
	e.look(looked / lookEach)
	slices.SortFunc(ids, byID)
	n, err := e.sizer().fit(ctx, KindValue, ids)
	if err != nil {
		return false, err
	}
	e.c.eraseValues(change, ids[:n])
	k.rest = ids[n:]
	return more || len(k.rest) > 0, nil
}

// deleteGraph erases all of a namespace of a thread.
func (e *erasure) deleteGraph(ctx context.Context, thread, graph string) (erased int, err error) {
	p := deletion{e: e, c: e.c, thread: thread, most: min(maxKnownValues, e.room), namespace: graph}
	for more := true; more && !e.full(); {
		gone := 0
		err := e.step(ctx, thread, graph, func(now time.Time) (change loci.Change, ends bool, err error) {
			r, err := e.c.threadRecord(ctx, thread, graph)
			if err != nil {
				return change, false, err
			}
			if gone, more, err = p.take(ctx, &change, slotOf(thread, graph), now); err != nil {
				return change, false, err
			}
			if r != nil {
				err = e.c.mark(&change, r, thread, graph, now, !more)
			}
			e.c.account(&change, nil, now)
			return change, false, err
		})
		if err != nil {
			return erased, err
		}
		erased += gone
	}
	return erased, nil
}
