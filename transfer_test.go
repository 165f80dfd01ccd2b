package loci_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/store/memory"
)

// lines are the lines of an export without the header, sorted: what it says.
func lines(t testing.TB, m *loci.Memory) []string {
	t.Helper()
	all := strings.Split(strings.TrimSpace(locitest.Exported(t, m)), "\n")[1:]
	slices.Sort(all)
	return all
}

// fill stores some of everything.
func fill(t *rapid.T, tb testing.TB, m *loci.Memory, c *locitest.Clock) {
	var ids []loci.ID
	text := rapid.StringMatching(`[a-z<>&"\\ é漢\n]{1,40}x`)
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		c.Advance(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
		switch rapid.IntRange(0, 7).Draw(t, "step") {
		case 0:
			ids = append(ids, locitest.Save(tb, m, text.Draw(t, "text")))
		case 1:
			stored := locitest.StoreFact(tb, m, loci.NewFact{
				Value:    json.RawMessage(`{"n":9007199254740993,"s":` + string(must(json.Marshal(text.Draw(t, "text")))) + `}`),
				Metadata: map[string]any{"k": text.Draw(t, "metadata")},
				Tags:     []string{"tag"},
			})
			ids = append(ids, stored.ID)
		case 2:
			locitest.StoreFact(tb, m, loci.NewFact{
				Content:   text.Draw(t, "text"),
				Subject:   "s",
				Predicate: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "p"),
			})
		case 3:
			locitest.PutItem(tb, m, m.View().Namespace.Child(rapid.SampledFrom([]string{"yz", "z"}).Draw(t, "place")),
				rapid.SampledFrom([]string{"x", "xy"}).Draw(t, "key"),
				fmt.Sprintf(`{"v":%d}`, rapid.Int().Draw(t, "v")),
				&item.PutOptions{TTL: time.Duration(rapid.IntRange(0, 1).Draw(t, "ttl")) * 1000 * time.Hour})
		case 6:
			id, err := m.StoreRule(tb.Context(), loci.NewRule{Content: text.Draw(t, "text"), Tags: []string{"tag"}, Scope: "health"})
			for range rapid.IntRange(0, 4).Draw(t, "harms") {
				if err == nil {
					_, err = m.MarkHarmful(tb.Context(), id, "it broke")
				}
			}
			if err == nil && rapid.Bool().Draw(t, "forget") {
				_, err = m.Forget(tb.Context(), loci.KindRule, id)
			}
			if err != nil {
				t.Fatal(err)
			}
		case 7:
			id, err := m.StoreEpisode(tb.Context(), loci.NewEpisode{Content: text.Draw(t, "text"), Butler: "b", Session: "s"})
			if err == nil && rapid.Bool().Draw(t, "digested") {
				_, err = m.ConcludeEpisode(tb.Context(), id, loci.Consolidated)
			}
			if err != nil {
				t.Fatal(err)
			}
		case 4:
			locitest.PutItem(tb, m, m.View().Namespace, "k", `{"hidden":1}`, &item.PutOptions{Index: []string{}})
		default:
			if len(ids) > 0 {
				id := rapid.SampledFrom(ids).Draw(t, "id")
				_, err := m.ReviseFact(tb.Context(), id, loci.FactRevision{Content: new(text.Draw(t, "text"))})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func TestExportImportRoundTrip(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			c := locitest.NewClock()
			from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{Now: c.Now}), "u")
			fill(rt, t, from, c)
			file, want := locitest.Exported(t, from), lines(t, from)
			records := int64(strings.Count(file, `{"type":"record"`))
			into := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
			for i, labels := range [][]string{{fmt.Sprint("run", run), "other"}, {fmt.Sprint("run", run), "again"}} {
				m := locitest.Bind(t, into, labels...)
				for round := range 2 {
					report, err := m.Import(t.Context(), strings.NewReader(file), nil)
					if err != nil {
						rt.Fatal(err)
					}
					if round == 0 && report.Created != records || round > 0 && report.Created > 0 ||
						report.Created+report.Existing != records {
						rt.Fatalf("place %d, round %d: %+v of %d", i, round, report, records)
					}
				}
				got := lines(t, m)
				if i == 1 { // ids are taken by the first place, and differ
					got, want = withoutIDs(got), withoutIDs(want)
				}
				if !slices.Equal(got, want) {
					rt.Fatalf("comes back as\n%s\nwent out as\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	})
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func withoutIDs(all []string) []string {
	out := make([]string, len(all))
	for i, line := range all {
		out[i] = anyID.ReplaceAllString(line, "")
	}
	slices.Sort(out)
	return out
}

// TestDamagedImports: a file that is damaged anywhere is refused with its line, and nothing of
// it is imported.
func TestDamagedImports(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Content: loci.ContentOptions{MaxBytes: 2000}})
		from := locitest.Bind(t, e, "from")
		id := locitest.Save(t, from, "first")
		if _, err := from.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("second")}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		locitest.PutItem(t, from, loci.Namespace{"from", "n"}, "k", `{"a":1}`, nil)
		if err := s.Apply(t.Context(), locitest.Tenant(t, "t"), loci.Change{Links: []loci.Link{{
			From: id,
			Type: loci.LinkRelatedTo,
			To:   id,
			At:   c.Now(),
		}}}); err != nil {
			t.Fatal(err)
		}
		good := locitest.Exported(t, from) // header, item, note, its revision, link, end
		all := strings.SplitAfter(good, "\n")
		replaced := func(old, with string) string {
			if !strings.Contains(good, old) {
				t.Fatalf("%s is not in %s", old, good)
			}
			return strings.ReplaceAll(good, old, with)
		}
		m := locitest.Bind(t, e, "into")
		for name, c := range map[string]struct {
			file string
			code loci.Code
			want string
		}{
			"nothing":            {"", loci.Invalid, "empty"},
			"blank lines":        {"\n\n \n", loci.Invalid, "empty"},
			"garbage":            {"\n\x00\x01garbage", loci.Invalid, "line 2:"},
			"another format":     {`{"type":"header","format":"x","version":1}`, loci.Invalid, "line 1:"},
			"a newer version":    {replaced(`"version":1,"exported_at"`, `"version":2,"exported_at"`), loci.Unsupported, "line 1:"},
			"no end":             {strings.Join(all[:5], ""), loci.Invalid, "cut short"},
			"cut in a line":      {good[:len(good)-80], loci.Invalid, "line 5:"},
			"a record lost":      {all[0] + strings.Join(all[2:], ""), loci.Invalid, "line 5: records is 2 but 1 were read"},
			"one with revision":  {all[0] + all[1] + strings.Join(all[3:], ""), loci.Invalid, "line 3: id " + id.String() + " is not that of the record before it"},
			"a revision lost":    {strings.Join(all[:3], "") + all[4] + all[5], loci.Invalid, "line 5: revision_lines is 1 but 0 were read"},
			"a link lost":        {strings.Join(all[:4], "") + all[5], loci.Invalid, "line 5: links is 1 but 0 were read"},
			"a line twice":       {all[0] + all[1] + strings.Join(all[1:], ""), loci.Invalid, "was in line 2 already"},
			"more after it":      {good + all[1], loci.Invalid, "line 7:"},
			"an unknown link":    {replaced(`"link_type":"related_to"`, `"link_type":"spell"`), loci.Unsupported, "line 5:"},
			"half a link":        {replaced(`"to":"`+id.String()+`",`, ""), loci.Invalid, "line 5:"},
			"an unknown kind":    {replaced(`"kind":"item"`, `"kind":"spell"`), loci.Unsupported, "line 2:"},
			"an unknown line":    {replaced(`"type":"end"`, `"type":"fin"`), loci.Invalid, "line 6:"},
			"a bad id":           {replaced(id.String(), "x"), loci.Invalid, "line 3:"},
			"no id":              {replaced(`"id":"`+id.String()+`",`, ""), loci.Invalid, "line 3: id is missing"},
			"a bad namespace":    {replaced(`"namespace":["n"]`, `"namespace":["n",""]`), loci.Invalid, "line 2: namespace label 3"},
			"no body":            {replaced(`"body":{"key":"k"`, `"body":[{}],"x":{"key":"k"`), loci.Invalid, "line 2: body is not that of an item"},
			"no value":           {replaced(`"attributes":{"a":1}`, `"attributes":[1]`), loci.Invalid, "line 2: attributes must be a JSON object"},
			"a bad key":          {replaced(`"key":"k"`, `"key":""`), loci.Invalid, "line 2: key must not be empty"},
			"bad versions":       {replaced(`"type":"revision","version":1`, `"type":"revision","version":2`), loci.Invalid, "line 4: revisions[0].version is 2"},
			"a bad time":         {replaced(`"created_at":"2026`, `"created_at":"0000`), loci.Invalid, "created_at is in the year 0"},
			"an impossible time": {replaced(`"created_at":"2026-01-02T03:04:05.678Z","updated_at"`, `"created_at":"9999-12-31T23:00:00-05:00","updated_at"`), loci.Invalid, "created_at is in the year 10000"},
			"too long a text":    {replaced(`"text":"second"`, `"text":"`+strings.Repeat("x", 2001)+`"`), loci.TooLarge, "line 3:"},
			"a line of 34 MB":    {all[0] + `{"text":"` + strings.Repeat("x", 34<<20), loci.TooLarge, "line 2 is longer"},
			"bad MCP":            {`{"type":"entity","name":"a"}` + "\n" + `{"type":"spell"}`, loci.Invalid, "line 2:"},
			"a nameless entity":  {`{"type":"entity","name":" "}`, loci.Invalid, "line 1: name of the entity is missing"},
			"half a relation":    {`{"type":"relation","from":"a","to":"b"}`, loci.Invalid, "line 1:"},
			"a numeric one":      {`{"type":"entity","name":"a","observations":[1]}`, loci.Invalid, "line 1:"},
		} {
			_, err := m.Import(t.Context(), strings.NewReader(c.file), nil)
			locitest.WantCode(t, err, c.code)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", name, err, c.want)
			}
			if r := locitest.Search(t, m, loci.Query{}); len(r.Matches) > 0 {
				t.Fatalf("%s: something was imported", name)
			}
		}
		if _, err := m.Import(t.Context(), strings.NewReader(good), nil); err != nil {
			t.Errorf("the undamaged file: %v", err)
		}
	})
}

