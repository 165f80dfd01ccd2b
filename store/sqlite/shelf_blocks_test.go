package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/memory"
)

// blocksAt is where the blocks of a segment begin, as its header says.
func blocksAt(t *testing.T, path string) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return int64(binary.LittleEndian.Uint64(b[24:]))
}

// Every block of a segment is damaged in its turn, and the file is cut there, before or while it is mapped. Searches
// find what a store in memory finds, changes are taken in, and what is erased leaves the folder.
func TestNoBlockOfASegmentIsTrusted(t *testing.T) {
	t.Parallel()
	const notes, erased = 150, 77
	text := func(n int) string { return fmt.Sprintf("walrus number%d in colour%d says word%d", n, n%4, n%30) }
	open := func(t *testing.T, path string) keptStore {
		t.Helper()
		return keptStore{openShelving(t, path, 20, 1000), t, path} // one segment
	}
	in := memory.Open()
	fill := func(s loci.Store) {
		for n := range notes {
			must(t, s.Apply(t.Context(), testTenant, putOf(n, 1, text(n))))
		}
	}
	erase := loci.Change{Erase: []loci.Erase{{ID: loci.ID{1, 0, erased}, Version: 1}}}
	edit := putOf(120, 2, "edited walrus number120")
	fill(in)
	whole := answersOf(t, in)
	must(t, in.Apply(t.Context(), testTenant, edit))
	must(t, in.Apply(t.Context(), testTenant, erase))
	changed := answersOf(t, in)

	made := filepath.Join(t.TempDir(), "x.db")
	s := open(t, made)
	fill(s)
	same(t, "whole", s.answers(), whole)
	closed(t, s)
	if len(segments(t, made)) != 1 {
		t.Fatalf("%d segments", len(segments(t, made)))
	}
	info, err := os.Stat(segments(t, made)[0])
	must(t, err)
	first := blocksAt(t, segments(t, made)[0])
	count := int((info.Size() - first + 1<<10 - 1) >> 10)
	if count < 20 {
		t.Fatalf("there are %d blocks", count)
	}
	gone := func(t *testing.T, path string) {
		t.Helper()
		if held := heldIn(t, path, fmt.Sprintf("number%d ", erased)); len(held) > 0 {
			t.Errorf("%q hold what is erased", held)
		}
	}
	for n := range count {
		for _, how := range []string{"turned", "cut", "cut while it is mapped"} {
			t.Run(fmt.Sprint(n, " ", how), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "x.db")
				copyFile(t, made, path)
				file := segments(t, made)[0]
				dir := strings.TrimSuffix(path, ".db") + ".idx"
				must(t, os.Mkdir(dir, 0o700))
				file, from := filepath.Join(dir, filepath.Base(file)), file
				copyFile(t, from, file)
				late := strings.HasSuffix(how, "mapped")
				harm := func() {
					at := first + int64(n)<<10
					if strings.HasPrefix(how, "cut") {
						if late { // of the page that is left in part, the rest reads as zeros
							at -= at % int64(os.Getpagesize())
						}
						must(t, os.Truncate(file, at))
						return
					}
					turnAt(t, file, min(at+int64(n*37%(1<<10)), info.Size()-1))
				}
				if !late {
					harm()
				}
				s := open(t, path)
				if late { // a part of the blocks is looked at already
					_, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "number149"},
						loci.Filter{Within: []loci.Namespace{shelfPlace()}}, 1)
					must(t, err)
					harm()
				}
				if late || n%2 == 0 { // else the tidier meets the damage first
					same(t, how, s.answers(), whole)
				}
				must(t, s.Apply(t.Context(), testTenant, erase))
				if !late && n%2 == 1 {
					gone(t, closed(t, s)) // once what waits is tidied
					s = open(t, path)
				}
				must(t, s.Apply(t.Context(), testTenant, edit))
				same(t, "changed", s.answers(), changed)
				gone(t, closed(t, s))
			})
		}
	}
}

// A change that meets damage is half made when it ends: the index goes before another search may use it, whoever
// takes the change in.
func TestAHalfMadeChangeIsNotSearched(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(ctx context.Context, f *file) error{
		"of this process": func(_ context.Context, f *file) error {
			f.search.catchUp(1<<40, &loci.Probe{}, &loci.Filter{})
			return nil
		},
		"with what another process wrote": func(ctx context.Context, f *file) error {
			_, _, err := f.bring(ctx, 1<<40, &loci.Probe{}, &loci.Filter{}, false)
			return err
		},
		"beside a load": func(ctx context.Context, f *file) error {
			return f.install(ctx, []*asked{{}}, new([]shelving))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			s := keptStore{openShelving(t, path, 20, 1000), t, path}
			s.fill(0, 600)
			s.answers()
			s = keptStore{openShelving(t, closed(t, s), 20, 1000), t, path}
			_, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "number599"},
				loci.Filter{Within: []loci.Namespace{shelfPlace()}}, 1)
			must(t, err)
			f := s.untidied()
			defer s.release(f)
			turnAt(t, segments(t, path)[0], blocksAt(t, segments(t, path)[0])+300*64) // note 300, at which nobody has looked
			if name == "of this process" {
				s.put(300, 2, "edited walrus number300")
			} else {
				other := keptStore{openShelving(t, path, 20, 1000), t, path}
				other.put(300, 2, "edited walrus number300")
			}
			fault, err := files.Faultless(func() error { return take(t.Context(), f) })
			if fault == nil {
				t.Fatalf("no damage was met: %v", err)
			}
			f.search.mu.RLock()
			defer f.search.mu.RUnlock()
			if f.search.index != nil {
				t.Error("the index stays")
			}
		})
	}
}

// turnAt changes a bit of a byte of a file where it lies.
func turnAt(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	must(t, err)
	b[0] ^= 1 << (at % 8)
	_, err = f.WriteAt(b, at)
	must(t, err)
}
