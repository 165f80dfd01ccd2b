package postgres

import (
	"encoding/json"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

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
		ID:         r.id(0),
		Kind:       loci.Kind(r.string(1)),
		Slot:       r.string(3) + r.string(4),
		Version:    r.int(5),
		Live:       r.bool(6),
		CreatedAt:  r.time(7),
		UpdatedAt:  r.time(8),
		ExpiresAt:  r.time(9),
		Uses:       r.int(10),
		UsedAt:     r.time(11),
		Text:       r.string(12),
		Passages:   form.DecodeSpans(r[13]),
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
