package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// holding lists the files below a directory that hold some bytes.
func holding(t *testing.T, dir, canary string) (found []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// TestErasedStaysErased: what was erased since the backup is in no byte of the restored store,
// whoever says what it was.
func TestErasedStaysErased(t *testing.T) {
	const canary = "canary4711"
	from, dir := empty["sqlite"](t), filepath.Join(t.TempDir(), "backup")
	var note loci.ID
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		m := at(t, e, "acme")
		note = locitest.Save(t, m, "the door opens with "+canary)
		locitest.AppendTo(t, m, "secret", locitest.Spoken(session.MessageHuman, "do not tell "+canary))
		files, err := tree.Of(m, "", "")
		must(t, err)
		_, err = files.WriteAll(t.Context(), []tree.FileContent{{Path: "/secret.md", Content: canary + "\n"}}, nil)
		must(t, err)
		fill(t, e, "gone")
	})
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	if len(holding(t, dir, canary)) == 0 {
		t.Fatal("the canary is not in the backup: the search for it shows nothing")
	}
	var log bytes.Buffer
	with(t, from, func(s loci.Store, e *loci.Engine) {
		m := at(t, e, "acme")
		must(t, m.Erase(t.Context(), note))
		_, err := session.Of(m).Clear(t.Context(), "secret")
		must(t, err)
		events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{Limit: 1000})
		must(t, err)
		must(t, json.NewEncoder(&log).Encode(map[string]any{"events": events}))
		files, err := tree.Of(m, "", "")
		must(t, err)
		_, err = files.Delete(t.Context(), "/secret.md")
		must(t, err)
		must(t, s.EraseTenant(t.Context(), tenant(t, "gone")))
		locitest.Save(t, m, "written since")
	})
	list := filepath.Join(t.TempDir(), "erased.jsonl")
	var out bytes.Buffer
	n, err := backup.WriteErased(t.Context(), dir, from, &out, options())
	must(t, err)
	if n < 5 || strings.Contains(out.String(), canary) {
		t.Errorf("%d records are listed as erased:\n%s", n, &out)
	}
	must(t, os.WriteFile(list, out.Bytes(), 0o600))
	for name, source := range map[string]string{"a store that went on": from, "a list": list} {
		to := empty["sqlite"](t)
		report, err := backup.Restore(t.Context(), dir, to, backup.Restoration{Erased: []string{source}}, options())
		must(t, err)
		if len(report.Tenants) != 2 || report.Tenants[0].Erased < 4 || !report.Tenants[1].Gone {
			t.Errorf("%s: the report is %+v", name, report.Tenants)
		}
		if found := holding(t, strings.TrimPrefix(to, "sqlite:"), canary); len(found) > 0 {
			t.Errorf("%s: the canary is in %v", name, found)
		}
		with(t, to, func(s loci.Store, e *loci.Engine) {
			locitest.LogIsWhole(t, e, tenant(t, "acme"))
			if all := locitest.AllFacts(t, at(t, e, "acme")); len(all) != 11 {
				t.Errorf("%s: %d notes are left; want 11", name, len(all))
			}
			for tn, err := range s.Tenants(t.Context()) {
				must(t, err)
				if tn != tenant(t, "acme") {
					t.Errorf("%s: the tenant %v is back", name, tn)
				}
			}
		})
	}
	// The audit log, kept elsewhere, tells of the note and the conversation, not of the file.
	must(t, os.WriteFile(list, log.Bytes(), 0o600))
	to := empty["sqlite"](t)
	report, err := backup.Restore(t.Context(), dir, to,
		backup.Restoration{Only: []loci.Tenant{tenant(t, "acme")}, Erased: []string{list}}, options())
	must(t, err)
	if report.Tenants[0].Erased != 3 { // a note, a conversation, its message
		t.Errorf("by the audit log: %+v", report.Tenants)
	}
	if found := holding(t, strings.TrimPrefix(to, "sqlite:"), "do not tell"); len(found) > 0 {
		t.Errorf("by the audit log: the message is in %v", found)
	}
	// A store that is replaced says by itself what was erased in it.
	report, err = backup.Restore(t.Context(), dir, from,
		backup.Restoration{Only: []loci.Tenant{tenant(t, "acme")}, Replace: true}, options())
	must(t, err)
	if report.Tenants[0].Erased < 4 {
		t.Errorf("replaced: %+v", report.Tenants)
	}
	if found := holding(t, strings.TrimPrefix(from, "sqlite:"), canary); len(found) > 0 {
		t.Errorf("replaced: the canary is in %v", found)
	}
}

