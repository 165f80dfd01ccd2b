package backup_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tree"
)

func TestMain(m *testing.M) { os.Exit(mongotest.Run(ended{m})) }

// ended runs the tests and stops the server of PostgreSQL that they may have started.
type ended struct{ *testing.M }

func (m ended) Run() int { return pgtest.Run(m.M) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// options are those of backups in tests.
func options() backup.Options {
	return backup.Options{
		Store: store.Options{Logger: slog.New(slog.DiscardHandler)}, MadeBy: "test",
		Engine: loci.Options{Features: locitest.Features(), Logger: slog.New(slog.DiscardHandler)},
	}
}

// empty are URLs of stores that hold nothing, by their kinds.
var empty = map[string]func(t testing.TB) string{
	"sqlite": func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "x") },
	"file":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "one.db") },
	"postgres": func(t testing.TB) string {
		d := pgtest.Shared(t).NewDatabase(t)
		_, err := store.Migrate(t.Context(), d.Owner, store.Migration{Role: d.Role})
		must(t, err)
		return d.Server
	},
	"mongo": func(t testing.TB) string {
		at := mongotest.Shared(t).Database()
		_, err := store.Migrate(t.Context(), at, store.Migration{})
		must(t, err)
		return at
	},
}

// with opens a store with an engine for as long as a function needs them.
func with(t testing.TB, url string, do func(s loci.Store, e *loci.Engine)) {
	t.Helper()
	opts := options()
	s, err := store.Open(t.Context(), url, &opts.Store)
	must(t, err)
	e, err := loci.New(s, &opts.Engine)
	must(t, err)
	do(s, e)
	must(t, s.Close())
}

func tenant(t testing.TB, name string) loci.Tenant {
	if name == "" {
		return loci.SystemTenant()
	}
	return locitest.Tenant(t, name)
}

// at is a handle of a user of a tenant.
func at(t testing.TB, e *loci.Engine, name string) *loci.Memory {
	return locitest.BindView(t, e, loci.View{Tenant: tenant(t, name), Namespace: loci.Namespace{"user", "ada"}, Actor: "tester"})
}

// fill stores a bit of everything: notes, a corrected one, an erased one, a conversation, a
// file and a checkpoint.
func fill(t testing.TB, e *loci.Engine, name string) {
	t.Helper()
	m := at(t, e, name)
	for i := range 12 {
		id := locitest.Save(t, m, fmt.Sprintf("%s keeps walrus number %d in the harbour", name, i))
		switch i {
		case 3:
			_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("a corrected walrus")})
			must(t, err)
		case 4:
			must(t, m.Erase(t.Context(), id))
		}
	}
	locitest.AppendTo(t, m, "talk", locitest.Spoken(session.MessageHuman, "my cat is called Miau"),
		locitest.Spoken(session.MessageAI, "a fine name"))
	files, err := tree.Of(m, "", "")
	must(t, err)
	_, err = files.WriteAll(t.Context(), []tree.FileContent{{Path: "/notes/one.md", Content: "a line\nanother\n"}}, nil)
	must(t, err)
	locitest.PutCheckpoint(t, m, locitest.Checkpoint("thread", "", "1", "", `{}`, locitest.GraphState{"a": "1"}, map[string]string{"a": "a value"}))
}

// sums are the hashes of all tenants of a store, by their names.
func sums(t testing.TB, url string) map[string]loci.Hash {
	t.Helper()
	out := map[string]loci.Hash{}
	opts := options()
	must(t, store.Sums(t.Context(), url, &opts.Store, nil, func(s store.Sum) error {
		out[s.Tenant.String()] = s.Hash
		return nil
	}))
	return out
}

func wantCode(t testing.TB, what string, err error, code loci.Code, words ...string) {
	t.Helper()
	e := loci.AsError(err)
	if e == nil || e.Code != code {
		t.Errorf("%s: %v; want %s", what, err, code)
		return
	}
	for _, word := range words {
		if !strings.Contains(e.Error()+" "+e.Advice(), word) {
			t.Errorf("%s: %q does not say %q", what, e.Error()+" "+e.Advice(), word)
		}
	}
}

