package loci

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/jsonform"
)

// A Filter selects records. All conditions must hold; the zero value of a
// condition selects everything, except Within: a filter without a namespace
// selects nothing, so that a forgotten one fails closed.
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

	At      time.Time // leave out what has expired by then; zero: nothing has
	Expired bool      // only what has expired by At
	NotLive bool      // also records that are no longer live, or have left the live set by decay at At

	MinConfidence float64   // effective confidence at At of at least so much; 0: any
	Due           time.Time // only those with a transition due by then; zero: all

	Space Space // for Count: the space whose vectors count
}

// Selects reports whether the filter selects a record. It is the meaning of a
// filter: a store may answer from indexes, with the same result.
func (f *Filter) Selects(r *Record) bool {
	return f.SelectsHeader(r) && f.Where.Match(r)
}

// SelectsHeader is Selects without Where: it needs neither Text nor Attributes.
func (f *Filter) SelectsHeader(r *Record) bool {
	return f.Covers(r.Namespace) && f.selectsMoment(r) && f.selectsNames(r) && f.selectsTags(r)
}

// selectsMoment asks what depends on the time: whether a record is live, expired, sure
// enough, due.
func (f *Filter) selectsMoment(r *Record) bool {
	if !f.NotLive && (!r.Live || !f.At.IsZero() && r.Ended(f.At)) {
		return false
	}
	if !f.At.IsZero() && r.Expired(f.At) != f.Expired {
		return false
	}
	if f.MinConfidence > 0 && r.Decay.At(f.At) < f.MinConfidence {
		return false
	}
	return f.Due.IsZero() || !r.DueAt.IsZero() && !f.Due.Before(r.DueAt)
}

// selectsNames asks for what a record is named by.
func (f *Filter) selectsNames(r *Record) bool {
	return among(f.Scopes, r.Scope) && among(f.Statuses, r.Status) && among(f.Sequences, r.Sequence) &&
		among(f.Kinds, r.Kind) && among(f.IDs, r.ID) &&
		(f.Slot == nil || *f.Slot == r.Slot) && f.Slots.Contains(r.Slot)
}

// selectsTags asks for all tags of the filter.
func (f *Filter) selectsTags(r *Record) bool {
	for _, tag := range f.Tags {
		if !slices.Contains(r.Tags, tag) {
			return false
		}
	}
	return true
}

// among reports whether a value is one of those allowed; none are all.
func among[T comparable](allowed []T, value T) bool {
	return len(allowed) == 0 || slices.Contains(allowed, value)
}

// A SlotRange is a half-open range of slots, From included and To excluded, in the
// order of their bytes. The zero range is no condition: it holds any slot, and none.
// Every other range leaves out records without a slot.
type SlotRange struct {
	From string
	To   string // "": no end
}

// SlotsBeginning is the range of the slots that begin with a prefix; "" is the zero range.
func SlotsBeginning(prefix string) SlotRange {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff { // no byte comes after these
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return SlotRange{From: prefix, To: string(end)}
}

// IsZero reports whether the range is no condition.
func (s SlotRange) IsZero() bool { return s == SlotRange{} }

// Contains reports whether the range holds a slot.
func (s SlotRange) Contains(slot string) bool {
	return s.IsZero() || slot != "" && slot >= s.From && (s.To == "" || slot < s.To)
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

// A Where is a condition on a record's attributes: metadata, the keys of a
// structured content, the fields of an item. The zero Where always holds.
//
// Its source is a JSON object whose keys are all required to match: a scalar by
// equality, an object as a subset, an array element by element, and an object of
// operators ($eq, $ne, $gt, $gte, $lt, $lte) by comparison. Numbers compare as
// numbers; a string that is a number compares with a number as one; two strings
// compare byte by byte, which orders ISO dates; anything else is not ordered.
type Where struct {
	conditions []condition
}

type condition struct {
	key  string
	want any
}

var operators = []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"}

// MaxConditions bounds the values in a filter, at all levels together: each is
// compared with every record that is looked at.
const MaxConditions = 100

// maxFilterDepth is how deep they lie.
const maxFilterDepth = 16

// ParseWhere checks a filter object: at most [MaxConditions] values, in up to 16
// levels. Keys are data: they never become part of a query language.
func ParseWhere(filter map[string]any) (Where, error) {
	var w Where
	tooMany := Errorf(Invalid, "filter has more than %d conditions: leave some out", MaxConditions)
	if countValues(reflect.ValueOf(filter), 0) > MaxConditions {
		return w, tooMany
	}
	values := 0
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		if strings.HasPrefix(key, "$") {
			return Where{}, Errorf(Invalid, "filter: operator %s needs a field, as in {\"field\": {\"%s\": value}}", key, key)
		}
		want, err := plainJSON(filter[key])
		if err != nil {
			return Where{}, Errorf(Invalid, "filter is not JSON: %s", jsonform.Fault(err))
		}
		if err := checkOperators(want, 0); err != nil {
			return Where{}, err
		}
		if values += countValues(
			reflect.ValueOf(want),
			1,
		); values > MaxConditions { // a struct shows what it has only now
			return Where{}, tooMany
		}
		w.conditions = append(w.conditions, condition{key, want})
	}
	return w, nil
}

// countValues counts the scalars, lists and objects in a value, up to a few more than
// MaxConditions. What nests deeper than a filter may is for checkOperators to refuse.
func countValues(v reflect.Value, depth int) (n int) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if depth > maxFilterDepth+1 {
		return 1
	}
	if depth > 0 {
		n = 1
	}
	switch {
	case v.Kind() == reflect.Map:
		for members := v.MapRange(); n <= MaxConditions && members.Next(); {
			n += countValues(members.Value(), depth+1)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8: // bytes are one value
		for i := 0; n <= MaxConditions && i < v.Len(); i++ {
			n += countValues(v.Index(i), depth+1)
		}
	}
	return n
}

// plainJSON brings a value to the form json.Decoder with UseNumber gives.
func plainJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return DecodeJSON(data)
}

