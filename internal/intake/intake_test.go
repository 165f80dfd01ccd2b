package intake

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLines: blank lines count and are passed over; take can stop the reading.
func TestLines(t *testing.T) {
	read := func(text, until string) (got []string, err error) {
		err = Lines(strings.NewReader(text), 20, func(n int, line []byte) bool {
			got = append(got, fmt.Sprintf("%d%s", n, line))
			return string(line) != until
		})
		return got, err
	}
	got, err := read(" a \r\n\n\t\nb\nc", "")
	if want := []string{"1a", "4b", "5c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err = read("a\nb\nc", "b"); err != nil || !slices.Equal(got, []string{"1a", "2b"}) {
		t.Errorf("stopped too late: %v, %v", got, err)
	}
	// Editors and shells of Windows write a byte order mark before the first line; elsewhere it is text.
	if got, err = read("\ufeff a\n\ufeffb", ""); err != nil || !slices.Equal(got, []string{"1a", "2\ufeffb"}) {
		t.Errorf("with a byte order mark: %q, %v", got, err)
	}
}

// TestLinesThatCannotBeRead: a line over the limit is named, and so is any other fault.
func TestLinesThatCannotBeRead(t *testing.T) {
	all := func(int, []byte) bool { return true }
	var long *TooLongError
	err := Lines(strings.NewReader("a\n"+strings.Repeat("x", 100_000)+"\nb"), 70_000, all)
	if !errors.As(err, &long) || *long != (TooLongError{2, 70_000}) {
		t.Errorf("%v", err)
	}
	if err := Lines(strings.NewReader(strings.Repeat("x", 69_000)+"\n"), 70_000, all); err != nil {
		t.Errorf("a line below the limit: %v", err)
	}
	if err := Lines(iotest.ErrReader(io.ErrUnexpectedEOF), 20, all); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// TestBatches: neither bound is passed, nothing is lost, and a large item goes alone.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ sizes, want string }{
		{"", "[]"},
		{"1", "[[1]]"},
		{"1 1 1 1 1", "[[1 1 1] [1 1]]"},
		{"4 4 4 4", "[[4 4] [4 4]]"},
		{"9 99 1 9", "[[9] [99] [1 9]]"},
	} {
		var sizes []int
		for _, word := range strings.Fields(c.sizes) {
			var n int
			_, _ = fmt.Sscan(word, &n)
			sizes = append(sizes, n)
		}
		got := slices.Collect(Batches(sizes, 3, 10, func(n int) int { return n }))
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v; want %s", c.sizes, got, c.want)
		}
	}
	for range Batches([]int{1, 2, 3}, 1, 10, func(n int) int { return n }) {
		break // must not go on
	}
}

// TestIDs: an item keeps its own id unless something elsewhere has it. An item that was given
// another id keeps that one, even when its own is free again.
func TestIDs(t *testing.T) {
	stored := map[string]*string{}
	put := func(id, place string) { stored[id] = &place }
	asker := Asker[string, string]{
		Next:    func(_ int, id string) string { return id + "'" },
		Present: func([]string) (map[string]*string, error) { return maps.Clone(stored), nil },
		Own:     func(_ int, there *string) bool { return *there == "here" },
	}
	put("mine", "here")
	put("taken", "elsewhere")
	put("taken twice", "elsewhere")
	put("taken twice'", "elsewhere")
	put("given'", "here") // by an earlier import; its own id has become free since
	put("both", "elsewhere")
	put("both'", "here")
	ids, held, err := asker.IDs([]string{"free", "mine", "taken", "taken twice", "given", "both"})
	want := []string{"free", "mine", "taken'", "taken twice''", "given'", "both'"}
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v; want %v", ids, err, want)
	}
	if got := slices.Sorted(maps.Keys(held)); !slices.Equal(got, []string{"both'", "given'", "mine"}) {
		t.Errorf("held: %v", got)
	}
	asker.Present = func([]string) (map[string]*string, error) { return nil, io.EOF }
	if _, _, err := asker.IDs([]string{"a"}); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// The bounds of lines, in bytes written out, up to the greatest numbers.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"a line of small contents", LineLimit(1), 33_554_448},
		{"a line", LineLimit(262_144), 37_748_736},
		{"the greatest line", LineLimit(math.MaxInt), 33_554_432 + 16*288_230_376_151_711_743},
		{"beside nothing", Room(262_144, 0), 36_700_160},
		{"beside a text", Room(262_144, 262_144), 35_127_296},
		{"beside the greatest text", Room(math.MaxInt, math.MaxInt), 32_505_856 + 10*288_230_376_151_711_743},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}
