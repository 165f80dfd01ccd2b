package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
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
