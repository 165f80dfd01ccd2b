package loci

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/jsonform"
)

// MaxKeyBytes bounds the key of an item.
const MaxKeyBytes = 1024

// An Item is a JSON object under a key that the caller chose.
type Item struct {
	Namespace Namespace       `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt time.Time       `json:"created_at"` // of the first put; an overwrite keeps it
	UpdatedAt time.Time       `json:"updated_at"`
	ExpiresAt time.Time       `json:"expires_at,omitzero"`
	Score     *float64        `json:"score,omitempty"` // of a search with a query
}

// Items is the keyed store in a handle's namespace, with the semantics of
// LangGraph's BaseStore. A fact is an item, too: its key is its id, its value
// {"content": …, metadata…}.
type Items struct{ m *Memory }

// Items returns the keyed store of the handle's namespace and below.
func (m *Memory) Items() *Items { return &Items{m} }

// itemBody is the part of an item that only this file reads.
type itemBody struct {
	Key   string   `json:"key"`
	Index []string `json:"index"`         // nil: all of the value; empty: nothing
	TTL   float64  `json:"ttl,omitempty"` // minutes
}

// PutOptions are the optional part of [Items.Put].
type PutOptions struct {
	// Index names the paths of the value that are searched, such as "title" or
	// "notes[*].text"; nil searches all of it, an empty list none.
	Index []string

	TTL time.Duration // expire this long after the last write or refreshing read; 0: never
}

// place checks that a namespace lies in the handle's reach, and that the part of it
// that is not the handle's own follows the rules LangGraph has for labels: the name
// of a user may be an address with periods.
func (it *Items) place(n Namespace) error {
	if len(n) == 0 {
		return Errorf(Invalid, "namespace must not be empty")
	}
	if err := n.Validate(); err != nil {
		return err
	}
	if !it.m.view.Namespace.Contains(n) {
		return Errorf(Forbidden, "namespace %s is outside of what this credential may use", n)
	}
	chosen := n[len(it.m.view.Namespace):]
	for _, label := range chosen {
		if strings.Contains(label, ".") {
			return Errorf(Invalid, "namespace label %q must not contain a period", label)
		}
	}
	if len(chosen) > 0 && chosen[0] == "langgraph" {
		return Errorf(Invalid, "the first namespace label must not be \"langgraph\"")
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return Errorf(Invalid, "key must not be empty")
	case len(key) > MaxKeyBytes:
		return Errorf(Invalid, "key has %d bytes; the limit is %d: shorten it", len(key), MaxKeyBytes)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return Errorf(Invalid, "key is not valid text")
	}
	return nil
}

// holder finds what a key names: an item, or a fact whose id it is.
func (it *Items) holder(ctx context.Context, n Namespace, key string, at time.Time) (*Record, error) {
	slot := itemSlot(key)
	f := Filter{Within: []Namespace{n}, Exact: true, Kinds: []Kind{KindItem}, Slot: &slot, At: at}
	records, _, err := it.m.engine.store.Records(ctx, it.m.view.Tenant, f, Page{Limit: 1})
	if err != nil || len(records) > 0 {
		return first(records), err
	}
	id, err := ParseID(key)
	if err != nil || id.String() != key {
		return nil, nil //nolint:nilerr // a key that is no id names no fact
	}
	f = Filter{Within: []Namespace{n}, Exact: true, Kinds: []Kind{KindFact}, IDs: []ID{id}, At: at}
	records, _, err = it.m.engine.store.Records(ctx, it.m.view.Tenant, f, Page{Limit: 1})
	return first(records), err
}

func first(records []Record) *Record {
	if len(records) == 0 {
		return nil
	}
	return &records[0]
}

func itemSlot(key string) string { return "key:" + key }

// Put stores a JSON object under a key, replacing what was there.
func (it *Items) Put(ctx context.Context, n Namespace, key string, value json.RawMessage, opts *PutOptions) error {
	if opts == nil {
		opts = &PutOptions{}
	}
	if err := it.place(n); err != nil {
		return err
	}
	draft, err := it.draft(n, key, value, opts)
	if err != nil {
		return err
	}
	request := map[string]any{"namespace": n, "key": key, "value": value, "index": opts.Index, "ttl": opts.TTL}
	_, err = commit(ctx, it.m, "put item", request, func(now time.Time) (decision[bool], error) {
		holder, err := it.holder(ctx, n, key, time.Time{})
		if err != nil {
			return decision[bool]{}, err
		}
		if holder != nil && holder.Kind == KindFact {
			return it.reviseFact(ctx, holder, value, now)
		}
		return it.decidePut(ctx, *draft, holder, opts, now)
	})
	return err
}

// draft checks an item and makes its record, all but ids and times.
func (it *Items) draft(n Namespace, key string, value json.RawMessage, opts *PutOptions) (*Record, error) {
	e := it.m.engine
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if opts.TTL < 0 {
		return nil, Errorf(Invalid, "ttl must not be negative")
	}
	if len(value) > e.opts.MaxContent {
		return nil, Errorf(TooLarge, "value has %d bytes; the limit is %d: store less in one item", len(value), e.opts.MaxContent)
	}
	if err := checkJSON("value", value); err != nil {
		return nil, err
	}
	v, err := decodeJSON(value)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, Errorf(Invalid, "value must be a JSON object")
	}
	if object, err = e.redactJSON(object); err != nil {
		return nil, err
	}
	attributes, err := encodeJSON(object)
	if err != nil {
		return nil, Errorf(Invalid, "value is not JSON: %s", jsonform.Fault(err))
	}
	paths, err := parsePaths(opts.Index)
	if err != nil {
		return nil, err
	}
	r := &Record{Kind: KindItem, Namespace: n, Slot: itemSlot(key), Live: true, Attributes: attributes}
	if opts.Index == nil {
		r.Text = flatten(object)
	} else {
		r.Text = paths.text(object)
	}
	if len(r.Text) > e.opts.MaxContent {
		return nil, Errorf(TooLarge, "index picks %d bytes of the value; the limit is %d: pick less", len(r.Text), e.opts.MaxContent)
	}
	r.Passages = e.passages(r.Text)
	return r, setBody(r, itemBody{Key: key, Index: opts.Index, TTL: opts.TTL.Minutes()})
}

func (it *Items) decidePut(ctx context.Context, r Record, old *Record, opts *PutOptions, now time.Time) (decision[bool], error) {
	e := it.m.engine
	r.UpdatedAt = now
	if opts.TTL > 0 {
		r.ExpiresAt = now.Add(opts.TTL).Truncate(time.Millisecond)
	}
	put := Put{Revisions: *e.opts.Revisions}
	typ := EventCreated
	if old == nil {
		r.ID, r.Version, r.CreatedAt = e.opts.NewID(), 1, now
	} else {
		typ = EventUpdated
		r.ID, r.Version, r.CreatedAt = old.ID, old.Version+1, old.CreatedAt
		r.Uses, r.UsedAt = old.Uses, old.UsedAt
		put.SameText = r.Text == old.Text && slices.Equal(r.Passages, old.Passages)
		if old.Expired(now) {
			r.CreatedAt, put.Revisions = now, 0 // what expired is out of every read, earlier states too
		}
	}
	if !put.SameText {
		put.Vectors = e.embed(ctx, it.m.view.Tenant, &r)
	}
	put.Record = r
	return decision[bool]{record: r.ID, change: Change{Put: []Put{put},
		Events: []Event{it.m.event(typ, &r, now, map[string]any{"version": r.Version, "bytes": len(r.Attributes)})}}}, nil
}

// reviseFact is a put under the id of a fact.
func (it *Items) reviseFact(ctx context.Context, old *Record, value json.RawMessage, now time.Time) (decision[bool], error) {
	content, metadata, err := splitAttributes(value)
	if err != nil {
		return decision[bool]{}, Errorf(Invalid, "value must be a JSON object")
	}
	in := FactRevision{Metadata: &metadata}
	var text string
	if json.Unmarshal(content, &text) == nil && content != nil {
		in.Content = &text
	} else {
		in.Value = content
	}
	d, err := it.m.decideRevision(ctx, *old, in, now)
	return decision[bool]{change: d.change, record: d.record}, err
}

// Get reads one item; NotFound when there is none. A read moves the expiry of an
// item with a TTL, unless refresh is false.
func (it *Items) Get(ctx context.Context, n Namespace, key string, refresh bool) (Item, error) {
	if err := it.place(n); err != nil {
		return Item{}, err
	}
	now := it.m.engine.now()
	r, err := it.holder(ctx, n, key, now)
	if err != nil {
		return Item{}, err
	}
	if r == nil {
		return Item{}, Errorf(NotFound, "no item with key %q in namespace %s", key, n)
	}
	if refresh {
		it.refresh(ctx, []Record{*r}, now)
	}
	return ItemOf(r)
}

// refresh moves expiry times after a read. It is off the read path in that its
// failure does not fail the read.
func (it *Items) refresh(ctx context.Context, records []Record, now time.Time) {
	var touches []Touch
	for _, r := range records {
		var body itemBody
		if r.Kind != KindItem || r.ExpiresAt.IsZero() || json.Unmarshal(r.Body, &body) != nil || body.TTL <= 0 {
			continue
		}
		until := now.Add(time.Duration(body.TTL * float64(time.Minute))).Truncate(time.Millisecond)
		if until.After(r.ExpiresAt) {
			touches = append(touches, Touch{ID: r.ID, Version: r.Version, ExpiresAt: until})
		}
	}
	if len(touches) == 0 {
		return
	}
	if err := it.m.engine.store.Touch(ctx, it.m.view.Tenant, touches); err != nil {
		it.m.engine.opts.Logger.WarnContext(ctx, "expiry of read items was not moved", "items", len(touches), "error", err)
	}
}

// ItemOf shows a record of kind item or fact as an item.
func ItemOf(r *Record) (Item, error) {
	it := Item{Namespace: r.Namespace, Value: r.Attributes, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt}
	if r.Kind == KindItem {
		var body itemBody
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return Item{}, &Error{Code: Internal, Op: "read item", Err: err}
		}
		it.Key = body.Key
		return it, nil
	}
	it.Key = r.ID.String()
	value, metadata, err := splitAttributes(r.Attributes)
	if err != nil {
		return Item{}, err
	}
	if value == nil {
		if value, err = encodeJSON(r.Text); err != nil {
			return Item{}, &Error{Code: Internal, Op: "read item", Err: err}
		}
	}
	it.Value, err = joinAttributes(value, metadata)
	return it, err
}

// Delete erases an item; a key that names none is no error.
func (it *Items) Delete(ctx context.Context, n Namespace, key string) error {
	if err := it.place(n); err != nil {
		return err
	}
	request := map[string]any{"namespace": n, "key": key}
	_, err := commit(ctx, it.m, "delete item", request, func(now time.Time) (decision[bool], error) {
		r, err := it.holder(ctx, n, key, time.Time{})
		if err != nil || r == nil {
			return decision[bool]{}, err
		}
		return decision[bool]{change: it.m.eraseChange([]Record{*r}, now)}, nil
	})
	return err
}

// An ItemQuery selects items for [Items.Search].
type ItemQuery struct {
	Prefix  Namespace // search here and below; must lie in the handle's namespace
	Text    string    // empty: no ranking, newest first
	Where   Where
	Limit   int // default 10
	Offset  int
	Refresh bool // move the expiry of what is found
}

// Search finds items and facts below a prefix.
func (it *Items) Search(ctx context.Context, q ItemQuery) ([]Item, error) {
	if !it.m.view.Namespace.Contains(q.Prefix) {
		return nil, Errorf(Forbidden, "namespace %s is outside of what this credential may use", q.Prefix)
	}
	if err := q.Prefix.Validate(); err != nil {
		return nil, err
	}
	inner := *it.m
	inner.view.Namespace, inner.view.Also = q.Prefix, nil
	result, err := inner.Search(ctx, Query{Text: q.Text, Limit: q.Limit, Offset: q.Offset, Where: q.Where, Kinds: []Kind{KindItem, KindFact}})
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(result.Matches))
	records := make([]Record, len(items))
	for i := range result.Matches {
		match := &result.Matches[i]
		records[i] = match.Record
		if items[i], err = ItemOf(&match.Record); err != nil {
			return nil, err
		}
		if strings.TrimSpace(q.Text) != "" {
			items[i].Score = &match.Score
		}
	}
	if q.Refresh {
		it.refresh(ctx, records, it.m.engine.now())
	}
	return items, nil
}

// A NamespaceQuery selects namespaces for [Items.Namespaces].
type NamespaceQuery struct {
	// Below, when not empty, is a namespace in the handle's own. Only what is below it
	// is listed, and the other conditions are about the labels after it.
	Below Namespace

	Prefix   []string // labels from the front; "*" stands for any one label
	Suffix   []string // labels from the end; "*" stands for any one label
	MaxDepth int      // cut longer namespaces to so many labels; 0: do not
	Limit    int      // default 100
	Offset   int
}

// Namespaces lists the namespaces that hold items or facts, in order, each once.
func (it *Items) Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error) {
	setDefault(&q.Limit, 100)
	if q.Limit < 1 || q.Limit > 10_000 || q.Offset < 0 || q.MaxDepth < 0 {
		return nil, Errorf(Invalid, "limit must be 1 to 10000, offset and max_depth at least 0")
	}
	f := Filter{Within: []Namespace{it.m.view.Namespace}, Kinds: []Kind{KindItem, KindFact}, At: it.m.engine.now()}
	all, err := it.m.engine.store.Namespaces(ctx, it.m.view.Tenant, f)
	if err != nil {
		return nil, err
	}
	var out []Namespace
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

func labelsMatch(labels, pattern []string) bool {
	for i, p := range pattern {
		if p != "*" && p != labels[i] {
			return false
		}
	}
	return true
}
