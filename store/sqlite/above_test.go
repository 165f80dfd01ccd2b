package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// joinedStore is one whose index is kept from 20 records on, in segments of 16, of 4 small shards and more together.
type joinedStore struct{ keptStore }

func openJoined(t *testing.T, path string) joinedStore {
	t.Helper()
	return joinedStore{openKeptWith(t, path, new(Options).Shelve(20, 16).Join(4))}
}

func openKeptWith(t *testing.T, path string, o *Options) keptStore {
	t.Helper()
	s, err := Open(path, o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return keptStore{s, t, path}
}

func (s joinedStore) reopened() joinedStore {
	s.t.Helper()
	return openJoined(s.t, closed(s.t, s.keptStore))
}

// said saves a version of note n in a namespace.
func (s joinedStore) said(n int, version int64, text string, at ...string) {
	s.t.Helper()
	must(s.t, s.Apply(s.t.Context(), testTenant, saidIn(n, version, text, at...)))
}

func saidIn(n int, version int64, text string, at ...string) loci.Change {
	c := putOf(n, version, text)
	c.Put[0].Record.Namespace, c.Events[0].Namespace = at, at
	return c
}

// spread saves a note in each of some namespaces below u.
func (s joinedStore) spread(from, to int) {
	s.t.Helper()
	for n := from; n < to; n++ {
		s.said(n, 1, fmt.Sprintf("walrus number%d of %d", n, n%7), "u", fmt.Sprint("n", n))
	}
}

func (s joinedStore) in(text string, f loci.Filter) []loci.Hit {
	s.t.Helper()
	p := loci.Probe{Text: text, Vector: []float32{1, 2, 1, 1}, Space: shelfSpace, Sequences: true}
	hits, err := s.Match(s.t.Context(), testTenant, p, f, 1000)
	must(s.t, err)
	return hits
}

func above(at ...string) loci.Filter { return loci.Filter{Within: []loci.Namespace{at}} }

// scopes are the filters that the tests compare: all, some and one of the namespaces.
func scopes() []loci.Filter {
	one := loci.Filter{Within: []loci.Namespace{{"u", "n3"}, {"u", "n5"}}, Exact: true}
	return []loci.Filter{
		above(), above("u"), above("u", "n3"), above("v"), one, {Within: []loci.Namespace{{"u"}, {"u", "n1"}}},
		{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{shelfKind}},
		{Within: []loci.Namespace{{"u"}}, Exact: true}, {Within: []loci.Namespace{{}}, Exact: true},
	}
}

func (s joinedStore) all() (out [][]loci.Hit) {
	s.t.Helper()
	for _, f := range scopes() {
		for _, text := range []string{"walrus", "number3 of", "of 4"} {
			out = append(out, s.in(text, f))
		}
	}
	return out
}

// apart answers the same from a copy of the file of a store that is closed, in which nothing is kept or planned.
func (s joinedStore) apart() [][]loci.Hit {
	s.t.Helper()
	copied := filepath.Join(s.t.TempDir(), "copy.db")
	copyFile(s.t, s.path, copied)
	exec1(s.t, copied, "DELETE FROM meta WHERE "+manifestKeys+" OR "+planKeys)
	other := joinedStore{openKeptWith(s.t, copied, new(Options).Shelve(1<<30, 16).Join(1<<30))}
	return other.all()
}

// equal compares what a store finds with what is found without groups, and opens it again.
func (s joinedStore) equal(what string) joinedStore {
	s.t.Helper()
	got := s.all()
	_ = closed(s.t, s.keptStore)
	for i, want := range s.apart() {
		if !reflect.DeepEqual(got[i], want) {
			s.t.Fatalf("%s: search %d finds\n%s\nwant\n%s", what, i, strings.Join(brief(got[i]), "\n"), strings.Join(brief(want), "\n"))
		}
	}
	return openJoined(s.t, s.path)
}

func brief(hits []loci.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%v %s %q %v %v", h.ID[1:3], h.Namespace, h.Sequence, h.Keyword, h.Similarity))
	}
	return out
}

