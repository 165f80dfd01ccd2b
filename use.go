package loci

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/patience"
)

// How long a read waits until its uses are counted, and how long counting may take after that.
const (
	usePatience = 50 * time.Millisecond
	useTimeout  = 5 * time.Second
)

// CountUse counts a use of one memory that a caller was shown, for example by its id:
// reference_count grows by one and last_referenced_at becomes now. It ignores what the
// handle may not read. It never fails its caller: an error is logged.
func (m *Memory) CountUse(ctx context.Context, kind Kind, id ID) {
	r, now, err := m.kept(ctx, id, kind)
	if err != nil {
		m.engine.opts.Logger.WarnContext(ctx, "use was not counted", "error", err)
		return
	}
	m.touch(ctx, []Touch{{ID: r.ID, At: now}})
}

// countUses counts a use of everything that was recalled.
func (m *Memory) countUses(ctx context.Context, result RecallResult) {
	touches := make([]Touch, len(result.Memories))
	for i := range result.Memories {
		touches[i] = Touch{ID: result.Memories[i].Record.ID, At: result.At}
	}
	m.touch(ctx, touches)
}

// touch writes uses off the read path. The caller waits a moment, so that the next read usually sees
// them; it does not wait for a busy writer. A caller that goes away does not stop it.
func (m *Memory) touch(ctx context.Context, touches []Touch) {
	if len(touches) == 0 {
		return
	}
	patience.Aside(ctx, useTimeout, usePatience, func(ctx context.Context) {
		if err := m.engine.store.Touch(ctx, m.view.Tenant, touches); err != nil {
			m.engine.opts.Logger.WarnContext(ctx, "uses were not counted", "memories", len(touches), "error", err)
		}
	})
}
