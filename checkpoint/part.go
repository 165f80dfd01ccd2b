package checkpoint

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of one part of a call. A record that goes costs 20 to 30 µs of processor time, one that is copied 50, so that
// a part takes less than half a second.
const (
	erasePart = 10_000 // records that go with it
	copyPart  = 6_000  // records that come
)

// What else counts in a part, in records.
const (
	eventCost  = 2  // an event of the log
	lookThread = 16 // at a thread or a graph of one, in which nothing may have to go
	lookWhole  = 4  // so many checkpoints that are read count as one record
	lookOrphan = 4  // at the parent that went from a checkpoint, which is put again
	lookEach   = 8  // so many checkpoints or values that stay count as one record
)

// A Part is what one of the calls has done that do a large thing together.
type Part struct {
	Checkpoints int    `json:"checkpoints"` // that went; of a copy: all that are copied by now
	Next        string `json:"next"`        // the cursor of the following call, which goes on; "": all is done
}

// ErrUnfinished is the cause of an error that says that a part is done and another one is left. The same call goes on.
var ErrUnfinished error = unfinished{}

type unfinished struct{}

func (unfinished) Error() string    { return "a part of it is done" }
func (unfinished) Unfinished() bool { return true } // for callers that know nothing of checkpoints

// Whole is the number of checkpoints of a part that is all there was to do. Otherwise it is an error for callers that
// do not go on with a cursor.
func (p Part) Whole() (int, error) {
	if p.Next == "" {
		return p.Checkpoints, nil
	}
	return p.Checkpoints, &loci.Error{Code: loci.TooLarge, Err: ErrUnfinished,
		Msg:      fmt.Sprintf("this is more than one call does: it has done a part, of %d checkpoints, and more is left", p.Checkpoints),
		Recovery: "Make the same call again: it goes on, and succeeds once nothing is left."}
}

// A place is where the next part goes on.
type place struct {
	Part   int    `json:"part"`             // how many there were: each cursor is another one
	Thread []byte `json:"thread,omitempty"` // of several; as bytes no name makes a cursor too long
	Graph  []byte `json:"graph,omitempty"`  // and those before it
	Root   bool   `json:"root,omitempty"`   // the root graph, which is the last one
	Slot   []byte `json:"slot,omitempty"`   // and the checkpoints before it
	Copy   string `json:"copy,omitempty"`   // the copy that it is a part of
}

func (p place) cursor() string {
	data, _ := json.Marshal(p) // texts and a number: cannot fail
	return base64.RawURLEncoding.EncodeToString(data)
}

// placeOf reads a cursor, or begins with "".
func placeOf(cursor string) (p place, err error) {
	if cursor == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || json.Unmarshal(data, &p) != nil || p.Part < 1 {
		return p, loci.Errorf(loci.Invalid, "cursor is not one that a call like this returned: leave it out, and the call goes on with what is there")
	}
	return p, nil
}

// errAhead says that a request was not answered before.
var errAhead = errors.New("the request is new")

// once answers a request that is repeated under the idempotency key of the handle as it was answered before.
func (c *Handle) once(ctx context.Context, op string, request any, do func() (Part, error)) (Part, error) {
	reply := func(p Part, err error) (Part, error) {
		return loci.Commit(ctx, c.m, op, request, func(time.Time) (loci.Decision[Part], error) {
			return loci.Decision[Part]{Reply: p}, err
		})
	}
	if done, err := reply(Part{}, errAhead); !errors.Is(err, errAhead) {
		return done, err
	}
	done, err := do()
	if err != nil {
		return done, err
	}
	return reply(done, nil)
}

// part runs a call that erases until it has done its part, and says where the next one goes on.
func (e *erasure) part(ctx context.Context, from place, run func() (int, error)) (Part, error) {
	e.room = cmp.Or(e.room, erasePart)
	n, err := run()
	if err == nil {
		err = e.settle(ctx)
	}
	p := Part{Checkpoints: n}
	if e.left {
		e.at.Part = from.Part + 1
		p.Next = e.at.cursor()
	}
	return p, err
}

