package loci

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci/internal/embedcall"
	"github.com/loci-memory/loci/internal/patience"
)

// ReindexOptions say how [Engine.Reindex] works; nil is the zero value.
type ReindexOptions struct {
	DryRun   bool                    // report what lacks vectors and do nothing
	Progress func(done, total int64) // called now and then; may be nil

	// Background is for a server that builds a generation by itself: it works in small steps with as long a pause after
	// each, drops only the generation it replaced, and leaves everything as it is once another process has switched to
	// a space of its own choice.
	Background bool
}

// A ReindexReport says what [Engine.Reindex] did.
type ReindexReport struct {
	From     Space `json:"from"`     // active before
	To       Space `json:"to"`       // of the configured embedder
	Lacking  int64 `json:"lacking"`  // memories without vectors in To at the start
	Bytes    int64 `json:"bytes"`    // of their text
	Embedded int64 `json:"embedded"` // of them, now have theirs
	Refused  int64 `json:"refused"`  // whose text the embedder refused: found by keyword alone
	Switched bool  `json:"switched"` // searches use To from now on
	Dropped  int64 `json:"dropped"`  // vectors of memories removed in other spaces
	Left     bool  `json:"left"`     // another process made another choice; nothing was switched
}

// Reindex makes the vectors of a tenant in the configured embedder's space, lets searches
// use that space, and then drops the vectors of other spaces. Until the switch, which is
// one moment for all processes, searches use the old vectors.
//
// You can stop it at any time and call it again: what is done stays done. Several processes may work at once. A text
// the embedder refuses does not hold up the others; should more than one in twenty be refused, and more than three,
// nothing is switched and the error is Unavailable. Conflict: another process switched to a third space meanwhile.
// Unsupported: there is no embedder.
func (e *Engine) Reindex(ctx context.Context, t Tenant, opts *ReindexOptions) (report ReindexReport, err error) {
	if e.own == nil {
		return report, &Error{Code: Unsupported, Msg: "no embedder is configured, so there are no vectors to make",
			Recovery: "Set embedder, for example with --embedder lexical."}
	}
	if opts == nil {
		opts = &ReindexOptions{}
	}
	r := newReindexing(e, t, e.own, *opts, &report)
	if report.From, err = e.look(ctx, t); err != nil {
		return report, err
	}
	if err := e.own.LearnDims(ctx); err != nil {
		return report, noAnswer(err)
	}
	report.To = e.own.space()
	if r.opts.Background && e.generations(t).Adopted() {
		report.Left = true
		return report, nil
	}
	if !r.opts.DryRun {
		e.generations(t).Stay() // from here on writes make the new vectors, too
	}
	if err := r.measure(ctx); err != nil || r.opts.DryRun {
		return report, err
	}
	if err := r.build(ctx); err != nil {
		if r.left(ctx, err) {
			report.Left = true
			return report, r.drop(ctx, report.To) // nobody will use the vectors made so far
		}
		return report, err
	}
	if err := r.dropOthers(ctx); err != nil {
		return report, err
	}
	if report.Refused > 0 {
		e.opts.Logger.WarnContext(ctx, "the embedder refused some memories; they are found by keyword alone", "memories", report.Refused)
	}
	return report, nil
}

// Backfill makes the vectors that search lacks, in the active space, and returns how many records it completed:
// what was stored while the embedder did not answer or by a process without one. It builds no other generation;
// that is Reindex. It can be stopped at any time and run by several processes at once, and vectors are only stored
// for the text they were made from. A text the embedder refuses does not hold up the others; it is reported as
// Unavailable in the end. progress may be nil.
func (e *Engine) Backfill(ctx context.Context, t Tenant, progress func(done int)) (done int, err error) {
	if e.own == nil {
		return 0, nil
	}
	active, err := e.look(ctx, t)
	if err != nil {
		return 0, err
	}
	c := e.own
	if !active.IsZero() {
		c = e.encoderOf(ctx, active)
	}
	if c == nil {
		return 0, nil // logged; only a new generation helps
	}
	g := e.generations(t)
	g.SetLagging(false)
	defer func() {
		if err != nil {
			g.SetLagging(true)
		}
	}()
	if err := c.LearnDims(ctx); err != nil {
		return 0, noAnswer(err)
	}
	report := ReindexReport{To: c.space()}
	var opts ReindexOptions
	if progress != nil {
		opts.Progress = func(n, _ int64) { progress(int(n)) }
	}
	r := newReindexing(e, t, c, opts, &report)
	if err = r.fill(ctx); err == nil && report.Refused > 0 {
		err = Errorf(Unavailable, "the embedder refused %d memories; they are found by keyword alone", report.Refused)
	}
	return int(report.Embedded), err
}

