package loci

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/attribute"
	"github.com/loci-memory/loci/internal/condition"
	"github.com/loci-memory/loci/internal/when"
)

// A Filter selects records. All conditions must hold; the zero value of a condition selects everything, except Within:
// a filter without a namespace selects nothing, so that a forgotten one fails closed.
type Filter struct {
	Within []Namespace // in or below one of these; Namespace{} is the whole tenant
	Exact  bool        // in one of Within, not below
	Kinds  []Kind
	IDs    []ID
	Slot   *string
	Slots  SlotRange
	Tags   []string // has all of them
	Where  Where

	Scopes    []string // one of these
	Statuses  []string // one of these
	Sequences []string // in one of these; "" is none

	Since, Until time.Time // created at or after Since and before Until; zero: any

	At      time.Time // leave out what has expired by then; zero: nothing has
	Expired bool      // only what has expired by At
	NotLive bool      // also records that are no longer live, or have left the live set by decay at At
	Gone    bool      // with NotLive: only records that are no longer live
	Waning  bool      // only live ones with a transition due by At, or none left but their end
	Ended   bool      // with NotLive: only live ones that have left the live set by decay at At

	MinConfidence float64   // effective confidence at At of at least so much; 0: any
	Due           time.Time // only those with a transition due by then; zero: all

	Space Space                                 // for Count: the space whose vectors count
	Each  func(k Kind, status string, c Counts) // for Count: told of it in parts that add up, without Unembedded; nil: not
}

// Selects reports whether the filter selects a record. It is the meaning of a
// filter: a store may answer from indexes, with the same result.
func (f *Filter) Selects(r *Record) bool {
	return f.SelectsHeader(r) && f.Where.Match(r)
}

// SelectsHeader is Selects without Where: it needs neither Text nor Attributes.
func (f *Filter) SelectsHeader(r *Record) bool {
	return f.Covers(r.Namespace) && f.selectsMoment(r) && f.selectsNames(r) && condition.HasAll(r.Tags, f.Tags)
}

// selectsMoment asks what depends on the time: whether a record is live, expired, sure enough, due.
func (f *Filter) selectsMoment(r *Record) bool {
	if !f.NotLive && (!r.Live || !f.At.IsZero() && r.Ended(f.At)) || f.Gone && r.Live ||
		f.Waning && !r.waning(f.At) || f.Ended && (!r.Live || !r.Ended(f.At)) {
		return false
	}
	if !f.At.IsZero() && r.Expired(f.At) != f.Expired {
		return false
	}
	if f.MinConfidence > 0 && r.Decay.At(f.At) < f.MinConfidence {
		return false
	}
	return (f.Due.IsZero() || !r.DueAt.IsZero() && !f.Due.Before(r.DueAt)) && when.In(r.CreatedAt, f.Since, f.Until)
}

// selectsNames asks for what a record is named by.
func (f *Filter) selectsNames(r *Record) bool {
	return (len(f.Kinds) == 1 && f.Kinds[0] == r.Kind || condition.Among(f.Kinds, r.Kind)) &&
		(len(f.Scopes)+len(f.Statuses)+len(f.Sequences)+len(f.IDs) == 0 || // as most have it
			condition.Among(f.Scopes, r.Scope) && condition.Among(f.Statuses, r.Status) &&
				condition.Among(f.Sequences, r.Sequence) && condition.Among(f.IDs, r.ID)) &&
		(f.Slot == nil || *f.Slot == r.Slot) && (f.Slots.IsZero() || f.Slots.Contains(r.Slot))
}

// A SlotRange is a half-open range of slots in the order of their bytes: see [condition.Slots].
type SlotRange = condition.Slots

// SlotsBeginning is the range of the slots that begin with a prefix; "" is the zero range.
func SlotsBeginning(prefix string) SlotRange { return condition.SlotsBeginning(prefix) }

// Trace is what the JSON of a record must hold for the filter to select it. [Where.Match] looks elsewhere for some names, too.
func (f *Filter) Trace() condition.Trace {
	t := f.Where.conditions.Trace(f.Tags, "subject", "predicate", attribute.Content)
	t.Member = f.Where.Member
	return t
}

// Covers reports whether the filter reaches a namespace.
func (f *Filter) Covers(n Namespace) bool {
	for _, within := range f.Within {
		if within.Contains(n) && (!f.Exact || len(within) == len(n)) {
			return true
		}
	}
	return false
}

// A Where is a condition on a record's attributes: the subject and predicate of a keyed
// fact, metadata, the keys of a structured content, the fields of an item. If two have
// the same name, the one named first here counts. The zero Where always holds.
//
// Its source is a JSON object whose keys are all required to match: a scalar by equality, an object as a subset, an
// array element by element, and an object of operators ($eq, $ne, $gt, $gte, $lt, $lte) by comparison. Numbers compare
// as numbers; a string that is a number compares with a number as one; two strings compare byte by byte, which orders
// ISO dates; anything else is not ordered.
type Where struct {
	Member     string // the body has this member, of a plain name; "": any
	conditions condition.Set
	sieve      *condition.Sieve
}

// MaxConditions bounds the values in a filter, at all levels together.
const MaxConditions = condition.Max

// ParseWhere checks a filter object: at most [MaxConditions] values, in up to 16
// levels. Keys are data: they never become part of a query language.
func ParseWhere(filter map[string]any) (Where, error) {
	set, err := condition.Parse(filter)
	if err != nil {
		return Where{}, Errorf(Invalid, "%s", err)
	}
	return Where{conditions: set, sieve: set.Trace(nil, "subject", "predicate", attribute.Content).Sieve()}, nil
}

// IsZero reports whether the condition always holds.
func (w Where) IsZero() bool { return len(w.conditions) == 0 && w.Member == "" }

// NeedsText reports whether the condition asks for the text or the body of a live record.
func (w Where) NeedsText(r *Record) bool {
	return w.Member != "" || r.Kind == KindFact && slices.ContainsFunc(w.conditions, func(c condition.Condition) bool {
		return c.Key == "content" || strings.HasPrefix(r.Slot, "key:") && (c.Key == "subject" || c.Key == "predicate")
	})
}

// Match reports whether a record's attributes meet the condition.
func (w Where) Match(r *Record) bool {
	has := w.Member == "" || attribute.Has(r.Body, w.Member)
	if !has || len(w.conditions) == 0 || w.sieve.Denies(r.Attributes) {
		return has && len(w.conditions) == 0
	}
	doc, err := attribute.Some(r.Attributes, w.conditions.Ask)
	if err != nil {
		return false
	}
	if r.Kind == KindFact && (w.conditions.Ask("subject") || w.conditions.Ask("predicate")) {
		doc = addKey(r, doc)
	}
	content, _ := doc[attribute.Content].(map[string]any)
	for _, c := range w.conditions {
		have, ok := doc[c.Key]
		switch {
		case ok:
		case r.Kind == KindFact && c.Key == attribute.Content:
			have = r.Text
		case r.Kind == KindFact:
			have = content[c.Key]
		}
		if !c.Holds(have) {
			return false
		}
	}
	return true
}
