package loci

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// This file is what a kind of memory in a package of its own builds on: package session, tree, item and checkpoint use
// it, and so may any other package. Together with [Commit] it gives them all guarantees of the kernel: one write loop,
// walls between tenants and namespaces, redaction, vectors, and an audit log.

// A Feature adds kinds of memory to an engine. Its value also holds the options of
// the feature. Name the features of an engine in [Options].Features.
type Feature interface {
	// Kinds lists what the feature keeps. A kind belongs to one feature of an engine. [Memory.EraseAll] erases the
	// records of a feature in the order of its kinds, so an owner comes before its parts.
	Kinds() []FeatureKind

	// Check refuses options out of range with an Invalid error that names the option.
	Check() error
}

// A FeatureKind says what the kernel does with the records of a kind.
type FeatureKind struct {
	Kind Kind

	// Memory: each record stands for itself, as a fact does. It is searched, erased by
	// its id and exported by the kernel. Otherwise records mean something only together:
	// the kernel searches them when asked for the kind, and leaves the rest to the feature.
	Memory bool

	Counted bool // [Memory.Stats] counts the records

	// Lists of all kinds show the records under the name Shown, which callers know; "" hides them. With a Status, lists
	// show only the records of that status. With Part, only lists of this kind show them.
	Shown, Status string
	Part          bool

	// Found: a search for the kind finds its records by texts of their own, as it does with Memory or Part.
	Found bool

	// Of: each record is a part of one of this kind, which Whole selects; its sequence
	// tells it from the others in its namespace. A search for that kind looks through the
	// parts: it shows the whole once if the parts are shown, too, else with each that fits.
	Of    Kind
	Whole func(part *Record) (Filter, error)

	// Change says in a sentence how callers change a record that is shown.
	Change string
}

// An Eraser is a feature whose records may be erased by id although they belong together:
// it decides what is erased along with one.
type Eraser interface {
	Feature

	// EraseRecord is the change that erases a record and what must not be without it, its events
	// included; with More it is a step, and asked again. m is bound to the handle's namespace.
	EraseRecord(ctx context.Context, m *Memory, r *Record, now time.Time) (Change, error)
}

// A Placer is a feature that keeps records behind the label that no caller can name.
// Exports leave that label out, and files from before there was one lack it, too.
type Placer interface {
	Feature

	// PlaceOf returns the place of a record that such an export shows in the namespace n. false: n is its place.
	PlaceOf(kind Kind, n Namespace) (place Namespace, moved bool)
}

// An Elder is a feature whose older builds erased parts of something without an event about each part. Their files are
// still in use, so [Engine.VerifyEvents] asks the feature.
type Elder interface {
	Feature

	// Family names what belonged together, by an event about one of the feature's kinds; "": nothing did. part: the
	// event is about a part. ends: what it tells of may have taken parts along.
	Family(e *Event) (name string, part, ends bool)
}

// FeatureOf returns the feature of a type that the handle's engine was made with. ok is false if there is none.
func FeatureOf[F Feature](m *Memory) (feature F, ok bool) {
	for _, f := range m.engine.opts.Features {
		if feature, ok = f.(F); ok {
			return feature, true
		}
	}
	return feature, false
}

// ownKinds are the kinds that every engine keeps.
var ownKinds = []Kind{KindFact, KindEpisode, KindRule}