// leftovers are names in a directory besides those that are expected.
func leftovers(t testing.TB, dir string, expected ...string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if !slices.Contains(expected, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestRestoredIsTheSame: from every store into every store, to the last event.
func TestRestoredIsTheSame(t *testing.T) {
	locitest.Unshared(t)
	// Each kind is backed up and restored; every pair of them, where there is time.
	ways := []string{"file file", "sqlite postgres", "postgres mongo", "mongo sqlite"}
	for _, way := range append(ways, []string{"sqlite sqlite", "postgres sqlite", "mongo postgres"}[:locitest.Long(0, 3)]...) {
		t.Run(way, func(t *testing.T) {
			kinds := strings.Fields(way)
			from, to, dir := empty[kinds[0]](t), empty[kinds[1]](t), filepath.Join(t.TempDir(), "backup")
			names := []string{"", "default", "Ada / ü"}
			if kinds[0] == "file" {
				names = names[:2]
			}
			with(t, from, func(_ loci.Store, e *loci.Engine) {
				for _, name := range names {
					fill(t, e, name)
				}
			})
			m, err := backup.Create(t.Context(), from, dir, nil, options())
			must(t, err)
			if len(m.Tenants) != len(names) || !m.Whole || !m.Tenants[0].System {
				t.Errorf("the manifest is %+v", m)
			}
			checked, err := backup.Check(t.Context(), dir, options())
			must(t, err)
			if len(checked.Tenants) != len(names) || checked.Tenants[1].Hash != m.Tenants[1].Hash {
				t.Errorf("the check says %+v", checked)
			}
			report, err := backup.Restore(t.Context(), dir, to, backup.Restoration{}, options())
			must(t, err)
			if len(report.Tenants) != len(names) || report.Tenants[1].Head != m.Tenants[1].Head ||
				report.Tenants[1].Rows == 0 {
				t.Errorf("the report is %+v", report)
			}
			if want, got := sums(t, from), sums(t, to); !maps.Equal(want, got) || len(got) != len(names) {
				t.Errorf("the restored store has the sums %v; want %v", got, want)
			}
			with(t, to, func(s loci.Store, e *loci.Engine) { // it lives on
				for _, name := range names {
					locitest.Save(t, at(t, e, name), "after the restoration")
					locitest.LogIsWhole(t, e, tenant(t, name))
					found, err := s.Check(t.Context(), tenant(t, name))
					must(t, err)
					if len(found) > 0 {
						t.Errorf("%q: %v", name, found)
					}
				}
			})
			if left := leftovers(t, filepath.Dir(dir), "backup"); len(left) > 0 {
				t.Errorf("the backup left %v", left)
			}
		})
	}
}

// TestBackupUnderWriters: what is restored is what each writer had been told at one moment:
// all it was told before the backup began, and nothing without what came before it.
func TestBackupUnderWriters(t *testing.T) {
	const writers = 8
	kinds := []string{"sqlite", "postgres", "mongo"}
	if locitest.Raced {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			from := empty[kind](t)
			for range locitest.Long(3, 50) {
				underWriters(t, from, writers)
			}
		})
	}
}

// underWriters makes a backup while writers write, and restores it.
func underWriters(t *testing.T, from string, writers int) {
	t.Helper()
	dir, to := filepath.Join(t.TempDir(), "backup"), empty["sqlite"](t)
	name := "round-" + filepath.Base(filepath.Dir(dir)) + "-" + strings.ToLower(loci.NewID().String())
	told := make([]atomic.Int64, writers)
	before := make([]int64, writers)
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		stop := make(chan struct{})
		var group sync.WaitGroup
		var started sync.WaitGroup
		started.Add(writers)
		for w := range writers {
			place := loci.Namespace{fmt.Sprint(w)}
			m := locitest.BindView(t, e, loci.View{Tenant: tenant(t, name), Namespace: place, Actor: "w"})
			group.Go(func() {
				for n := int64(1); ; n++ {
					fact := loci.NewFact{Content: fmt.Sprintf("%d of writer %d", n, w)}
					if _, err := m.StoreFact(context.Background(), fact); err != nil {
						t.Error(err)
					}
					if told[w].Store(n); n == 3 {
						started.Done()
					}
					select {
					case <-stop:
						if n >= 3 {
							return
						}
					default:
					}
				}
			})
		}
		started.Wait()
		for w := range writers {
			before[w] = told[w].Load()
		}
		_, err := backup.Create(t.Context(), from, dir, []loci.Tenant{tenant(t, name)}, options())
		close(stop)
		group.Wait()
		must(t, err)
	})
	_, err := backup.Restore(t.Context(), dir, to, backup.Restoration{}, options())
	must(t, err)
	with(t, to, func(_ loci.Store, e *loci.Engine) {
		locitest.LogIsWhole(t, e, tenant(t, name))
		for w := range writers {
			place := loci.Namespace{fmt.Sprint(w)}
			m := locitest.BindView(t, e, loci.View{Tenant: tenant(t, name), Namespace: place, Actor: "w"})
			there := map[string]bool{}
			for _, f := range locitest.AllFacts(t, m) {
				there[f.Content] = true
			}
			for n := range int64(len(there)) {
				if !there[fmt.Sprintf("%d of writer %d", n+1, w)] {
					t.Fatalf("writer %d: %d of its memories are there, and not the %d. one", w, len(there), n+1)
				}
			}
			if n := int64(len(there)); n < before[w] || n > told[w].Load() {
				t.Errorf("writer %d: %d memories are there; it was told of %d before and %d after", w, n, before[w], told[w].Load())
			}
		}
	})
}

