package reminder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	reminder "github.com/loci-memory/loci/examples/kind"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

func newEngine(t *testing.T, s loci.Store) *loci.Engine {
	t.Helper()
	return locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{reminder.Feature{}}})
}

func put(t *testing.T, m *loci.Memory, text string, due time.Time) reminder.Reminder {
	t.Helper()
	r, err := reminder.Of(m).Put(t.Context(), text, due)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ofAnn(t *testing.T, tenant, key string) loci.View {
	n := loci.Namespace{"user", "ann"}
	return loci.View{Tenant: locitest.Tenant(t, tenant), Namespace: n, Actor: "tester", IdempotencyKey: key}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// listed are the texts of the open reminders, a page of two at a time.
func listed(t *testing.T, m *loci.Memory, by time.Time) (texts []string) {
	t.Helper()
	for page := (loci.Page{Limit: 2}); ; {
		list, next, err := reminder.Of(m).List(t.Context(), by, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			texts = append(texts, r.Text)
		}
		if page.Cursor = next; next == "" {
			return texts
		}
	}
}

// TestTheExampleIsSmall: it shows that a kind of memory is little work.
func TestTheExampleIsSmall(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	lines := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		data, failure := os.ReadFile(path)
		if failure != nil {
			t.Fatal(failure)
		}
		lines += bytes.Count(data, []byte("\n"))
	}
	if err != nil || lines == 0 || lines >= 150 {
		t.Errorf("the example has %d lines; it must have less than 150: %v", lines, err)
	}
}

// TestReminders puts, lists and does them.
func TestReminders(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, newEngine(t, s), "user", "ann")
		for i, text := range []string{"Fifth", "Third", "Fourth", "First", "Second"} {
			put(t, m, text, noon.Add(time.Duration([]int{5, 3, 4, 1, 2}[i])*time.Hour))
		}
		want := []string{"First", "Second", "Third", "Fourth"}
		if got := listed(t, m, noon.Add(4*time.Hour)); !slices.Equal(got, want) {
			t.Errorf("due are %q", got)
		}
		again := put(t, m, " First\n", noon.Add(time.Hour))
		for range 2 {
			done, err := reminder.Of(m).Done(t.Context(), again.ID)
			if err != nil || !done.Done || done.Text != "First" || !done.Due.Equal(noon.Add(time.Hour)) {
				t.Errorf("done: %+v, %v", done, err)
			}
		}
		if got := listed(t, m, noon.Add(9*time.Hour)); !slices.Equal(got, append(want[1:], "Fifth")) {
			t.Errorf("open are %q", got)
		}
		if fresh := put(t, m, "First", noon.Add(time.Hour)); fresh.ID == again.ID || fresh.Done {
			t.Errorf("what was done is put again: %+v", fresh)
		}
		_, err := reminder.Of(m).Put(t.Context(), strings.Repeat("x", 1001), noon)
		locitest.WantCode(t, err, loci.Invalid)
		_, err = reminder.Of(m).Done(t.Context(), locitest.Save(t, m, "A fact is no reminder."))
		locitest.WantCode(t, err, loci.NotFound)
	})
}

// TestUsersAreApart: nobody meets the reminders of another user or tenant.
func TestUsersAreApart(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s)
		ann, bob := locitest.Bind(t, e, "user", "ann"), locitest.Bind(t, e, "user", "bob")
		elsewhere := locitest.BindView(t, e, ofAnn(t, "u", ""))
		own := put(t, ann, "Call the dentist", noon)
		if same := put(t, bob, "Call the dentist", noon); same.ID == own.ID {
			t.Error("two users share a reminder")
		}
		for _, m := range []*loci.Memory{bob, elsewhere} {
			_, err := reminder.Of(m).Done(t.Context(), own.ID)
			locitest.WantCode(t, err, loci.NotFound)
			locitest.WantCode(t, m.Erase(t.Context(), own.ID), loci.NotFound)
			for _, match := range locitest.Search(t, m, loci.Query{Text: "dentist"}).Matches {
				if match.Record.ID == own.ID {
					t.Error("a search finds the reminder of another")
				}
			}
			if exported := locitest.Exported(t, m); strings.Contains(exported, own.ID.String()) {
				t.Error("an export has the reminder of another")
			}
		}
		if got := listed(t, elsewhere, noon); len(got) != 0 {
			t.Errorf("the other tenant lists %q", got)
		}
		if got := listed(t, ann, noon); !slices.Equal(got, []string{"Call the dentist"}) {
			t.Errorf("ann lists %q", got)
		}
	})
}

