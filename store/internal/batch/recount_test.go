package batch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// crew does things at once, until it is closed.
type crew struct {
	ctx  context.Context
	made int
}

func (c *crew) Context() context.Context { return c.ctx }

func (c *crew) Beside(work func(context.Context)) bool {
	c.made++
	work(c.ctx)
	return true
}

// TestCountsAreMadeAgainOnceAMinute: whoever asks has them counted, and nobody else within a minute; a failure is said,
// unless the store was closed; none takes longer than it may.
func TestCountsAreMadeAgainOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var said strings.Builder
		var r batch.Recount
		c, log := &crew{ctx: ctx}, slog.New(slog.NewTextHandler(&said, nil))
		later := func(err error) {
			r.Later(c, log, loci.Tenant{}, time.Second, func(ctx context.Context, _ loci.Tenant) error {
				if until, bounded := ctx.Deadline(); !bounded || time.Until(until) != time.Second {
					t.Errorf("until %v, %v; want in a second", until, bounded)
				}
				return err
			})
		}
		for _, step := range []struct {
			pause time.Duration
			made  int
			said  int
		}{{0, 1, 1}, {time.Second, 1, 1}, {58 * time.Second, 1, 1}, {time.Second, 2, 2}, {time.Hour, 3, 3}} {
			time.Sleep(step.pause)
			later(errors.New("refused"))
			if lines := strings.Count(said.String(), "are not kept yet"); c.made != step.made || lines != step.said {
				t.Errorf("after %v: counted %d times, %d lines; want %d, %d", step.pause, c.made, lines, step.made, step.said)
			}
		}
		stop()
		time.Sleep(time.Hour)
		if later(ctx.Err()); c.made != 4 || strings.Count(said.String(), "are not kept yet") != 3 {
			t.Errorf("counted %d times; a store that is closed said: %s", c.made, said.String())
		}
	})
}