// groups are those that the index of the process has.
func (s joinedStore) groups() (keys []index.Key) {
	s.t.Helper()
	x := &s.opened().search
	x.mu.RLock()
	defer x.mu.RUnlock()
	for key := range x.used {
		if key.Above {
			keys = append(keys, key)
		}
	}
	return keys
}

// A search above small namespaces makes one index of them, which the next process maps, without a record or a name.
func TestSmallShardsShareAKeptIndex(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 50)
	s.in("walrus", above())
	if got := s.groups(); len(got) != 1 || got[0].Namespace != (loci.Namespace{"u"}).Key() {
		t.Fatalf("groups %+v; want one below u", got)
	}
	s.said(60, 1, "walrus of 4", "u", "n60") // a namespace that is new
	s = s.equal("made")
	read := s.reads(func() {
		if hits := s.in("walrus", above("u")); len(hits) != 51 {
			t.Errorf("%d hits; want 51", len(hits))
		}
	})
	x := &s.opened().search
	if read != 1 || len(x.names) != 0 || len(x.used) != 1 {
		t.Errorf("the first search read %d records, %d names and has %d shards; want 1, 0 and 1", read, len(x.names), len(x.used))
	}
	s = s.equal("mapped")
	for n := 500; n < 530; n++ {
		c := saidIn(n, 1, "walrus walrus of 4", "u", fmt.Sprint("n", n%40))
		c.Put[0].Record.Kind = loci.KindRule
		must(t, s.Apply(t.Context(), testTenant, c))
	}
	s.in("walrus", above())
	if got := s.groups(); len(got) != 2 {
		t.Errorf("groups %v; want one of each kind", got)
	}
	s = s.equal("of two kinds")
	if n := len(segments(t, s.path)); n == 0 {
		t.Error("nothing is kept")
	}
}

// A search reaches no namespace that it does not cover, wherever the notes lie: in segments that are shared, on the
// heap, or in shards of their own.
func TestNobodyFindsWhatOthersSaid(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	words := map[string]string{}
	say := func(from, to int) {
		for n := from; n < to; n++ {
			for v, at := range []string{"u", "v"} {
				word := strings.Map(func(r rune) rune { return r%16 + 'a' }, canary(t)) // as one word, like no other
				words[word] = loci.Namespace{at, fmt.Sprint("n", n)}.String()
				s.said(2*n+v, 1, "walrus "+word, at, fmt.Sprint("n", n))
			}
		}
	}
	look := func(what string) {
		t.Helper()
		for word, at := range words {
			for _, text := range []string{word, "walrus"} {
				for _, f := range []loci.Filter{above(strings.Split(at, "/")...), above(at[:1]), above()} {
					for _, h := range s.in(text, f) {
						if !f.Covers(h.Namespace) || !strings.HasPrefix(h.Namespace.Key(), f.Within[0].Key()) {
							t.Errorf("%s: a search in %v finds what lies in %v", what, f.Within, h.Namespace)
						}
						if got := h.Namespace.String(); text == word && h.Keyword > 0 && got != at {
							t.Errorf("%s: what was said in %s is found in %s", what, at, got)
						}
					}
				}
			}
			if found := s.in(word, above(strings.Split(at, "/")...)); len(found) != 1 {
				t.Errorf("%s: %d hits in %s; want 1", what, len(found), at)
			}
			break // one, as the order of a map has it
		}
	}
	say(0, 30)
	s.in("walrus", above())
	look("made")
	if got := s.groups(); len(got) != 2 {
		t.Fatalf("groups %v; want two", got)
	}
	s = s.reopened()
	look("mapped")
	say(30, 34)
	look("with new namespaces")
	s = s.equal("in the end")
	look("mapped again")
}

