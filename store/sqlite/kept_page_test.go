package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// A page that is kept loses what expires, and is not the page of an earlier moment.
func TestKeptPagesKnowTheTime(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for i := range 4 {
		c := note("a text")
		r := &c.Put[0].Record
		r.Slot = fmt.Sprint(i)
		switch i {
		case 1:
			r.ExpiresAt = at.Add(10 * time.Second)
		case 2:
			r.EndsAt, r.DueAt = at.Add(20*time.Second), at.Add(20*time.Second)
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ seconds, want int }{
		{5, 4}, {5, 4}, {9, 4}, {10, 3}, {15, 3}, {5, 4}, {20, 2}, {30, 2}, {15, 3},
	} {
		f := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact},
			At: at.Add(time.Duration(step.seconds) * time.Second)}
		records, _, err := s.Records(t.Context(), testTenant, f, loci.Page{Order: loci.SlotAscending, Brief: true})
		if err != nil || len(records) != step.want {
			t.Errorf("after %d s there are %d records; want %d: %v", step.seconds, len(records), step.want, err)
		}
	}
	if s.pool.Bytes() == 0 {
		t.Error("no page is kept")
	}
}

// A filter that asks for more than a kept page depends on has no page kept.
func TestOnlyPlainPagesAreKept(t *testing.T) {
	t.Parallel()
	plain := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	key := func(change func(*loci.Filter)) string {
		f := plain
		change(&f)
		key, lasts := listKey(briefColumns, &f, nil, loci.SlotAscending, 3)
		if !lasts {
			return ""
		}
		return string(key)
	}
	seen := map[string]bool{}
	for name, change := range map[string]func(*loci.Filter){
		"":          func(*loci.Filter) {},
		"namespace": func(f *loci.Filter) { f.Within = []loci.Namespace{{"v"}} },
		"kind":      func(f *loci.Filter) { f.Kinds = []loci.Kind{loci.KindRule} },
		"from":      func(f *loci.Filter) { f.Slots.From = "a" },
		"to":        func(f *loci.Filter) { f.Slots.To = "a" },
		"status":    func(f *loci.Filter) { f.Statuses = []string{"a"} },
		"statuses":  func(f *loci.Filter) { f.Statuses = []string{"a", ""} },
		"time":      func(f *loci.Filter) { f.At = time.UnixMilli(5) },
		"not live":  func(f *loci.Filter) { f.NotLive = true },
	} {
		k := key(change)
		if k == "" || seen[k] {
			t.Errorf("%s has the key %q", name, k)
		}
		seen[k] = true
	}
	for _, other := range []struct {
		columns string
		after   *page.Record
		order   loci.Order
		limit   int
	}{{briefColumns, &page.Record{Slot: "a"}, loci.SlotAscending, 3},
		{briefColumns, &page.Record{Slot: "b"}, loci.SlotAscending, 3},
		{briefColumns, nil, loci.SlotDescending, 3}, {briefColumns, nil, loci.SlotAscending, 4}} {
		k, lasts := listKey(other.columns, &plain, other.after, other.order, other.limit)
		if !lasts || seen[string(k)] {
			t.Errorf("%+v has the key %q", other, k)
		}
		seen[string(k)] = true
	}
	if _, lasts := listKey(bodyColumns, &plain, nil, loci.SlotDescending, 3); lasts {
		t.Error("a page is kept that is of a delete")
	}
	for name, change := range map[string]func(*loci.Filter){
		"ids":        func(f *loci.Filter) { f.IDs = []loci.ID{{1}} },
		"slot":       func(f *loci.Filter) { f.Slot = new(string) },
		"tags":       func(f *loci.Filter) { f.Tags = []string{"a"} },
		"expired":    func(f *loci.Filter) { f.Expired = true },
		"confidence": func(f *loci.Filter) { f.MinConfidence = 0.5 },
		"due":        func(f *loci.Filter) { f.Due = time.UnixMilli(5) },
		"ended":      func(f *loci.Filter) { f.Ended = true },
		"since":      func(f *loci.Filter) { f.Since = time.UnixMilli(5) },
	} {
		if k := key(change); k != "" {
			t.Errorf("a page by %s has the key %q", name, k)
		}
	}
}

// putAgain puts a record with a slot, at a version.
func putAgain(t *testing.T, s *Store, r *loci.Record, version int64) {
	t.Helper()
	r.Version = version
	must(t, s.Apply(t.Context(), testTenant, loci.Change{Put: []loci.Put{{Record: *r, SameText: true, Revisions: -1}}}))
}