// DeleteThreadPart is a part of [Handle.DeleteThread] that takes less than a second: some 10,000 records go with it. A
// call with the cursor of the part before goes on, and so does one without.
func (c *Handle) DeleteThreadPart(ctx context.Context, thread, cursor string) (Part, error) {
	from, err := placeOf(cursor)
	if err = cmp.Or(checkThread(thread), err); err != nil {
		return Part{}, err
	}
	request := []string{thread, cursor}
	return c.once(ctx, "delete thread in parts", request, func() (Part, error) { return c.deletePart(ctx, thread, from) })
}

func (c *Handle) deletePart(ctx context.Context, thread string, from place) (Part, error) {
	e := &erasure{c: c, op: "delete thread"}
	return e.part(ctx, from, func() (int, error) { return e.deleteThread(ctx, thread, true) })
}

// PrunePart is a part of [Handle.Prune] that takes less than a second. A call with the cursor of the part before goes
// on, and so does one without, which looks at the threads before once more. In the middle of a large thread checkpoints
// are gone and their values still there, and the parent of the oldest one may be gone. TooLarge: more than 10,000
// checkpoints are needed to read the latest.
func (c *Handle) PrunePart(ctx context.Context, threads []string, strategy PruneStrategy, cursor string) (Part, error) {
	return c.prunePart(ctx, threads, strategy, cursor, erasePart)
}

func (c *Handle) prunePart(
	ctx context.Context, threads []string, strategy PruneStrategy, cursor string, room int,
) (Part, error) {
	threads, err := pruned(threads, strategy)
	if err != nil {
		return Part{}, err
	}
	from, err := placeOf(cursor)
	if err != nil {
		return Part{}, err
	}
	if at, ok := slices.BinarySearch(threads, string(from.Thread)); cursor != "" && !ok {
		return Part{}, loci.Errorf(loci.Invalid, "cursor is of a call with other thread_ids: send the same ones")
	} else if ok {
		threads = threads[at:]
	}
	request := map[string]any{"threads": threads, "strategy": strategy, "cursor": cursor}
	return c.once(ctx, "prune threads in parts", request, func() (Part, error) {
		e := &erasure{c: c, op: "prune threads", room: room}
		return e.part(ctx, from, func() (int, error) { return e.prune(ctx, threads, strategy, from) })
	})
}

// DeleteForRunsPart is a part of [Handle.DeleteForRuns] that takes less than a second. The first one has half as much as
// others, since a store may have to wipe what was written before it. A call with the cursor of the part before goes on, and
// so does one without, which looks once more at the checkpoints before. In the middle of a large graph checkpoints are gone
// and their values still there, and the parent of another one may be gone.
func (c *Handle) DeleteForRunsPart(ctx context.Context, runs []string, cursor string) (Part, error) {
	room := erasePart
	if cursor == "" {
		room /= 2
	}
	return c.deleteForRunsPart(ctx, runs, cursor, room)
}

func (c *Handle) deleteForRunsPart(ctx context.Context, runs []string, cursor string, room int) (Part, error) {
	from, err := placeOf(cursor)
	if err != nil {
		return Part{}, err
	}
	of, err := sequencesOf(runs)
	if err != nil || len(of) == 0 {
		return Part{}, err
	}
	request := map[string]any{"runs": runs, "cursor": cursor}
	return c.once(ctx, "erase checkpoints in parts", request, func() (Part, error) {
		e := &erasure{c: c, op: "erase checkpoints", room: room}
		return e.part(ctx, from, func() (int, error) { return e.deleteForRuns(ctx, of, from) })
	})
}

// errMany says that a graph is too large to look at as a whole in one part.
var errMany = errors.New("the graph has many checkpoints")

// storedFew is storedIn for a part, or errMany.
func (e *erasure) storedFew(ctx context.Context, slots loci.SlotRange) (out []stored, err error) {
	f := e.c.filter(Kind)
	f.Slots = slots
	size := 0
	for p := (loci.Page{Limit: looks.page, Order: loci.SlotAscending, NoText: true}); ; {
		records, next, err := e.c.m.Records(ctx, f, p)
		if err != nil {
			return nil, err
		}
		for i := range records {
			s, err := readCheckpoint(&records[i])
			if err != nil {
				return nil, err
			}
			out, size = append(out, s), size+20+len(s.Values)
		}
		if size > e.whole {
			e.look(size / 20 / lookWhole)
			return nil, errMany
		}
		if p.Cursor = next; next == "" {
			e.look(size / 20 / lookWhole)
			return out, nil
		}
	}
}

// unbounded is the room of a call that does all at once.
const unbounded = math.MaxInt