// What is erased leaves the segments that namespaces share, earlier versions and all, without a search and while
// another process has them mapped. No segment has names of namespaces.
func TestEraseLeavesASharedIndex(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	for n := range 50 {
		s.said(n, 1, fmt.Sprintf("walrus number%d", n), "user", fmt.Sprint("secretive", n))
	}
	s.said(3, 2, "hidden walrus", "user", "secretive3")
	s.in("walrus", above())
	s = s.reopened()
	other := openJoined(t, s.path)
	other.in("walrus", above())
	s.said(3, 3, "edited walrus", "user", "secretive3")
	for _, text := range []string{"hidden", "number9"} {
		if len(heldIn(t, s.path, text)) == 0 {
			t.Fatalf("%q is in no segment", text)
		}
	}
	if found := heldIn(t, s.path, "secretive"); len(found) > 0 {
		t.Errorf("names of namespaces are in %q", found)
	}
	s.gone(3, 3, "user", "secretive3")
	s.gone(9, 1, "user", "secretive9")
	s.settle()
	for _, text := range []string{"hidden", "number9"} {
		if found := heldIn(t, s.path, text); len(found) > 0 {
			t.Errorf("%q is still in %q", text, found)
		}
	}
	for _, s := range []joinedStore{s, other} {
		if hits := s.in("walrus hidden number9", above()); len(hits) != 48 {
			t.Errorf("%d hits; want 48", len(hits))
		}
	}
	must(t, other.Close())
	if told, err := s.Warnings(t.Context()); err != nil || len(told) > 0 {
		t.Errorf("warnings %q, %v", told, err)
	}
	s.equal("erased")
}

func (s joinedStore) gone(n int, version int64, at ...string) {
	s.t.Helper()
	c := gone([]loci.ID{{1, byte(n >> 8), byte(n)}}, true)
	c.Erase[0].Version = version
	for i := range c.Events {
		c.Events[i].Namespace = at
	}
	must(s.t, s.Apply(s.t.Context(), testTenant, c))
}

// Whatever changes in between, in this process and in another one, a search finds what it finds without groups: in
// namespaces that are new, that are empty for a while, and that grow. What was erased is in no file.
func TestASharedIndexFollowsTheFile(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	s := openJoined(t, filepath.Join(dir, "x.db"))
	other := openJoined(t, s.path)
	type saved struct {
		at      []string
		version int64
		said    []string
	}
	live, erased := map[int]*saved{}, [][]byte(nil)
	for step := range 400 {
		by := []joinedStore{s, other}[random.IntN(2)]
		switch n := random.IntN(20); {
		case n < 10 || len(live) < 20:
			o := &saved{at: []string{"u", fmt.Sprint("n", random.IntN(12+step/8))}}
			if n == 0 {
				o.at = []string{"v", "w", fmt.Sprint("n", random.IntN(9))}
			}
			live[step] = o
			o.version, o.said = 1, append(o.said, canary(t))
			by.said(step, 1, "walrus of "+o.said[0], o.at...)
		case n < 13:
			for n, o := range live {
				o.version, o.said = o.version+1, append(o.said, canary(t))
				by.said(n, o.version, "walrus number3 of "+o.said[o.version-1], o.at...)
				break
			}
		case n < 17:
			for n, o := range live {
				by.gone(n, o.version, o.at...)
				for _, word := range o.said {
					erased = append(erased, []byte(word))
				}
				delete(live, n)
				break
			}
		case n < 19:
			by.in("walrus", scopes()[random.IntN(len(scopes()))])
		default:
			must(t, other.Close())
			s = s.equal(fmt.Sprint("step ", step))
			other = openJoined(t, s.path)
		}
	}
	if len(s.in("walrus", above())) != len(live) || len(s.groups()) == 0 {
		t.Errorf("%d notes of %d are found in %d groups", len(s.in("walrus", above())), len(live), len(s.groups()))
	}
	must(t, other.Close())
	s.settle()
	s = s.equal("in the end")
	s.settle()
	if len(erased) < 30 || len(segments(t, s.path)) == 0 {
		t.Fatalf("%d words are gone, and there are %d segments: nothing is shown", len(erased), len(segments(t, s.path)))
	}
	if found := filesWith(t, dir, erased); len(found) > 0 {
		t.Errorf("of %d erased words %d are left, such as %s", len(erased), len(found), found[0])
	}
}

