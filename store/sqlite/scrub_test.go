package sqlite

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"
)

// treePage makes a page of SQLite's. Every byte is 0xaa except in its header and where its
// free blocks are chained: blocks are pairs of a place and a size.
func treePage(kind byte, header, cells, content int, blocks ...[2]int) []byte {
	page := bytes.Repeat([]byte{0xaa}, 1024)
	put := func(at, n int) { binary.BigEndian.PutUint16(page[at:], uint16(n)) }
	page[header] = kind
	put(header+3, cells)
	put(header+5, content)
	next := header + 1
	for _, b := range blocks {
		put(next, b[0])
		put(b[0]+2, b[1])
		next = b[0]
	}
	if n := len(blocks); n < 2 || blocks[n-1] != blocks[n-2] { // else the last one leads to itself
		put(next, 0)
	}
	return page
}

// The parts of a page that hold nothing are wiped, and nothing else: the gap between the
// pointers and the cells, and the inside of free blocks. A page that is damaged, or not one of
// a tree, stays as it is.
func TestWipedBytesOfAPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number int64
		page   []byte
		wiped  [][2]int // from, to
	}{
		"a leaf of a table":  {2, treePage(13, 0, 3, 900), [][2]int{{14, 900}}},
		"a leaf of an index": {2, treePage(10, 0, 3, 900), [][2]int{{14, 900}}},
		"inside of a table":  {2, treePage(5, 0, 3, 900), [][2]int{{18, 900}}},
		"inside of an index": {2, treePage(2, 0, 3, 900), [][2]int{{18, 900}}},
		"the first page":     {1, treePage(13, 100, 3, 900), [][2]int{{114, 900}}},
		"free blocks": {
			2, treePage(13, 0, 3, 600, [2]int{700, 20}, [2]int{800, 5}),
			[][2]int{{14, 600}, {704, 720}, {804, 805}},
		},
		"a block to the end":    {2, treePage(13, 0, 3, 600, [2]int{1000, 24}), [][2]int{{14, 600}, {1004, 1024}}},
		"a block at the end":    {2, treePage(13, 0, 3, 600, [2]int{1020, 4}), [][2]int{{14, 600}}},
		"a block too small":     {2, treePage(13, 0, 3, 600, [2]int{700, 3}), [][2]int{{14, 600}}},
		"a block too large":     {2, treePage(13, 0, 3, 600, [2]int{1000, 25}), [][2]int{{14, 600}}},
		"blocks in a circle":    {2, treePage(13, 0, 3, 600, [2]int{800, 20}, [2]int{700, 20}), [][2]int{{14, 600}, {804, 820}}},
		"a block behind itself": {2, treePage(13, 0, 3, 600, [2]int{700, 20}, [2]int{700, 20}), [][2]int{{14, 600}, {704, 720}}},
		"cells to the pointers": {2, treePage(13, 0, 3, 14), nil},
		"cells at the end":      {2, treePage(13, 0, 0, 1024), [][2]int{{8, 1024}}},
		"cells in the pointers": {2, treePage(13, 0, 3, 13, [2]int{700, 20}), nil},
		"cells beyond the end":  {2, treePage(13, 0, 3, 1025, [2]int{700, 20}), nil},
		"cells at 65536":        {2, treePage(13, 0, 3, 0, [2]int{700, 20}), nil},
		"another page":          {2, treePage(0, 0, 3, 900, [2]int{950, 20}), nil},
		"page 1 read as others": {1, treePage(13, 0, 3, 900), nil},
	} {
		want := bytes.Clone(c.page)
		for _, r := range c.wiped {
			clear(want[r[0]:r[1]])
		}
		if needsWipe(c.number, c.page) != (len(c.wiped) > 0) {
			t.Errorf("%s: needs wiping: %t", name, len(c.wiped) == 0)
		}
		wipeUnused(c.number, c.page)
		if !bytes.Equal(c.page, want) {
			t.Errorf("%s: what is wiped is not %v", name, c.wiped)
		}
		if needsWipe(c.number, c.page) {
			t.Errorf("%s: it needs wiping after it was wiped", name)
		}
	}
}

// A file that is being closed begins no pass: whoever opens it next goes on.
func TestNoWipingBeginsWhileAFileCloses(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	f.stopScrub()
	f.startScrub()
	f.scrub.mu.Lock()
	defer f.scrub.mu.Unlock()
	if f.scrub.running || !f.scrub.again {
		t.Errorf("running: %t, asked for: %t", f.scrub.running, f.scrub.again)
	}
}