// reindexing is a Reindex or Backfill under way.
type reindexing struct {
	e      *Engine
	t      Tenant
	opts   ReindexOptions
	report *ReindexReport
	filler embedcall.Filler[ID] // of the space that is filled
}

// backgroundBatch is how many memories a step in the background embeds: a request
// that meets one waits for no more than these.
const backgroundBatch = 16

func newReindexing(e *Engine, t Tenant, c *encoder, opts ReindexOptions, report *ReindexReport) *reindexing {
	r := &reindexing{e: e, t: t, opts: opts, report: report}
	r.filler = embedcall.Filler[ID]{
		Caller: c.Caller, Store: r, Batch: embedcall.Batch, AfterStep: r.afterStep,
		OnRefusal: func(ctx context.Context, item *embedcall.Item[ID], cause error) {
			e.opts.Logger.DebugContext(ctx, "embedder refused a memory", "id", item.Key, "model", c.embedder.Model(), "error", cause)
		},
	}
	if opts.Background {
		r.filler.Batch = backgroundBatch
	}
	return r
}

// Lacking lists memories for the filler.
func (r *reindexing) Lacking(ctx context.Context, after ID, limit int) ([]embedcall.Item[ID], error) {
	records, err := r.e.store.Unembedded(ctx, r.t, r.report.To, after, limit)
	items := make([]embedcall.Item[ID], len(records))
	for i := range records {
		items[i] = embedcall.Item[ID]{Key: records[i].ID, Version: records[i].Version, Texts: records[i].searched()}
	}
	return items, err
}

// Put stores what the filler made.
func (r *reindexing) Put(ctx context.Context, made []embedcall.Made[ID]) error {
	vectors := make([]RecordVectors, len(made))
	for i, m := range made {
		vectors[i] = RecordVectors{
			ID: m.Item.Key, Version: m.Item.Version, Vectors: Vectors{Space: r.report.To, Rows: m.Rows},
		}
	}
	return r.e.store.PutVectors(ctx, r.t, vectors)
}

// fill embeds what lacks vectors, and what is stored without them meanwhile.
func (r *reindexing) fill(ctx context.Context) error {
	err := r.filler.Fill(ctx)
	r.report.Embedded = r.filler.Embedded
	if err == nil {
		r.report.Refused = int64(len(r.filler.Refused))
	}
	switch {
	case errors.Is(err, embedcall.ErrNoAnswer):
		return noAnswer(err)
	case errors.Is(err, embedcall.ErrTooBusy):
		return errTooBusy()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return AsError(err)
	}
	return err
}

