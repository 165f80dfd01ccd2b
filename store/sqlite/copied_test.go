package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// noted are the records of some ids, as a caller gets them.
func noted(t *testing.T, s *Store, core bool, ids ...loci.ID) []loci.Record {
	t.Helper()
	all := loci.Filter{Within: []loci.Namespace{{}}, IDs: ids, NotLive: true}
	records, _, err := s.Records(context.Background(), testTenant, all, loci.Page{Limit: 1000, Core: core})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// isKept reports whether a record would be found without a look at the file.
func isKept(t *testing.T, s *Store, id loci.ID) bool {
	t.Helper()
	found := make([][]byte, 1)
	_, known := s.files[testTenant].rows.Find([]rowcache.ID{rowcache.ID(id)}, found)
	return known && found[0] != nil
}

// uncached is a store that keeps nothing of what it reads.
func uncached(t *testing.T, path string) *Store {
	t.Helper()
	s := openFile(t, path)
	s.pool = rowcache.NewPool(0)
	return s
}

// A record that was read is kept; what this process does to another one leaves it, and what it does to the record, or
// another process to anything, is seen at once.
func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	id := save(t, s, "what is read")
	if isKept(t, s, id) {
		t.Error("a record is kept that nobody has read")
	}
	read := func(from *Store, want string) {
		t.Helper()
		if r := noted(t, from, false, id); len(r) != 1 || r[0].Text != want {
			t.Fatalf("%+v", r)
		}
	}
	read(s, "what is read")
	if !isKept(t, s, id) {
		t.Fatal("a record that was read is not kept")
	}
	save(t, s, "another one")
	if !isKept(t, s, id) {
		t.Error("it is not kept any more after another one was stored")
	}
	put := func(by *Store, text string) {
		t.Helper()
		r := noted(t, by, false, id)[0]
		r.Version, r.Text, r.Passages = r.Version+1, text, []loci.Span{{Start: 0, End: len(text)}}
		if err := by.Apply(t.Context(), testTenant, loci.Change{Put: []loci.Put{{Record: r}}}); err != nil {
			t.Fatal(err)
		}
	}
	put(s, "as this process has it")
	if isKept(t, s, id) {
		t.Error("it is kept as it was before this process changed it")
	}
	read(s, "as this process has it")
	read(other, "as this process has it")
	put(other, "as another one has it")
	read(s, "as another one has it")
	read(s, "as another one has it")
	at := time.UnixMilli(1_700_000_100_000).UTC()
	for _, by := range []*Store{s, other} {
		if err := by.Touch(t.Context(), testTenant, []loci.Touch{{ID: id, At: at}}); err != nil {
			t.Fatal(err)
		}
	}
	if r := noted(t, s, false, id)[0]; r.Uses != 2 || r.UsedAt != at {
		t.Errorf("uses %d, used at %v", r.Uses, r.UsedAt)
	}
	save(t, other, "something else")
	if isKept(t, s, id) {
		t.Error("it is kept though another process has written")
	}
	noted(t, s, false, id)
	if err := s.Close(); err != nil || s.pool.Bytes() != 0 {
		t.Errorf("%d bytes are kept of a store that is closed: %v", s.pool.Bytes(), err)
	}
}

// What is kept of a file stays when an erase cuts its log.
func TestWhatIsKeptStaysWhenTheLogIsCut(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	kept, other := save(t, s, "walrus"), save(t, s, "seal")
	noted(t, s, false, kept)
	must(t, s.Apply(t.Context(), testTenant, gone([]loci.ID{other}, true)))
	if at, known := s.files[testTenant].rows.Look(); !known || at.Frames() != 1 { // of a commit that notes that all is wiped
		t.Fatalf("the log was not cut: %v", at)
	}
	if !isKept(t, s, kept) {
		t.Error("it is gone")
	}
}

// What is erased is not in the process's memory for records any more when the erase returns, and where another
// process has erased it, after the next look.
func TestErasedRecordsAreNotKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	for _, by := range []*Store{s, other} {
		c := note("secret")
		c.Put[0].Record.Slot = "secret name"
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		id := c.Put[0].Record.ID
		noted(t, s, false, id)
		if s.pool.Bytes() == 0 {
			t.Fatal("nothing is kept of a record")
		}
		eraseOne(t, by, id)
		if by == s && s.pool.Bytes() != 0 {
			t.Errorf("%d bytes are kept when the erase returns", s.pool.Bytes())
		}
		if r := noted(t, s, false, id); len(r) != 0 || s.pool.Bytes() != 0 {
			t.Errorf("%d records and %d bytes are left", len(r), s.pool.Bytes())
		}
	}
	id := save(t, s, "another secret")
	noted(t, s, false, id)
	if err := s.EraseTenant(t.Context(), testTenant); err != nil || s.pool.Bytes() != 0 {
		t.Errorf("%d bytes are kept of a tenant that was erased: %v", s.pool.Bytes(), err)
	}
	if r := noted(t, s, false, id); len(r) != 0 {
		t.Errorf("%+v", r)
	}
}

