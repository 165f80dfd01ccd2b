package sqlite

import (
	"database/sql"
	"encoding/json"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// recordColumns are what scanRecord reads, of record r and namespace s.
const (
	recordColumns = headStart + "r.text" + headEnd
	headColumns   = headStart + "''" + headEnd // without texts, however large

	headStart = "r.id, r.kind, s.key, r.slot, r.version, r.live, r.created_at, r.updated_at, r.expires_at, r.uses, r.used_at, "
	headEnd   = `, r.passages, r.tags, r.attributes, r.body,
	r.scope, r.status, r.confidence, r.decay_rate, r.decay_from, r.ends_at, r.due_at, r.sequence, r.position, r.heading`
)

// scanRecord reads a row of recordColumns; extra takes the columns after them.
func scanRecord(rows *sql.Rows, extra ...any) (r loci.Record, err error) {
	var id, key, slot, text, passages, tags, attributes, body, scope, status, sequence, heading sql.RawBytes
	var confidence, rate sql.NullFloat64
	var from, ends, due, position sql.NullInt64
	var created, updated int64
	var expires, used sql.NullInt64
	var kind string
	dest := []any{
		&id, &kind, &key, &slot, &r.Version, &r.Live, &created, &updated, &expires,
		&r.Uses, &used, &text, &passages, &tags, &attributes, &body, &scope, &status,
		&confidence, &rate, &from, &ends, &due, &sequence, &position, &heading,
	}
	if err := rows.Scan(append(dest, extra...)...); err != nil {
		return r, err
	}
	copy(r.ID[:], id)
	r.Kind, r.Namespace, r.Slot = loci.Kind(kind), loci.NamespaceFromKey(string(key)), string(slot)
	r.CreatedAt, r.UpdatedAt = milli(created), milli(updated)
	r.ExpiresAt, r.UsedAt = nullMilli(expires), nullMilli(used)
	r.Text, r.Heading, r.Passages = string(text), string(heading), form.DecodeSpans(passages)
	r.Attributes, r.Body = copyJSON(attributes), copyJSON(body)
	r.Scope, r.Status, r.EndsAt, r.DueAt = string(scope), string(status), nullMilli(ends), nullMilli(due)
	r.Sequence, r.Position = string(sequence), position.Int64
	r.Decay = loci.Decay{Confidence: confidence.Float64, Rate: rate.Float64, From: nullMilli(from)}
	if len(tags) > 0 {
		err = json.Unmarshal(tags, &r.Tags)
	}
	return r, err
}

func copyJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return append(json.RawMessage(nil), b...)
}

func milli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func nullMilli(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return milli(ms.Int64)
}
