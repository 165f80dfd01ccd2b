package batch

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/loci-memory/loci"
)

// EncodeKinds writes kinds as a length and a name each.
func EncodeKinds(kinds []loci.Kind) []byte {
	out := []byte{}
	for _, k := range kinds {
		out = append(binary.AppendUvarint(out, uint64(len(k))), k...)
	}
	return out
}

// DecodeKinds is the inverse of EncodeKinds; damaged bytes end the list.
func DecodeKinds(b []byte) (kinds []loci.Kind) {
	for len(b) > 0 {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return kinds
		}
		kinds = append(kinds, loci.Kind(b[n:n+int(length)]))
		b = b[n+int(length):]
	}
	return kinds
}

// EncodeTags writes tags as JSON; nil for none.
func EncodeTags(tags []string) any {
	if len(tags) == 0 {
		return nil
	}
	data, err := json.Marshal(tags)
	if err != nil {
		panic(err) // strings always marshal
	}
	return data
}

// FirstMilli is the first whole millisecond at a time or after: times are kept in these.
func FirstMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// After is the first of the texts that sort behind everything with a beginning; "": none.
func After(beginning string) string {
	end := []byte(beginning)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return string(end[:i+1])
		}
	}
	return ""
}