// TestWritersMeet: when many callers put and do the same reminder at once, each gets an answer,
// and it happens once.
func TestWritersMeet(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		const writers = 8
		engines := []*loci.Engine{newEngine(t, s), newEngine(t, s)} // as two processes
		each := func(do func(h *reminder.Handle, i int) error) {
			var wait sync.WaitGroup
			for i := range writers {
				h := reminder.Of(locitest.Bind(t, engines[i%2], "user", "ann"))
				wait.Go(func() {
					if err := do(h, i); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
		}
		var ids [writers]loci.ID
		each(func(h *reminder.Handle, i int) error {
			r, err := h.Put(t.Context(), "Water the plants", noon)
			ids[i] = r.ID
			return err
		})
		if unique := slices.Compact(ids[:]); len(unique) != 1 {
			t.Fatalf("%d reminders", len(unique))
		}
		each(func(h *reminder.Handle, _ int) error {
			_, err := h.Done(t.Context(), ids[0])
			return err
		})
		m := locitest.Bind(t, engines[0], "user", "ann")
		events, _, err := m.Events(t.Context(), loci.EventFilter{Entity: ids[0]}, loci.Page{})
		var told []loci.EventType
		for _, event := range events {
			told = append(told, event.Type)
		}
		if err != nil || !slices.Equal(told, []loci.EventType{loci.EventUpdated, loci.EventCreated}) {
			t.Errorf("the log tells of %q, %v", told, err)
		}
		locitest.LogIsWhole(t, engines[0], locitest.Tenant(t, "t"))
	})
}

// TestRequestsMayBeRepeated: with an idempotency key a repeated call gets the same answer.
func TestRequestsMayBeRepeated(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		keyed := locitest.BindView(t, newEngine(t, s), ofAnn(t, "t", "k1"))
		first := put(t, keyed, "Pay the rent", noon)
		if _, err := reminder.Of(keyed).Put(t.Context(), "Pay the rent", noon.Add(time.Hour)); err == nil {
			t.Error("another request has the same key")
		} else {
			locitest.WantCode(t, err, loci.Conflict)
		}
		other := locitest.BindView(t, newEngine(t, s), ofAnn(t, "t", "k2"))
		if _, err := reminder.Of(other).Done(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		if again := put(t, keyed, "Pay the rent", noon); again != first { // and no new one, now that it is done
			t.Errorf("repeated: %+v, want %+v", again, first)
		}
		if got := listed(t, keyed, noon); len(got) != 0 {
			t.Errorf("open are %q", got)
		}
	})
}

