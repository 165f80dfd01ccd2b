package observe

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
)

// Store returns a store whose calls are steps of what the context belongs to; see [Watch].
// Iterators are not: they take as long as whoever reads them.
func Store(s loci.Store) loci.Store { return &watchedStore{s} }

type watchedStore struct{ loci.Store }

// codeOf is the code of an error; "" for none.
func codeOf(err error) string {
	var known *loci.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &known):
		return string(known.Code)
	}
	return string(loci.AsError(err).Code)
}

// calls begins a call; end is to be called with its error.
func calls(ctx context.Context, name string) (of context.Context, end func(error)) {
	of, ended := trail.Begin(ctx, trail.Step{Kind: trail.Store, Name: name})
	return of, func(err error) { ended(trail.End{Code: codeOf(err)}) }
}

// Records implements [loci.RecordLister].
func (w *watchedStore) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, page loci.Page,
) (records []loci.Record, next string, err error) {
	ctx, end := calls(ctx, "records")
	defer func() { end(err) }()
	return w.Store.Records(ctx, t, f, page)
}

// Match implements [loci.RecordLister].
func (w *watchedStore) Match(
	ctx context.Context, t loci.Tenant, p loci.Probe, f loci.Filter, limit int,
) (found []loci.Hit, err error) {
	ctx, end := calls(ctx, "match")
	defer func() { end(err) }()
	return w.Store.Match(ctx, t, p, f, limit)
}

// Namespaces implements [loci.RecordLister].
func (w *watchedStore) Namespaces(
	ctx context.Context, t loci.Tenant, f loci.Filter,
) (found []loci.Namespace, err error) {
	ctx, end := calls(ctx, "namespaces")
	defer func() { end(err) }()
	return w.Store.Namespaces(ctx, t, f)
}

// Count implements [loci.RecordLister].
func (w *watchedStore) Count(ctx context.Context, t loci.Tenant, f loci.Filter) (found loci.Counts, err error) {
	ctx, end := calls(ctx, "count")
	defer func() { end(err) }()
	return w.Store.Count(ctx, t, f)
}

// Held implements [loci.RecordLister].
func (w *watchedStore) Held(ctx context.Context, t loci.Tenant) (found loci.Holding, err error) {
	ctx, end := calls(ctx, "held")
	defer func() { end(err) }()
	return w.Store.Held(ctx, t)
}

// Revisions implements [loci.RecordLister].
func (w *watchedStore) Revisions(ctx context.Context, t loci.Tenant, id loci.ID) (found []loci.Revision, err error) {
	ctx, end := calls(ctx, "revisions")
	defer func() { end(err) }()
	return w.Store.Revisions(ctx, t, id)
}

// Links implements [loci.RecordLister].
func (w *watchedStore) Links(ctx context.Context, t loci.Tenant, ids ...loci.ID) (found []loci.Link, err error) {
	ctx, end := calls(ctx, "links")
	defer func() { end(err) }()
	return w.Store.Links(ctx, t, ids...)
}

// Linked implements [loci.RecordLister].
func (w *watchedStore) Linked(ctx context.Context, t loci.Tenant, l loci.Link) (there bool, err error) {
	ctx, end := calls(ctx, "linked")
	defer func() { end(err) }()
	return w.Store.Linked(ctx, t, l)
}

// Apply implements [loci.RecordChanger].
func (w *watchedStore) Apply(ctx context.Context, t loci.Tenant, c loci.Change) (err error) {
	ctx, end := calls(ctx, "apply")
	defer func() { end(err) }()
	return w.Store.Apply(ctx, t, c)
}

// Touch implements [loci.RecordChanger].
func (w *watchedStore) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) (err error) {
	ctx, end := calls(ctx, "touch")
	defer func() { end(err) }()
	return w.Store.Touch(ctx, t, touches)
}

// Replied implements [loci.RecordChanger].
func (w *watchedStore) Replied(ctx context.Context, t loci.Tenant, key string) (found *loci.Reply, err error) {
	ctx, end := calls(ctx, "replied")
	defer func() { end(err) }()
	return w.Store.Replied(ctx, t, key)
}

