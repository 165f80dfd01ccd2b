package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// maxRunBytes bounds the id of a run.
const maxRunBytes = 1024

// turn waits for the caller's turn among those who change a thread and namespace: whoever puts a checkpoint while
// another call prunes them waits for one change of it, and does not start over for each.
func (c *Handle) turn(ctx context.Context, thread, namespace string) (leave func(), err error) {
	return c.m.Turn(ctx, string(Kind), slotOf(thread, namespace))
}

// mark makes a change write the record of a thread and namespace, or erase it when
// nothing is left. So of two calls that add or take away checkpoints there, the second
// always sees what the first one did. Searches find a thread by its name, once: what its
// subgraphs have is not live.
func (c *Handle) mark(
	ctx context.Context, change *loci.Change, thread, namespace string, now time.Time, gone bool,
) error {
	slot := slotOf(thread, namespace)
	r, err := c.at(ctx, KindThread, slot, loci.Page{NoText: true})
	switch {
	case err != nil:
		return err
	case gone && r == nil:
		return nil
	case gone:
		change.Erase = append(change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
		return nil
	case r == nil:
		r = &loci.Record{ID: c.m.NewID(), Kind: KindThread, Namespace: c.m.Namespace(), Slot: slot, CreatedAt: now}
		if err := loci.SetBody(r, threadBody{thread, namespace, c.m.View().Source}); err != nil {
			return err
		}
	}
	named := r.Live // older builds gave a thread no text
	if !named && namespace == "" {
		r.Live, r.Text = true, loci.Redact(c.m, thread)
	}
	r.Version, r.UpdatedAt = r.Version+1, now
	change.Put = append(change.Put, loci.Put{Record: *r, SameText: named})
	return nil
}

// forsake makes a change erase the values that a checkpoint no longer refers to and
// no other one does.
func (c *Handle) forsake(ctx context.Context, change *loci.Change, was, is *body) error {
	left := map[loci.ID]bool{}
	for channel, id := range was.Values {
		if is.Values[channel] != id {
			left[id] = true
		}
	}
	if len(left) == 0 {
		return nil
	}
	all, err := c.stored(ctx, is.Thread, is.Namespace)
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

// stored lists the checkpoints of a thread and namespace without their states, the
// oldest first.
func (c *Handle) stored(ctx context.Context, thread, namespace string) ([]stored, error) {
	return c.storedIn(ctx, loci.SlotsBeginning(slotOf(thread, namespace)))
}

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

// DeleteForRuns erases the checkpoints that some runs made, those whose metadata have
// one of them as run_id, with their writes, and returns how many there were. A value
// that such a run wrote stays as long as another checkpoint has it.
func (c *Handle) DeleteForRuns(ctx context.Context, runs []string) (erased int, err error) {
	var sequences []string
	of := map[string]bool{}
	for _, run := range runs {
		if err := checkName("run_ids: an id", run, maxRunBytes, false); err != nil {
			return 0, err
		}
		sequence := runSequence(run)
		sequences, of[sequence] = append(sequences, sequence), true
	}
	if len(sequences) > loci.MaxSearchLimit {
		return 0, loci.Errorf(loci.TooLarge, "run_ids has %d ids; the limit is %d: delete them in several calls", len(sequences), loci.MaxSearchLimit)
	}
	if len(sequences) == 0 {
		return 0, nil
	}
	f := c.filter(Kind)
	f.Sequences = sequences
	all := erasure{c: c, op: "erase checkpoints"}
	for {
		records, _, err := c.records(ctx, f, loci.Page{Limit: 1, NoText: true})
		if err != nil {
			return erased, err
		}
		if len(records) == 0 {
			return erased, all.settle(ctx)
		}
		s, err := readCheckpoint(&records[0])
		if err != nil {
			return erased, err
		}
		// First everything of the runs in this thread and namespace goes; then the next
		// one is looked for.
		n, err := all.drop(ctx, s.Thread, s.Namespace, false, func(all []stored) (map[string]bool, error) {
			chosen := map[string]bool{}
			for i := range all {
				if of[all[i].record.Sequence] {
					chosen[all[i].ID] = true
				}
			}
			return chosen, nil
		})
		erased += n
		if err != nil {
			return erased, err
		}
	}
}

// A PruneStrategy says what [Handle.Prune] leaves.
type PruneStrategy string

// The strategies of LangGraph.
const (
	KeepLatest PruneStrategy = "keep_latest" // the latest checkpoint of each namespace, and what it is read with
	DeleteAll  PruneStrategy = "delete"      // nothing
)

// Prune erases old checkpoints of threads and returns how many. KeepLatest leaves the
// latest of each namespace with its writes and values. It also leaves its parent, where
// the format keeps what was sent to tasks there, and its ancestors up to the last
// snapshots of channels that keep changes only (DeltaChannel). What a subgraph left goes
// with the checkpoint of the root graph that called it. Each namespace of a thread is one
// change, unless it is large.
func (c *Handle) Prune(ctx context.Context, threads []string, strategy PruneStrategy) (erased int, err error) {
	if strategy != KeepLatest && strategy != DeleteAll {
		return 0, loci.OneOf("strategy", string(strategy), KeepLatest, DeleteAll)
	}
	for _, thread := range threads {
		if err := checkThread(thread); err != nil {
			return 0, err
		}
	}
	threads = slices.Compact(slices.Sorted(slices.Values(threads))) // one that is named again costs as much again
	all := erasure{c: c, op: "prune threads"}
	for i, thread := range threads {
		prune := all.keepLatest
		if strategy == DeleteAll {
			prune = all.deleteThread
		}
		n, err := prune(ctx, thread, i == len(threads)-1)
		erased += n
		if err != nil {
			return erased, err
		}
	}
	return erased, all.settle(ctx)
}

// keepLatest prunes a thread: subgraphs first, while the root's checkpoints still
// say which of them were called from what goes. last says that the call erases nothing after it.
func (e *erasure) keepLatest(ctx context.Context, thread string, last bool) (erased int, err error) {
	c := e.c
	namespaces, err := c.namespaces(ctx, thread)
	if err != nil {
		return 0, err
	}
	called := map[string]bool{} // checkpoints of the root that go
	if slices.ContainsFunc(namespaces, isCall) {
		root, err := c.stored(ctx, thread, "")
		if err != nil {
			return 0, err
		}
		staying, err := c.keep(ctx, root)
		if err != nil {
			return 0, err
		}
		for i := range root {
			if !staying[root[i].ID] {
				called[root[i].ID] = true
			}
		}
	}
	slices.SortFunc(namespaces, func(a, b string) int { return strings.Compare(b, a) }) // the root, "", comes last
	for i, namespace := range namespaces {
		ends := last && i == len(namespaces)-1
		n, err := e.drop(ctx, thread, namespace, ends, func(all []stored) (map[string]bool, error) {
			kept, err := c.keep(ctx, all)
			if err != nil {
				return nil, err
			}
			if isCall(namespace) && len(all) > 0 && called[all[len(all)-1].caller()] {
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
		erased += n
		if err != nil {
			return erased, err
		}
	}
	return erased, nil
}

// isCall reports whether a namespace belongs to one call of a subgraph. One without a colon is a
// subgraph's own memory, which outlives its calls.
func isCall(namespace string) bool { return strings.Contains(namespace, ":") }

// tasksChannel is where LangGraph writes what a step sends to tasks.
const tasksChannel = "__pregel_tasks"

// keep names the checkpoints of a namespace without which its latest cannot be read.
func (c *Handle) keep(ctx context.Context, all []stored) (map[string]bool, error) {
	if len(all) == 0 {
		return nil, nil
	}
	named := make(map[string]*stored, len(all))
	for i := range all {
		named[all[i].ID] = &all[i]
	}
	head := &all[len(all)-1]
	kept := map[string]bool{head.ID: true}
	if parent := named[head.Parent]; parent != nil && head.Format > 0 && head.Format < 4 {
		writes, err := c.writes(ctx, parent.record.Slot)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(writes, func(w Write) bool { return w.Channel == tasksChannel }) {
			kept[parent.ID] = true
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
