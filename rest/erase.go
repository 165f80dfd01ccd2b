package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

type eraseRequest struct {
	All       bool           `json:"all,omitempty" doc:"Everything in the namespace; goes with no other condition"`
	Kinds     []loci.Kind    `json:"kinds,omitempty" enum:"fact,item,rule,episode,session" doc:"Memories of these kinds; notes are facts, and a session goes with its messages, by kind alone"`
	Tags      []string       `json:"tags,omitempty" doc:"Memories that have all of them"`
	Filter    map[string]any `json:"filter,omitempty" doc:"Conditions on metadata, the subject and predicate of facts, and the fields of items"`
	Namespace []string       `json:"namespace,omitempty" doc:"In or below this namespace, relative to the caller's own"`
	Expect    *int64         `json:"expect,omitempty" minimum:"0" doc:"How many memories must be selected; with any other number nothing is erased. Absent: they are counted, and nothing is erased"`
	Cursor    string         `json:"cursor,omitempty" doc:"The next_cursor of the reply before: goes on without counting, with its conditions. expect is what it said is left, and no more go"`
}

type (
	eraseInput  struct{ Body eraseRequest }
	eraseOutput struct {
		Body struct {
			Selected int64  `json:"selected" doc:"How many memories the conditions select; of a session each message counts, of everything each part"`
			Erased   int64  `json:"erased" doc:"0 without expect"`
			Left     int64  `json:"left,omitempty" doc:"One request erases 4,000 at most. So many of those selected are left: ask again with next_cursor and expect them. Absent: none"`
			Next     string `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
		} `nameHint:"ErasedMemories"`
	}
)

func (a *API) eraseRoute() {
	route(a, endpoint{
		method: http.MethodPost, path: "/v1/erase", id: "erase_memories", summary: "Erase many memories", scope: loci.ScopeDelete,
		writes: true,
		detail: "What all conditions select, for good. Ask without expect for the number, look at what is selected, and ask again with it.",
	}, func(ctx context.Context, c *caller, in *eraseInput) (*eraseOutput, error) {
		return within(a, c, func(m *loci.Memory) (out *eraseOutput, err error) {
			b := &in.Body
			q := loci.EraseQuery{All: b.All, Kinds: b.Kinds, Tags: b.Tags}
			if q.Where, err = loci.ParseWhere(b.Filter); err != nil {
				return nil, err
			}
			if len(b.Namespace) > 0 {
				if m, err = m.At(below(m, b.Namespace)); err != nil {
					return nil, err
				}
			}
			out = &eraseOutput{}
			if b.Expect == nil && b.Cursor != "" {
				return nil, &loci.Error{Code: loci.Invalid, Msg: "cursor needs expect", Recovery: "Expect what the reply before said is left."}
			}
			if b.Expect == nil {
				out.Body.Selected, err = m.CountErase(ctx, q)
				return out, err
			}
			q.Expect = *b.Expect
			done, err := view.EraseMany(ctx, m, q, b.Cursor, b)
			out.Body.Selected, out.Body.Erased = done.Selected, done.Erased
			out.Body.Left, out.Body.Next = done.Left, done.Next
			return out, err
		})
	})
}
