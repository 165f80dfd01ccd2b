package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	return []loci.Filter{above(), above("u"), above("u", "n3"), above("v"), one, {Within: []loci.Namespace{{"u"}, {"u", "n1"}}},
		{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{shelfKind}}, {Within: []loci.Namespace{{}}, Exact: true}}
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
	s = s.equal("made")
	read := s.reads(func() {
		if hits := s.in("walrus", above("u")); len(hits) != 50 {
			t.Errorf("%d hits; want 50", len(hits))
		}
	})
	x := &s.opened().search
	if read != 0 || len(x.names) != 0 || len(x.used) != 1 {
		t.Errorf("the first search read %d records, %d names and has %d shards; want 0, 0 and 1", read, len(x.names), len(x.used))
	}
	s = s.equal("mapped")
	if n := len(segments(t, s.path)); n == 0 {
		t.Error("nothing is kept")
	}
	_ = context.Background
	_ = rand.IntN
	_ = os.Stat
	_ = slices.Sort[[]int]
	_ = strings.Cut
}
