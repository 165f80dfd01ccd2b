package sqlite

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/form"
)

func TestOldSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	emptyFile(t, path)
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := checkVersion(t.Context(), conn, minimumSQLite); err != nil {
		t.Errorf("this build's own SQLite: %v", err)
	}
	wantCode(t, checkVersion(t.Context(), conn, "99.0.0"), loci.Unsupported, "99.0.0 or newer")
}

var update = flag.Bool("update", false, "write new.sql again")

// A new file is what all migrations make of an empty one.
func TestNewFileIsAsMigrated(t *testing.T) {
	t.Parallel()
	conn := func(fill func(*sql.Conn) error) *sql.Conn {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.db")
		emptyFile(t, path)
		db, err := openDB(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := fill(c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	migrated := contents(t, conn(func(c *sql.Conn) error {
		for step := 1; step <= len(migrations); step++ {
			if err := migrateStep(t.Context(), c, step); err != nil {
				return err
			}
			if step == 1 { // as the first released build did
				if _, err := c.ExecContext(t.Context(), "INSERT INTO meta (key, value) VALUES ('tenant', 'ada'), ('seq', 0), ('erased_floor', 0), ('scrub', 0)"); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	if *update {
		text := "-- What all migrations make of an empty file. Written by: go test ./store/sqlite -run NewFile -update\n\n" +
			strings.Join(slices.DeleteFunc(migrated, func(line string) bool {
				return strings.Contains(line, "'tenant'") || strings.Contains(line, "'name_key'")
			}), ";\n\n") + ";\n"
		if err := os.WriteFile("new.sql", []byte(text), 0o644); err != nil { //nolint:gosec // source
			t.Fatal(err)
		}
		return
	}
	made := contents(t, conn(func(c *sql.Conn) error { return fillNew(t.Context(), c, "ada") }))
	// Each file has a key of its own.
	own := func(lines []string) (keys int) {
		for i, line := range lines {
			if strings.Contains(line, "'name_key'") && len(line) > 64 {
				lines[i], keys = "key", keys+1
			}
		}
		return keys
	}
	if own(made) != 1 || own(migrated) != 1 || !slices.Equal(made, migrated) {
		t.Errorf("a new file has\n%s\nand a migrated one\n%s\nRun: go test ./store/sqlite -run NewFile -update",
			strings.Join(made, "\n"), strings.Join(migrated, "\n"))
	}
}

// contents returns the statements that make a file's schema, in their order, and its rows.
func contents(t *testing.T, c *sql.Conn) (statements []string) {
	t.Helper()
	read := func(query string) (found []string) {
		rows, err := c.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return found
	}
	statements = read("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid")
	for _, table := range read("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name") {
		columns := read("SELECT 'quote(' || name || ')' FROM pragma_table_info('" + table + "')")
		values := strings.Join(columns, " || ', ' || ")
		statements = append(statements, read("SELECT 'INSERT INTO "+table+" VALUES (' || "+values+" || ')' FROM "+table+" ORDER BY 1")...)
	}
	return statements
}

// emptyFile makes the file that the store makes itself before SQLite opens it.
func emptyFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// oldFile makes a file as the first released schema has it: records with vectors in
// two spaces, the second of which covers more of them.
func oldFile(t *testing.T, path string, vectors bool) {
	t.Helper()
	emptyFile(t, path)
	db, err := openDB(path, []string{"foreign_keys(ON)"})
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(migrations[0])
	exec("INSERT INTO meta (key, value) VALUES ('tenant', 'default'), ('seq', 3), ('erased_floor', 0), ('scrub', 0)")
	exec("INSERT INTO namespace (n, key) VALUES (1, ?)", []byte("u\x00"))
	exec("INSERT INTO space (n, model, dims) VALUES (1, 'few', 2), (2, 'most', 2)")
	for n := 1; n <= 3; n++ {
		exec(`INSERT INTO record (n, id, kind, namespace, version, seq, live, created_at, updated_at, text, passages, passage_count)
			VALUES (?1, ?2, 'fact', 1, 1, ?1, 1, ?1, ?1, ?3, ?4, 1)`, n, []byte{15: byte(n)}, []byte("walrus"), form.EncodeSpans([]loci.Span{{Start: 0, End: 6}}))
		exec("INSERT INTO event (id, type, kind, entity, namespace, occurred_at, actor, request_id) VALUES (?1, 'created', 'fact', ?1, 1, 1, 'a', '')", []byte{15: byte(n)})
		for space := 1; vectors && space <= 2; space++ {
			if space == 2 || n == 1 {
				exec("INSERT INTO vector (record, space, data) VALUES (?, ?, ?)", n, space, vector.Quantize([]float32{0, 1}))
			}
		}
	}
	exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file of the first schema is searched in the space that covers most of it.
func TestFirstSchemaGetsAnActiveSpace(t *testing.T) {
	t.Parallel()
	for vectors, want := range map[bool]loci.Space{true: {Model: "most", Dims: 2}, false: {}} {
		path := filepath.Join(t.TempDir(), "x.db")
		oldFile(t, path, vectors)
		s := openFile(t, path)
		active, err := s.ActiveSpace(t.Context(), testTenant)
		if err != nil || active != want {
			t.Errorf("with vectors %v: the active space is %s, %v", vectors, active, err)
		}
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{
			Text:   "walrus",
			Vector: []float32{0, 1},
			Space:  loci.Space{Model: "most", Dims: 2},
		},
			loci.Filter{Within: []loci.Namespace{{"u"}}}, 10)
		if err != nil || len(hits) != 3 || hits[0].Embedded != vectors {
			t.Errorf("hits %+v, %v", hits, err)
		}
		if found, err := s.Check(t.Context(), testTenant); len(found) > 0 || err != nil {
			t.Errorf("check: %v, %v", found, err)
		}
	}
}

// A fact with a key from before there were headings is found by its key at once. Its vectors,
// made without the heading, are made again; other records keep theirs.
func TestKeyedFactsGetAHeading(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	oldFile(t, path, true)
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE record SET body = ? WHERE n = 1", []byte(`{"subject":"user","predicate":"favorite_color","validity":"active"}`)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openFile(t, path)
	everywhere := loci.Filter{Within: []loci.Namespace{{"u"}}}
	hits, err := s.Match(t.Context(), testTenant, loci.Probe{
		Text:   "color",
		Vector: []float32{0, 1},
		Space:  loci.Space{Model: "most", Dims: 2},
	}, everywhere, 10)
	if err != nil || len(hits) != 3 || hits[2].KeywordRank != 1 ||
		hits[2].Embedded || !hits[0].Embedded || !hits[1].Embedded {
		t.Errorf("hits %+v, %v", hits, err)
	}
	lacking, err := s.Unembedded(t.Context(), testTenant, loci.Space{Model: "most", Dims: 2}, loci.ID{}, 10)
	if err != nil || len(lacking) != 1 || lacking[0].Heading != "user favorite_color" || lacking[0].Text != "walrus" {
		t.Errorf("to be embedded: %+v, %v", lacking, err)
	}
	if found, err := s.Check(t.Context(), testTenant); len(found) > 0 || err != nil {
		t.Errorf("check: %v, %v", found, err)
	}
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{"3.51.3", "3.51.3", true}, {"3.51.2", "3.51.3", false}, {"3.54.1", "3.51.3", true}, {"3.9.10", "3.51.3", false},
		{"4.0.0", "3.51.3", true}, {"3.100.0", "3.51.3", true}, {"", "3.51.3", false}, {"x", "3.51.3", false},
	} {
		if got := atLeast(c.have, c.want); got != c.ok {
			t.Errorf("atLeast(%q, %q) is %v", c.have, c.want, got)
		}
	}
}
