package jsonform

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// Fault says what is wrong with JSON that could not be read or written, in words for
// whoever wrote it: it names places and kinds of JSON, never types of Go.
func Fault(err error) string {
	var (
		kind   *json.UnmarshalTypeError
		syntax *json.SyntaxError
		inner  *json.MarshalerError
		moment *time.ParseError
		said   interface{ Advice() string } // an error that was made for callers
		typ    *json.UnsupportedTypeError
		value  *json.UnsupportedValueError
	)
	switch {
	case errors.As(err, &inner):
		return Fault(inner.Err)
	case errors.As(err, &kind):
		return mismatch(kind)
	case errors.As(err, &syntax) && strings.HasSuffix(syntax.Error(), "exceeded max depth"):
		return fmt.Sprintf("it is nested deeper than 10,000 levels, at byte %d", syntax.Offset)
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s, at byte %d", misplaced(syntax), syntax.Offset)
	case errors.As(err, &moment):
		return fmt.Sprintf("%.64q is no time: write it as 2026-01-02T03:04:05.678Z", strings.Trim(moment.Value, `"`))
	case errors.As(err, &typ), errors.As(err, &value):
		return "it holds something that JSON has no form for, such as a function or an infinite number"
	case errors.As(err, &said):
		return err.Error()
	case errors.Is(err, io.EOF):
		return "there is nothing"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return "a value has a form that is not known here"
}

// misplaced says what is wrong at a byte of a text: package json says it in words about its own work.
func misplaced(e *json.SyntaxError) string {
	said, _ := strings.CutPrefix(e.Error(), "invalid character ")
	if strings.HasPrefix(said, "'") {
		if end := strings.Index(said[2:], "' "); end >= 0 {
			return "the character " + said[:end+3] + " is not expected"
		}
	}
	if strings.HasPrefix(said, "unexpected end of JSON") {
		return "it ends too early"
	}
	return "it is not JSON"
}

// mismatch says what a place takes and what came.
func mismatch(e *json.UnmarshalTypeError) string {
	place := e.Field
	if place == "" {
		place = "the value"
	}
	return fmt.Sprintf("%s must be %s, got %s", place, expected(e.Type), came(e.Value))
}

var textType = reflect.TypeFor[encoding.TextUnmarshaler]()

// expected is the kind of JSON that a type of Go is read from.
func expected(t reflect.Type) string {
	if it, ok := reflect.Zero(t).Interface().(interface{ Form() string }); ok {
		return it.Form()
	}
	if reflect.PointerTo(t).Implements(textType) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number that a computer can hold"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a string"
}

// came names the kind of JSON that encoding/json met.
func came(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "number":
		return "a number"
	}
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return fmt.Sprintf("the number %.40s", number)
	}
	return "something else"
}

// A wordedError is an error of JSON that speaks plain words.
type wordedError struct{ error }

func (e wordedError) Error() string { return Fault(e.error) }
func (e wordedError) Unwrap() error { return e.error }

// InWords is an error of JSON that speaks plain words; nil of nil.
func InWords(err error) error {
	if err == nil {
		return nil
	}
	return wordedError{err}
}
