package batch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

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

// EncodeSpans writes spans as varints: start and length of each.
func EncodeSpans(spans []loci.Span) []byte {
	b := make([]byte, 0, 4*len(spans))
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.Start))
		b = binary.AppendUvarint(b, uint64(s.End-s.Start))
	}
	return b
}

// DecodeSpans is the inverse of EncodeSpans; damaged bytes end the list.
func DecodeSpans(b []byte) []loci.Span {
	var spans []loci.Span
	for len(b) > 0 {
		start, n := binary.Uvarint(b)
		if n <= 0 {
			return spans
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return spans
		}
		spans = append(spans, loci.Span{Start: int(start), End: int(start + length)})
		b = b[n+m:]
	}
	return spans
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

// Faults says what is wrong with a record, in sentences.
func Faults(r *loci.Record) (found []string) {
	report := func(format string, args ...any) {
		found = append(found, "record "+r.ID.String()+" "+fmt.Sprintf(format, args...))
	}
	if len(r.Passages) > 0 && !utf8.ValidString(r.Text) { // what is not searched may be bytes
		report("has searched text that is not UTF-8")
	}
	if !utf8.ValidString(r.Heading) {
		report("has a heading that is not UTF-8")
	}
	for i, p := range r.Passages {
		if p.Start < 0 || p.End > len(r.Text) || p.Start >= p.End {
			report("has passage %d outside of its text", i)
		}
	}
	if len(r.Attributes) > 0 && !json.Valid(r.Attributes) || len(r.Body) > 0 && !json.Valid(r.Body) {
		report("has fields that are not JSON")
	}
	if r.Version < 1 || r.Namespace.CheckPlace() != nil {
		report("has an impossible version or namespace")
	}
	return found
}
