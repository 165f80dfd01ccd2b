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
	Left     int64 `json:"left,omitempty"` // of those selected: another call erases them, and expects as many
}

// eraseMost is how many memories one call erases: beyond, it would take longer than others should wait for it.
const eraseMost = 4000

// errAhead says that a request was not answered before.
var errAhead = errors.New("the request is new")

// EraseMany is [loci.Memory.EraseAll] for callers that may ask twice: under the
// idempotency key of the handle a repeated request has the reply of the first. request is
// what was asked, as JSON. If it stopped half way, a repetition is a Conflict: count
// again. It erases 4,000 at most, and says how many are left.
func EraseMany(ctx context.Context, m *loci.Memory, q loci.EraseQuery, request any) (Erased, error) {
	reply := func(n Erased, err error) (Erased, error) {
		return loci.Commit(ctx, m, "erase many", request, func(time.Time) (loci.Decision[Erased], error) {
			return loci.Decision[Erased]{Reply: n}, err
		})
	}
	if done, err := reply(Erased{}, errAhead); !errors.Is(err, errAhead) {
		return done, err
	}
	q.Most = eraseMost
	n, err := m.EraseAll(ctx, q, nil)
	if err != nil {
		return Erased{}, err
	}
	return reply(Erased{Selected: q.Expect, Erased: n, Left: max(0, q.Expect-eraseMost)}, nil)
}