// measure counts what lacks vectors.
func (r *reindexing) measure(ctx context.Context) error {
	for after := (ID{}); ; {
		records, err := r.e.store.Unembedded(ctx, r.t, r.report.To, after, 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		after = records[len(records)-1].ID
		r.report.Lacking += int64(len(records))
		for i := range records {
			r.report.Bytes += int64(len(records[i].Text))
		}
	}
}

// maxSwitches bounds how often the switch is tried while others store memories without the new vectors.
const maxSwitches = 20

// build fills the new generation and switches to it.
func (r *reindexing) build(ctx context.Context) error {
	from := r.report.From
	for attempt := range maxSwitches {
		if err := r.fill(ctx); err != nil {
			return err
		}
		if from == r.report.To {
			return nil
		}
		if err := r.acceptable(ctx); err != nil {
			return err
		}
		// Writers may be quicker than every look at what is missing. After a few rounds the switch tolerates a handful
		// of gaps: from then on all writers make the new vectors, and the gaps are filled right after it.
		lacking := int64(len(r.filler.Refused) + max(0, attempt-3)*embedcall.Batch)
		err := r.e.store.SwitchSpace(ctx, r.t, from, r.report.To, lacking)
		if err == nil {
			r.report.Switched = true
			if _, err := r.e.look(ctx, r.t); err != nil {
				return err
			}
			return r.fill(ctx)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
		now, lookErr := r.e.look(ctx, r.t)
		switch {
		case lookErr != nil:
			return lookErr
		case now == r.report.To: // another process was quicker with the same
			r.report.Switched = true
			return r.fill(ctx)
		case now.IsZero(): // the tenant was erased meanwhile
			from = now
		case now != from:
			return errOtherSpace(now)
		}
	}
	return errTooBusy()
}

func errOtherSpace(now Space) error {
	return &Error{Code: Conflict, Op: "reindex", Msg: "another process switched to " + now.String() + " meanwhile",
		Recovery: "Configure the same embedder everywhere, then run it again."}
}

// left reports whether a build in the background ended because another process had made another choice.
func (r *reindexing) left(ctx context.Context, err error) bool {
	if !r.opts.Background || !errors.Is(err, ErrConflict) {
		return false
	}
	_, err = r.e.look(ctx, r.t)
	return err == nil && r.e.generations(r.t).Adopted()
}

// acceptable refuses a generation without the vectors of many memories.
func (r *reindexing) acceptable(ctx context.Context) error {
	r.report.Refused = int64(len(r.filler.Refused))
	if r.report.Refused <= 3 {
		return nil
	}
	counts, err := r.e.store.Count(ctx, r.t, Filter{Within: []Namespace{{}}, Space: r.report.To})
	if err != nil || r.report.Refused*20 <= counts.Live {
		return err
	}
	return &Error{Code: Unavailable, Op: "reindex", Msg: "the embedder refused too many memories; searches go on with the old vectors",
		Recovery: "Look at what the embedder says with --log-level debug, or choose another one; then run it again."}
}

func errTooBusy() error {
	return &Error{Code: Conflict, Op: "reindex", Msg: "memories are stored faster than their vectors can be made", Recovery: "Try again when less is going on."}
}

// afterStep reports progress. In the background it pauses for as long as the step took,
// and ends the work when another process has switched.
func (r *reindexing) afterStep(ctx context.Context, begun time.Time, embedded int64) error {
	if r.opts.Progress != nil {
		r.opts.Progress(embedded, max(r.report.Lacking, embedded))
	}
	if !r.opts.Background {
		return nil
	}
	if err := patience.AsLong(ctx, time.Since(begun)); err != nil {
		return AsError(err)
	}
	now, err := r.e.look(ctx, r.t)
	if err == nil && r.e.generations(r.t).Adopted() {
		err = errOtherSpace(now)
	}
	return err
}

func noAnswer(cause error) error {
	return &Error{Code: Unavailable, Msg: "the embedder does not answer", Err: cause, Recovery: "Try again later."}
}

// dropBatch bounds the memories whose vectors one transaction removes.
const dropBatch = 500

// dropOthers removes the generations that no search uses any more.
func (r *reindexing) dropOthers(ctx context.Context) error {
	if r.opts.Background {
		if from := r.report.From; r.report.Switched && !from.IsZero() {
			return r.drop(ctx, from)
		}
		return nil
	}
	spaces, err := r.e.store.Spaces(ctx, r.t)
	if err != nil {
		return err
	}
	for s := range spaces {
		if s == r.report.To {
			continue
		}
		if err := r.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *reindexing) drop(ctx context.Context, s Space) error {
	for {
		begun := time.Now()
		n, err := r.e.store.DropVectors(ctx, r.t, s, dropBatch)
		r.report.Dropped += int64(n)
		switch {
		case errors.Is(err, ErrConflict): // it has become the active one again
			return nil
		case err != nil || n == 0:
			return err
		}
		if r.opts.Background {
			if err := patience.AsLong(ctx, time.Since(begun)); err != nil {
				return AsError(err)
			}
		}
	}
}
