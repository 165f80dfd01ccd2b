package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// maxFindings bounds what Check reports of one kind.
const maxFindings = 20

// Check implements [loci.Store]: SQLite's own check of the file, then what only
// we know about the rows.
func (s *Store) Check(ctx context.Context, t loci.Tenant) (findings []string, err error) {
	if exists, err := s.exists(t); err != nil || !exists {
		return nil, err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	for _, query := range []string{
		"SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
		"SELECT 'row ' || rowid || ' of table ' || \"table\" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check",
		// Every change leaves an event, but one event may speak of many records.
		"SELECT 'there are records and no audit event' WHERE EXISTS (SELECT 1 FROM record) AND NOT EXISTS (SELECT 1 FROM event)",
		"SELECT 'record ' || lower(hex(id)) || ' is newer than the change counter' FROM record WHERE seq > (SELECT value FROM meta WHERE key = 'seq')",
		"SELECT 'record ' || lower(hex(id)) || ' is among the erased' FROM record JOIN erased USING (id) WHERE erased.seq > record.seq",
		"SELECT 'vectors of record ' || lower(hex(r.id)) || ' have the wrong size' FROM vector v JOIN record r ON r.n = v.record JOIN space p ON p.n = v.space WHERE length(v.data) <> r.passage_count * (p.dims + 4)",
		"SELECT 'the active space is unknown' FROM meta WHERE key = 'active_space' AND value <> 0 AND value NOT IN (SELECT n FROM space)",
	} {
		if findings, err = f.collect(ctx, findings, query); err != nil {
			return findings, f.translate("check", err)
		}
	}
	if findings, err = f.checkTallies(ctx, findings); err != nil {
		return findings, f.translate("check", err)
	}
	findings, err = f.checkRecords(ctx, findings)
	return findings, f.translate("check", err)
}

// collect adds the sentences a query returns.
func (f *file) collect(ctx context.Context, findings []string, query string) ([]string, error) {
	n := 0
	err := f.readRows(ctx, query+" LIMIT 20", nil, func(rows *sql.Rows) (bool, error) {
		var sentence string
		err := rows.Scan(&sentence)
		findings = append(findings, sentence)
		n++
		return n < maxFindings, err
	})
	return findings, err
}

// checkRecords reads every record and looks at what its columns say.
func (f *file) checkRecords(ctx context.Context, findings []string) ([]string, error) {
	all := loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}
	found := 0
	err := f.records(ctx, &all, nil, loci.NewestFirst, func(r *loci.Record) bool {
		report := func(format string, args ...any) {
			found++
			findings = append(findings, "record "+r.ID.String()+" "+fmt.Sprintf(format, args...))
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
		return found < maxFindings
	})
	return findings, err
}
