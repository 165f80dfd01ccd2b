package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// Check reports what no sound file has: records without an event that led to them, and searched
// text that is not text.
func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	for damage, want := range map[string]string{
		"DELETE FROM event":                        "no audit event",
		"UPDATE record SET text = x'776c7275ff73'": "not UTF-8",
		"UPDATE record SET text = x'77'":           "outside of its text",

		"INSERT INTO event_span VALUES ('created', 1, 1, 1, 1, 1)": "1 kept places of events",
	} {
		s := damaged(t, damage)
		found, err := s.Check(t.Context(), testTenant)
		if err != nil || !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("after %s: %q, %v", damage, found, err)
		}
	}
}

// damaged opens a file with one memory and changes it behind the back of the store.
func damaged(t *testing.T, statement string) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "walrus")
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A file that is damaged all over is reported in a few sentences.
func TestFindingsAreFew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	for range 25 {
		save(t, s, "walrus")
	}
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE record SET text = x'77'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := s.Check(t.Context(), testTenant)
	if n := strings.Count(strings.Join(found, "\n"), "outside of its text"); err != nil || n != 20 {
		t.Errorf("%d of 25 damaged records are reported, %v; want 20", n, err)
	}
}
