package session

import (
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A header is what a trim needs to know of a message.
type header struct {
	id      loci.ID // zero: it is not stored yet
	version int64
	seq     int64
	system  bool
	result  bool     // of a call
	calls   []string // ids of the calls it makes
	answers string   // id of the call whose result it is
}

func headerOf(m Message) header {
	return header{system: m.Type.base() == MessageSystem, result: m.isResult(), calls: m.calls(), answers: m.answers()}
}

// headers reads the headers of all messages of a session.
func (s *Handle) headers(ctx context.Context, session string) (out []header, err error) {
	for from := int64(1); ; {
		page, more, err := s.someHeaders(ctx, session, from, 0, loci.Page{
			Limit: 1000, Order: loci.SlotAscending, NoText: true,
		})
		if err != nil {
			return nil, err
		}
		if out = append(out, page...); !more {
			return out, nil
		}
		from = out[len(out)-1].seq + 1
	}
}

func (s *Handle) someHeaders(
	ctx context.Context, session string, from, before int64, page loci.Page,
) (out []header, more bool, err error) {
	records, next, err := s.m.Records(ctx, s.within(session, from, before), page)
	if err != nil {
		return nil, false, err
	}
	for i := range records {
		m, err := readMessage(&records[i])
		if err != nil {
			return nil, false, err
		}
		h := headerOf(m.Message)
		h.id, h.version, h.seq = records[i].ID, records[i].Version, m.Seq
		out = append(out, h)
	}
	return out, next != "", nil
}

// A trimPlan says which messages go.
type trimPlan struct {
	drop     []header // in order
	floor    int64    // before it only system messages are left
	settled  bool     // more messages would not change it
	coherent bool     // of a plan over all messages: what is left is
}

// planTrim chooses what goes from messages in order, of which the first n that are no
// system messages must. After them go results at the beginning, and every result whose
// call goes. With whole, which needs all messages, every other result goes too that does
// not follow its own call.
func planTrim(messages []header, n int64, whole bool) (p trimPlan) {
	open := map[string]bool{} // calls that went, whose results did not
	i := 0
	for ; i < len(messages); i++ {
		h := &messages[i]
		if h.system {
			continue
		}
		if n <= 0 && !h.result {
			break
		}
		n--
		p.drop = append(p.drop, *h)
		for _, id := range h.calls {
			open[id] = true
		}
		delete(open, h.answers)
	}
	if i == len(messages) {
		if i > 0 {
			p.floor = messages[i-1].seq + 1
		}
		p.coherent = true
		return p
	}
	p.floor = messages[i].seq
	asked := map[string]int{} // calls that stay, by how many results they have
	p.coherent = true
	for _, h := range messages[i:] {
		gone := h.answers != "" && open[h.answers]
		if _, ok := asked[h.answers]; whole && h.answers != "" && !ok {
			gone = true
		}
		if gone {
			p.drop = append(p.drop, h)
			if !whole {
				delete(open, h.answers) // where all is coherent there is one result
			}
			continue
		}
		for _, id := range h.calls {
			if _, ok := asked[id]; ok {
				p.coherent = false
			}
			asked[id] = 0
		}
		if h.answers != "" {
			asked[h.answers]++
			p.coherent = p.coherent && asked[h.answers] == 1
		}
	}
	p.settled = len(open) == 0
	return p
}

// trimFor decides which messages of a session and of the batch that is appended go,
// because of the session's limit. had is how many it held before.
func (s *Handle) trimFor(ctx context.Context, st *state, batch []header, had int64) ([]header, error) {
	most := s.most(&st.body)
	if most == 0 {
		st.body.Coherent = false // nobody looks
		return nil, nil
	}
	if st.body.Coherent {
		var err error
		if st.body.Coherent, err = s.continues(ctx, st, batch, had); err != nil {
			return nil, err
		}
	}
	if st.body.Count <= most {
		return nil, nil
	}
	return s.plan(ctx, st, batch, most)
}

// plan chooses what goes until a session holds no more than most messages, and
// takes it out of the session's numbers. It reads as many of the oldest as it needs.
func (s *Handle) plan(ctx context.Context, st *state, batch []header, most int64) ([]header, error) {
	b := &st.body
	whole := !b.Coherent
	excess := b.Count - most
	var read []header
	from, more := max(1, b.Floor), !st.fresh
	if whole {
		from = 1
	}
	before := b.Last + 1 - int64(len(batch))
	enough := 0 // it reads this many before it plans again, since a plan looks at all of them
	for {
		if more {
			page := loci.Page{Limit: int(min(1000, excess+16)), Order: loci.SlotAscending, NoText: true}
			if whole || len(read) > 0 {
				page.Limit = 1000
			}
			part, following, err := s.someHeaders(ctx, b.ID, from, before, page)
			if err != nil {
				return nil, err
			}
			if more = following; more {
				from = part[len(part)-1].seq + 1
			}
			read = append(read, part...)
		}
		if more && (whole || len(read) < enough) {
			continue
		}
		all := read
		if !more {
			all = slices.Concat(read, batch)
		}
		p := planTrim(all, excess, whole)
		if more && !p.settled {
			enough = 2 * len(read)
			continue
		}
		b.Count -= int64(len(p.drop))
		b.Floor = max(b.Floor, p.floor)
		b.Coherent = !whole || p.coherent
		return p.drop, nil
	}
}

// continues reports whether a session stays coherent with a batch: each result in it
// has its call, before it, and is the first one of that.
func (s *Handle) continues(ctx context.Context, st *state, batch []header, had int64) (bool, error) {
	asked := map[string]int{}
	open := map[string]bool{} // calls made before the batch
	for _, h := range batch {
		for _, id := range h.calls {
			if _, again := asked[id]; again {
				return false, nil
			}
			asked[id] = 0
		}
		switch _, own := asked[h.answers]; {
		case h.answers == "":
		case own:
			if asked[h.answers]++; asked[h.answers] > 1 {
				return false, nil
			}
		case open[h.answers]:
			return false, nil
		default:
			open[h.answers] = true
		}
	}
	if had == 0 || len(open) == 0 {
		return len(open) == 0, nil
	}
	before := st.body.Last + 1 - int64(len(batch))
	for limit := 20; ; limit = 1000 { // the call is nearly always among the latest
		page, more, err := s.someHeaders(ctx, st.body.ID, 1, before, loci.Page{
			Limit: limit, Order: loci.SlotDescending, NoText: true,
		})
		if err != nil {
			return false, err
		}
		for _, h := range page {
			if open[h.answers] {
				return false, nil
			}
			for _, id := range h.calls {
				delete(open, id)
			}
		}
		if len(open) == 0 || !more {
			return len(open) == 0, nil
		}
		before = page[len(page)-1].seq
	}
}

// Trimmed says what [Handle.Trim] did.
type Trimmed struct {
	Erased   int64 `json:"erased"`
	Messages int64 `json:"message_count"` // that are left
}

// Trim erases the oldest messages of a session until no more than most are left. System
// messages stay, whatever their age, and count. What is kept never begins with the result
// of a tool call, and never holds a result without its call; so it may be fewer than
// most. A summary stays. NotFound: there is no such session.
//
// Many messages go in steps, as those of [Handle.Clear] do: a trim that stops half way leaves more than most.
func (s *Handle) Trim(ctx context.Context, id string, most int) (Trimmed, error) {
	if most < 0 || most > maxMaxMessages {
		return Trimmed{}, loci.Errorf(loci.Invalid, "max_messages is %d; it must be 0 to %d", most, maxMaxMessages)
	}
	var t trimming
	return loci.Commit(ctx, s.m, "trim session", map[string]any{"session_id": id, "max_messages": most},
		func(now time.Time) (d loci.Decision[Trimmed], err error) {
			if d.Change, d.Then, err = t.step(ctx, s, id, now); err != nil || d.Then != nil {
				return d, err
			}
			st, err := s.have(ctx, id)
			if err != nil {
				return d, err
			}
			var gone []header
			if d.Record = st.record.ID; st.body.Count > int64(most) {
				st.body.Coherent = false // look at all of it
				if gone, err = s.plan(ctx, st, nil, int64(most)); err != nil {
					return d, err
				}
			}
			if t.tooMany(gone) {
				d.Change, d.Then, err = t.first(ctx, s, id, now)
				return d, err
			}
			d.Reply = Trimmed{Erased: t.erased + int64(len(gone)), Messages: st.body.Count}
			if len(gone) > 0 {
				d.Change, err = s.eraseMessages(ctx, st, gone, now)
			}
			d.Change.Last, d.Change.Settled = t.erased > 0, t.erased > 0
			return d, err
		})
}

// A trimming erases messages that are too many for one change, in steps.
type trimming struct {
	rest   []header // what is still to go in steps
	erased int64    // in steps
}

// tooMany reports whether what is to go is too much for one change. Then its steps are next.
func (t *trimming) tooMany(gone []header) bool {
	if len(gone) <= eraseStep {
		return false
	}
	t.rest = gone
	return true
}

// step is the change that erases the oldest of what is to go in steps, with results whose calls are among
// them, if they are not far away: what it leaves does not begin with a result. Then is nil when no step is left.
func (t *trimming) step(
	ctx context.Context, s *Handle, id string, now time.Time,
) (c loci.Change, then func(), err error) {
	for len(t.rest) > 0 {
		n := min(eraseStep, len(t.rest))
		part := together(t.rest[:n], t.rest[n:min(2*n, len(t.rest))])
		f := s.within(id, 1, 0)
		for _, h := range part {
			f.IDs = append(f.IDs, h.id)
		}
		st, err := s.find(ctx, id)
		if err != nil {
			return c, nil, err
		}
		if st == nil { // somebody has cleared it
			t.rest = nil
			break
		}
		records, _, err := s.m.Records(ctx, f, loci.Page{Limit: len(part), Order: loci.SlotAscending, Brief: true})
		if err != nil {
			return c, nil, err
		}
		gone := briefHeaders(records)
		if len(gone) == 0 { // others were quicker
			t.rest = t.rest[n:]
			continue
		}
		c, err = s.eraseSome(ctx, st, gone, now)
		return c, func() { t.rest, t.erased = t.rest[n:], t.erased+int64(len(gone)) }, err
	}
	return c, nil, nil
}

// first is the first step: there is one.
func (t *trimming) first(
	ctx context.Context, s *Handle, id string, now time.Time,
) (c loci.Change, then func(), err error) {
	if c, then, err = t.step(ctx, s, id, now); err == nil && then == nil {
		err = loci.ErrStale // others were quicker
	}
	return c, then, err
}

// briefHeaders are the headers of records that were read without their bodies.
func briefHeaders(records []loci.Record) []header {
	out := make([]header, len(records))
	for i := range records {
		out[i] = header{id: records[i].ID, version: records[i].Version, seq: seqOf(records[i].Slot)}
	}
	return out
}

// together returns messages with the results of their calls that are among those that follow.
func together(messages, following []header) []header {
	open := map[string]bool{}
	for _, h := range messages {
		for _, id := range h.calls {
			open[id] = true
		}
	}
	out := slices.Clone(messages)
	for _, h := range following {
		if h.answers != "" && open[h.answers] {
			out = append(out, h)
		}
	}
	return out
}

// eraseMessages is the change that takes messages out of a session.
func (s *Handle) eraseMessages(ctx context.Context, st *state, gone []header, now time.Time) (loci.Change, error) {
	payload := map[string]any{"messages": len(gone), "to": gone[len(gone)-1].seq}
	c, err := s.change(ctx, st, now, loci.EventTrimmed, payload)
	for _, h := range gone {
		c.Erase = append(c.Erase, loci.Erase{ID: h.id, Version: h.version})
	}
	return c, err
}
