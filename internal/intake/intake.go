// Package intake is what an import does before it looks at what a memory says: it reads
// lines, also those of the MCP reference memory server, cuts records into changes of a bounded size, and finds each an
// id that nobody else holds.
package intake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// A TooLongError says that a line is longer than it may be.
type TooLongError struct{ Line, Limit int }

// Error names the line and the limit.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("line %d is longer than %d bytes", e.Line, e.Limit)
}

// Lines calls take for each line that is not blank, with its number from 1 and without the
// white space around it, until take says that it wants no more. A byte order mark before the
// first one is no part of it. It holds one line at a time. Its error is that of reading, or a [TooLongError].
func Lines(r io.Reader, limit int, take func(n int, line []byte) (more bool)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), limit)
	n := 0
	for lines.Scan() {
		line := lines.Bytes()
		if n++; n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && !take(n, line) {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &TooLongError{n + 1, limit}
	}
	return lines.Err()
}

// Batches cuts items into parts of up to most items and about bytes bytes. An item that is
// larger than that has a part of its own.
func Batches[T any](items []T, most, bytes int, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		start, sum := 0, 0
		for i := range items {
			n := size(items[i])
			if i-start == most || i > start && sum+n > bytes {
				if !yield(items[start:i:i]) {
					return
				}
				start, sum = i, 0
			}
			sum += n
		}
		if start < len(items) {
			yield(items[start:])
		}
	}
}

// An Asker knows what is stored already, and what belongs where.
type Asker[ID comparable, R any] struct {
	Next    func(i int, id ID) ID              // the id that follows from one, for item i
	Present func(ids []ID) (map[ID]*R, error)  // what is stored under some ids, wherever
	Own     func(i int, there *R) (isOwn bool) // it lies where item i belongs
}

// IDs gives each item an id: its own, or, when something elsewhere holds that one, the
// next that follows from it. An item that was given a following id before keeps it, even
// when its own has become free, so that a repeated import meets itself. held is what lies
// under these ids where their items belong.
func (a Asker[ID, R]) IDs(own []ID) (ids []ID, held map[ID]*R, err error) {
	ids, held = slices.Clone(own), map[ID]*R{}
	open := make([]int, len(ids))
	for i := range ids {
		open[i] = i
	}
	for len(open) > 0 {
		var asked []ID
		next := map[int]ID{}
		for _, i := range open {
			next[i] = a.Next(i, ids[i])
			asked = append(asked, ids[i], next[i])
		}
		there, err := a.Present(asked)
		if err != nil {
			return nil, nil, err
		}
		open = slices.DeleteFunc(open, func(i int) (settled bool) {
			present, following := there[ids[i]], there[next[i]]
			switch {
			case present != nil && a.Own(i, present):
				held[ids[i]] = present
				return true
			case following != nil && a.Own(i, following):
				ids[i] = next[i]
				held[next[i]] = following
				return true
			case present != nil:
				ids[i] = next[i]
			}
			return present == nil
		})
	}
	return ids, held, nil
}