// A namespace of a group that grows large gets an index of its own, and is not searched twice. One that was large
// when groups were planned is in none.
func TestWhatGrowsIsSearchedOnce(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 30)
	for n := 100; n < 130; n++ {
		s.said(n, 1, "walrus of 4", "u", "large")
	}
	s.in("walrus", above("u"))
	if got := s.groups(); len(got) != 1 || s.opened().search.index.Records(got[0]) != 30 {
		t.Fatalf("groups %v; want one of 30", got)
	}
	for n := 200; n < 230; n++ {
		s.said(n, 1, "walrus of 3", "u", "n3")
	}
	s = s.equal("grown")
	must(t, s.KeepIndex(t.Context(), testTenant))
	s = s.equal("kept")
	if hits := s.in("walrus", above("u")); len(hits) != 90 {
		t.Errorf("%d hits; want 90", len(hits))
	}
	all, _, err := s.opened().manifests(t.Context())
	must(t, err)
	if len(all) != 3 {
		t.Errorf("%d manifests; want three: of the group, of what was large and of what grew", len(all))
	}
	other := openJoined(t, s.path)
	other.said(250, 1, "walrus of 6", "u", "n4") // in the group, while one namespace is known by name
	must(t, other.Close())
	if hits := s.in("walrus", above("u")); len(hits) != 91 {
		t.Errorf("%d hits; want 91", len(hits))
	}
	_ = closed(t, s.keptStore)
	exec1(t, s.path, "DELETE FROM meta WHERE "+planKeys)
	s = openJoined(t, s.path)
	s = s.equal("planned again, without what grew")
	for n := 300; n < 303; n++ { // that this process has in its index, and another one has not
		s.said(n, 1, "walrus of 4", "u", "large")
	}
	s.equal("more")
}

// A pass behind what writes plans groups and keeps their index, so that the first search reads no record. What is
// damaged, missing or of another plan is made again.
func TestASharedIndexIsKeptBehindWrites(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 50)
	if !s.passes() {
		t.Fatal("no pass is asked for")
	}
	if n := s.reads(func() { s.in("walrus", above()) }); n != 0 || len(s.groups()) != 1 {
		t.Errorf("the first search read %d records, in %d groups", n, len(s.groups()))
	}
	s = s.reopened()
	s.spread(50, 70) // of which the index is kept again
	must(t, s.KeepIndex(t.Context(), testTenant))
	s = s.reopened()
	if n := s.reads(func() { s.in("walrus", above()) }); n != 0 {
		t.Errorf("the first search of the next process read %d records", n)
	}
	const set = "UPDATE meta SET value = CAST(json_set(CAST(value AS TEXT), '%s', 3) AS BLOB) WHERE key = '%s'"
	manifest := ""
	must(t, s.opened().readRow(t.Context(), "SELECT key FROM meta WHERE key GLOB 'above:*'", nil, &manifest))
	for what, harm := range map[string]func(){
		"a segment is cut":     func() { must(t, os.Truncate(segments(t, s.path)[0], 100)) },
		"a segment is missing": func() { must(t, os.Remove(segments(t, s.path)[0])) },
		"another plan": func() {
			exec1(t, s.path, `UPDATE meta SET value = json_set(CAST(value AS TEXT), '$.groups[0].apart[0]', 3) WHERE key = 'above.plan'`)
		},
		"no plan": func() { exec1(t, s.path, "DELETE FROM meta WHERE "+planKeys) },
		"a plan of other names": func() {
			exec1(t, s.path, `UPDATE meta SET value = json_set(CAST(value AS TEXT), '$.of', 'x') WHERE key = 'above.plan'`)
		},
		"a plan that is none": func() { exec1(t, s.path, "UPDATE meta SET value = x'7b' WHERE key = 'above.plan'") },
		"a manifest that is none": func() {
			exec1(t, s.path, "UPDATE meta SET value = x'7b' WHERE key > 'above:' AND key < 'above;'")
		},
	} {
		_ = closed(t, s.keptStore)
		harm()
		s = openJoined(t, s.path)
		s = s.equal(what)
		if n := s.reads(func() { s.in("walrus", above()) }); n != 0 {
			t.Errorf("%s: the next process read %d records", what, n)
		}
	}
}