// inDirectory makes records with slots of a place.
func inDirectory(t *testing.T, s *Store, slots ...string) (all []*loci.Record) {
	t.Helper()
	for _, slot := range slots {
		c := note("a text")
		r := &c.Put[0].Record
		r.Slot, r.Status, r.Attributes = slot, "file", []byte(`{"n":1}`)
		must(t, s.Apply(t.Context(), testTenant, c))
		all = append(all, r)
	}
	return all
}

// slotsOf are the slots and versions of a page.
func slotsOf(records []loci.Record) (out []string) {
	for i := range records {
		out = append(out, fmt.Sprintf("%s@%d", records[i].Slot, records[i].Version))
	}
	return out
}

var inPlace = loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}

// Only the rows that have changed are read again of a page that is kept. What comes, goes or moves is where it belongs,
// and a page that has lost a row to what lies behind it is read as a whole.
func TestKeptPagesAreMended(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	all := inDirectory(t, s, "b", "d", "f", "h", "j")
	f := s.files[testTenant]
	list := func(order loci.Order, limit int) string {
		t.Helper()
		page := loci.Page{Order: order, Brief: true, Limit: limit}
		records, next, err := s.Records(t.Context(), testTenant, inPlace, page)
		must(t, err)
		if next != "" {
			return fmt.Sprint(slotsOf(records), " and more")
		}
		return fmt.Sprint(slotsOf(records))
	}
	key := func(order loci.Order, limit int) []byte {
		key, _ := listKey(briefColumns, &inPlace, nil, order, limit+1)
		return key
	}
	// forge changes a row of a kept page in memory, by which what comes from there is known.
	forge := func(order loci.Order, limit int) {
		t.Helper()
		kept, state, _ := f.rows.FindList(key(order, limit), inPlace.At.UnixMilli())
		if kept.Data == nil {
			t.Fatalf("the page of %d is not kept", limit)
		}
		data := bytes.Replace(kept.Data, []byte(`{"n":1}`), []byte(`{"n":9}`), -1)
		f.rows.KeepList(state, key(order, limit), data, inPlace.At.UnixMilli(), kept.Until)
	}
	fromMemory := func(order loci.Order, limit int) (n int) {
		t.Helper()
		page := loci.Page{Order: order, Brief: true, Limit: limit}
		records, _, err := s.Records(t.Context(), testTenant, inPlace, page)
		must(t, err)
		for i := range records {
			if string(records[i].Attributes) == `{"n":9}` {
				n++
			}
		}
		return n
	}
	up, down := loci.SlotAscending, loci.SlotDescending
	for _, step := range []struct {
		what    string
		change  func()
		up, cut string // all, and the first three
		down    string // the last two
		kept    [3]int // rows of each that come from memory
	}{
		{"nothing", func() {}, "[b@1 d@1 f@1 h@1 j@1]", "[b@1 d@1 f@1] and more", "[j@1 h@1] and more", [3]int{5, 3, 2}},
		{"a change", func() { putAgain(t, s, all[1], 2) },
			"[b@1 d@2 f@1 h@1 j@1]", "[b@1 d@2 f@1] and more", "[j@1 h@1] and more", [3]int{4, 2, 2}},
		{"a new one", func() { all = append(all, inDirectory(t, s, "c")...) },
			"[b@1 c@1 d@2 f@1 h@1 j@1]", "[b@1 c@1 d@2] and more", "[j@1 h@1] and more", [3]int{5, 2, 2}},
		{"one at the end", func() { all = append(all, inDirectory(t, s, "z")...) },
			"[b@1 c@1 d@2 f@1 h@1 j@1 z@1]", "[b@1 c@1 d@2] and more", "[z@1 j@1] and more", [3]int{6, 3, 1}},
		{"a move to the front", func() { all[3].Slot = "a"; putAgain(t, s, all[3], 2) },
			"[a@2 b@1 c@1 d@2 f@1 j@1 z@1]", "[a@2 b@1 c@1] and more", "[z@1 j@1] and more", [3]int{6, 2, 0}},
		{"a move from the front", func() { all[3].Slot = "x"; putAgain(t, s, all[3], 3) },
			"[b@1 c@1 d@2 f@1 j@1 x@3 z@1]", "[b@1 c@1 d@2] and more", "[z@1 x@3] and more", [3]int{6, 0, 1}},
		{"some moves", func() {
			for i, slot := range []string{"m", "k", "l"} {
				all[i].Slot = slot
				putAgain(t, s, all[i], 5-int64(i%2)*2-int64((i+1)%2)*3)
			}
		}, "[c@1 j@1 k@3 l@2 m@2 x@3 z@1]", "[c@1 j@1 k@3] and more", "[z@1 x@3] and more", [3]int{4, 0, 2}},
		{"one that is not live", func() { all[4].Live = false; putAgain(t, s, all[4], 2) },
			"[c@1 k@3 l@2 m@2 x@3 z@1]", "[c@1 k@3 l@2] and more", "[z@1 x@3] and more", [3]int{6, 0, 2}},
	} {
		for range 2 {
			list(up, 9)
			list(up, 3)
			list(down, 2)
		}
		forge(up, 9)
		forge(up, 3)
		forge(down, 2)
		step.change()
		if got := list(up, 9); got != step.up {
			t.Errorf("after %s there are %s; want %s", step.what, got, step.up)
		}
		if got := list(up, 3); got != step.cut {
			t.Errorf("after %s the first are %s; want %s", step.what, got, step.cut)
		}
		if got := list(down, 2); got != step.down {
			t.Errorf("after %s the last are %s; want %s", step.what, got, step.down)
		}
		got := [3]int{fromMemory(up, 9), fromMemory(up, 3), fromMemory(down, 2)}
		if got != step.kept {
			t.Errorf("after %s so many rows come from memory: %v; want %v", step.what, got, step.kept)
		}
		must(t, f.write(t.Context(), func(x *tx) error { // so that all is read again
			f.rows.TouchedAll()
			return x.exec("UPDATE meta SET value = value WHERE key = 'seq'")
		}))
	}
}

