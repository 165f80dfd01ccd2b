package postgres

import (
	"encoding/binary"
	"encoding/json"

	"github.com/loci-memory/loci"
)

// encodeSpans writes spans as varints: start and length of each.
func encodeSpans(spans []loci.Span) []byte {
	b := make([]byte, 0, 4*len(spans))
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.Start))
		b = binary.AppendUvarint(b, uint64(s.End-s.Start))
	}
	return b
}

// decodeSpans is the inverse of encodeSpans; damaged bytes end the list.
func decodeSpans(b []byte) []loci.Span {
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

// splitVectors cuts a vector row into one code a passage.
func splitVectors(data []byte, dims int) [][]byte {
	size := 4 + dims
	var codes [][]byte
	for ; len(data) >= size; data = data[size:] {
		codes = append(codes, data[:size:size])
	}
	return codes
}

// recordColumns are what take reads, of record r.
const (
	recordColumns = headStart + "r.text" + headEnd
	headColumns   = headStart + "''::bytea" + headEnd // without texts, however large

	headStart = "r.id, r.kind, r.namespace, r.slot_head, r.slot_tail, r.version, r.live, r.created_at, r.updated_at, r.expires_at, r.uses, r.used_at, "
	headEnd   = `, r.passages, r.tags, r.attributes, r.body,
	r.scope, r.status, r.confidence, r.decay_rate, r.decay_from, r.ends_at, r.due_at, r.sequence, r.position, r.heading`

	columnsOfRecord = 27
)

// record reads a row of recordColumns, all but the name of its namespace.
func (r row) record() (out loci.Record, namespace int64, err error) {
	out = loci.Record{
		ID:      r.id(0),
		Kind:    loci.Kind(r.string(1)),
		Slot:    r.string(3) + r.string(4),
		Version: r.int(5),
		Live:    r.bool(6),
		CreatedAt: r.time(
			7,
		),
		UpdatedAt: r.time(8),
		ExpiresAt: r.time(9),
		Uses:      r.int(10),
		UsedAt:    r.time(11),
		Text:      r.string(12),
		Passages: decodeSpans(
			r[13],
		),
		Attributes: r.bytes(15),
		Body:       r.bytes(16),
		Scope:      r.string(17),
		Status:     r.string(18),
		Decay:      loci.Decay{Confidence: r.float(19), Rate: r.float(20), From: r.time(21)},
		EndsAt:     r.time(22),
		DueAt:      r.time(23),
		Sequence:   r.string(24),
		Position:   r.int(25),
		Heading:    r.string(26),
	}
	if len(r[14]) > 0 {
		err = json.Unmarshal(r[14], &out.Tags)
	}
	return out, r.int(2), err
}
