package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode reads one JSON value and nothing after it. It keeps numbers as written, so
// that large integers stay exact.
func Decode(data []byte) (v any, err error) {
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

// Plain brings a value to the form that Decode gives.
func Plain(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}
