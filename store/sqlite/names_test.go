package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/tree"
)

// oldHead is the end of the chain as the build of schema 6 reported it.
const oldHead = "b95f061d87273a5eb8af148f418f84489b740d7245cdefdd426ba03c8f1eed4e"

// oldFile is a fresh copy of the file that testdata/schema6 made.
func oldFile(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "schema6.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// in binds a handle of an engine to a namespace.
func in(t *testing.T, e *loci.Engine, labels ...string) *loci.Memory {
	t.Helper()
	m, err := e.Memory(loci.View{Tenant: defaultTenant(t), Namespace: labels, Actor: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func got[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// said lists the sessions of a namespace with their words.
func said(t *testing.T, m *loci.Memory) (out []string) {
	t.Helper()
	list, _, err := session.Of(m).List(t.Context(), session.Query{}, loci.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if !s.Namespace.Equal(m.View().Namespace) {
			t.Errorf("session %s says that it is in %s", s.ID, s.Namespace)
		}
		history, err := session.Of(m).History(t.Context(), s.ID, session.HistoryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range history.Messages {
			out = append(out, s.ID+": "+string(message.Data))
		}
	}
	return out
}

// TestAFileWithoutOwnPlaces opens a file in which sessions, messages and files lay where
// callers could name them. They are found where they belong, and what callers had put beside
// them stays with the callers.
func TestAFileWithoutOwnPlaces(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	openedStore(t, path, func(s loci.Store, e *loci.Engine, _ *loci.Memory) {
		org := in(t, e, "org", "acme")
		if s := said(t, org); len(s) != 2 || !strings.Contains(s[0], "board meets") ||
			!strings.Contains(s[1], "minutes") {
			t.Errorf("the organisation said %q", s)
		}
		if s := said(t, in(t, e)); len(s) != 1 || !strings.Contains(s[0], "top") {
			t.Errorf("at the top was said %q", s)
		}
		for _, agent := range []string{"sessions", "messages", "tree"} {
			m := in(t, e, "org", "acme", agent)
			if s := said(t, m); len(s) != 1 || !strings.Contains(s[0], "of the agent "+agent) {
				t.Errorf("the agent %s said %q", agent, s)
			}
			facts, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
			if err != nil || len(facts) != 1 || facts[0].Content != "A fact of the agent "+agent+"." {
				t.Errorf("the agent %s knows %v, %v", agent, facts, err)
			}
			var out bytes.Buffer
			got[int64](t)(m.Export(t.Context(), &out, nil))
			if strings.Contains(out.String(), "board") || strings.Contains(out.String(), "plan") {
				t.Errorf("the agent %s exports what is not its own: %s", agent, &out)
			}
			events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
			if want := map[string]int{"sessions": 3}[agent]; err != nil || len(events) != max(2, want) {
				t.Errorf("the agent %s has %d events, %v", agent, len(events), err)
			}
		}
		for name, want := range map[string]string{"": "The plan of all threads.", "thread 7": "The plan of a thread, once more."} {
			stored := got[*tree.Tree](t)(tree.Of(org, map[bool]string{true: "", false: "notes"}[name == ""], name))
			if text, err := stored.Read(t.Context(), "/plan.md"); text != want || err != nil {
				t.Errorf("the plan of %q is %q, %v", name, text, err)
			}
		}
		stored := got[*tree.Tree](t)(tree.Of(in(t, e, "user", "tree"), "thread", ""))
		if _, err := stored.Read(t.Context(), "/a.md"); err != nil {
			t.Errorf("the file that two readings of its place claim: %v", err)
		}
		if _, err := checkpoint.Of(org).Get(t.Context(), "t", "", "1"); err != nil {
			t.Error(err)
		}
		if _, err := item.Of(org).Get(t.Context(), loci.Namespace{"org", "acme", "sessions", "shared"}, "drink", false); err != nil {
			t.Error(err)
		}
		found := got[session.Hits](t)(session.Of(org).Search(t.Context(), session.Search{Text: "minutes"}))
		if len(found.Hits) == 0 {
			t.Error("the messages are not found by search")
		}
		if findings, err := s.Check(t.Context(), defaultTenant(t)); len(findings) > 0 || err != nil {
			t.Errorf("check: %v, %v", findings, err)
		}
	})
}

// TestErasingAboveTakesWhatMoved erases an organisation of an old file: nothing is left below
// it, no byte of its labels is left either, and others keep theirs.
func TestErasingAboveTakesWhatMoved(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	opened(t, path, func(e *loci.Engine, _ *loci.Memory) {
		org := in(t, e, "org", "acme")
		q := loci.EraseQuery{All: true}
		q.Expect = got[int64](t)(org.CountErase(t.Context(), q))
		got[int64](t)(org.EraseAll(t.Context(), q, nil))
		if s := append(said(t, org), said(t, in(t, e, "org", "acme", "sessions"))...); len(s) > 0 {
			t.Errorf("still said: %q", s)
		}
	})
	scanFiles(t, path, []string{"acme", "gone@example.org", "thread 7"}, []string{"ada@example.com"})
	if report := verified(t, path, loci.Hash{}); len(report.Problems) > 0 {
		t.Errorf("%+v", report)
	}
}

// scanFiles looks for byte strings in a file and its side files.
func scanFiles(t *testing.T, path string, gone, there []string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	for _, s := range gone {
		if n := bytes.Count(all, []byte(s)); n > 0 {
			t.Errorf("%q is in the files %d times", s, n)
		}
	}
	for _, s := range there {
		if !bytes.Contains(all, []byte(s)) {
			t.Errorf("%q is not in the files: the scan finds nothing", s)
		}
	}
}

// TestNamesGoFromOldFiles opens an old file in which one namespace was emptied, and empties
// another one. No byte of either name is left, and the log is whole.
func TestNamesGoFromOldFiles(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	scanFiles(t, path, nil, []string{"gone@example.org", "ada@example.com"})
	var head loci.Hash
	if err := head.UnmarshalText([]byte(oldHead)); err != nil {
		t.Fatal(err)
	}
	if report := verified(t, path, head); len(report.Problems) > 0 || report.Events != 24 || report.Older != 0 {
		t.Fatalf("%+v", report)
	}
	scanFiles(t, path, []string{"gone@example.org"}, []string{"ada@example.com"})
	opened(t, path, func(e *loci.Engine, _ *loci.Memory) {
		ada := in(t, e, "customers", "ada@example.com")
		q := loci.EraseQuery{All: true, Expect: 1}
		got[int64](t)(ada.EraseAll(t.Context(), q, nil))
		scanFiles(t, path, []string{"gone@example.org", "ada@example.com", "customers"}, []string{"acme"})
		for _, m := range []*loci.Memory{ada, in(t, e, "customers", "gone@example.org")} {
			events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
			if len(events) != 2 || err != nil || !events[0].Namespace.Equal(m.View().Namespace) {
				t.Errorf("events of %s: %+v, %v", m.View().Namespace, events, err)
			}
		}
	})
	if report := verified(t, path, head); len(report.Problems) > 0 || !report.Found || report.Events != 25 {
		t.Errorf("%+v", report)
	}
}

// TestBringingUpToDateAcquitsNothing changes an old file behind our back, then opens it.
// Whatever its own build would have accused is accused, today and after names went.
func TestBringingUpToDateAcquitsNothing(t *testing.T) {
	t.Parallel()
	var head loci.Hash
	if err := head.UnmarshalText([]byte(oldHead)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{
		"actor":                    "UPDATE event SET actor = 'nobody' WHERE seq = 4",
		"time":                     "UPDATE event SET occurred_at = occurred_at + 1 WHERE seq = 24",
		"type":                     "UPDATE event SET type = 'updated' WHERE seq = 1",
		"payload":                  "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 1",
		"digest":                   "UPDATE event SET digest = zeroblob(32) WHERE seq = 2",
		"place":                    "UPDATE event SET namespace = (SELECT n FROM namespace WHERE key = CAST('sessions' || x'00' AS BLOB)) WHERE seq = 1",
		"name":                     "UPDATE namespace SET key = CAST('customers' || x'00' || 'eve@example.com' || x'00' AS BLOB) WHERE key = CAST('customers' || x'00' || 'ada@example.com' || x'00' AS BLOB)",
		"first removed":            "DELETE FROM event WHERE seq = 1",
		"one removed":              "DELETE FROM event WHERE seq = 4",
		"last removed":             "DELETE FROM event WHERE seq = 24",
		"all removed":              "DELETE FROM event",
		"hash":                     "UPDATE event SET hash = zeroblob(32) WHERE seq = 5",
		"one without a hash":       "UPDATE event SET hash = NULL WHERE seq = 24",
		"head":                     "UPDATE meta SET value = zeroblob(32) WHERE key = 'chain_head'",
		"rewritten from the fifth": "DELETE FROM event WHERE seq > 5; UPDATE meta SET value = (SELECT hash FROM event WHERE seq = 5) WHERE key = 'chain_head'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := oldFile(t)
			edit(t, path, strings.Split(change, "; ")...)
			var known loci.Hash
			if strings.Contains(name, "rewritten") {
				known = head
			}
			if report := verified(t, path, known); len(report.Problems) == 0 {
				t.Fatalf("not noticed: %+v", report)
			}
			opened(t, path, func(e *loci.Engine, _ *loci.Memory) { // every name goes
				all := in(t, e)
				q := loci.EraseQuery{All: true}
				q.Expect = got[int64](t)(all.CountErase(t.Context(), q))
				got[int64](t)(all.EraseAll(t.Context(), q, nil))
			})
			if report := verified(t, path, known); len(report.Problems) == 0 &&
				name != "payload" { // which the erase took
				t.Errorf("no longer noticed: %+v", report)
			}
		})
	}
}

// TestAHeadFromBeforeStillProves rewrites a migrated file from an event on, new hashes and all:
// the head that was noted before proves it.
func TestAHeadFromBeforeStillProves(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	var head loci.Hash
	if err := head.UnmarshalText([]byte(oldHead)); err != nil {
		t.Fatal(err)
	}
	var forged []string
	openedStore(t, path, func(s loci.Store, e *loci.Engine, _ *loci.Memory) {
		events, _, err := s.Events(t.Context(), defaultTenant(t),
			loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(events)
		var before loci.Hash
		for i := range events {
			ev := &events[i]
			if i == 10 {
				ev.Actor = "nobody"
			}
			ev.Seal(before)
			before = ev.Hash
			forged = append(
				forged,
				fmt.Sprintf("UPDATE event SET actor = '%s', sealed = x'%s' WHERE seq = %d", ev.Actor, ev.Hash, ev.Seq),
			)
		}
		forged = append(forged, fmt.Sprintf("UPDATE meta SET value = x'%s' WHERE key = 'chain_head'", before))
	})
	edit(t, path, forged...)
	if report := verified(t, path, head); len(report.Problems) == 0 {
		t.Errorf("not noticed: %+v", report)
	}
}

// TestTheOldHashesAreSealed takes the old hashes out of a migrated file: a verification
// notices.
func TestTheOldHashesAreSealed(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	verified(t, path, loci.Hash{})
	edit(t, path, "UPDATE event SET former = NULL")
	if report := verified(t, path, loci.Hash{}); len(report.Problems) == 0 {
		t.Errorf("not noticed: %+v", report)
	}
}

// TestTheStepIsWholeOrNotThere lets the step fail near its end: the file stays as it was, and
// the next open makes the step.
func TestTheStepIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	edit(
		t,
		path,
		"CREATE TRIGGER fault BEFORE UPDATE OF value ON meta WHEN OLD.key = 'chain_head' BEGIN SELECT RAISE(ABORT, 'fault'); END",
	)
	s := got[*sqlite.Store](t)(sqlite.Open(path, nil))
	if _, err := s.Chain(t.Context(), defaultTenant(t)); err == nil ||
		!strings.Contains(fmt.Sprint(errors.Unwrap(err)), "migration 7") {
		t.Errorf("error %v; want one of the step", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := got[*sql.DB](t)(sql.Open("sqlite", "file:"+filepath.ToSlash(path)))
	var version, old int
	if err := db.QueryRow(
		"SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(hash) FROM event)",
	).Scan(&version, &old); err != nil || version != 6 ||
		old != 24 {
		t.Errorf("version %d, %d hashes, %v; want 6 and 24", version, old, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "DROP TRIGGER fault")
	if report := verified(t, path, loci.Hash{}); len(report.Problems) > 0 || report.Events != 24 {
		t.Errorf("%+v", report)
	}
}

// TestAnOlderBuildWritesNoMore writes as a build of schema 6 does that opened the file before
// the migration: its change is refused whole.
func TestAnOlderBuildWritesNoMore(t *testing.T) {
	t.Parallel()
	path := oldFile(t)
	verified(t, path, loci.Hash{})
	db := got[*sql.DB](t)(sql.Open("sqlite", "file:"+filepath.ToSlash(path)))
	defer func() { _ = db.Close() }()
	_, err := db.Exec(
		`INSERT INTO event (id, type, kind, entity, namespace, occurred_at, actor, request_id, payload, nonce, digest, hash)
		VALUES (x'00', 'created', 'fact', x'00', 1, 0, 'a', '', NULL, NULL, x'00', x'00')`,
	)
	if err == nil || !strings.Contains(err.Error(), "no column named hash") {
		t.Errorf("error %v", err)
	}
}
