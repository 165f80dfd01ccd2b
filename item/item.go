// Package item keeps JSON objects under keys, with the semantics of LangGraph's store.
// Name [Feature] in loci.Options.Features.
package item

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// MaxKeyBytes bounds the key of an item.
const MaxKeyBytes = 1024

// An Item is a JSON object under a key that the caller chose.
type Item struct {
	Namespace loci.Namespace  `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt time.Time       `json:"created_at"` // of the first put; an overwrite keeps it
	UpdatedAt time.Time       `json:"updated_at"`
	ExpiresAt time.Time       `json:"expires_at,omitzero"`
	Score     *float64        `json:"score,omitempty"` // of a search with a query
}

// A Handle is the keyed store in the namespace of a [loci.Memory], with the semantics of
// LangGraph's BaseStore. A fact is an item, too: its key is its id, its value
// {"content": …, metadata…}.
type Handle struct{ m *loci.Memory }

// Of returns the keyed store of a handle's namespace and below.
func Of(m *loci.Memory) *Handle { return &Handle{m} }

// body is the part of an item that only this file reads.
type body struct {
	Key   string   `json:"key"`
	Index []string `json:"index"`         // nil: all of the value; empty: nothing
	TTL   float64  `json:"ttl,omitempty"` // minutes

	Source loci.Source `json:"source,omitzero"` // of the value: who put it
}

// PutOptions are the optional part of [Handle.Put].
type PutOptions struct {
	// Index names the paths of the value that are searched, such as "title" or
	// "notes[*].text"; nil searches all of it, an empty list none.
	Index []string

	TTL time.Duration // expire this long after the last write or refreshing read; 0: never

	Reserved bool // also below "langgraph", as a batch of LangGraph's own store may

	// CreatedAt is when a new item was made, 1900 to a day from now; zero: now. An item
	// that is there keeps its own.
	CreatedAt time.Time
}

// place checks that a namespace lies in the handle's reach. The part below the handle's
// own namespace must follow LangGraph's rules for labels. The handle's own part need not:
// the name of a user may be an address with periods.
func (it *Handle) place(n loci.Namespace) error {
	if len(n) == 0 {
		return loci.Errorf(loci.Invalid, "namespace must not be empty")
	}
	if err := n.Validate(); err != nil {
		return err
	}
	if !it.m.Namespace().Contains(n) {
		return loci.Errorf(loci.Forbidden, "namespace %s is outside of what this credential may use", n)
	}
	chosen := n[len(it.m.Namespace()):]
	for _, label := range chosen {
		if strings.Contains(label, ".") {
			return loci.Errorf(loci.Invalid, "namespace label %q must not contain a period", label)
		}
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return loci.Errorf(loci.Invalid, "key must not be empty")
	case len(key) > MaxKeyBytes:
		return loci.Errorf(loci.Invalid, "key has %d bytes; the limit is %d: shorten it", len(key), MaxKeyBytes)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return loci.Errorf(loci.Invalid, "key is not valid text")
	}
	return nil
}

// holder finds what a key names: an item, or a fact whose id it is.
func (it *Handle) holder(ctx context.Context, n loci.Namespace, key string, at time.Time) (*loci.Record, error) {
	slot := slotOf(key)
	f := loci.Filter{Within: []loci.Namespace{n}, Exact: true, Kinds: []loci.Kind{Kind}, Slot: &slot, At: at}
	if r, err := it.one(ctx, f); err != nil || r != nil {
		return r, err
	}
	id, err := loci.ParseID(key)
	if err != nil || id.String() != key {
		return nil, nil //nolint:nilerr // a key that is no id names no fact
	}
	f = loci.Filter{
		Within: []loci.Namespace{n}, Exact: true, Kinds: []loci.Kind{loci.KindFact}, IDs: []loci.ID{id}, At: at,
	}
	return it.one(ctx, f)
}

// one reads the one record that a filter can select, or nil.
func (it *Handle) one(ctx context.Context, f loci.Filter) (*loci.Record, error) {
	records, _, err := it.m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return &records[0], nil
}

// Kind is that of items: JSON values under keys that callers chose.
const Kind loci.Kind = "item"

func slotOf(key string) string { return "key:" + key }

// Put stores a JSON object under a key, replacing what was there.
func (it *Handle) Put(
	ctx context.Context, n loci.Namespace, key string, value json.RawMessage, opts *PutOptions,
) error {
	if opts == nil {
		opts = &PutOptions{}
	}
	if err := it.place(n); err != nil {
		return err
	}
	if chosen := n[len(it.m.Namespace()):]; !opts.Reserved && len(chosen) > 0 && chosen[0] == "langgraph" {
		return loci.Errorf(loci.Invalid, "the first namespace label must not be \"langgraph\"")
	}
	draft, err := it.draft(n, key, value, opts)
	if err != nil {
		return err
	}
	request := map[string]any{"namespace": n, "key": key, "value": value, "index": opts.Index, "ttl": opts.TTL}
	if !opts.CreatedAt.IsZero() {
		request["created_at"] = opts.CreatedAt
	}
	_, err = loci.Commit(ctx, it.m, "put item", request, func(now time.Time) (loci.Decision[bool], error) {
		holder, err := it.holder(ctx, n, key, time.Time{})
		if err != nil {
			return loci.Decision[bool]{}, err
		}
		if holder != nil && holder.Kind == loci.KindFact {
			return it.reviseFact(ctx, holder, value, now)
		}
		return it.decidePut(*draft, holder, opts, now)
	})
	return err
}

// draft checks an item and makes its record, all but ids and times.
func (it *Handle) draft(n loci.Namespace, key string, value json.RawMessage, opts *PutOptions) (*loci.Record, error) {
	most := it.m.Settings().MaxContent
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if opts.TTL < 0 {
		return nil, loci.Errorf(loci.Invalid, "ttl must not be negative")
	}
	if len(value) > most {
		return nil, loci.Errorf(loci.TooLarge, "value has %d bytes; the limit is %d: store less in one item", len(value), most)
	}
	if err := loci.CheckJSON("value", value); err != nil {
		return nil, err
	}
	v, err := loci.DecodeJSON(value)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, loci.Errorf(loci.Invalid, "value must be a JSON object")
	}
	object = loci.Redact(it.m, object)
	attributes, err := loci.MarshalJSON(object)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "value is not JSON: %s", err)
	}
	paths, err := parsePaths(opts.Index)
	if err != nil {
		return nil, err
	}
	created, err := loci.CheckCreated(opts.CreatedAt, it.m.Now())
	if err != nil {
		return nil, err
	}
	r := &loci.Record{
		Kind: Kind, Namespace: n, Slot: slotOf(key), Live: true, Attributes: attributes, CreatedAt: created,
	}
	if opts.Index == nil {
		r.Text = loci.Flatten(object)
	} else {
		r.Text = paths.text(object, most)
	}
	if len(r.Text) > most {
		return nil, loci.Errorf(loci.TooLarge, "index picks more than %d bytes of the value: pick less", most)
	}
	return r, loci.SetBody(r, body{Key: key, Index: opts.Index, TTL: opts.TTL.Minutes(), Source: it.m.View().Source})
}

func (it *Handle) decidePut(
	r loci.Record, old *loci.Record, opts *PutOptions, now time.Time,
) (loci.Decision[bool], error) {
	r.UpdatedAt = now
	if opts.TTL > 0 {
		r.ExpiresAt = now.Add(opts.TTL).Truncate(time.Millisecond)
	}
	put := loci.Put{Revisions: it.m.Settings().Revisions}
	typ := loci.EventCreated
	if old == nil {
		r.ID, r.Version = it.m.NewID(), 1
		if r.CreatedAt.IsZero() {
			r.CreatedAt = now
		}
	} else {
		typ = loci.EventUpdated
		r.ID, r.Version, r.CreatedAt = old.ID, old.Version+1, old.CreatedAt
		r.Uses, r.UsedAt, r.Sequence, r.Position = old.Uses, old.UsedAt, old.Sequence, old.Position
		if put.SameText = r.Text == old.Text; put.SameText {
			r.Passages = old.Passages
		}
		if old.Expired(now) {
			r.CreatedAt, put.Revisions = now, 0 // no read finds what expired, earlier states included
		}
	}
	put.Record = r
	return loci.Decision[bool]{Record: r.ID, Embed: loci.EmbedFirst, Change: loci.Change{Put: []loci.Put{put},
		Events: []loci.Event{it.m.Event(typ, &r, now, map[string]any{"version": r.Version, "bytes": len(r.Attributes)})}}}, nil
}

// reviseFact is a put under the id of a fact.
func (it *Handle) reviseFact(
	ctx context.Context, old *loci.Record, value json.RawMessage, now time.Time,
) (loci.Decision[bool], error) {
	value, err := withoutKey(old, value, now)
	if err != nil {
		return loci.Decision[bool]{}, err
	}
	d, err := it.m.ReviseValue(ctx, *old, value, now)
	return loci.Decision[bool]{Change: d.Change, Embed: d.Embed, Record: d.Record}, err
}

// withoutKey takes the key of a fact out of a value that shows it. It refuses a different
// key, since that would be another fact.
func withoutKey(old *loci.Record, value json.RawMessage, now time.Time) (json.RawMessage, error) {
	fact, err := loci.FactOf(old, now)
	if err != nil || fact.Subject == "" {
		return value, err
	}
	v, err := loci.DecodeJSON(value)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, loci.Errorf(loci.Invalid, "value must be a JSON object")
	}
	for name, is := range map[string]string{"subject": fact.Subject, "predicate": fact.Predicate} {
		if given, there := object[name]; there && given != is {
			return nil, loci.Errorf(loci.Invalid, "%s of a fact cannot change: leave it at %.64q, or store another fact", name, is)
		}
		delete(object, name)
	}
	return loci.MarshalJSON(object)
}

// Get reads one item; NotFound when there is none. A read moves the expiry of an
// item with a TTL, unless refresh is false.
func (it *Handle) Get(ctx context.Context, n loci.Namespace, key string, refresh bool) (Item, error) {
	if err := it.place(n); err != nil {
		return Item{}, err
	}
	now := it.m.Now()
	r, err := it.holder(ctx, n, key, now)
	if err != nil {
		return Item{}, err
	}
	if r == nil {
		return Item{}, loci.Errorf(loci.NotFound, "no item with key %q in namespace %s", key, n)
	}
	if refresh {
		it.refresh(ctx, []loci.Record{*r}, now)
	}
	return FromRecord(r)
}

// refresh moves expiry times after a read. Its failure does not fail the read.
func (it *Handle) refresh(ctx context.Context, records []loci.Record, now time.Time) {
	var touches []loci.Touch
	for _, r := range records {
		var body body
		if r.Kind != Kind || r.ExpiresAt.IsZero() || json.Unmarshal(r.Body, &body) != nil || body.TTL <= 0 {
			continue
		}
		until := now.Add(time.Duration(body.TTL * float64(time.Minute))).Truncate(time.Millisecond)
		if until.After(r.ExpiresAt) {
			touches = append(touches, loci.Touch{ID: r.ID, Version: r.Version, ExpiresAt: until})
		}
	}
	it.m.Touch(ctx, touches)
}

// FromRecord shows a record of kind item or fact as an item.
func FromRecord(r *loci.Record) (Item, error) {
	it := Item{
		Namespace: r.Namespace, Value: r.Attributes, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt,
	}
	if r.Kind == Kind {
		var body body
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return Item{}, &loci.Error{Code: loci.Internal, Op: "read item", Err: err}
		}
		it.Key = body.Key
		return it, nil
	}
	it.Key = r.ID.String()
	var err error
	it.Value, err = loci.FactValue(r)
	return it, err
}

// Delete erases an item. A key that names no item is no error.
func (it *Handle) Delete(ctx context.Context, n loci.Namespace, key string) error {
	if err := it.place(n); err != nil {
		return err
	}
	request := map[string]any{"namespace": n, "key": key}
	_, err := loci.Commit(ctx, it.m, "delete item", request, func(now time.Time) (loci.Decision[bool], error) {
		r, err := it.holder(ctx, n, key, time.Time{})
		if err != nil || r == nil {
			return loci.Decision[bool]{}, err
		}
		event := it.m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version, "bytes": len(r.Text)})
		gone := loci.Change{Erase: []loci.Erase{{ID: r.ID, Version: r.Version}}, Events: []loci.Event{event}}
		return loci.Decision[bool]{Change: gone}, nil
	})
	return err
}

// A Query selects items for [Handle.Search].
type Query struct {
	Prefix  loci.Namespace // search here and below; must lie in the handle's namespace
	Text    string         // empty: no ranking, newest first
	Where   loci.Where
	Limit   int // default 10
	Offset  int
	Refresh bool // move the expiry of what is found
	// These are as in [loci.Query].
	MinScore     float64
	MaxBytes     int
	Since, Until time.Time
}

// Search finds items and facts below a prefix.
func (it *Handle) Search(ctx context.Context, q Query) ([]Item, error) {
	inner, err := it.m.At(q.Prefix)
	if err = cmp.Or(err, q.Prefix.Validate()); err != nil {
		return nil, err
	}
	result, err := inner.Search(ctx, loci.Query{
		Text: q.Text, Limit: q.Limit, Offset: q.Offset, Where: q.Where, Kinds: []loci.Kind{Kind, loci.KindFact},
		Since: q.Since, Until: q.Until, MinScore: q.MinScore, MaxBytes: q.MaxBytes})
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(result.Matches))
	records := make([]loci.Record, len(items))
	for i := range result.Matches {
		match := &result.Matches[i]
		records[i] = match.Record
		if items[i], err = FromRecord(&match.Record); err != nil {
			return nil, err
		}
		if strings.TrimSpace(q.Text) != "" {
			items[i].Score = &match.Score
		}
	}
	if q.Refresh {
		it.refresh(ctx, records, it.m.Now())
	}
	return items, nil
}

// A NamespaceQuery selects namespaces for [Handle.Namespaces].
type NamespaceQuery struct {
	// Below, when not empty, is a namespace in the handle's own. Only what is below it
	// is listed, and the other conditions are about the labels after it.
	Below loci.Namespace

	Prefix   []string // labels from the front; "*" stands for any one label
	Suffix   []string // labels from the end; "*" stands for any one label
	MaxDepth int      // cut longer namespaces to so many labels; 0: do not
	Limit    int      // default 100
	Offset   int
}

// Namespaces lists the namespaces that hold items or facts, in order, each once.
func (it *Handle) Namespaces(ctx context.Context, q NamespaceQuery) ([]loci.Namespace, error) {
	q.Limit = cmp.Or(q.Limit, 100)
	if q.Limit < 1 || q.Limit > 10_000 || q.Offset < 0 || q.MaxDepth < 0 {
		return nil, loci.Errorf(loci.Invalid, "limit must be 1 to 10000, offset and max_depth at least 0")
	}
	f := loci.Filter{
		Within: []loci.Namespace{it.around(&q)}, Kinds: []loci.Kind{Kind, loci.KindFact}, At: it.m.Now(),
	}
	all, err := it.m.Namespaces(ctx, f)
	if err != nil {
		return nil, err
	}
	var out []loci.Namespace
	for _, n := range all {
		if len(q.Below) > 0 && (len(n) == len(q.Below) || !q.Below.Contains(n)) {
			continue
		}
		rest := n[len(q.Below):]
		if len(rest) < len(q.Prefix) || len(rest) < len(q.Suffix) ||
			!labelsMatch(rest[:len(q.Prefix)], q.Prefix) || !labelsMatch(rest[len(rest)-len(q.Suffix):], q.Suffix) {
			continue
		}
		if q.MaxDepth > 0 && len(rest) > q.MaxDepth {
			n = n[:len(q.Below)+q.MaxDepth]
		}
		if len(out) == 0 || !out[len(out)-1].Equal(n) {
			out = append(out, n)
		}
	}
	// Cutting can bring equal namespaces together only where they were neighbours:
	// key order keeps everything below a prefix in one run.
	out = out[min(q.Offset, len(out)):]
	return out[:min(q.Limit, len(out))], nil
}

// around is a namespace that holds all that a query selects: the handle's own, or one below it
// that the query names.
func (it *Handle) around(q *NamespaceQuery) loci.Namespace {
	named := q.Below
	for _, label := range q.Prefix {
		if label == "*" {
			break
		}
		named = named.Child(label)
	}
	if own := it.m.Namespace(); !own.Contains(named) || named.Validate() != nil {
		return own
	}
	return named
}

func labelsMatch(labels, pattern []string) bool {
	for i, p := range pattern {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}
