// Package form is what stores on disk keep of a record in the same bytes, and what is wrong
// with a record that was read back. A copy takes these bytes from one store to another as
// they are, so the stores must not differ in them.
package form

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// EncodeSpans writes spans as varints: start and length of each.
func EncodeSpans(spans []loci.Span) []byte {
	b := make([]byte, 0, 4*len(spans))
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.Start))
		b = binary.AppendUvarint(b, uint64(s.End-s.Start))
	}
	return b
}

// DecodeSpans is the inverse of [EncodeSpans]; damaged bytes end the list.
func DecodeSpans(b []byte) []loci.Span { return AppendSpans(nil, b) }

// AppendSpans is DecodeSpans for many lists in a row.
func AppendSpans(spans []loci.Span, b []byte) []loci.Span {
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

// SplitVectors cuts the vectors of a record in one space into one code a passage.
func SplitVectors(data []byte, dims int) [][]byte {
	size := 4 + dims
	var codes [][]byte
	for ; len(data) >= size; data = data[size:] {
		codes = append(codes, data[:size:size])
	}
	return codes
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

// HoldingFault is what a check says of what is kept as the holding of a tenant that really
// has another one.
func HoldingFault(kept, held loci.Holding) string {
	return fmt.Sprintf("the tenant holds %d records of %d bytes, and %d of %d are kept as what it holds; it is measured again",
		held.Records, held.Bytes, kept.Records, kept.Bytes)
}

// SpanFault is what a check says of what is kept of blocks of events and is wrong.
func SpanFault(n int64) string {
	return fmt.Sprintf("%d kept places of events in their blocks differ from the events; they are looked for again", n)
}

// FileListFault is what a check says of files that are not listed as they are.
func FileListFault(n int64) string {
	return fmt.Sprintf("%d places in the list of files differ from the files; it is made again", n)
}

// TallyFault is what a check says of kept counts that are wrong.
func TallyFault(n int) string {
	return fmt.Sprintf("%d kept counts differ from the records they count; they are counted again", n)
}