// checkFeatures refuses two features that keep one kind, and options out of range.
func (o *Options) checkFeatures() error {
	seen := slices.Clone(ownKinds)
	for _, f := range o.Features {
		for _, k := range f.Kinds() {
			if slices.Contains(seen, k.Kind) {
				return Errorf(Invalid, "features has kind %q twice: name each feature once", k.Kind)
			}
			seen = append(seen, k.Kind)
		}
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}

// memoryKinds are the kinds whose records stand for themselves. They are looked for unless a query names others.
func (e *Engine) memoryKinds() []Kind { return e.memories }

// learnKinds notes which feature keeps which kind: every write asks for it.
func (e *Engine) learnKinds() {
	e.memories, e.keepers = slices.Clone(ownKinds), map[Kind]Feature{}
	for _, f := range e.opts.Features {
		for _, k := range f.Kinds() {
			if k.Memory {
				e.memories = append(e.memories, k.Kind)
			} else {
				e.keepers[k.Kind] = f
			}
		}
	}
	e.memories = slices.Clip(e.memories)
}

// featureOf is the feature that keeps a kind in records that mean something only together; nil for any other kind.
func (e *Engine) featureOf(kind Kind) Feature { return e.keepers[kind] }

// checkPuts refuses a change that puts a record outside of the handle's namespace, or
// one of a kind that this engine does not keep: nothing would erase or export it.
func (m *Memory) checkPuts(c *Change) error {
	e := m.engine
	for i := range c.Put {
		if n := c.Put[i].Record.Namespace; !m.view.Namespace.Contains(n) {
			return Errorf(Forbidden, "namespace %s is outside of what this handle may write", n)
		}
		kind := c.Put[i].Record.Kind
		if !slices.Contains(e.memoryKinds(), kind) && e.featureOf(kind) == nil {
			return &Error{Code: Unsupported, Msg: fmt.Sprintf("this engine keeps no records of kind %q", kind),
				Recovery: "Name the feature that keeps them in Options.Features."}
		}
	}
	return nil
}

// Records lists the records that a filter selects, as [RecordLister].Records does.
// Forbidden: the filter reaches outside of what the handle may read.
func (m *Memory) Records(ctx context.Context, f Filter, page Page) (records []Record, next string, err error) {
	if err := m.inView(f); err != nil {
		return nil, "", err
	}
	records, next, err = m.engine.store.Records(ctx, m.view.Tenant, f, page)
	for i := 0; page.Each != nil && err == nil && i < len(records); i++ {
		page.Each(&records[i])
	}
	return records, next, err
}

// Count measures what a filter selects, inside of what the handle may read.
func (m *Memory) Count(ctx context.Context, f Filter) (Counts, error) {
	if err := m.inView(f); err != nil {
		return Counts{}, err
	}
	return m.engine.store.Count(ctx, m.view.Tenant, f)
}

// Namespaces lists the namespaces with a record that a filter selects, in key order,
// inside of what the handle may read.
func (m *Memory) Namespaces(ctx context.Context, f Filter) ([]Namespace, error) {
	if err := m.inView(f); err != nil {
		return nil, err
	}
	return m.engine.store.Namespaces(ctx, m.view.Tenant, f)
}

// Touch moves the expiry of records after a read, not beyond the year 9999. A failure is only logged: the read is done.
func (m *Memory) Touch(ctx context.Context, touches []Touch) {
	if len(touches) == 0 {
		return
	}
	late := func(t Touch) bool { return max(t.At.Year(), t.ExpiresAt.Year()) > 9999 }
	if err := m.engine.store.Touch(ctx, m.view.Tenant, slices.DeleteFunc(slices.Clone(touches), late)); err != nil {
		m.engine.opts.Logger.WarnContext(ctx, "expiry of what was read was not moved", "records", len(touches), "error", err)
	}
}

// inView refuses a filter that reaches outside of what the handle may read.
func (m *Memory) inView(f Filter) error {
	for _, n := range f.Within {
		if !m.mayRead(n) {
			return Errorf(Forbidden, "namespace %s is outside of what this handle may read", n)
		}
	}
	return nil
}

func (m *Memory) mayRead(n Namespace) bool {
	holds := func(place Namespace) bool { return place.Contains(n) }
	return holds(m.view.Namespace) || slices.ContainsFunc(m.view.Also, holds)
}

// At returns the handle for a namespace in or below its own, and for nothing else.
// Forbidden: the namespace lies outside.
func (m *Memory) At(n Namespace) (*Memory, error) {
	if !m.view.Namespace.Contains(n) {
		return nil, Errorf(Forbidden, "namespace %s is outside of what this credential may use", n)
	}
	if err := n.CheckPlace(); err != nil {
		return nil, err
	}
	inner := *m
	inner.view.Namespace, inner.view.Also = n, nil
	return &inner, nil
}

// Namespace returns the handle's own namespace, where writes go; not to be changed.
func (m *Memory) Namespace() Namespace { return m.view.Namespace }

// Now is the engine's clock: UTC, whole milliseconds.
func (m *Memory) Now() time.Time { return m.engine.now() }

// NewID makes an id for a record.
func (m *Memory) NewID() ID { return m.engine.opts.NewID() }

// Redact takes known credential formats out of a text, or out of every text inside a
// decoded JSON value, names included, unless the operator keeps them.
func Redact[T any](m *Memory, value T) T {
	clean, _ := m.engine.redactValue(value).(T)
	return clean
}

// Event makes the audit event that every change of a record comes with.
func (m *Memory) Event(typ EventType, r *Record, now time.Time, payload map[string]any) Event {
	return m.event(typ, r, now, payload)
}

// Turn waits for the caller's turn among those in this process who change one thing,
// named by parts, in the handle's namespace. Only speed depends on it: [Commit] keeps
// changes apart, but writers that take turns do not make one another start over.
func (m *Memory) Turn(ctx context.Context, parts ...string) (leave func(), err error) {
	key := digest(append([]string{m.view.Tenant.String(), m.view.Namespace.Key()}, parts...)...)
	if leave, err = m.engine.turns.Enter(ctx, key); err != nil {
		return nil, AsError(err)
	}
	return leave, nil
}

// Settings are those of the operator's choices that features follow, too.
type Settings struct {
	MaxContent int          // bytes of one memory's text
	Revisions  int          // earlier states kept of each record
	Tokenizer  Tokenizer    // counts the tokens of a context
	Logger     *slog.Logger // gets ids and sizes, never content
}

// Settings returns those of the handle's engine.
func (m *Memory) Settings() Settings { return m.engine.Settings() }

// Settings returns those of the engine.
func (e *Engine) Settings() Settings {
	return Settings{e.opts.Content.MaxBytes, e.opts.Retention.Revisions, e.opts.Tokenizer, e.opts.Logger}
}