// TestNothingIsLeftOfWhatWasErased: no read, no export, no log and no file has a word of
// it, done or not; and a credential was never stored.
func TestNothingIsLeftOfWhatWasErased(t *testing.T) {
	const word, key = "wobblefrotz", "AKIA" + "IOSFODNN7EXAMPLF"
	dir := filepath.Join(t.TempDir(), "x")
	file, err := sqlite.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []loci.Store{locitest.OpenMemory(), file} {
		e := newEngine(t, s)
		m := locitest.BindView(t, e, ofAnn(t, "t", "k"))
		plain := locitest.Bind(t, e, "user", "ann")
		put(t, plain, "What stays is the first.", noon)
		open, done := put(t, m, "Ask about the "+word+" with "+key, noon), put(t, plain, "The other "+word, noon)
		if open.Text != "Ask about the "+word+" with [REDACTED]" {
			t.Errorf("stored %q", open.Text)
		}
		for _, m := range []*loci.Memory{plain, locitest.BindView(t, e, ofAnn(t, "t", "k2"))} {
			if _, err := reminder.Of(m).Done(t.Context(), done.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []loci.ID{open.ID, done.ID} {
			if err := plain.Erase(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			locitest.WantCode(t, plain.Erase(t.Context(), id), loci.NotFound)
		}
		events, _, err := plain.Events(t.Context(), loci.EventFilter{}, loci.Page{})
		log := string(must[[]byte](t)(json.Marshal(events)))
		found := locitest.Texts(locitest.Search(t, plain, loci.Query{Text: word}))
		left := fmt.Sprint(log, locitest.Exported(t, plain), found, listed(t, plain, noon))
		if err != nil || strings.Contains(left, word) || !strings.Contains(left, "What stays") {
			t.Errorf("left: %s, %v", left, err)
		}
		locitest.LogIsWhole(t, e, locitest.Tenant(t, "t"))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, path := range must[[]string](t)(filepath.Glob(filepath.Join(dir, "*"))) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || bytes.Contains(data, []byte("What stays"))
		if bytes.Contains(data, []byte(word)) || bytes.Contains(data, []byte(key)) {
			t.Errorf("%s has the word", filepath.Base(path))
		}
	}
	if !seen {
		t.Error("no file has what stays: does this look at the files of the store?")
	}
}

// TestExportsCarryReminders, open ones and done ones, and imports check them.
func TestExportsCarryReminders(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s)
		m := locitest.Bind(t, e, "user", "ann")
		kept, done := put(t, m, "Renew the passport", noon), put(t, m, "Feed the cat", noon)
		if _, err := reminder.Of(m).Done(t.Context(), done.ID); err != nil {
			t.Fatal(err)
		}
		exported := locitest.Exported(t, m)
		other := locitest.BindView(t, e, ofAnn(t, "u", ""))
		for i := range int64(2) {
			report, err := other.Import(t.Context(), strings.NewReader(exported), nil)
			if err != nil || report.Created != 2-2*i || report.Existing != 2*i || report.Conflicts != 0 {
				t.Errorf("import %d: %+v, %v", i, report, err)
			}
		}
		if again := put(t, other, "Renew the passport", noon); again.ID != kept.ID {
			t.Errorf("what was imported is put again as %s, not %s", again.ID, kept.ID)
		}
		if got, err := reminder.Of(other).Done(t.Context(), done.ID); err != nil || !got.Done || !got.Due.Equal(noon) {
			t.Errorf("what was done is %+v, %v", got, err)
		}
		for _, part := range []string{`2026-02-03T12:00:00.000Z`, `Feed the cat`} {
			broken := strings.Replace(exported, `"`+part+`"`, `""`, 1)
			_, err := other.Import(t.Context(), strings.NewReader(broken), nil)
			locitest.WantCode(t, err, loci.Invalid)
		}
	})
}

// TestImportsAreRedacted: an import takes credentials out as a put does.
func TestImportsAreRedacted(t *testing.T) {
	const key = "AKIA" + "IOSFODNN7EXAMPLF"
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s)
		m, other := locitest.Bind(t, e, "user", "ann"), locitest.Bind(t, e, "user", "bob")
		put(t, m, "Rotate the key KEY", noon)
		written := strings.Replace(locitest.Exported(t, m), "KEY", key, 1)
		if _, err := other.Import(t.Context(), strings.NewReader(written), nil); err != nil {
			t.Fatal(err)
		}
		if got := listed(t, other, noon); !slices.Equal(got, []string{"Rotate the key [REDACTED]"}) {
			t.Errorf("imported %q", got)
		}
	})
}

// TestSearchesKnowWhatIsMeant: a search beside the memories of other kinds finds a reminder by
// other words than its own, and no longer finds it when it is done.
func TestSearchesKnowWhatIsMeant(t *testing.T) {
	builtin := must[*embedding.Static](t)(embedding.NewBuiltin())
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Features: []loci.Feature{reminder.Feature{}}, Embedder: builtin})
		m := locitest.Bind(t, e, "user", "ann")
		for _, text := range []string{"Renew the passport", "Water the plants", "Buy a present for Tom"} {
			put(t, m, text, noon)
		}
		doctor := put(t, m, "Call the dentist about the aching tooth", noon)
		locitest.Save(t, m, "Ann plays chess on Fridays.")
		query := loci.Query{Text: "phone my doctor because of pain in a molar", Limit: 1}
		found := locitest.Search(t, m, query).Matches
		if len(found) != 1 || found[0].Record.ID != doctor.ID || found[0].Explain.Keyword != 0 {
			t.Errorf("found %+v", found)
		}
		if _, err := reminder.Of(m).Done(t.Context(), doctor.ID); err != nil {
			t.Fatal(err)
		}
		if found = locitest.Search(t, m, query).Matches; len(found) == 1 && found[0].Record.ID == doctor.ID {
			t.Error("what is done is found")
		}
	})
}
