// Package memory is the store that lives in the process: for tests, for use
// without a file, and as the reference that every other store must equal.
package memory

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/page"
	"github.com/tidwall/btree"
)

// A Store keeps everything in maps. It is safe for concurrent use. Nothing
// outlives it.
type Store struct {
	mu      sync.Mutex
	tenants map[loci.Tenant]*tenant
	closed  bool
}

// Open makes an empty store.
func Open() *Store { return &Store{tenants: map[loci.Tenant]*tenant{}} }

var _ loci.Store = (*Store)(nil)

// tenant is everything of one tenant; mu guards all of it.
type tenant struct {
	mu      sync.RWMutex
	records map[loci.ID]*stored
	held    loci.Holding         // by all records
	lanes   *btree.BTreeG[*lane] // in order of namespace and kind
	slots   *btree.BTreeG[slot]  // in order of namespace, kind and slot
	events  []loci.Event         // without the names of their namespaces
	blocks  page.Blocks          // of events
	places  map[loci.Mark]*place
	names   loci.NameKey
	about   map[loci.ID][]int // places in events, by entity
	head    loci.Hash         // of the last event
	links   links
	replies replies
	index   *index.Index
	active  loci.Space
}

// place is a namespace; without records it has no name.
type place struct {
	name    loci.Namespace
	records int
}

// stored is a record with what hangs on it.
type stored struct {
	loci.Record
	vectors   map[loci.Space][][]byte // quantised, one a passage
	revisions []loci.Revision         // newest first
}

// slot is a slot with the record that holds it.
type slot struct {
	namespace string
	kind      loci.Kind
	slot      string
	holder    loci.ID
}

func slotOf(r *loci.Record) slot { return slot{r.Namespace.Key(), r.Kind, r.Slot, r.ID} }

// before orders slots; whose they are makes no difference.
func (s slot) before(o slot) bool {
	return cmp.Or(strings.Compare(s.namespace, o.namespace), strings.Compare(string(s.kind), string(o.kind)),
		strings.Compare(s.slot, o.slot)) < 0
}

func newTenant() *tenant {
	return &tenant{
		records: map[loci.ID]*stored{},
		lanes:   ordered((*lane).before),
		slots:   ordered(slot.before),
		blocks:  page.Blocks{},
		about:   map[loci.ID][]int{},
		places:  map[loci.Mark]*place{},
		names:   loci.NewNameKey(),
		links:   newLinks(),
		replies: newReplies(),
		index:   index.New(loci.Space{}),
	}
}

// ordered is an empty tree; whoever uses one holds the lock of its tenant.
func ordered[T any](before func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
}

// tenant finds a tenant's data; a tenant without data is empty.
func (s *Store) tenant(ctx context.Context, t loci.Tenant) (*tenant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answers(ctx, t); err != nil {
		return nil, err
	}
	data := s.tenants[t]
	if data == nil {
		data = newTenant()
		s.tenants[t] = data
	}
	return data, nil
}

// answers reports why a call for a tenant gets no answer. The store is locked.
func (s *Store) answers(ctx context.Context, t loci.Tenant) error {
	switch {
	case ctx.Err() != nil:
		return loci.AsError(ctx.Err())
	case t.IsZero():
		return loci.Errorf(loci.Invalid, "a tenant is missing")
	case s.closed:
		return loci.Errorf(loci.Unavailable, "the store is closed")
	}
	return nil
}

// Tenants implements [loci.Store].
func (s *Store) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		s.mu.Lock()
		var err error
		if s.closed {
			err = loci.Errorf(loci.Unavailable, "the store is closed")
		}
		all := maps.Clone(s.tenants)
		s.mu.Unlock()
		if err = errors.Join(err, ctx.Err()); err != nil {
			yield(loci.Tenant{}, loci.AsError(err))
			return
		}
		names := slices.SortedFunc(maps.Keys(all), func(a, b loci.Tenant) int {
			return strings.Compare(a.String(), b.String())
		})
		for _, t := range names {
			if all[t].holds() && t != loci.SystemTenant() && !yield(t, nil) {
				return
			}
		}
	}
}

// Holds implements [loci.Store].
func (s *Store) Holds(ctx context.Context, t loci.Tenant) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.answers(ctx, t); err != nil {
		return false, err
	}
	data := s.tenants[t]
	return data != nil && data.holds(), nil
}

// holds reports whether there is anything of a tenant.
func (d *tenant) holds() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.records)+len(d.events)+len(d.replies.byKey) > 0
}

// Due implements [loci.Store]: a look at a tenant costs nothing here.
func (s *Store) Due(ctx context.Context, _ time.Time) iter.Seq2[loci.Tenant, error] {
	return s.Tenants(ctx)
}

// EraseTenant implements [loci.Store].
func (s *Store) EraseTenant(ctx context.Context, t loci.Tenant) error {
	if _, err := s.tenant(ctx, t); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tenants, t)
	return nil
}

// Check implements [loci.Store]; maps do not get damaged.
func (s *Store) Check(ctx context.Context, t loci.Tenant) ([]string, error) {
	_, err := s.tenant(ctx, t)
	return nil, err
}

// Close implements [loci.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.tenants = nil
	return nil
}
