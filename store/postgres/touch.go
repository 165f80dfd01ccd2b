package postgres

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// Touch implements [loci.RecordChanger]. Uses are counted without the tenant's lock: nobody
// decides by them, and they touch no index.
func (s *Store) Touch(ctx context.Context, name loci.Tenant, touches []loci.Touch) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	n, moves := batch.NeedsOfTouches(touches)
	if !moves {
		return translate("touch", s.countOnly(ctx, g.Of, countUses(g.Of, batch.Uses(touches))))
	}
	return translate("touch", s.write(ctx, g, &job{Needs: n, Decide: func(x *tx) error {
		x.Touches(touches)
		return nil
	}}))
}

const (
	moveExpiry = "UPDATE loci.record SET expires_at = $3 WHERE tenant = $1 AND id = $2"
	countUse   = "UPDATE loci.record SET uses = uses + 1, used_at = $3 WHERE tenant = $1 AND id = ANY($2)"
)

// countUses are the statements that count uses.
func countUses(t *tenant, uses []batch.Update) (stmts []stmt) {
	for _, u := range uses {
		stmts = append(stmts, stmt{sql: countUse, args: []any{t.key, idList(u.IDs), u.UsedAt.UnixMilli()}})
	}
	return stmts
}

// countOnly runs statements that count uses, in a transaction of their own. Whether one
// whose answer was lost was committed is not looked for: a use more or less.
func (s *Store) countOnly(ctx context.Context, t *tenant, stmts []stmt) error {
	if len(stmts) == 0 {
		return nil
	}
	return s.again(ctx, func() error {
		c, err := s.connect(ctx, t.key)
		if err != nil {
			return err
		}
		defer c.release()
		all := append([]stmt{readWrite, behindWall(t.key), timeouts(5 * time.Second)}, stmts...)
		err = c.run(ctx, append(all, commit)...)
		if err != nil && !c.pg.IsClosed() {
			_ = c.run(context.WithoutCancel(ctx), rollback) // or the pool closes it
		}
		return err
	})
}