// Unembedded implements [loci.VectorStore].
func (w *watchedStore) Unembedded(
	ctx context.Context, t loci.Tenant, s loci.Space, after loci.ID, limit int,
) (found []loci.Record, err error) {
	ctx, end := calls(ctx, "unembedded")
	defer func() { end(err) }()
	return w.Store.Unembedded(ctx, t, s, after, limit)
}

// PutVectors implements [loci.VectorStore].
func (w *watchedStore) PutVectors(ctx context.Context, t loci.Tenant, vectors []loci.RecordVectors) (err error) {
	ctx, end := calls(ctx, "put_vectors")
	defer func() { end(err) }()
	return w.Store.PutVectors(ctx, t, vectors)
}

// Spaces implements [loci.VectorStore].
func (w *watchedStore) Spaces(ctx context.Context, t loci.Tenant) (found map[loci.Space]int64, err error) {
	ctx, end := calls(ctx, "spaces")
	defer func() { end(err) }()
	return w.Store.Spaces(ctx, t)
}

// ActiveSpace implements [loci.VectorStore].
func (w *watchedStore) ActiveSpace(ctx context.Context, t loci.Tenant) (found loci.Space, err error) {
	ctx, end := calls(ctx, "active_space")
	defer func() { end(err) }()
	return w.Store.ActiveSpace(ctx, t)
}

// SwitchSpace implements [loci.VectorStore].
func (w *watchedStore) SwitchSpace(
	ctx context.Context, t loci.Tenant, from, to loci.Space, lacking int64,
) (err error) {
	ctx, end := calls(ctx, "switch_space")
	defer func() { end(err) }()
	return w.Store.SwitchSpace(ctx, t, from, to, lacking)
}

// DropVectors implements [loci.VectorStore].
func (w *watchedStore) DropVectors(
	ctx context.Context, t loci.Tenant, s loci.Space, limit int,
) (found int, err error) {
	ctx, end := calls(ctx, "drop_vectors")
	defer func() { end(err) }()
	return w.Store.DropVectors(ctx, t, s, limit)
}

// Events implements [loci.EventLog].
func (w *watchedStore) Events(
	ctx context.Context, t loci.Tenant, f loci.EventFilter, page loci.Page,
) (events []loci.Event, next string, err error) {
	ctx, end := calls(ctx, "events")
	defer func() { end(err) }()
	return w.Store.Events(ctx, t, f, page)
}

// Chain implements [loci.EventLog].
func (w *watchedStore) Chain(ctx context.Context, t loci.Tenant) (found loci.Chain, err error) {
	ctx, end := calls(ctx, "chain")
	defer func() { end(err) }()
	return w.Store.Chain(ctx, t)
}

// Untold implements [loci.EventLog].
func (w *watchedStore) Untold(ctx context.Context, t loci.Tenant, ids []loci.ID) (found []loci.ID, err error) {
	ctx, end := calls(ctx, "untold")
	defer func() { end(err) }()
	return w.Store.Untold(ctx, t, ids)
}

// EraseTenant implements [loci.Store].
func (w *watchedStore) EraseTenant(ctx context.Context, t loci.Tenant) (err error) {
	ctx, end := calls(ctx, "erase_tenant")
	defer func() { end(err) }()
	return w.Store.EraseTenant(ctx, t)
}

// Holds implements [loci.Store].
func (w *watchedStore) Holds(ctx context.Context, t loci.Tenant) (there bool, err error) {
	ctx, end := calls(ctx, "holds")
	defer func() { end(err) }()
	return w.Store.Holds(ctx, t)
}

// Check implements [loci.Store].
func (w *watchedStore) Check(ctx context.Context, t loci.Tenant) (found []string, err error) {
	ctx, end := calls(ctx, "check")
	defer func() { end(err) }()
	return w.Store.Check(ctx, t)
}