// A page that is kept loses a row with its erase, in memory, too, and stays when the log is cut. One that ends before
// the last row does not: what comes behind is not known. Nor does one whose key has a name, and an empty one.
func TestKeptPagesLoseWhatIsErased(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	all := inDirectory(t, s, "a", "bb-secret", "c", "d", "e")
	f := s.files[testTenant]
	list := func(page loci.Page) (slots, next string) {
		t.Helper()
		page.Order, page.Brief = loci.SlotAscending, true
		records, next, err := s.Records(t.Context(), testTenant, inPlace, page)
		must(t, err)
		return fmt.Sprint(slotsOf(records)), next
	}
	// inMemory are the pages that are kept and whole.
	inMemory := func() (pages []string) {
		for from := range 2 {
			for limit := 1; limit <= 9; limit++ {
				var after *page.Record
				if from > 0 {
					after = &page.Record{Slot: "bb-secret"}
				}
				key, _ := listKey(briefColumns, &inPlace, after, loci.SlotAscending, limit+1)
				if kept, _, _ := f.rows.FindList(key, 0); kept.Data != nil {
					shown := bytes.Contains(kept.Data, []byte("secret"))
					pages = append(pages, fmt.Sprintf("%d+%d %t", from, limit, shown))
				}
			}
		}
		return pages
	}
	want := func(pages ...string) {
		t.Helper()
		if got := inMemory(); !slices.Equal(got, pages) {
			t.Errorf("pages are kept: %v; want %v", got, pages)
		}
	}
	_, next := list(loci.Page{Limit: 2})
	list(loci.Page{Limit: 7, Cursor: next})
	list(loci.Page{Limit: 8})
	want("0+2 true", "0+8 true", "1+7 false")
	must(t, s.Apply(t.Context(), testTenant, gone([]loci.ID{all[1].ID}, true)))
	if at, known := f.rows.Look(); !known || at[4] != 1 { // the commit behind it, which notes that all is wiped
		t.Errorf("the log was not cut: %v", at)
	}
	want("0+8 false")
	if slots, _ := list(loci.Page{Limit: 8}); slots != "[a@1 c@1 d@1 e@1]" {
		t.Error(slots)
	}
	list(loci.Page{Limit: 2})
	want("0+2 false", "0+8 false")
	must(t, s.Apply(t.Context(), testTenant, gone([]loci.ID{all[4].ID}, true))) // none of the two, nor the next
	want("0+2 false", "0+8 false")
	if slots, next := list(loci.Page{Limit: 2}); slots != "[a@1 c@1]" || next == "" {
		t.Error(slots, next)
	}
	save(t, s, "a text") // else the name of the namespace would go, too, with which all goes
	for _, i := range []int{0, 2, 3} {
		must(t, s.Apply(t.Context(), testTenant, gone([]loci.ID{all[i].ID}, true)))
	}
	want()
}

