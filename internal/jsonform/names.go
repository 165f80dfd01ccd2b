package jsonform

import "encoding/json"

// SameNames reports whether two JSON objects have the same names.
func SameNames(a, b []byte) bool {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || len(x) != len(y) {
		return false
	}
	for name := range x {
		if _, ok := y[name]; !ok {
			return false
		}
	}
	return true
}