// Whoever gets a record may change all that it refers to, and no other caller sees that. The documents of a core are lent: what is
// appended to them is elsewhere.
func TestKeptRecordsAreApart(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	plain := uncached(t, s.path)
	for _, first := range []bool{false, true} {
		c := note("a text")
		r := &c.Put[0].Record
		r.Tags, r.Attributes, r.Body = []string{"tag"}, json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":2}`)
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		for _, core := range []bool{first, first, !first, !first, first} {
			want := noted(t, plain, core, r.ID)
			got := noted(t, s, core, r.ID)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("first as a core: %v, now: %v\n%+v\n%+v", first, core, got, want)
			}
			g := got[0]
			clear(g.Namespace)
			clear(g.Tags)
			clear(g.Passages)
			for _, document := range [][]byte{g.Attributes, g.Body} {
				if _ = append(document, "more"...); !core {
					clear(document)
				}
			}
		}
	}
}

// A record shows the name that its namespace has.
func TestKeptRecordsHaveTheirNamespace(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	id := save(t, s, "a text")
	noted(t, s, false, id)
	err := s.files[testTenant].write(t.Context(), func(tx *tx) error {
		return tx.exec("UPDATE namespace SET key = x'7600' WHERE key = x'7500'")
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := noted(t, s, false, id); len(r) != 1 || r[0].Namespace.Key() != "v\x00" {
		t.Errorf("%+v", r)
	}
}

// A tenant, a namespace and a filter see of what is kept what they see of the file.
func TestKeptRecordsAreVisibleAsBefore(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a, errA := loci.NewTenant("a")
	b, errB := loci.NewTenant("b")
	c := note("of a")
	id := c.Put[0].Record.ID
	if errA != nil || errB != nil || s.Apply(t.Context(), a, c) != nil {
		t.Fatal(errA, errB)
	}
	ask := func(tenant loci.Tenant, f loci.Filter) int {
		t.Helper()
		f.IDs = []loci.ID{id}
		records, _, err := s.Records(t.Context(), tenant, f, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return len(records)
	}
	all := []loci.Namespace{{}}
	for range 3 {
		for name, got := range map[string][2]int{
			"its tenant":     {ask(a, loci.Filter{Within: all}), 1},
			"another tenant": {ask(b, loci.Filter{Within: all}), 0},
			"its namespace": {ask(a, loci.Filter{
				Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}), 1},
			"another namespace": {ask(a, loci.Filter{Within: []loci.Namespace{{"v"}}}), 0},
			"no namespace":      {ask(a, loci.Filter{}), 0},
			"another kind":      {ask(a, loci.Filter{Within: all, Kinds: []loci.Kind{loci.KindRule}}), 0},
			"a tag":             {ask(a, loci.Filter{Within: all, Tags: []string{"x"}}), 0},
			"what is gone":      {ask(a, loci.Filter{Within: all, NotLive: true, Gone: true}), 0},
		} {
			if got[0] != got[1] {
				t.Errorf("%s sees %d records; want %d", name, got[0], got[1])
			}
		}
	}
	c = note("of b")
	c.Put[0].Record.ID = id
	if err := s.Apply(t.Context(), b, c); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[loci.Tenant]string{a: "of a", b: "of b"} {
		for range 2 {
			records, _, err := s.Records(t.Context(), tenant, loci.Filter{Within: all, IDs: []loci.ID{id}}, loci.Page{})
			if err != nil || len(records) != 1 || records[0].Text != want {
				t.Errorf("%s has %+v, %v", tenant, records, err)
			}
		}
	}
}

// Two stores on one file that keep what they read answer as one that keeps nothing, whoever changed what.
func TestKeptIsAsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	plain := uncached(t, path)
	both := []*Store{openFile(t, path), openFile(t, path)}
	both[1].pool = rowcache.NewPool(60 << 10) // it always makes room, and large records are not kept
	rng := rand.New(rand.NewPCG(7, rand.Uint64()))
	begin := time.UnixMilli(1_700_000_000_000).UTC()
	now := begin
	ids := make([]loci.ID, 40)
	for i := range ids {
		ids[i] = loci.NewID()
	}
	for step := range keptSteps {
		s := both[rng.IntN(2)]
		id := ids[rng.IntN(len(ids))]
		now = now.Add(time.Second)
		old := noted(t, plain, false, id)
		var err error
		switch n := rng.IntN(20); {
		case n == 0 && step%7 == 0:
			err = s.EraseTenant(t.Context(), testTenant)
		case n < 2:
			exec1(t, path, fmt.Sprintf("UPDATE record SET body = CAST('{\"by\":%d}' AS BLOB) WHERE n %% 3 = %d", step, step%3))
		case n < 5 && len(old) > 0:
			err = s.Apply(t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: old[0].Version}}})
		case n < 9:
			touches := []loci.Touch{{ID: id, At: now}, {ID: ids[rng.IntN(len(ids))], ExpiresAt: now.Add(time.Minute)}}
			err = s.Touch(t.Context(), testTenant, touches[rng.IntN(2):])
		default:
			c := note(fmt.Sprint("text ", step, strings.Repeat(" x", rng.IntN(900))))
			r := &c.Put[0].Record
			r.ID, r.Namespace, r.CreatedAt = id, loci.Namespace{fmt.Sprint("u", id[15]%3)}, begin
			r.Live, r.Status, r.Scope = rng.IntN(4) > 0, fmt.Sprint("s", rng.IntN(2)), "scope"
			r.Slot, r.UpdatedAt = fmt.Sprint("slot ", id), now
			if !r.Live {
				r.Passages = nil
			}
			r.Decay = loci.Decay{Confidence: 0.5, Rate: 0.25, From: begin}
			if rng.IntN(2) > 0 {
				r.Tags, r.Attributes = []string{"a", "ö"}, json.RawMessage(fmt.Sprintf(`{"n":%d}`, step))
				r.Sequence, r.Position, r.Heading = "seq", int64(step), "head"
				r.ExpiresAt = now.Add(time.Duration(rng.IntN(60)) * time.Second)
			}
			if len(old) > 0 {
				r.Version = old[0].Version + 1
			}
			c.Events = nil
			err = s.Apply(t.Context(), testTenant, c)
		}
		if err != nil {
			t.Fatal(step, err)
		}
		for range 3 {
			s := both[rng.IntN(2)]
			f := loci.Filter{
				Within: []loci.Namespace{{}}, IDs: ids[rng.IntN(10) : 11+rng.IntN(29)], NotLive: rng.IntN(2) > 0}
			f.IDs = slices.Concat(f.IDs, f.IDs[:rng.IntN(3)]) // a second time, too
			p := loci.Page{Limit: 100, Core: rng.IntN(2) > 0}
			if rng.IntN(2) > 0 {
				f.At = now
			}
			if rng.IntN(3) == 0 {
				f.Within = []loci.Namespace{{"u1"}}
			}
			if rng.IntN(3) == 0 {
				f = loci.Filter{Within: []loci.Namespace{{"u1"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact},
					At: f.At, NotLive: f.NotLive}
				p = loci.Page{Limit: 5, Order: loci.SlotAscending + loci.Order(rng.IntN(2)), Brief: true,
					Bodies: rng.IntN(2) > 0}
			}
			for pages := 0; pages < 3; pages++ {
				got, next, err := s.Records(t.Context(), testTenant, f, p)
				want, wantNext, errWant := plain.Records(t.Context(), testTenant, f, p)
				if p.Core { // in any order
					for _, list := range [][]loci.Record{got, want} {
						slices.SortFunc(list, func(a, b loci.Record) int { return slices.Compare(a.ID[:], b.ID[:]) })
					}
				}
				if err != nil || errWant != nil || next != wantNext || !reflect.DeepEqual(got, want) {
					t.Fatalf("step %d, %+v, %+v: %v, %v\n%+v\n%+v", step, f, p, err, errWant, got, want)
				}
				if p.Cursor = next; next == "" {
					break
				}
			}
		}
	}
	// What the last step wrote may have emptied both, or all of the tenant.
	last := note("the last")
	if err := both[0].Apply(t.Context(), testTenant, last); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, last.Put[0].Record.ID)
	for _, s := range append(both[:], plain) {
		if _, _, err := s.Records(t.Context(), testTenant,
			loci.Filter{Within: []loci.Namespace{{}}, IDs: ids, NotLive: true}, loci.Page{Limit: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if plain.pool.Bytes() != 0 || both[0].pool.Bytes() == 0 || both[1].pool.Bytes() > 60<<10 {
		t.Errorf("%d, %d and %d bytes are kept", plain.pool.Bytes(), both[0].pool.Bytes(), both[1].pool.Bytes())
	}
}

// Whoever reads while others write, in this process and another one, sees what was acknowledged before, and all
// records of one call as of one moment.
func TestKeptRecordsBesideWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	stores := []*Store{openFile(t, path), openFile(t, path)}
	c := note("0")
	for range 5 {
		c.Put = append(c.Put, note("0").Put[0])
	}
	if err := stores[0].Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	var ids []loci.ID
	for i := range c.Put {
		ids = append(ids, c.Put[i].Record.ID)
	}
	var told atomic.Int64 // the least version that every reader sees
	told.Store(1)
	done := make(chan struct{})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least := told.Load()
				records := noted(t, stores[i%2], i < 2, ids...)
				for _, r := range records {
					if r.Version < least || r.Version != records[0].Version || r.Text != fmt.Sprint(r.Version-1) {
						t.Errorf("%d at version %d, with %q; acknowledged is %d", r.ID, r.Version, r.Text, least)
						return
					}
				}
			}
		})
	}
	for version := int64(2); version < 60 && !t.Failed(); version++ {
		put := slices.Clone(c.Put)
		for i := range put {
			r := &put[i].Record
			r.Version, r.Text = version, fmt.Sprint(version-1)
			r.Passages = []loci.Span{{Start: 0, End: len(r.Text)}}
		}
		if err := stores[version%2].Apply(t.Context(), testTenant, loci.Change{Put: put}); err != nil {
			t.Error(err)
			break
		}
		told.Store(version)
		time.Sleep(time.Duration(version%3) * time.Millisecond)
	}
	close(done)
	all.Wait()
}