// TestStoresThatAreNotEmpty: nothing is written over unless that was asked for.
func TestStoresThatAreNotEmpty(t *testing.T) {
	from, to, dir := empty["sqlite"](t), empty["sqlite"](t), filepath.Join(t.TempDir(), "backup")
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		fill(t, e, "other")
	})
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	want := sums(t, from)
	with(t, to, func(_ loci.Store, e *loci.Engine) { fill(t, e, "third") })
	third := sums(t, to)["third"]
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{}, options())
	wantCode(t, "a store with another tenant", err, loci.Conflict, "third", "--replace")
	acme := []loci.Tenant{tenant(t, "acme")}
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Only: acme}, options())
	must(t, err)
	if got := sums(t, to); got["acme"] != want["acme"] || len(got) != 2 || got["third"] != third {
		t.Errorf("one tenant alone: %v", got)
	}
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Only: acme}, options())
	wantCode(t, "a tenant that is there", err, loci.Conflict, "acme")
	with(t, to, func(_ loci.Store, e *loci.Engine) { locitest.Save(t, at(t, e, "acme"), "written since") })
	report, err := backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true, DryRun: true}, options())
	must(t, err)
	if got := sums(t, to); got["acme"] == want["acme"] || !report.DryRun || len(report.Tenants) != 2 {
		t.Errorf("a dry run: %v, %+v", got, report)
	}
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true}, options())
	must(t, err)
	if got := sums(t, to); got["acme"] != want["acme"] || got["other"] != want["other"] || got["third"] != third {
		t.Errorf("replaced: %v; want %v", got, want)
	}
	nobody := backup.Restoration{Only: []loci.Tenant{tenant(t, "nobody")}}
	_, err = backup.Restore(t.Context(), dir, empty["sqlite"](t), nobody, options())
	wantCode(t, "a tenant that the backup has not", err, loci.NotFound, "nobody")
	_, err = backup.Create(t.Context(), from, filepath.Join(t.TempDir(), "x"), []loci.Tenant{tenant(t, "nobody")}, options())
	wantCode(t, "a tenant that the store has not", err, loci.NotFound, "nobody")
	_, err = backup.Create(t.Context(), empty["sqlite"](t), filepath.Join(t.TempDir(), "x"), nil, options())
	wantCode(t, "a store without tenants", err, loci.NotFound, "nothing to back up")
	_, err = backup.Create(t.Context(), from, dir, nil, options())
	wantCode(t, "a place that is taken", err, loci.Conflict, "name a new directory")
	_, err = backup.Check(t.Context(), filepath.Dir(dir), options())
	wantCode(t, "a directory that is no backup", err, loci.NotFound, "no whole backup")
	_, err = backup.Restore(t.Context(), dir, "memory:", backup.Restoration{}, options())
	wantCode(t, "a store that ends with the process", err, loci.Unsupported, "sqlite:PATH")
}

// TestReplacedOneByOne: somebody who writes to a tenant while it is replaced stops the restoration. Those
// whose turn has not come keep what they hold, the message says how far it came, and a second run ends it.
func TestReplacedOneByOne(t *testing.T) {
	from, to, dir := empty["sqlite"](t), empty["sqlite"](t), filepath.Join(t.TempDir(), "backup")
	both := func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		fill(t, e, "other")
	}
	with(t, from, both)
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	want := sums(t, from)
	with(t, to, both)
	before := sums(t, to)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go with(t, to, func(_ loci.Store, e *loci.Engine) {
		defer close(stopped)
		for m := at(t, e, "acme"); ; {
			select {
			case <-stop:
				return
			default: // whether it is stored is all the same
				_, _ = m.StoreFact(t.Context(), loci.NewFact{Content: "written meanwhile"})
			}
		}
	})
	for range 20 { // the writer may be late
		if _, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true}, options()); err != nil {
			break
		}
	}
	close(stop)
	<-stopped
	wantCode(t, "a tenant that is written to", err, loci.Conflict, "of 2 tenants are restored", `"acme"`)
	if got := sums(t, to)["other"]; got != before["other"] && got != want["other"] {
		t.Errorf("the tenant whose turn had not come: %v", got)
	}
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true}, options())
	must(t, err)
	if got := sums(t, to); got["acme"] != want["acme"] || got["other"] != want["other"] {
		t.Errorf("the second run: %v; want %v", got, want)
	}
}
