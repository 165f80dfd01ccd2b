package loci

import (
	"context"
	"slices"
)

// A Transferer is a feature whose records go into an export and come out of one. The kernel writes and stores the
// records of kinds that stand for themselves; the rest is the feature's.
type Transferer interface {
	Feature

	// Lines writes the records of the kinds that mean something only together, in and below the handle's namespace.
	Lines(ctx context.Context, m *Memory, x *Exporter) error

	// Take begins the feature's part of an import into the handle's namespace.
	Take(m *Memory) Taker
}

// A Taker is a feature's part of one import. Embed [PlainTaker] for what it leaves to the kernel.
type Taker interface {
	// Take checks a record of an export and brings it to the form in which it is stored. The kernel has checked its id,
	// version, times and namespace, and nothing else: see [Imported.Clean]. Its earlier states follow until the next
	// call. kept: the kernel does not store the record; the taker does, in Store.
	Take(d *Imported) (kept bool, err error)

	// Check is called when the whole input was read, and before anything is stored.
	Check() error

	// Settle decides what becomes of records that Take left to the kernel; an outcome that is not decided leaves it to
	// the kernel's rules about ids and slots. It is called again after a conflict.
	Settle(ctx context.Context, drafts []*Imported) ([]Verdict, error)

	// Same reports whether two records of a kind, in one namespace, say the same.
	Same(a, b *Record) bool

	// Store stores what Take kept, and counts it with count as it goes.
	Store(ctx context.Context, count func(ImportReport)) error
}

// An Imported is a record to import, with its earlier states, newest first.
type Imported struct {
	Record
	History []Revision
	Line    int // of the input, from 1

	memory *Memory // into which it goes

	fresh bool   // was not stored yet when the ids were settled
	inWay holder // held its slot then, if anything did
}

// A Verdict is what becomes of a record to import.
type Verdict struct {
	Decided  bool
	Existing bool   // what it says is there already
	Conflict string // what is in its way, if anything
}

// A PlainTaker leaves everything after Take to the kernel.
type PlainTaker struct{}

// Check finds nothing.
func (PlainTaker) Check() error { return nil }

// Settle decides nothing.
func (PlainTaker) Settle(_ context.Context, drafts []*Imported) ([]Verdict, error) {
	return make([]Verdict, len(drafts)), nil
}

// Same compares the slots and attributes.
func (PlainTaker) Same(a, b *Record) bool {
	return a.Slot == b.Slot && string(a.Attributes) == string(b.Attributes)
}

// Store has nothing to store.
func (PlainTaker) Store(context.Context, func(ImportReport)) error { return nil }

// transferers are the features of an engine that go into exports.
func (e *Engine) transferers() (list []Transferer) {
	for _, f := range e.opts.Features {
		if t, ok := f.(Transferer); ok {
			list = append(list, t)
		}
	}
	return list
}

// taker returns the part that a kind's feature has in the import; nil if the kind is the
// kernel's own. Unsupported: no feature of the engine keeps the kind.
func (in *importer) taker(kind Kind) (Taker, error) {
	if slices.Contains(ownKinds, kind) {
		return nil, nil
	}
	if t, ok := in.takers[kind]; ok {
		return t, nil
	}
	for _, f := range in.m.engine.transferers() {
		kinds := f.Kinds()
		if !slices.ContainsFunc(kinds, func(k FeatureKind) bool { return k.Kind == kind }) {
			continue
		}
		t := f.Take(in.m)
		in.ordered = append(in.ordered, t)
		for i, k := range kinds {
			in.takers[k.Kind] = t
			in.rank[k.Kind] = len(kinds) - i
		}
		return t, nil
	}
	return nil, Errorf(Unsupported, "kind %q is not known to this build", kind)
}
