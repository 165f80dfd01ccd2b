package view

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Erased says what an erase of many memories came to.
type Erased struct {
	Selected int64  `json:"selected"` // how many the request selects
	Erased   int64  `json:"erased"`
	Left     int64  `json:"left,omitempty"` // of those selected: another call with Next erases them, and expects as many
	Next     string `json:"next,omitempty"` // the cursor of the following call; "": all is erased
}

// eraseMost is how many memories one call erases: beyond, it would take longer than others should wait for it.
const eraseMost = 4000

// errAhead says that a request was not answered before.
var errAhead = errors.New("the request is new")

// EraseMany is [loci.Memory.EraseAll] for callers that may ask twice: under the
// idempotency key of the handle a repeated request has the reply of the first. request is
// what was asked, as JSON. If it stopped half way, a repetition is a Conflict: count
// again. It erases 4,000 at most. A call with the cursor of the one before goes on
// without counting again, and erases no more than it expects.
func EraseMany(ctx context.Context, m *loci.Memory, q loci.EraseQuery, cursor string, request any) (Erased, error) {
	reply := func(n Erased, err error) (Erased, error) {
		return loci.Commit(ctx, m, "erase many", request, func(time.Time) (loci.Decision[Erased], error) {
			return loci.Decision[Erased]{Reply: n}, err
		})
	}
	if done, err := reply(Erased{}, errAhead); !errors.Is(err, errAhead) {
		return done, err
	}
	done, err := erasePart(ctx, m, q, cursor)
	if err != nil {
		return Erased{}, err
	}
	return reply(done, nil)
}

func erasePart(ctx context.Context, m *loci.Memory, q loci.EraseQuery, cursor string) (Erased, error) {
	done := Erased{Selected: q.Expect}
	if cursor == "" {
		selected, err := m.CountErase(ctx, q)
		if err == nil {
			err = q.Check(selected)
		}
		if err == nil && selected <= eraseMost {
			done.Erased, err = m.EraseAll(ctx, q, nil)
			return done, err
		}
		if err != nil {
			return done, err
		}
	}
	at, err := newErasing(ctx, m, q, cursor)
	if err != nil {
		return done, err
	}
	ids, err := at.list(ctx, m, int(min(q.Expect, eraseMost)))
	if err != nil {
		return done, err
	}
	if done.Erased, err = m.EraseThese(ctx, q, ids, nil); err != nil {
		return done, err
	}
	if done.Left = q.Expect - int64(len(ids)); done.Left == 0 || at.ended {
		done.Left = 0
		return done, nil
	}
	done.Next, err = at.cursor()
	return done, err
}

// An erasing is how far an erase in several calls has come. It takes the oldest first, and
// nothing newer than what there was at its start: what others store meanwhile is not taken,
// unless it says it is older.
type erasing struct {
	Parts bool      `json:"parts,omitempty"` // all owners are gone: no session is left without some of its messages
	Until time.Time `json:"until"`
	Page  string    `json:"page,omitempty"` // the cursor of the list

	filter loci.Filter
	owners []loci.Kind // that the filter selects
	ended  bool
}

// newErasing reads a cursor, or begins with "".
func newErasing(ctx context.Context, m *loci.Memory, q loci.EraseQuery, cursor string) (*erasing, error) {
	f, err := m.EraseFilter(q)
	if err != nil {
		return nil, err
	}
	e := &erasing{filter: f}
	for _, feature := range m.Features() {
		if _, ok := feature.(loci.Eraser); ok {
			if k := feature.Kinds()[0].Kind; len(f.Kinds) == 0 || slices.Contains(f.Kinds, k) {
				e.owners = append(e.owners, k)
			}
		}
	}
	if cursor == "" {
		newest, _, err := m.Records(ctx, f, loci.Page{Limit: 1, Brief: true})
		if err == nil && len(newest) > 0 {
			e.Until = newest[0].CreatedAt.Add(time.Millisecond)
		}
		return e, err
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(data, e) != nil || e.Until.IsZero() {
		return nil, loci.Errorf(loci.Invalid, "cursor is none that an erase of many memories has given: send next_cursor of the reply before, or leave it out and count again")
	}
	return e, nil
}

func (e *erasing) cursor() (string, error) {
	data, err := json.Marshal(e)
	return base64.RawURLEncoding.EncodeToString(data), err
}

// list lists up to most of what is selected and not erased, and goes on behind them.
func (e *erasing) list(ctx context.Context, m *loci.Memory, most int) (ids []loci.ID, err error) {
	for len(ids) < most && !e.ended {
		f := e.filter
		f.Until = e.Until
		if e.Parts = e.Parts || len(e.owners) == 0; !e.Parts {
			f.Kinds = e.owners
		}
		page := loci.Page{Limit: min(most-len(ids), 1000), Cursor: e.Page, Order: loci.OldestFirst, Brief: true}
		records, next, err := m.Records(ctx, f, page)
		if err != nil {
			return nil, err
		}
		for i := range records {
			if !e.Parts || !slices.Contains(e.owners, records[i].Kind) { // else it is listed already
				ids = append(ids, records[i].ID)
			}
		}
		if e.Page = next; next == "" {
			e.Parts, e.ended = true, e.Parts
		}
	}
	return ids, nil
}
