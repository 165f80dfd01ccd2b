// Package jsonform writes JSON in the one form that every reply and export has, and
// says in plain words what is wrong with JSON that came.
package jsonform

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// layout has three digits of a second, always: so text order is time order.
const layout = "2006-01-02T15:04:05.000Z"

// Time writes a time in UTC with milliseconds.
func Time(t time.Time) string {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return t.Format(layout)
	}
	return string(appendTime(nil, t))
}

// appendTime adds a time in UTC, in a year that has four digits.
func appendTime(to []byte, t time.Time) []byte {
	// To read the layout each time costs several times what this does.
	var text [len(layout)]byte
	copy(text[:], layout)
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	for _, n := range [...]struct{ at, digits, value int }{
		{0, 4, year}, {5, 2, int(month)}, {8, 2, day}, {11, 2, hour}, {14, 2, minute}, {17, 2, second},
		{20, 3, t.Nanosecond() / 1_000_000},
	} {
		for i, rest := n.digits-1, n.value; i >= 0; i, rest = i-1, rest/10 {
			text[n.at+i] = byte('0' + rest%10)
		}
	}
	return append(to, text[:]...)
}

// Marshal is [json.Marshal] with two differences: <, > and & stay as they are, and
// each [time.Time] has the form of [Time]; encoding/json drops zeros at the end of a
// second, which puts 12:00:00.1Z after 12:00:00.12Z. Types that write their own JSON
// keep it.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(256) // as most are
	if err := write(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	numberType    = reflect.TypeFor[json.Number]() // a string that is written as a number
	marshalerType = reflect.TypeFor[json.Marshaler]()
	writerType    = reflect.TypeFor[encoding.TextMarshaler]()
	ownTypes      = sync.Map{} // of reflect.Type: sort
)

// A sort of type says who writes its values.
type sort int

const (
	others  sort = iota // encoding/json
	timed               // this package: it may hold times
	scalars             // this package, where encoding/json would write the same for more
)

// plain writes a value that holds no time.
func plain(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line end
	return nil
}

// Replaced reports whether a text in written JSON had bytes that are no UTF-8: there, and nowhere but in raw JSON,
// the escape \ufffd is written.
func Replaced(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 || bytes.HasPrefix(data[i+1:], []byte("ufffd")) {
			return i >= 0
		}
		data = data[i+2:] // the backslash and what it stands before
	}
}

func write(b *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		b.WriteString("null")
		return nil
	}
	if v.Type() == timeType {
		return writeTime(b, v)
	}
	switch sortOf(v.Type()) {
	case others:
		return plain(b, v.Interface())
	case scalars:
		return writeScalar(b, v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		return write(b, v.Elem())
	case reflect.Struct:
		return writeStruct(b, v)
	case reflect.Slice, reflect.Array:
		return writeList(b, v)
	case reflect.Map:
		return writeMap(b, v)
	}
	return plain(b, v.Interface())
}

// writeTime refuses the years that a reader could not read, as encoding/json does.
func writeTime(b *bytes.Buffer, v reflect.Value) error {
	t, _ := v.Interface().(time.Time)
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return fmt.Errorf("a time is in the year %d; it must be 0 to 9999", y)
	}
	b.WriteByte('"')
	b.Write(appendTime(b.AvailableBuffer(), t))
	b.WriteByte('"')
	return nil
}

// writeScalar writes a text, a number or a truth value.
func writeScalar(b *bytes.Buffer, v reflect.Value) error {
	room := b.AvailableBuffer()
	switch v.Kind() {
	case reflect.String:
		return writeText(b, v.String())
	case reflect.Bool:
		b.Write(strconv.AppendBool(room, v.Bool()))
		return nil
	case reflect.Float64:
		// Very large and very small ones have exponents, and what is not finite is refused.
		if f := v.Float(); f == 0 || math.Abs(f) >= 1e-6 && math.Abs(f) < 1e21 {
			b.Write(strconv.AppendFloat(room, f, 'f', -1, 64))
			return nil
		}
		return plain(b, v.Float())
	}
	b.Write(strconv.AppendInt(room, v.Int(), 10))
	return nil
}

