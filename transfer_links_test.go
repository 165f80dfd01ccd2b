package loci_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

func imports(t testing.TB, m *loci.Memory, file string) loci.ImportReport {
	t.Helper()
	report, err := m.Import(t.Context(), strings.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func wantReport(t testing.TB, got loci.ImportReport, created, existing, conflicts int64) {
	t.Helper()
	if got.Created != created || got.Existing != existing || got.Conflicts != conflicts {
		t.Errorf("report %+v, want %d created, %d existing, %d conflicts", got, created, existing, conflicts)
	}
}

func link(t testing.TB, s loci.Store, from loci.ID, typ loci.LinkType, to loci.ID, at time.Time) loci.Link {
	t.Helper()
	l := loci.Link{From: from, Type: typ, To: to, At: at.UTC().Truncate(time.Millisecond)}
	if err := s.Apply(t.Context(), locitest.Tenant(t, "t"), loci.Change{Links: []loci.Link{l}}); err != nil {
		t.Fatal(err)
	}
	return l
}

func wantLinks(t testing.TB, m *loci.Memory, id loci.ID, want ...loci.Link) {
	t.Helper()
	got, err := m.Links(t.Context(), id)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("links of %s: %+v, %v; want %+v", id, got, err, want)
	}
}

// withoutLinks is the file as older builds wrote it, without links.
func withoutLinks(file string) string {
	var kept []string
	for _, line := range strings.SplitAfter(file, "\n") {
		if i := strings.Index(line, `,"links":`); i >= 0 {
			line = line[:i] + "}\n"
		}
		if !strings.Contains(line, `"type":"link"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestLinksAreMoved(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		source := memory.Open()
		e := locitest.NewEngine(t, source, loci.Options{Now: c.Now})
		from := locitest.Bind(t, e, "from")
		a, b := locitest.Save(t, from, "first"), locitest.Save(t, from, "second")
		outside := locitest.Save(t, locitest.Bind(t, e, "other"), "third")
		derived := link(t, source, b, loci.LinkDerivedFrom, a, c.Now())
		again := link(t, source, a, loci.LinkContradicts, b, c.Now().Add(time.Hour))
		link(t, source, a, loci.LinkSupports, outside, c.Now())
		link(t, source, outside, loci.LinkSupports, a, c.Now())
		file := locitest.Exported(t, from)
		if strings.Contains(file, outside.String()) {
			t.Errorf("a link leaves the export:\n%s", file)
		}
		into := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m := locitest.Bind(t, into, "x")
		wantReport(t, imports(t, m, withoutLinks(file)), 2, 0, 0)
		wantLinks(t, m, a)
		for range 2 { // also for records that are there already
			wantReport(t, imports(t, m, file), 0, 2, 0)
			wantLinks(t, m, a, derived, again)
			wantLinks(t, m, b, derived, again)
		}
		if got := locitest.Exported(t, m); got != file {
			t.Errorf("comes back as\n%s\nwent out as\n%s", got, file)
		}
		// If the other end is elsewhere, or nowhere, no link is made.
		lost := locitest.Bind(t, into, "y")
		stray := locitest.Save(t, lost, "elsewhere")
		twisted := strings.ReplaceAll(file, `"to":"`+b.String(), `"to":"`+stray.String())
		z := locitest.Bind(t, into, "z")
		imports(t, z, twisted)
		wantLinks(t, lost, stray)
	})
}

func TestIDsFollow(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{
			Now: c.Now, Content: loci.ContentOptions{KeepDuplicates: true},
		}) // nobody compares the notes
		from := locitest.Bind(t, e, "from")
		old := locitest.StoreFact(t, from, loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"})
		for i := range 250 { // what names and what is named come in different changes
			c.Advance(time.Second)
			locitest.Save(t, from, fmt.Sprint("note ", i))
		}
		c.Advance(time.Second)
		current := locitest.StoreFact(t, from, loci.NewFact{Content: "Oslo", Subject: "ann", Predicate: "lives_in"})
		at := c.Now()
		link(t, s, old.ID, loci.LinkRelatedTo, current.ID, at)
		file := locitest.Exported(t, from)
		into := locitest.Bind(t, e, "into")
		check := func() {
			t.Helper()
			facts := locitest.AllFacts(t, into)
			now, before := facts[0], facts[len(facts)-1]
			if len(facts) != 252 || now.ID == current.ID || before.ID == old.ID {
				t.Fatalf("%d facts, ids %s and %s", len(facts), now.ID, before.ID)
			}
			if now.Supersedes != before.ID || before.SupersededBy != now.ID {
				t.Errorf("%s supersedes %s; %s is superseded by %s", now.ID, now.Supersedes, before.ID, before.SupersededBy)
			}
			got, err := into.Links(t.Context(), now.ID)
			if err != nil || len(got) != 2 || got[0].From == got[1].From {
				t.Errorf("links %+v, %v", got, err)
			}
			for _, l := range got {
				if !slices.Contains([]loci.ID{now.ID, before.ID}, l.From) ||
					!slices.Contains([]loci.ID{now.ID, before.ID}, l.To) {
					t.Errorf("a link leads elsewhere: %+v", l)
				}
			}
		}
		wantReport(t, imports(t, into, file), 252, 0, 0)
		check()
		first := locitest.Exported(t, into)
		for range 2 {
			wantReport(t, imports(t, into, file), 0, 252, 0)
			check()
			// The ids are free from now on, and are still not taken again.
			if _, err := from.EraseAll(t.Context(), loci.EraseQuery{
				All:    true,
				Expect: int64(len(locitest.AllFacts(t, from))),
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := locitest.Exported(t, into); got != first {
			t.Error("a repeated import changed something")
		}
	})
}

// A hooked embedder does something while it is asked for vectors.
type hooked struct {
	locitest.WordEmbedder
	do    func()
	calls []int // the texts of each
}

func (h *hooked) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	h.calls = append(h.calls, len(texts))
	if do := h.do; do != nil {
		h.do = nil
		do()
	}
	return h.WordEmbedder.Embed(ctx, texts)
}

// Another import of the same file may take the ids first, at any moment.
func TestImportsMeet(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		source := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		locitest.StoreFact(t, source, loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"})
		locitest.StoreFact(t, source, loci.NewFact{Content: "Oslo", Subject: "ann", Predicate: "lives_in"})
		file := locitest.Exported(t, source)
		h := &hooked{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
		e := locitest.NewEngine(t, s, loci.Options{Embedder: h})
		plain := locitest.NewEngine(t, s, loci.Options{})
		other, m := locitest.Bind(t, plain, "other"), locitest.Bind(t, e, "mine")
		h.do = func() { imports(t, other, file) }
		wantReport(t, imports(t, m, file), 2, 0, 0)
		for _, place := range []*loci.Memory{other, m} {
			live := locitest.Search(t, place, loci.Query{}).Matches[0].Record.ID
			now := locitest.Fact(t, place, live)
			if before := locitest.Fact(t, place, now.Supersedes); before.SupersededBy != live {
				t.Errorf("superseded by %s, not %s", before.SupersededBy, live)
			}
		}
		same := locitest.Bind(t, plain, "same")
		h.do = func() { imports(t, same, file) }
		wantReport(t, imports(t, locitest.Bind(t, e, "same"), file), 0, 2, 0)
	})
}

func TestImportEmbedsInBatches(t *testing.T) {
	source := locitest.Bind(t,
		locitest.NewEngine(t, memory.Open(), loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}}), "u")
	for i := range 450 {
		locitest.Save(t, source, fmt.Sprint("note ", i))
	}
	file := locitest.Exported(t, source)
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := &hooked{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
		e := locitest.NewEngine(t, s, loci.Options{Embedder: h})
		m := locitest.Bind(t, e, "m")
		imports(t, m, file)
		if want := []int{64, 64, 64, 8, 64, 64, 64, 8, 50}; !slices.Equal(h.calls, want) {
			t.Errorf("calls of %d texts, want %d", h.calls, want)
		}
		if e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("vectors are missing")
		}
		h.calls = nil
		imports(t, m, file)
		if len(h.calls) > 0 {
			t.Errorf("calls of %d texts for what is there already", h.calls)
		}
		h.SetDown(true)
		wantReport(t, imports(t, locitest.Bind(t, e, "again"), file), 450, 0, 0)
		if len(h.calls) != 1 {
			t.Errorf("%d calls of an embedder that does not answer", len(h.calls))
		}
		if !e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("nobody knows that vectors are missing")
		}
		h.SetDown(false)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 450 || err != nil {
			t.Errorf("%d records embedded later, %v", n, err)
		}
	})
}

// TestImportKeepsTheBody of a fact as it was written, also by an older build: if a fact names
// no fact that got another id, it comes back byte for byte.
func TestImportKeepsTheBody(t *testing.T) {
	c := locitest.NewClock()
	from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{Now: c.Now}), "u")
	locitest.StoreFact(t, from, loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"})
	c.Advance(time.Second)
	locitest.StoreFact(t, from, loci.NewFact{Content: "Oslo", Subject: "ann", Predicate: "lives_in"})
	now := locitest.Exported(t, from)
	older := regexp.MustCompile(`,"closed_at":"[^"]*"`).ReplaceAllString(now, "")
	if older == now {
		t.Fatalf("no fact was closed: %s", now)
	}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		wantReport(t, imports(t, m, older), 2, 0, 0)
		if got := locitest.Exported(t, m); got != older {
			t.Errorf("comes back as\n%s\nwent out as\n%s", got, older)
		}
	})
}
