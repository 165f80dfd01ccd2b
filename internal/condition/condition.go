// Package condition compares JSON values with a filter object.
package condition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/jsonform"
)

// A Set is a checked filter object: all of its conditions must hold.
type Set []Condition

// A Condition says what the value of a key must be.
type Condition struct {
	Key  string
	want any
}

var operators = []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"}

// Max bounds the values in a filter, at all levels together: each is compared with
// every record that is looked at.
const Max = 100

// maxDepth bounds how deep those values may nest.
const maxDepth = 16

// Parse checks a filter object: at most [Max] values, in up to 16 levels. Keys are data:
// they never become part of a query language.
func Parse(filter map[string]any) (set Set, err error) {
	tooMany := fmt.Errorf("filter has more than %d conditions: leave some out", Max)
	if countValues(reflect.ValueOf(filter), 0) > Max {
		return nil, tooMany
	}
	values := 0
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		if strings.HasPrefix(key, "$") {
			return nil, fmt.Errorf("filter: operator %s needs a field, as in {\"field\": {\"%s\": value}}", key, key)
		}
		want, err := jsonform.Plain(filter[key])
		if err != nil {
			return nil, fmt.Errorf("filter is not JSON: %s", jsonform.Fault(err))
		}
		if err := checkOperators(want, 0); err != nil {
			return nil, err
		}
		// Only now are the values inside a struct visible.
		if values += countValues(reflect.ValueOf(want), 1); values > Max {
			return nil, tooMany
		}
		set = append(set, Condition{key, want})
	}
	return set, nil
}

// countValues counts the scalars, lists and objects in a value, up to a few more than
// Max. checkOperators refuses what nests too deep.
func countValues(v reflect.Value, depth int) (n int) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if depth > maxDepth+1 {
		return 1
	}
	if depth > 0 {
		n = 1
	}
	switch {
	case v.Kind() == reflect.Map:
		for members := v.MapRange(); n <= Max && members.Next(); {
			n += countValues(members.Value(), depth+1)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8: // bytes are one value
		for i := 0; n <= Max && i < v.Len(); i++ {
			n += countValues(v.Index(i), depth+1)
		}
	}
	return n
}

func checkOperators(want any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("filter is nested deeper than %d levels: flatten it", maxDepth)
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
				//nolint:staticcheck // a capital, as in the reference
				return fmt.Errorf("Unsupported operator: %s. Must be one of %s", key, strings.Join(operators, ", "))
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

// Holds reports whether the value of the key meets the condition. A missing value is nil.
func (c Condition) Holds(have any) bool { return matches(have, c.want) }

// A Trace is what the JSON of a record's tags and attributes must hold for the record to have the tags and
// meet the conditions, so that a store need not read the others: each text in it, and each whole number in
// digits. JSON with a backslash may write a text in another way, and one with an exponent a number.
type Trace struct {
	Tags, Texts, Numbers []string
	Ranges               []Range
	Member               string // of the body, which is written as [encoding/json] does
}

// A Range is what the value of a key must be at least, or at most, if the key is there once: a number
// is compared with a float64, to which both were rounded, and a text with a string, byte by byte. A
// text may stand for a number, so a number rules out no text, and a text no number.
type Range struct {
	Key   string
	Least bool // Value is the least; else the greatest
	Value any  // a float64 or a string
}

// slack is how far, in parts of it, two conversions of a number in digits may be apart.
const slack = 1e-12

// ranges are those of a condition. A key with a character that a path in JSON could mean otherwise has none.
func (c Condition) ranges() (out []Range) {
	all, _ := c.want.(map[string]any) // nil where it is no object
	if strings.Trim(c.Key, plainKey) != "" {
		return nil
	}
	for _, operator := range []string{"$gt", "$gte", "$lt", "$lte"} {
		least := operator[1] == 'g'
		switch w := all[operator].(type) {
		case string:
			out = append(out, Range{c.Key, least, w})
		case json.Number:
			f, err := w.Float64()
			if err != nil || len(w) > mostDigits {
				continue
			}
			wider := math.Abs(f) * slack
			if least {
				wider = -wider
			}
			out = append(out, Range{c.Key, least, f + wider})
		}
	}
	return out
}

// plainKey are characters that mean nothing else in a path, in a pattern or in JSON.
const plainKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// Trace returns that of some tags and of all conditions but those on the keys that are left out: the
// names of what must be there, its value where that is to be a text or a whole number, and its bounds.
func (s Set) Trace(tags []string, without ...string) (t Trace) {
	for _, tag := range tags {
		t.Tags = append(t.Tags, `"`+tag+`"`)
	}
	for _, c := range s {
		if slices.Contains(without, c.Key) || c.Holds(nil) {
			continue
		}
		t.Texts = append(t.Texts, `"`+c.Key+`"`)
		t.Ranges = append(t.Ranges, c.ranges()...)
		want := c.want
		if operators, ok := want.(map[string]any); ok {
			want = operators["$eq"] // nil where there is none
		}
		switch w := want.(type) {
		case string:
			t.Texts = append(t.Texts, `"`+w+`"`)
		case json.Number:
			if whole(w.String()) {
				t.Numbers = append(t.Numbers, w.String())
			}
		}
	}
	return t
}

// Ask reports whether a condition is on a member of a name; all may be on members of the content.
func (s Set) Ask(name string) bool {
	return name == "content" || slices.ContainsFunc(s, func(c Condition) bool { return c.Key == name })
}

// whole reports whether a number is written as a whole one; −0 may be written without its sign.
func whole(number string) bool {
	return strings.Trim(number, "-0123456789") == "" && number != "-0"
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
	if an, isNumber := a.(json.Number); isNumber { // most are small and whole: nothing is made to compare these
		if bn, isNumber := b.(json.Number); isNumber {
			x, xerr := strconv.ParseInt(an.String(), 10, 64)
			y, yerr := strconv.ParseInt(bn.String(), 10, 64)
			if xerr == nil && yerr == nil {
				return cmp.Compare(x, y), true
			}
		}
	}
	x, xok := number(a)
	y, yok := number(b)
	if !xok || !yok {
		return 0, false
	}
	return x.Cmp(y), true
}

// mostDigits bounds the digits of numbers that are compared.
const mostDigits = 64

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
	if len(text) > mostDigits { // longer than any number people write; keeps parsing cheap
		return nil, false
	}
	// 256 bits hold every integer of 64 digits exactly.
	f, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	return f, err == nil
}