// writeText writes a text; encoding/json writes one that may need an escape.
func writeText(b *bytes.Buffer, text string) error {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return plain(b, text)
		}
	}
	b.WriteByte('"')
	b.WriteString(text)
	b.WriteByte('"')
	return nil
}

func writeList(b *bytes.Buffer, v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		b.WriteString("null")
		return nil
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// writeMap lets encoding/json sort and write names that are no plain texts.
func writeMap(b *bytes.Buffer, v reflect.Value) error {
	if v.IsNil() {
		b.WriteString("null")
		return nil
	}
	if m, ok := v.Interface().(map[string]any); ok {
		return writeObject(b, m)
	}
	values := reflect.MakeMapWithSize(reflect.MapOf(v.Type().Key(), reflect.TypeFor[json.RawMessage]()), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		var value bytes.Buffer
		if err := write(&value, entries.Value()); err != nil {
			return err
		}
		values.SetMapIndex(entries.Key(), reflect.ValueOf(json.RawMessage(value.Bytes())))
	}
	return plain(b, values.Interface())
}

func writeObject(b *bytes.Buffer, m map[string]any) error {
	b.WriteByte('{')
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeText(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, reflect.ValueOf(m[name])); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	empty := true
	for _, f := range fieldsOf(v.Type()) {
		value, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitZero && isZero(value) ||
			f.omitEmpty && isEmpty(value) { // err: inside an embedded nil pointer
			continue
		}
		if !empty {
			b.WriteByte(',')
		}
		empty = false
		b.Write(f.name)
		if err := write(b, value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func isZero(v reflect.Value) bool {
	if v.IsZero() {
		return true
	}
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	return false
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	}
	return v.IsZero()
}

// A field is a member of an object.
type field struct {
	name                []byte // as JSON, with the colon
	index               []int
	omitEmpty, omitZero bool
}

var structs sync.Map // of reflect.Type: []field

// fieldsOf are the members that encoding/json writes for a struct: if two have the same
// name, the less deeply embedded one.
func fieldsOf(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		fields, _ := known.([]field)
		return fields
	}
	var fields []field
	at := map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && name == "" && inner.Kind() == reflect.Struct // its own members are listed, too
		if name == "-" && options == "" || embedded || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		quoted, _ := json.Marshal(name) // a text: cannot fail
		made := field{name: append(quoted, ':'), index: f.Index}
		for option := range strings.SplitSeq(options, ",") {
			made.omitEmpty = made.omitEmpty || option == "omitempty"
			made.omitZero = made.omitZero || option == "omitzero"
		}
		if i, twice := at[name]; !twice {
			at[name] = len(fields)
			fields = append(fields, made)
		} else if len(made.index) < len(fields[i].index) {
			fields[i] = made
		}
	}
	structs.Store(t, fields)
	return fields
}

// sortOf says who writes the values of a type; what stands in an interface is known by its
// value alone.
func sortOf(t reflect.Type) sort {
	if known, ok := ownTypes.Load(t); ok {
		kept, _ := known.(sort)
		return kept
	}
	found := others
	switch {
	case findTimes(t, map[reflect.Type]bool{}):
		found = timed
	case isScalar(t):
		found = scalars
	}
	ownTypes.Store(t, found)
	return found
}

// isScalar reports whether values of a type are texts, numbers or truth values that do not
// write themselves.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Int, reflect.Int64:
		return t != numberType && !writesItself(t)
	}
	return false
}

func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) || p.Implements(writerType)
}

func findTimes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == timeType {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return findTimes(t.Elem(), seen)
	}
	if writesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return findTimes(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if (f.IsExported() || f.Anonymous) && findTimes(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// Lines writes values to W as lines of JSON.
type Lines struct{ W io.Writer }

// Encode writes a line.
func (l Lines) Encode(v any) error {
	data, err := Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.W.Write(append(data, '\n'))
	return err
}