// A search finds what this process and another one have just written, though it does not read the number of the last
// change again where nothing has changed.
func TestSearchesSeeTheLastChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	search := func(word string) int {
		t.Helper()
		f := loci.Filter{Within: []loci.Namespace{{}}}
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: word}, f, 5)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	for i, by := range []*Store{s, other, s, other} {
		word := fmt.Sprint("zebra", i)
		if n := search(word); n != 0 {
			t.Errorf("%d hits before it is stored", n)
		}
		save(t, by, word)
		if n := search(word); n != 1 {
			t.Errorf("%d hits of %s", n, word)
		}
	}
	last := s.files[testTenant].last.Load()
	search("zebra1")
	if last == nil || s.files[testTenant].last.Load() != last {
		t.Error("the number of the last change is read though nothing has changed")
	}
}

// Of a file of which SQLite does not say in which state it is, nothing is kept.
func TestNoHeadNothingKept(t *testing.T) {
	t.Parallel()
	if _, known := logHead(0).look(); known {
		t.Error("a head that is nowhere is known")
	}
	whole := rowcache.State{headVersion: knownVersion, headWhole: 1, 4: 5}
	begun, older, empty := whole, whole, whole
	begun[4], older[headVersion], empty[headWhole] = 6, 1, 0
	for name, copies := range map[string]*[2]rowcache.State{
		"one that is whole": {whole, whole}, "a commit under way": {whole, begun},
		"another version": {older, older}, "one that is not written": {empty, empty},
	} {
		now, known := logHead(uintptr(unsafe.Pointer(copies))).look()
		if known != (name == "one that is whole") || known && now != whole {
			t.Errorf("%s: %v, %v", name, now, known)
		}
		runtime.KeepAlive(copies)
	}
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	id := save(t, s, "a text")
	f := s.files[testTenant]
	f.rows = f.pool.Open(func() (rowcache.State, bool) { return rowcache.State{}, false })
	if r := noted(t, s, false, id, id); len(r) != 1 || isKept(t, s, id) {
		t.Errorf("of one that is named twice %+v", r)
	}
	other := loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{id}, Kinds: []loci.Kind{loci.KindRule}}
	r, _, err := s.Records(t.Context(), testTenant, other, loci.Page{Limit: 10})
	if must(t, err); len(r) != 0 {
		t.Errorf("of another kind %+v", r)
	}
}
