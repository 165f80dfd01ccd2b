package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// maxRunBytes bounds the id of a run.
const maxRunBytes = 1024

// runPage is how many checkpoints of runs are read at once.
const runPage = 64

// DeleteForRuns erases the checkpoints that some runs made, those whose metadata have
// one of them as run_id, with their writes, and returns how many there were. A value
// that such a run wrote stays as long as another checkpoint has it.
func (c *Handle) DeleteForRuns(ctx context.Context, runs []string) (erased int, err error) {
	of, err := sequencesOf(runs)
	if err != nil || len(of) == 0 {
		return 0, err
	}
	all := c.begin("erase checkpoints")
	if erased, err = all.deleteForRuns(ctx, of, place{}); err != nil {
		return erased, err
	}
	return erased, all.settle(ctx)
}

// sequencesOf are runs in the form in which records are found by them.
func sequencesOf(runs []string) (map[string]bool, error) {
	of := map[string]bool{}
	for _, run := range runs {
		if err := checkName("run_ids: an id", run, maxRunBytes, false); err != nil {
			return nil, err
		}
		of[runSequence(run)] = true
	}
	if len(runs) > loci.MaxSearchLimit {
		return nil, loci.Errorf(loci.TooLarge, "run_ids has %d ids; the limit is %d: delete them in several calls", len(runs), loci.MaxSearchLimit)
	}
	return of, nil
}

// A runScan goes through all checkpoints for those of runs, some at a time: no index knows the runs.
type runScan struct {
	e     *erasure
	of    map[string]bool
	names []string
	pos   string // the slot from which it goes on
	end   string // and up to which it looks
	last  bool   // there is nothing behind
}

// filter selects the checkpoints of the runs that come next, up to a slot.
func (s *runScan) filter(to string) loci.Filter {
	f := s.e.c.filter(Kind)
	f.Sequences, f.Slots = s.names, loci.SlotRange{From: s.pos, To: to}
	return f
}

