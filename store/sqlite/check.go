package sqlite

import (
	"context"
	"database/sql"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
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
	if findings, err = f.checkFiles(ctx, findings); err != nil {
		return findings, f.translate("check", err)
	}
	if findings, err = f.checkSpans(ctx, findings); err != nil {
		return findings, f.translate("check", err)
	}
	if findings, err = f.checkHeld(ctx, findings); err != nil {
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
		wrong := form.Faults(r)
		found += len(wrong)
		findings = append(findings, wrong...)
		return found < maxFindings
	})
	return findings, err
}