// TestListsOfErased: a list that cannot be meant is refused before anything is restored.
func TestListsOfErased(t *testing.T) {
	dir, _ := made(t, options())
	var file loci.ID
	with(t, "sqlite:"+filepath.Join(t.TempDir(), "x"), func(loci.Store, *loci.Engine) {})
	list := filepath.Join(t.TempDir(), "list")
	restore := func(text string) (backup.Report, string, error) {
		must(t, os.WriteFile(list, []byte(text), 0o600))
		to := empty["sqlite"](t)
		report, err := backup.Restore(t.Context(), dir, to, backup.Restoration{Erased: []string{list}}, options())
		return report, to, err
	}
	for text, says := range map[string]string{
		"":                                         "is empty",
		"note-1\n":                                 "line 1",
		"{\"tenant\":":                             "object 1",
		`{"format":"loci.erased","version":2}`:     "newer",
		`{"format":"loci.erased","version":1}`:     "cut off",
		`{"format":"loci.export","version":1}`:     "another form",
		`{"tenant":"acme","id":"x"}`:               "object 1",
		`{"event_type":"erased","entity_id":"no"}`: "object 1",
	} {
		_, to, err := restore(text)
		if e := loci.AsError(err); e == nil || !strings.Contains(e.Error(), says) {
			t.Errorf("%q: %v; want %q", text, err, says)
		}
		if held := sums(t, to); len(held) > 0 {
			t.Errorf("%q: %v was restored", text, held)
		}
	}
	report, _, err := restore(loci.NewID().String() + "\nnote-" + loci.NewID().String() + "\n\n")
	must(t, err)
	if report.Tenants[0].Erased != 0 {
		t.Errorf("ids that the backup has not: %+v", report.Tenants)
	}
	other := empty["sqlite"](t)
	with(t, other, func(_ loci.Store, e *loci.Engine) { fill(t, e, "acme") })
	_, err = backup.Restore(t.Context(), dir, empty["sqlite"](t), backup.Restoration{Erased: []string{other}}, options())
	wantCode(t, "a store that did not go on from the backup", err, loci.Conflict, "did not go on")
	with(t, other, func(s loci.Store, e *loci.Engine) { // part of a file, told without the rest
		records, _, err := s.Records(t.Context(), tenant(t, "acme"), loci.Filter{
			Within: []loci.Namespace{{}}, NotLive: true, Kinds: []loci.Kind{tree.KindFile},
		}, loci.Page{})
		must(t, err)
		file = records[0].ID
	})
	backupOfOther := filepath.Join(t.TempDir(), "other")
	_, err = backup.Create(t.Context(), other, backupOfOther, nil, options())
	must(t, err)
	must(t, os.WriteFile(list, []byte(file.String()), 0o600))
	what := backup.Restoration{Erased: []string{list}}
	_, err = backup.Restore(t.Context(), backupOfOther, empty["sqlite"](t), what, options())
	wantCode(t, "a file without its parts", err, loci.Unsupported, "does not name all")
}

// TestComparingMakesNoTenant: to look for what was erased changes nothing in the store, not even where a tenant of the
// backup is not there.
func TestComparingMakesNoTenant(t *testing.T) {
	from, dir, to := empty["sqlite"](t), filepath.Join(t.TempDir(), "backup"), t.TempDir()
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		fill(t, e, "other")
	})
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	_, err = backup.Restore(t.Context(), dir, "sqlite:"+to, backup.Restoration{Only: []loci.Tenant{tenant(t, "acme")}}, options())
	must(t, err)
	var list strings.Builder
	_, err = backup.WriteErased(t.Context(), dir, "sqlite:"+to, &list, options())
	must(t, err)
	if !strings.Contains(list.String(), `{"tenant":"other","whole":true}`) {
		t.Errorf("the list is %s", list.String())
	}
	if _, err := os.Stat(filepath.Join(to, "t-other.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tenant has a file: %v", err)
	}
}
