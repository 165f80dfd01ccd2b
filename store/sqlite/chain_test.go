package sqlite_test

import (
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/view"
)

// edit runs SQL on a file that no store has open.
func edit(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// opened opens a file, hands over an engine and a handle, and closes it again.
func opened(t *testing.T, path string, use func(e *loci.Engine, m *loci.Memory)) {
	t.Helper()
	openedStore(t, path, func(_ loci.Store, e *loci.Engine, m *loci.Memory) { use(e, m) })
}

// openedStore is opened for a test that also looks past the engine.
func openedStore(t *testing.T, path string, use func(s loci.Store, e *loci.Engine, m *loci.Memory)) {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	e, err := loci.New(s, &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Memory(loci.View{Tenant: defaultTenant(t), Namespace: loci.Namespace{"u"}, Actor: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	use(s, e, m)
}

func defaultTenant(t *testing.T) loci.Tenant {
	t.Helper()
	tenant, err := loci.NewTenant(sqlite.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

func verified(t *testing.T, path string, known loci.Hash) (report loci.ChainReport) {
	t.Helper()
	opened(t, path, func(e *loci.Engine, _ *loci.Memory) {
		var err error
		if report, err = e.VerifyEvents(t.Context(), defaultTenant(t), known); err != nil {
			t.Fatal(err)
		}
	})
	return report
}

// TestTamperingWithTheLogIsFound changes, removes and inserts events in every way there is.
func TestTamperingWithTheLogIsFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	opened(t, path, func(_ *loci.Engine, m *loci.Memory) {
		for n := range 5 {
			stored, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint("note ", n)})
			if err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				if err := m.Erase(t.Context(), stored.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	clean := verified(t, path, loci.Hash{})
	if len(clean.Problems) > 0 || clean.Events != 6 || clean.Emptied != 1 || clean.Older != 0 {
		t.Fatalf("before: %+v", clean)
	}
	const copyEvent = "INSERT INTO event (id, type, kind, entity, namespace, occurred_at, actor, request_id, payload, nonce, digest, sealed) SELECT id, type, kind, entity, namespace, occurred_at, actor, request_id, payload, nonce, digest, sealed FROM event WHERE seq = 6"
	for name, change := range map[string]string{
		"actor":                         "UPDATE event SET actor = 'nobody' WHERE seq = 4",
		"time":                          "UPDATE event SET occurred_at = occurred_at + 1 WHERE seq = 4",
		"type":                          "UPDATE event SET type = 'updated' WHERE seq = 1",
		"entity":                        "UPDATE event SET entity = zeroblob(16) WHERE seq = 4",
		"request":                       "UPDATE event SET request_id = 'x' WHERE seq = 4",
		"payload":                       "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 4",
		"payload and nonce gone":        "UPDATE event SET payload = NULL, nonce = NULL WHERE seq = 4",
		"payload for an emptied one":    "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 2",
		"digest":                        "UPDATE event SET digest = zeroblob(32) WHERE seq = 2",
		"place":                         "INSERT INTO namespace (key) VALUES (x'7600'); UPDATE event SET namespace = (SELECT n FROM namespace WHERE key = x'7600') WHERE seq = 4",
		"a place's name":                "UPDATE namespace SET key = x'7600' WHERE key = x'7500'",
		"a place's mark":                "UPDATE namespace SET mark = zeroblob(16) WHERE key = x'7500'",
		"a place's name and mark":       "UPDATE namespace SET key = CAST(x'0000' || zeroblob(16) AS BLOB), mark = zeroblob(16) WHERE key = x'7500'",
		"the key of the names":          "UPDATE meta SET value = zeroblob(32) WHERE key = 'name_key'",
		"an older hash put in":          "UPDATE event SET former = CAST(zeroblob(31) || x'01' AS BLOB) WHERE seq = 4",
		"first removed":                 "DELETE FROM event WHERE seq = 1",
		"one removed":                   "DELETE FROM event WHERE seq = 4",
		"last removed":                  "DELETE FROM event WHERE seq = 6",
		"all removed":                   "DELETE FROM event",
		"two exchanged":                 "UPDATE event SET seq = 100 WHERE seq = 4; UPDATE event SET seq = 4 WHERE seq = 5; UPDATE event SET seq = 5 WHERE seq = 100",
		"one put in":                    copyEvent,
		"one put in without a hash":     copyEvent + "; UPDATE event SET sealed = NULL WHERE seq = 7",
		"last removed, head moved":      "DELETE FROM event WHERE seq = 6; UPDATE meta SET value = (SELECT sealed FROM event WHERE seq = 5) WHERE key = 'chain_head'",
		"declared older than the chain": "UPDATE event SET sealed = NULL WHERE seq <= 3; UPDATE meta SET value = 3 WHERE key = 'chain_start'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := filepath.Join(t.TempDir(), "y.db")
			if err := os.WriteFile(changed, data, 0o600); err != nil {
				t.Fatal(err)
			}
			edit(t, changed, strings.Split(change, "; ")...)
			var known loci.Hash // needed only against a log that is consistent in itself
			if strings.Contains(name, "head moved") {
				known = clean.Head
			}
			if report := verified(t, changed, known); len(report.Problems) == 0 {
				t.Errorf("not noticed: %+v", report)
			}
		})
	}
}

// TestAnOlderFileIsBroughtUpToDate opens files of the first schema: facts stay as
// they are, and the chain begins with the next event.
func TestAnOlderFileIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	schema, err := os.ReadFile(filepath.Join("migrations", "0001_core.sql"))
	if err != nil {
		t.Fatal(err)
	}
	const keyed = `{"subject":"Ann","predicate":"lives in","scope":"health","validity":"active","valid_from":"2020-01-01T00:00:00Z","confirmed_at":"2020-01-01T00:00:00Z"}`
	const note = `{"validity":"active","valid_from":"2020-01-01T00:00:00Z","confirmed_at":"2020-01-01T00:00:00Z"}`
	const was = `{"subject":"Ann","predicate":"lives in","scope":"health","validity":"superseded","valid_from":"2019-01-01T00:00:00Z","valid_until":"2020-01-01T00:00:00Z","confirmed_at":"2019-01-01T00:00:00Z"}`
	row := func(n int, live int, body string) string {
		return fmt.Sprintf(`INSERT INTO record (id, kind, namespace, version, seq, live, created_at, updated_at, text, passages, passage_count, body)
			VALUES (x'%032d', 'fact', 1, 1, 1, %d, 1577836800000, 1577836800000, CAST('Berlin' AS BLOB), x'0006', 1, CAST('%s' AS BLOB));
			INSERT INTO event (id, type, kind, entity, namespace, occurred_at, actor, request_id, payload) VALUES (x'%032d', 'created', 'fact', x'%032d', 1, 1577836800000, 'a', '', CAST('{"bytes":6}' AS BLOB))`,
			n, live, body, n, n)
	}
	edit(t, path, string(schema), "INSERT INTO meta (key, value) VALUES ('tenant', 'default'), ('seq', 1), ('erased_floor', 0), ('scrub', 0)",
		"INSERT INTO namespace (key) VALUES (x'7500')", row(1, 1, keyed), row(2, 1, note), row(3, 0, was),
		"PRAGMA application_id = 0x4C6F6369", "PRAGMA user_version = 1")
	openedStore(t, path, func(s loci.Store, e *loci.Engine, m *loci.Memory) {
		facts, _, err := m.Facts(t.Context(), loci.FactQuery{History: true}, loci.Page{})
		if err != nil || len(facts) != 3 {
			t.Fatal(facts, err)
		}
		for _, f := range facts {
			want := loci.Active
			if f.ID[15] == 3 {
				want = loci.Superseded
			}
			if f.Validity != want || f.EffectiveConfidence != 1 ||
				f.Permanence != loci.Permanent || f.Importance != loci.DefaultImportance {
				t.Errorf("%+v", f)
			}
		}
		for scope, want := range map[string]int{"health": 1, "global": 1, "other": 0} {
			r, err := m.Search(t.Context(), loci.Query{Text: "Berlin", Scopes: []string{scope}})
			if err != nil || len(r.Matches) != want {
				t.Errorf("scope %s: %d found, %v; want %d", scope, len(r.Matches), err, want)
			}
		}
		stats, err := view.Lifecycle(t.Context(), m, "")
		if err != nil || stats.Facts != (view.FactStats{Total: 3, Active: 2, Superseded: 1}) {
			t.Errorf("%+v, %v", stats, err)
		}
		if _, err := m.StoreRule(t.Context(), loci.NewRule{Content: "new"}); err != nil {
			t.Fatal(err)
		}
		report, err := e.VerifyEvents(t.Context(), defaultTenant(t), loci.Hash{})
		if err != nil || len(report.Problems) > 0 || report.Older != 3 || report.Events != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		if found, err := s.Check(t.Context(), defaultTenant(t)); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// quietErases unpacks a file that an earlier build wrote. It put checkpoints with
// writes into threads, copied some in parts, deleted threads and pruned one; it
// imported sessions, trimmed one and cleared another; and it erased a note. Writes,
// threads and imported messages went without an erased event of their own.
func quietErases(t *testing.T) (path string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "quiet-erases.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An event that an earlier build left out of an erase is not damage. A payload that was taken
// from a record that still exists, or from one that nobody is known to have erased, is.
func TestErasesThatAnEarlierBuildKeptQuiet(t *testing.T) {
	t.Parallel()
	clean := quietErases(t)
	if r := verified(t, clean, loci.Hash{}); len(r.Problems) > 0 || r.Events != 71 || r.Emptied != 30 {
		t.Fatalf("a healthy file: %+v", r)
	}
	// The list of what was erased is cut from time to time.
	edit(t, clean, "DELETE FROM erased", "UPDATE meta SET value = 1 WHERE key = 'erased_floor'")
	if r := verified(t, clean, loci.Hash{}); len(r.Problems) > 0 || r.Emptied != 30 {
		t.Fatalf("with a list of erased records that was cut: %+v", r)
	}
	const empty = "UPDATE event SET payload = NULL, nonce = NULL WHERE seq = "
	for name, change := range map[string]string{
		"of a write that is there":        empty + "20",
		"of a thread that is there":       empty + "35",
		"of a message that is there":      empty + "60",
		"of a checkpoint that is there":   empty + "22",
		"of a session that is there":      empty + "65",
		"of a note that is there":         empty + "69",
		"of a write, and the write":       empty + "20; DELETE FROM record WHERE id = (SELECT entity FROM event WHERE seq = 20)",
		"of a message, and the message":   empty + "60; DELETE FROM record WHERE id = (SELECT entity FROM event WHERE seq = 60)",
		"of a note, and the note":         empty + "69; DELETE FROM record WHERE id = (SELECT entity FROM event WHERE seq = 69)",
		"another one for a deleted write": "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 2",
		"a nonce for a deleted write":     "UPDATE event SET nonce = CAST('{}' AS BLOB) WHERE seq = 2",
		"of the last erase":               empty + "71",
		"of the erase of a checkpoint":    empty + "42",
		"no erase after it":               "DELETE FROM event WHERE seq > 3; UPDATE meta SET value = (SELECT hash FROM event WHERE seq = 3) WHERE key = 'chain_head'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := quietErases(t)
			edit(t, path, strings.Split(change, "; ")...)
			r := verified(t, path, loci.Hash{})
			if len(r.Problems) == 0 || !strings.Contains(r.Problems[0], "payload was changed") {
				t.Errorf("not noticed: %+v", r)
			}
		})
	}
}

// When today's build erases the rest of such a file, each erase has an event.
func TestErasesInAnEarlierFileAreTold(t *testing.T) {
	t.Parallel()
	path := quietErases(t)
	openedStore(t, path, func(s loci.Store, e *loci.Engine, m *loci.Memory) {
		for _, thread := range []string{"there", "pruned", "copy there"} {
			if _, err := checkpoint.Of(m).DeleteThread(t.Context(), thread); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := session.Of(m).ClearAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		for seq, entity := range map[string]string{"a write": "01a20129-530e-7750-99cb-a4a37014bcd0", "a thread": "01a20129-5328-72ae-b670-95dd17b498a0",
			"a message": "a2344cf7-5a0f-5292-aad8-5a27077d60f2"} {
			id, err := loci.ParseID(entity)
			if err != nil {
				t.Fatal(err)
			}
			events, _, err := s.Events(t.Context(), defaultTenant(t),
				loci.EventFilter{Within: []loci.Namespace{{}}, Entity: id}, loci.Page{})
			if err != nil || len(events) != 2 || events[0].Type != loci.EventErased || len(events[0].Payload) == 0 ||
				len(events[1].Payload) > 0 {
				t.Errorf("events of %s: %+v, %v", seq, events, err)
			}
		}
	})
	if r := verified(t, path, loci.Hash{}); len(r.Problems) > 0 {
		t.Errorf("%+v", r)
	}
}
