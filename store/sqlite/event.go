package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"math"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
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
	log := page.Log{
		Read: func(ranges []page.Range, limit int) (found []loci.Event, err error) {
			for _, r := range ranges {
				if found, err = f.eventsIn(ctx, found, &filter, names, r, limit); err != nil || len(found) == limit {
					break
				}
			}
			return found, err
		},
		Covered: func() (whole int64, err error) {
			err = f.readRow(ctx, "SELECT coalesce(max(block), 0) FROM event_span WHERE type = ''", nil, &whole)
			return whole * page.BlockSize, err
		},
		Spans: func(types []loci.EventType, before int64, limit int) ([]page.Span, error) {
			return f.spans(ctx, &filter, types, before, limit)
		},
	}
	if out, next, err = page.ListEvents(&filter, before, limit, &log); err != nil {
		return nil, "", f.translate("list events", err)
	}
	return out, next, nil
}

// eventsIn adds events of a range that a filter may select, newest first, until there are limit.
func (f *file) eventsIn(
	ctx context.Context, out []loci.Event, filter *loci.EventFilter, names loci.NameKey, r page.Range, limit int,
) ([]loci.Event, error) {
	var c conditions
	c.eventsWithin(filter.Within, names)
	if r.Before < math.MaxInt64 {
		c.add("e.seq < ?", r.Before)
	}
	if r.Above > 0 {
		c.add("e.seq > ?", r.Above)
	}
	if entity, one := filter.About(); one {
		c.add("e.entity = ?", entity[:])
	}
	if len(filter.Types) > 0 {
		among[string](&c, "e.type", namesOf(filter.Types))
	}
	c.eventTimes("e.occurred_at", "e.occurred_at", filter)
	query := selectEvents + " WHERE " + c.String() + " ORDER BY e.seq DESC"
	err := f.readRows(ctx, query, c.args, func(rows *sql.Rows) (bool, error) {
		e, err := scanEvent(rows)
		if e.Unnamed {
			e.Namespace = names.Shown(e.Mark, filter.Within)
		}
		out = append(out, e)
		return err == nil && len(out) < limit, err
	})
	return out, err
}

// eventTimes restricts events to times, by the first and the last of them.
func (c *conditions) eventTimes(first, last string, filter *loci.EventFilter) {
	if !filter.Since.IsZero() {
		c.add(last+" >= ?", firstMilli(filter.Since))
	}
	if !filter.Until.IsZero() {
		c.add(first+" < ?", firstMilli(filter.Until))
	}
}

// spans looks for blocks before one in which events of some types are, by [page.Log].
func (f *file) spans(
	ctx context.Context, filter *loci.EventFilter, types []loci.EventType, before int64, limit int,
) (found []page.Span, err error) {
	var all []any
	var arms []string
	for _, typ := range types {
		var c conditions
		c.add("type = ? AND block < ?", string(typ), before)
		c.eventTimes("first_at", "last_at", filter)
		arms = append(arms, "SELECT * FROM (SELECT block, first_seq, last_seq FROM event_span WHERE "+c.String()+
			" ORDER BY block DESC LIMIT "+strconv.Itoa(limit)+")")
		all = append(all, c.args...)
	}
	query := strings.Join(arms, " UNION ALL ") + " ORDER BY block DESC LIMIT " + strconv.Itoa(limit)
	err = f.readRows(ctx, query, all, func(rows *sql.Rows) (bool, error) {
		var s page.Span
		err := rows.Scan(&s.Block, &s.First, &s.Last)
		found = append(found, s)
		return true, err
	})
	return found, err
}

// What whole blocks of events are, and what is kept of them.
const (
	spansOf = `SELECT '', (seq + 255) / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
		WHERE seq <= (SELECT max(seq) FROM event) / 256 * 256 GROUP BY 2
		UNION ALL SELECT type, (seq + 255) / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
		WHERE seq <= (SELECT max(seq) FROM event) / 256 * 256 AND type <> '' GROUP BY 2, 1`
	wrongSpans = "SELECT (SELECT count(*) FROM (SELECT * FROM (" + spansOf + ") EXCEPT SELECT * FROM event_span))" +
		" + (SELECT count(*) FROM (SELECT * FROM event_span EXCEPT SELECT * FROM (" + spansOf + ")))"
)

// checkSpans describes the blocks of the log again where what is kept of them is wrong.
func (f *file) checkSpans(ctx context.Context, findings []string) ([]string, error) {
	var wrong int64
	if err := f.readRow(ctx, wrongSpans, nil, &wrong); err != nil || wrong == 0 {
		return findings, err
	}
	return append(findings, form.SpanFault(wrong)), f.write(ctx, func(t *tx) error {
		err := t.exec("DELETE FROM event_span")
		if err == nil {
			err = t.exec("INSERT INTO event_span " + spansOf)
		}
		return err
	})
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