// A page that is mended knows when the first of its rows expires, also of one that has come since.
func TestMendedPagesKnowTheTime(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	all := inDirectory(t, s, "a", "b", "c")
	at := time.UnixMilli(1_700_000_000_000).UTC()
	list := func(seconds int, want string) {
		t.Helper()
		f := inPlace
		f.At = at.Add(time.Duration(seconds) * time.Second)
		records, _, err := s.Records(t.Context(), testTenant, f, loci.Page{Order: loci.SlotAscending, Brief: true})
		if got := fmt.Sprint(slotsOf(records)); err != nil || got != want {
			t.Errorf("after %d s there are %s, %v; want %s", seconds, got, err, want)
		}
	}
	list(5, "[a@1 b@1 c@1]")
	all[1].ExpiresAt = at.Add(20 * time.Second)
	putAgain(t, s, all[1], 2)
	list(10, "[a@1 b@2 c@1]")
	list(20, "[a@1 c@1]")
	list(15, "[a@1 b@2 c@1]")
	list(19, "[a@1 b@2 c@1]")
	all[1].ExpiresAt = time.Time{}
	putAgain(t, s, all[1], 3)
	list(25, "[a@1 b@3 c@1]")
	all[0].ExpiresAt = at.Add(28 * time.Second)
	putAgain(t, s, all[0], 2)
	list(30, "[b@3 c@1]") // it has expired before anybody saw it
	list(27, "[a@2 b@3 c@1]")
}

// The rows of a page that is mended are of one moment, whenever meanwhile somebody else writes.
func TestMendedPagesAreOfOneMoment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	all := inDirectory(t, other, "a", "b", "c")
	version := int64(1)
	write := func(by *Store) {
		version++
		var put []loci.Put
		for _, r := range all {
			r.Version = version
			put = append(put, loci.Put{Record: *r, SameText: true, Revisions: -1})
		}
		if err := by.Apply(t.Context(), testTenant, loci.Change{Put: put}); err != nil {
			t.Error(err)
		}
	}
	page := loci.Page{Order: loci.SlotAscending, Brief: true, Limit: 100}
	during := 0
	for n := 1; ; n++ {
		write(s)
		_, _, err := s.Records(t.Context(), testTenant, inPlace, page) // it is kept
		must(t, err)
		one := loci.Touch{ID: all[1].ID, ExpiresAt: time.UnixMilli(1 << 42)}
		must(t, s.Touch(t.Context(), testTenant, []loci.Touch{one})) // and one row is read again
		before := version
		ctx := &lookedAt{Context: t.Context(), n: n, do: func() { write(other) }}
		records, _, err := s.Records(ctx, testTenant, inPlace, page)
		ctx.end()
		if err != nil || len(records) != 3 {
			t.Fatal(n, len(records), err)
		}
		if a, b, c := records[0].Version, records[1].Version, records[2].Version; a != b || b != c || a < before {
			t.Errorf("look %d: versions %d, %d and %d; %d was acknowledged before", n, a, b, c, before)
		}
		if version == before {
			break // the call looks fewer times
		}
		during++
	}
	if during < 2 {
		t.Errorf("the other one wrote during %d calls", during)
	}
}

// Pages of a store that keeps them are those of one that does not, whatever changes.
func TestMendedPagesAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		path := filepath.Join(t.TempDir(), "x.db")
		s, plain := openFile(t, path), uncached(t, path)
		random := rand.New(rand.NewPCG(seed, 1))
		var all []*loci.Record
		for range 40 {
			slot := fmt.Sprintf("%03d", random.IntN(1000))
			if !slices.ContainsFunc(all, func(r *loci.Record) bool { return r.Slot == slot }) {
				all = append(all, inDirectory(t, s, slot)...)
			}
		}
		for step := range 120 {
			for range random.IntN(3) {
				r := all[random.IntN(len(all))]
				switch slot := fmt.Sprintf("%03d", random.IntN(1000)); {
				case random.IntN(3) > 0:
				case slices.ContainsFunc(all, func(r *loci.Record) bool { return r.Slot == slot }):
				default:
					r.Slot = slot
				}
				r.Status = []string{"file", "dir"}[random.IntN(2)]
				putAgain(t, s, r, r.Version+1)
			}
			f := inPlace
			if random.IntN(2) == 0 {
				f.Slots = loci.SlotRange{From: "2", To: "7"}
			}
			if random.IntN(3) == 0 {
				f.Statuses = []string{"dir"}
			}
			p := loci.Page{Order: []loci.Order{loci.SlotAscending, loci.SlotDescending}[random.IntN(2)],
				Brief: true, Limit: []int{3, 10, 100}[random.IntN(3)]}
			for range 3 { // pages
				got, next, err := s.Records(t.Context(), testTenant, f, p)
				must(t, err)
				want, after, err := plain.Records(t.Context(), testTenant, f, p)
				must(t, err)
				if !reflect.DeepEqual(got, want) || next != after {
					t.Fatalf("seed %d, step %d: %v, then %q; want %v, then %q", seed, step, slotsOf(got), next, slotsOf(want), after)
				}
				if p.Cursor = next; next == "" {
					break
				}
			}
		}
	}
}
