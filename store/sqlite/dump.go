package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
)

// dumpQueries list the rows of each table after a row's number; that number comes first.
var dumpQueries = map[dump.Table]string{
	// Of no bytes, which are the key of the namespace above all, SQLite has no part: NULL.
	dump.Namespaces: `SELECT s.n, s.n, s.mark, named, CASE WHEN named THEN s.key END,
		(SELECT json_group_array(kind) FROM (SELECT kind FROM shard WHERE namespace = s.n ORDER BY kind))
		FROM (SELECT *, substr(key, 1, 2) IS NOT x'0000' AS named FROM namespace) s WHERE s.n > ? ORDER BY s.n LIMIT +?`,
	dump.Spaces: "SELECT n, n, CAST(model AS BLOB), dims FROM space WHERE n > ? ORDER BY n LIMIT +?",
	dump.Records: `SELECT n, id, namespace, slot, version, created_at, updated_at, expires_at, uses, used_at, ends_at, due_at, position,
		passage_count, confidence, decay_rate, decay_from, live, CAST(kind AS BLOB), CAST(scope AS BLOB), CAST(status AS BLOB), sequence,
		heading, passages, CAST(tags AS BLOB), attributes, body, text FROM record WHERE n > ? ORDER BY n LIMIT +?`,
	dump.Revisions: `SELECT v.rowid, r.id, v.version, v.updated_at, v.replaced_at, v.text, CAST(v.tags AS BLOB), v.attributes
		FROM revision v JOIN record r ON r.n = v.record WHERE v.rowid > ? ORDER BY v.rowid LIMIT +?`,
	dump.Vectors: `SELECT v.rowid, r.id, v.space, v.data FROM vector v JOIN record r ON r.n = v.record WHERE v.rowid > ? ORDER BY v.rowid LIMIT +?`,
	dump.Links: `SELECT place, from_id, CAST(type AS BLOB), to_id, created_at, place FROM (SELECT *, row_number() OVER
		(ORDER BY created_at, n) - count(*) OVER () AS place FROM link) WHERE place > ? ORDER BY place LIMIT +?`,
	dump.Events: `SELECT seq, seq, id, namespace, occurred_at, CAST(type AS BLOB), CAST(kind AS BLOB), entity, CAST(actor AS BLOB),
		CAST(request_id AS BLOB), digest, sealed, nonce, payload, former FROM event WHERE seq > ? ORDER BY seq LIMIT +?`,
	dump.Replies: `SELECT rowid, key, at, expires_at, record, fingerprint, value FROM reply WHERE rowid > ? ORDER BY rowid LIMIT +?`,
}

// Holds reports whether there is anything of a tenant, without making its file.
func (s *Store) Holds(ctx context.Context, t loci.Tenant) (bool, error) {
	there, err := s.exists(t)
	if err != nil || !there {
		return false, err
	}
	return s.holdsData(ctx, t)
}

// DumpHead is what stands above the rows of a tenant.
func (s *Store) DumpHead(ctx context.Context, t loci.Tenant) (h dump.Head, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return h, err
	}
	defer s.release(f)
	var chain, nameKey []byte
	const query = `SELECT (SELECT value FROM meta WHERE key = 'seq'), coalesce((SELECT max(seq) FROM event), 0),
		(SELECT value FROM meta WHERE key = 'chain_start'), coalesce((SELECT max(n) FROM namespace), 0),
		coalesce((SELECT max(n) FROM space), 0), (SELECT value FROM meta WHERE key = 'active_space'),
		(SELECT value FROM meta WHERE key = 'chain_head'), (SELECT value FROM meta WHERE key = 'name_key')`
	err = f.readRow(ctx, query, nil,
		&h.Seq, &h.Events, &h.ChainStart, &h.Namespaces, &h.Spaces, &h.Active, &chain, &nameKey)
	copy(h.Chain[:], chain)
	copy(h.NameKey[:], nameKey)
	return h, f.translate("read the head of a copy", err)
}

// Dump returns rows of a table behind a cursor, up to a limit, and the cursor behind them.
// There are none behind the last.
func (s *Store) Dump(
	ctx context.Context, t loci.Tenant, table dump.Table, cursor string, limit int,
) (out []dump.Row, next string, err error) {
	parts, err := dump.Parts(cursor)
	if err != nil {
		return nil, "", err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, "", err
	}
	defer s.release(f)
	size, last, after := 0, int64(0), int64(math.MinInt64)
	if len(parts) > 0 {
		after, _ = parts[0].(int64)
	}
	err = f.readRows(ctx, dumpQueries[table], []any{after, limit}, func(rows *sql.Rows) (bool, error) {
		columns, err := rows.Columns()
		if err != nil {
			return false, err
		}
		row, dest := make(dump.Row, len(columns)), make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
		last = row[0].(int64)
		for i, column := range row[1:] {
			switch v := column.(type) {
			case string:
				row[i+1] = []byte(v)
			case bool:
				row[i+1] = int64(0)
				if v {
					row[i+1] = int64(1)
				}
			}
		}
		if table == dump.Namespaces {
			var kinds []string
			if err := json.Unmarshal(row[5].([]byte), &kinds); err != nil {
				return false, err
			}
			row[5] = dump.Kinds(kinds)
		}
		out = append(out, row[1:])
		size += row.Size()
		return size < dump.MostBytes, nil
	})
	return out, dump.Cursor(last), f.translate("read a copy", err)
}
