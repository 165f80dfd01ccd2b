package postgres

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
)

// Touch implements [loci.RecordChanger]. Uses are counted without the tenant's lock: nobody
// decides by them, and they touch no index.
func (s *Store) Touch(ctx context.Context, name loci.Tenant, touches []loci.Touch) error {
	t, err := s.enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.leave(t)
	var moved []loci.Touch
	for _, touch := range touches {
		if !touch.ExpiresAt.IsZero() {
			moved = append(moved, touch)
		}
	}
	stmts := countUses(t, touches)
	if len(moved) == 0 {
		return translate("touch", s.countOnly(ctx, t, stmts))
	}
	j := &job{decide: func(x *tx) error {
		for _, touch := range moved {
			x.touch(string(touch.ID[:]))
			r := x.records[touch.ID]
			if r == nil || touch.Version != 0 && touch.Version != r.version {
				continue
			}
			x.updates = append(
				x.updates,
				stmt{sql: moveExpiry, args: []any{x.t.key, touch.ID, touch.ExpiresAt.UnixMilli()}},
			)
			x.changed(touch.ID, r.namespace, r.kind, false)
		}
		x.updates = append(x.updates, stmts...)
		return nil
	}}
	for _, touch := range touches {
		j.needs.ids = append(j.needs.ids, touch.ID)
	}
	return translate("touch", s.write(ctx, t, j))
}

const (
	moveExpiry = "UPDATE loci.record SET expires_at = $3 WHERE tenant = $1 AND id = $2"
	countUse   = "UPDATE loci.record SET uses = uses + 1, used_at = $3 WHERE tenant = $1 AND id = ANY($2)"
)

// countUses lists statements that count each use, those of one moment together. A record
// that is used twice in the list is in two of them.
func countUses(t *tenant, touches []loci.Touch) (stmts []stmt) {
	for len(touches) > 0 {
		at, seen := touches[0].At, map[loci.ID]bool{}
		var ids [][]byte
		n := 0
		for ; n < len(touches) && touches[n].At.Equal(at) && !seen[touches[n].ID]; n++ {
			id := touches[n].ID
			seen[id], ids = true, append(ids, id[:])
		}
		if !at.IsZero() {
			stmts = append(stmts, stmt{sql: countUse, args: []any{t.key, ids, at.UnixMilli()}})
		}
		touches = touches[n:]
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
		c, err := s.connect(ctx)
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