// decodeJSON reads one JSON value and nothing after it. It keeps numbers as
// written, so that large integers stay exact.
func DecodeJSON(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

// encodeJSON is json.Marshal without the escapes for HTML: <, > and & stay as
// they are.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func checkOperators(want any, depth int) error {
	if depth > maxFilterDepth {
		return Errorf(Invalid, "filter is nested deeper than %d levels: flatten it", maxFilterDepth)
	}
	switch w := want.(type) {
	case []any:
		for _, e := range w {
			if err := checkOperators(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		isOp := isOperators(w)
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if isOp && !slices.Contains(operators, key) {
				return Errorf(Invalid, "Unsupported operator: %s. Must be one of %s", key, strings.Join(operators, ", "))
			}
			if err := checkOperators(w[key], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func isOperators(w map[string]any) bool {
	for key := range w {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

// IsZero reports whether the condition always holds.
func (w Where) IsZero() bool { return len(w.conditions) == 0 }

// NeedsText reports whether the condition asks for the text of a record.
func (w Where) NeedsText(r *Record) bool {
	return r.Kind == KindFact && slices.ContainsFunc(w.conditions, func(c condition) bool { return c.key == "content" })
}

// Match reports whether a record's attributes meet the condition.
func (w Where) Match(r *Record) bool {
	if w.IsZero() {
		return true
	}
	doc := map[string]any{}
	if len(r.Attributes) > 0 {
		v, err := DecodeJSON(r.Attributes)
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			return false
		}
		doc = object
	}
	content, _ := doc["content"].(map[string]any)
	for _, c := range w.conditions {
		have, ok := doc[c.key]
		switch {
		case ok:
		case r.Kind == KindFact && c.key == "content":
			have = r.Text
		case r.Kind == KindFact:
			have = content[c.key]
		}
		if !matches(have, c.want) {
			return false
		}
	}
	return true
}

func matches(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		if isOperators(w) {
			for op, operand := range w {
				if !compareOp(have, op, operand) {
					return false
				}
			}
			return true
		}
		h, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for key, sub := range w {
			if !matches(h[key], sub) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return false
		}
		for i := range w {
			if !matches(h[i], w[i]) {
				return false
			}
		}
		return true
	}
	return equalJSON(have, want)
}

func compareOp(have any, op string, operand any) bool {
	switch op {
	case "$eq":
		return equalJSON(have, operand)
	case "$ne":
		return !equalJSON(have, operand)
	}
	order, ok := compareJSON(have, operand)
	if !ok {
		return false
	}
	switch op {
	case "$gt":
		return order > 0
	case "$gte":
		return order >= 0
	case "$lt":
		return order < 0
	}
	return order <= 0
}

// equalJSON compares two decoded JSON values; numbers by value.
func equalJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || x == y {
			return ok
		}
		order, ok := compareJSON(x, y)
		return ok && order == 0
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalJSON)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equalJSON)
	}
	switch b.(type) {
	case json.Number, []any, map[string]any:
		return false
	}
	return a == b
}

// compareJSON orders numbers, and strings; ok is false for anything else.
func compareJSON(a, b any) (order int, ok bool) {
	as, aIsString := a.(string)
	bs, bIsString := b.(string)
	if aIsString && bIsString {
		return strings.Compare(as, bs), true
	}
	x, xok := number(a)
	y, yok := number(b)
	if !xok || !yok {
		return 0, false
	}
	return x.Cmp(y), true
}

func number(v any) (*big.Float, bool) {
	var text string
	switch n := v.(type) {
	case json.Number:
		text = n.String()
	case string:
		text = n
	default:
		return nil, false
	}
	if len(text) > 64 { // longer than any number people write; keeps parsing cheap
		return nil, false
	}
	// 256 bits hold every integer of 64 digits exactly.
	f, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	return f, err == nil
}