// An export taken while others write can be read again.
func TestExportDuringWrites(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		var ids []loci.ID
		for i := range 10 {
			ids = append(ids, locitest.Save(t, m, fmt.Sprint("note ", i)))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for round := range 5 {
				for i, id := range ids {
					_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new(fmt.Sprintf("note %d.%d", i, round))})
					if err != nil {
						t.Error(err)
					}
				}
			}
		}()
		for i, running := 0, true; running; i++ {
			select {
			case <-done:
				running = false
			default:
			}
			if _, err := locitest.Bind(t, e, "copy", fmt.Sprint(i)).Import(t.Context(),
				strings.NewReader(locitest.Exported(t, m)), nil); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestImportOfMCPMemory(t *testing.T) {
	const file = `{"type":"entity","name":"Ann_Lee","entityType":"person","observations":["speaks Spanish","lives in Rome"]}
{"type":"entity","name":"Acme","entityType":"company","observations":[]}

{"type":"relation","from":"Ann_Lee","to":"Acme","relationType":"works_at"}`
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for _, keep := range []bool{false, true} {
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
				Content: loci.ContentOptions{KeepDuplicates: keep},
			}), "u", fmt.Sprint(keep))
			for _, created := range []int64{4, 0} {
				report, err := m.Import(t.Context(), strings.NewReader(file), nil)
				if err != nil || report.Format != loci.MCPMemoryFormat ||
					report.Created != created || report.Created+report.Existing != 4 {
					t.Errorf("report %+v, %v", report, err)
				}
			}
			got := locitest.Texts(locitest.Search(t, m, loci.Query{}))
			slices.Sort(got)
			want := []string{"Acme is a known company.", "Ann_Lee (person): lives in Rome", "Ann_Lee (person): speaks Spanish", "Ann_Lee works at Acme."}
			if !slices.Equal(got, want) {
				t.Errorf("notes %q", got)
			}
		}
	})
}

