package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// begun is how far a load has come by the manifest of the notes, and how many segments that names.
func (s keptStore) begun() (upto int64, named int) {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	must(s.t, err)
	defer s.release(f)
	err = f.readRows(s.t.Context(), "SELECT key, value FROM meta WHERE "+manifestKeys, nil, func(rows *sql.Rows) (bool, error) {
		var key string
		var value []byte
		err := rows.Scan(&key, &value)
		m := readManifest(key, value)
		upto, named = m.Upto, len(m.Segments)
		return true, err
	})
	must(s.t, err)
	return upto, named
}

// giveUp opens the store again and searches, and gives up when so many parts have been read.
func (s keptStore) giveUp(parts int) keptStore {
	s.t.Helper()
	s = s.again()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	read, left := 0, make(chan struct{})
	s.reading = func(index.Key) {
		if read++; read > parts {
			cancel()
			<-left
		}
	}
	p := loci.Probe{Text: "walrus", Space: shelfSpace}
	_, err := s.Match(ctx, testTenant, p, loci.Filter{Within: []loci.Namespace{shelfPlace()}}, 10)
	if close(left); err == nil {
		s.t.Error("the search did not give up")
	}
	s.loaded()
	return s
}

// loaded waits until no load is at work: the manifest is written behind the answer.
func (s keptStore) loaded() {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	must(s.t, err)
	defer s.release(f)
	f.search.loading.Crew.Wait()
}

// What a load has put into segments is there for the next process, when the first one ends before
// it has read all: it goes on, and takes in what changed meanwhile.
func TestALoadGoesOnInTheNextProcess(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 200)
	path := closed(t, s.giveUp(5))
	s = openKept(t, path)
	parts := 0
	s.reading = func(index.Key) { parts++ }
	upto, named := s.begun()
	if upto == 0 || named < 4 || named > 8 || len(segments(t, path)) != named {
		t.Fatalf("read up to %d, %d segments of %d files", upto, named, len(segments(t, path)))
	}
	s.put(3, 2, "edited walrus number3")
	s.erase(7, 1)
	s.settle() // the segment without it is in the manifest before the load takes that up
	s.fill(200, 210)
	got := s.answers()
	if most := 210/16 - named + 3; parts > most {
		t.Errorf("%d parts were read; %d would be enough", parts, most)
	}
	s.loaded()
	if upto, named := s.begun(); upto != 0 || named < 13 {
		t.Errorf("in the end: read up to %d, %d segments", upto, named)
	}
	same(t, "gone on with", got, fromHeap(t, closed(t, s)))
	s = openKept(t, path)
	same(t, "opened again", s.answers(), got)
}

// What a build that knows nothing of a load that did not end reads in its manifest is no segment.
func TestOlderBuildsSeeNoBegunLoad(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	s = s.giveUp(3)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	var named, begun int
	const query = "SELECT coalesce(json_array_length(value, '$.segments'), 0), json_array_length(value, '$.begun') FROM meta WHERE " + manifestKeys
	must(t, f.readRow(t.Context(), query, nil, &named, &begun))
	if named != 0 || begun < 2 {
		t.Errorf("%d segments, and %d of a load that has begun", named, begun)
	}
}

// What is erased leaves the segments of a load that did not end, too.
func TestErasedLeavesABegunLoad(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	s = s.giveUp(4)
	before := segments(t, s.path)
	s.erase(2, 1)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	f.startTidy()
	must(t, f.awaitTidy(t.Context()))
	s.release(f)
	if upto, named := s.begun(); upto == 0 || named != len(before) {
		t.Errorf("read up to %d, %d segments, %d before", upto, named, len(before))
	}
	after := map[string]bool{}
	for _, name := range segments(t, s.path) {
		after[name] = true
	}
	left := 0
	for _, name := range before {
		if after[name] {
			left++
		}
	}
	if left != len(before)-1 {
		t.Errorf("%d of %d segments were left as they are; the one with what was erased is to be made again", left, len(before))
	}
	got := s.answers()
	same(t, "gone on with", got, fromHeap(t, closed(t, s)))
}
