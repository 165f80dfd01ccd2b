package view

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci"
)

// Erased says what an erase of many memories came to.
type Erased struct {
	Selected int64 `json:"selected"` // how many the request selects
	Erased   int64 `json:"erased"`
}

// errAhead says that a request was not answered before.
var errAhead = errors.New("the request is new")

// EraseMany is [loci.Memory.EraseAll] for callers that may ask twice: under the
// idempotency key of the handle a repeated request has the reply of the first. request is
// what was asked, as JSON. If it stopped half way, a repetition is a Conflict: count
// again.
func EraseMany(ctx context.Context, m *loci.Memory, q loci.EraseQuery, request any) (Erased, error) {
	reply := func(n Erased, err error) (Erased, error) {
		return loci.Commit(ctx, m, "erase many", request, func(time.Time) (loci.Decision[Erased], error) {
			return loci.Decision[Erased]{Reply: n}, err
		})
	}
	if done, err := reply(Erased{}, errAhead); !errors.Is(err, errAhead) {
		return done, err
	}
	n, err := m.EraseAll(ctx, q, nil)
	if err != nil {
		return Erased{}, err
	}
	return reply(Erased{Selected: q.Expect, Erased: n}, nil)
}