// slotAsker counts how often it is asked what holds a slot.
type slotAsker struct {
	loci.Store
	asked int
}

func (s *slotAsker) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	if f.Slot != nil {
		s.asked++
	}
	return s.Store.Records(ctx, t, f, p)
}

// An import asks the store at most once what holds the slot of a memory, and not at all where nothing was before.
func TestImportAsksForSlotsOnce(t *testing.T) {
	var file strings.Builder
	for i := range 450 {
		fmt.Fprintf(&file, `{"type":"entity","name":"Ann %d"}`+"\n", i)
	}
	s := &slotAsker{Store: memory.Open()}
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "m")
	wantReport(t, imports(t, m, file.String()), 450, 0, 0)
	if s.asked != 0 {
		t.Errorf("asked %d times, and nothing was there", s.asked)
	}
	other := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "other")
	locitest.Save(t, other, "something else")
	s.asked = 0
	wantReport(t, imports(t, other, file.String()), 450, 0, 0)
	if s.asked != 450 {
		t.Errorf("asked %d times for 450 memories", s.asked)
	}
}

// What takes a key while an import is under way is met as if it had been there before.
func TestImportMeetsWhatIsWrittenBeside(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		source := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		fact := loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"}
		locitest.StoreFact(t, source, fact)
		h := &hooked{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: h}), "m")
		beside := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "m")
		h.do = func() {
			fact.Content = "Oslo"
			locitest.StoreFact(t, beside, fact)
		}
		wantReport(t, imports(t, m, locitest.Exported(t, source)), 0, 0, 1)
	})
}

