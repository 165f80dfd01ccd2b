package sqlite

import (
	"bytes"
	"context"
	"database/sql"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// Events implements [loci.EventLog].
func (s *Store) Events(
	ctx context.Context, t loci.Tenant, filter loci.EventFilter, p loci.Page,
) (out []loci.Event, next string, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, "", err
	}
	defer s.release(f)
	limit, before, err := page.Events(p)
	if err != nil {
		return nil, "", err
	}
	var names loci.NameKey
	if err := f.readRow(ctx, "SELECT value FROM meta WHERE key = 'name_key'", nil, (*[]byte)(&names)); err != nil {
		return nil, "", f.translate("list events", err)
	}
	var c conditions
	c.eventsWithin(filter.Within, names)
	if before > 0 {
		c.add("e.seq < ?", before)
	}
	if entity, one := filter.About(); one {
		c.add("e.entity = ?", entity[:])
	}
	if len(filter.Types) > 0 {
		among[string](&c, "e.type", namesOf(filter.Types))
	}
	if !filter.Since.IsZero() {
		c.add("e.occurred_at >= ?", firstMilli(filter.Since))
	}
	if !filter.Until.IsZero() {
		c.add("e.occurred_at < ?", firstMilli(filter.Until))
	}
	query := selectEvents + " WHERE " + c.String() + " ORDER BY e.seq DESC"
	err = f.readRows(ctx, query, c.args, func(rows *sql.Rows) (bool, error) {
		e, err := scanEvent(rows)
		if e.Unnamed {
			e.Namespace = names.Shown(e.Mark, filter.Within)
		}
		if err != nil || !filter.Selects(&e) {
			return true, err
		}
		if len(out) == limit {
			next = page.EventCursor(out[limit-1].Seq)
			return false, nil
		}
		out = append(out, e)
		return true, nil
	})
	if err != nil {
		return nil, "", f.translate("list events", err)
	}
	return out, next, nil
}

// selectEvents is what scanEvent reads.
const selectEvents = `SELECT e.seq, e.id, e.type, e.kind, e.entity, s.key, s.mark, e.occurred_at, e.actor, e.request_id, e.payload, e.nonce,
	e.digest, e.former, e.sealed FROM event e JOIN namespace s ON s.n = e.namespace`

func scanEvent(rows *sql.Rows) (e loci.Event, err error) {
	var id, entity, key, mark, payload, nonce, digest, former, sealed sql.RawBytes
	var typ, kind string
	var at int64
	err = rows.Scan(
		&e.Seq, &id, &typ, &kind, &entity, &key, &mark, &at, &e.Actor, &e.RequestID, &payload, &nonce,
		&digest, &former, &sealed,
	)
	copy(e.ID[:], id)
	copy(e.Entity[:], entity)
	copy(e.Digest[:], digest)
	copy(e.Former[:], former)
	copy(e.Hash[:], sealed)
	e.Nonce = append([]byte(nil), nonce...)
	e.Type, e.Kind, e.At, e.Payload = loci.EventType(typ), loci.Kind(kind), milli(at), copyJSON(payload)
	if e.Mark, e.Unnamed = loci.Mark(mark), bytes.HasPrefix(key, []byte(unnamed)); !e.Unnamed {
		e.Namespace = loci.NamespaceFromKey(string(key))
	}
	return e, err
}