// next finds the next checkpoint of the runs, or nil.
func (s *runScan) next(ctx context.Context) (*loci.Record, error) {
	for !s.e.full() {
		if s.pos < s.end {
			page := loci.Page{Limit: 1, Order: loci.SlotAscending, NoText: true}
			records, _, err := s.e.c.m.Records(ctx, s.filter(s.end), page)
			if err != nil {
				return nil, err
			}
			if len(records) > 0 {
				s.pos = records[0].Slot
				return &records[0], nil
			}
			s.pos = s.end
		}
		if s.last {
			return nil, nil
		}
		if err := s.more(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// more finds up to where it looks next.
func (s *runScan) more(ctx context.Context) error {
	f := s.e.c.filter(Kind)
	f.Slots.From = s.pos
	n := 0
	page := loci.Page{Limit: looks.window, Order: loci.SlotAscending, Brief: true}
	page.Each = func(r *loci.Record) {
		if n++; n == looks.window {
			s.end = strings.Clone(r.Slot) + "\x00"
		}
	}
	_, next, err := s.e.c.m.Records(ctx, f, page)
	if s.e.look(n / lookEach); next == "" {
		s.end, s.last = pastAll, true
	}
	return err
}

// pastAll is behind every slot, which begins with a text.
const pastAll = "\xff"

// deleteForRuns goes through the checkpoints from a place on, and then collects what is in lists, of earlier calls, too.
func (e *erasure) deleteForRuns(ctx context.Context, of map[string]bool, from place) (erased int, err error) {
	e.whole = looks.atOnce
	s := &runScan{e: e, of: of, names: slices.Sorted(maps.Keys(of)), pos: string(from.Slot)}
	for {
		r, err := s.next(ctx)
		e.at.Slot = []byte(s.pos)
		if err != nil || e.left {
			return erased, err
		}
		if r == nil {
			break
		}
		n, err := e.deleteRuns(ctx, s, r)
		e.at.Slot = []byte(s.pos)
		if erased += n; err != nil || e.left {
			return erased, err
		}
	}
	for !e.full() {
		first, err := e.c.firstOf(ctx, KindCandidates, loci.SlotRange{}, 1, loci.Page{Brief: true, Bodies: true})
		if err != nil || len(first) == 0 {
			return erased, err
		}
		var b candidatesBody
		if err := loci.ReadBody(&first[0], &b); err != nil {
			return erased, err
		}
		e.look(lookThread)
		if err := e.collect(ctx, b.Thread, b.Namespace); err != nil {
			return erased, err
		}
	}
	return erased, nil
}

// deleteRuns erases the checkpoints of runs in the graph that has the next one.
func (e *erasure) deleteRuns(ctx context.Context, s *runScan, next *loci.Record) (erased int, err error) {
	first, err := readCheckpoint(next)
	if err != nil {
		return 0, err
	}
	if err := e.c.whole(ctx, first.Thread, next); err != nil {
		return 0, err
	}
	e.look(lookThread)
	graph := loci.SlotsBeginning(slotOf(first.Thread, first.Namespace))
	few, err := e.few(ctx, graph)
	if err != nil {
		return 0, err
	}
	if few {
		erased, err = e.drop(ctx, first.Thread, first.Namespace, false, func(all []stored) (map[string]bool, error) {
			chosen := map[string]bool{}
			for i := range all {
				if s.of[all[i].record.Sequence] {
					chosen[all[i].ID] = true
				}
			}
			return chosen, nil
		})
		if err == nil && !e.left {
			s.pos = graph.To
		}
		if !errors.Is(err, errMany) {
			return erased, err
		}
	}
	g := gathering{e: e, thread: first.Thread, graph: first.Namespace}
	for s.pos < graph.To && !e.full() {
		n, full, err := g.step(ctx, s, min(graph.To, s.end))
		if erased += n; err != nil {
			return erased, err
		}
		if full {
			if err := e.collect(ctx, first.Thread, first.Namespace); err != nil {
				return erased, err
			}
		}
		switch {
		case full || s.pos < s.end || s.pos >= graph.To:
		case s.last:
			s.pos = graph.To
		default:
			if err := s.more(ctx); err != nil {
				return erased, err
			}
		}
	}
	return erased, nil
}

// few reports whether a graph has so few checkpoints that they are looked at together.
func (e *erasure) few(ctx context.Context, slots loci.SlotRange) (bool, error) {
	n := 0
	f := e.c.filter(Kind)
	f.Slots = slots
	page := loci.Page{Limit: looks.few, Order: loci.SlotAscending, Brief: true, Each: func(*loci.Record) { n++ }}
	_, next, err := e.c.m.Records(ctx, f, page)
	e.look(n / lookEach)
	return next == "", err
}

// A gathering erases checkpoints of runs in a graph, with their writes, and writes down the values that they name.
type gathering struct {
	e             *erasure
	thread, graph string
	version       int64            // of the thread's record, as it left it
	known         map[loci.ID]bool // values that it has written down, as long as nobody else changes the graph
}

// step makes a change of the checkpoints up to a slot. full says that as many values are written down as are to be known
// at once.
func (g *gathering) step(ctx context.Context, s *runScan, to string) (erased int, full bool, err error) {
	var p *picking
	pos, changed := s.pos, false
	err = g.e.step(ctx, g.thread, g.graph, func(now time.Time) (change loci.Change, ends bool, err error) {
		erased, full, pos, changed = 0, false, s.pos, false
		r, err := g.e.c.threadRecord(ctx, g.thread, g.graph)
		if err != nil || r == nil { // no checkpoint is there without it
			pos = to
			return change, false, err
		}
		state, err := collectingOf(r)
		if err != nil {
			return change, false, err
		}
		if r.Version != g.version {
			g.known, g.version = map[loci.ID]bool{}, r.Version
		}
		state = cmp.Or(state, newCollecting(now))
		if full = state.Held >= looks.candidates; full {
			return change, false, nil
		}
		slots := loci.SlotsBeginning(slotOf(g.thread, g.graph))
		slots.From = max(slots.From, s.pos) // writes of the last one come behind it
		p = &picking{e: g.e, size: g.e.sizer(), known: g.known, written: g.e.writesOf(slots)}
		if pos, err = p.pick(ctx, s, &change, to, now); err != nil || change.Empty() {
			return change, false, err
		}
		if changed, erased = true, len(p.gone); erased > 0 {
			err := cmp.Or(g.e.c.suspect(&change, state, g.thread, g.graph, p.values, p.gone, now), collects(r, state))
			if err != nil {
				return change, false, err
			}
		}
		g.e.c.account(&change, nil, now)
		return change, false, g.e.c.mark(&change, r, g.thread, g.graph, now, false)
	})
	if err != nil {
		return 0, false, err
	}
	if s.pos = pos; changed {
		g.version++
		for _, id := range p.values {
			g.known[id] = true
		}
	}
	return erased, full, nil
}

// A picking is a step that erases checkpoints of runs.
type picking struct {
	e       *erasure
	size    *sizer
	written *writeList
	known   map[loci.ID]bool

	values []loci.ID // that they name, sorted
	gone   []string  // their ids
}

// pick makes a change erase the next checkpoints of runs, and returns from where the next step goes on.
func (p *picking) pick(
	ctx context.Context, s *runScan, change *loci.Change, to string, now time.Time,
) (pos string, err error) {
	defer func() {
		slices.SortFunc(p.values, byID)
		p.values = slices.Compact(p.values)
	}()
	for page := (loci.Page{Limit: runPage, Order: loci.SlotAscending, NoText: true}); ; {
		records, next, err := p.e.c.m.Records(ctx, s.filter(to), page)
		if err != nil {
			return "", err
		}
		n, err := p.size.fit(ctx, Kind, idsOf(records))
		if err != nil {
			return "", err
		}
		for i := range records {
			if i == n {
				return records[i].Slot, nil
			}
			done, err := p.checkpoint(ctx, change, &records[i], now)
			if err != nil || !done {
				return records[i].Slot, err
			}
		}
		if page.Cursor = next; next == "" {
			return to, nil
		}
	}
}

// checkpoint makes a change erase one with its writes, or as much of them as there is room for.
func (p *picking) checkpoint(
	ctx context.Context, change *loci.Change, r *loci.Record, now time.Time,
) (done bool, err error) {
	room := stepRecords - len(change.Erase) - 1
	if room < 0 || len(p.values) >= 2*looks.list {
		return false, nil
	}
	writes, whole, err := p.written.some(ctx, r.Slot, room)
	if err != nil {
		return false, err
	}
	for i := range writes {
		change.Erase = append(change.Erase, loci.Erase{ID: writes[i].ID, Version: writes[i].Version})
	}
	if !whole {
		return false, nil
	}
	c, err := readCheckpoint(r)
	if err != nil {
		return false, err
	}
	change.Erase = append(change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
	change.Events = append(change.Events, p.e.c.m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version}))
	p.gone = append(p.gone, c.ID)
	for _, id := range c.Values {
		if !p.known[id] {
			p.values = append(p.values, id)
		}
	}
	return true, nil
}