func FuzzImport(f *testing.F) {
	m := locitest.Bind(f, locitest.NewEngine(f, memory.Open(), loci.Options{}), "u")
	stored := locitest.StoreFact(f, m, loci.NewFact{Content: "text", Subject: "s", Predicate: "p", Tags: []string{"t"}})
	if _, err := m.ReviseFact(f.Context(), stored.ID, loci.FactRevision{Value: json.RawMessage(`{"a":1}`)}); err != nil {
		f.Fatal(err)
	}
	locitest.PutItem(f, m, loci.Namespace{"u", "n"}, "k", `{"a":1}`, &item.PutOptions{TTL: time.Hour})
	f.Add(locitest.Exported(f, m))
	f.Add(`{"type":"entity","name":"a","entityType":"b","observations":["c"]}` + "\n" + `{"type":"relation","from":"a","to":"b","relationType":"c"}`)
	f.Fuzz(func(t *testing.T, file string) {
		m := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		report, err := m.Import(t.Context(), strings.NewReader(file), nil)
		if err != nil {
			if n := len(locitest.Search(t, m, loci.Query{Limit: 1000}).Matches); n > 0 {
				t.Errorf("%d records of a refused file: %v", n, err)
			}
			return
		}
		locitest.Search(t, m, loci.Query{Text: "text a"})
		again := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "v")
		copied, err := again.Import(t.Context(), strings.NewReader(locitest.Exported(t, m)), nil)
		if err != nil || copied.Created > report.Created {
			t.Errorf("what was imported cannot be moved on: %+v after %+v, %v", copied, report, err)
		}
	})
}
