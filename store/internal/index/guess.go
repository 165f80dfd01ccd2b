package index

import (
	"cmp"
	"math"
	"slices"
)

// guessFrom is how many passages for each result are searched where it pays to guess (docs/adr/0159).
const guessFrom = 8

// guessed is how many entries a guess keeps for each result: of some the filter knows better. Where those were not
// enough, all was looked at twice, and the next lists are made without a guess.
const (
	guessed   = 1.25
	unguessed = 32
)

// row is a passage with its score.
type row struct {
	score   float64
	part    int
	passage uint32
}

// guess returns the best rows of all, best first, which nobody has asked the filter about: it costs many times
// what a score does, and rows that others push out again are most of all that are ever among the best. All
// others have less than the last of them, and all: there are none. nil: it would not pay. It begins with those of
// likely entries, so that few others are among the best for a while.
func (s *search) guess(limit int, by signal, likely []place) (rows []row, all bool, err error) {
	passages, entries := 0, 0
	for i := range s.parts {
		passages += len(s.parts[i].passages)
		entries += s.parts[i].allEntries()
	}
	if !by.rows || !s.likelySelects() || passages < limit*s.guessFrom ||
		s.unguessed.Load() > 0 && s.unguessed.Add(-1) >= 0 {
		return nil, false, nil
	}
	room, kept := s.parts[0].scratch, int(guessed*float64(limit)*float64(passages)/float64(entries))
	found, least := room.found[:0], math.Inf(-1)
	best := slices.Grow(room.most[:0], kept)[:0:kept]
	for _, at := range likely {
		sh := &s.parts[at.part]
		e := sh.seen(at.entry)
		for n := e.first; n < e.first+e.passages; n++ {
			if score, ok := by.of(sh, n); ok {
				found = append(found, row{score, int(at.part), n})
				if best.push(score); len(best) == cap(best) {
					least = best[0]
				}
			}
		}
	}
	for i := range s.parts {
		sh := &s.parts[i]
		if err := by.each(sh, &least, func(n uint32, score float64) error {
			if score < least || len(likely) > 0 && sh.isLikely(sh.passages[n].Entry) {
				return nil
			}
			found = append(withRoom(found, least), row{score, i, n})
			if best.push(score); len(best) == cap(best) {
				least = best[0]
			}
			return nil
		}); err != nil {
			return nil, false, err
		}
	}
	room.found, room.most = found, best
	rows = atLeast(found, least)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.score, a.score) })
	return rows, len(best) < cap(best), nil
}

// atLeast drops the rows with less than some score.
func atLeast(rows []row, least float64) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return r.score < least })
}

// withRoom is atLeast of rows that have no room for another one. Otherwise all rows were kept where scores go up
// from one to the next.
func withRoom(rows []row, least float64) []row {
	if len(rows) < cap(rows) {
		return rows
	}
	return atLeast(rows, least)
}

// likelySelects reports whether the filter asks for nothing that few have. It makes no difference to what is found.
func (s *search) likelySelects() bool {
	f := s.filter
	return len(f.Tags)+len(f.IDs)+len(f.Sequences) == 0 && f.Where.IsZero() && f.Slot == nil && f.Slots.IsZero() &&
		f.Since.IsZero() && f.Until.IsZero() && f.Due.IsZero() && s.phrased == nil &&
		!f.Expired && !f.Gone && !f.Waning && !f.Ended
}

// floats are the greatest of some numbers, as many as there is room for, the least of them in front.
type floats []float64

// push adds a number, in place of the least one where there is no room.
func (f *floats) push(x float64) {
	h := *f
	if len(h) == cap(h) {
		h.sink(x)
		return
	}
	h = append(h, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i], *f = x, h
}

// sink puts a number into the place of the one in front, behind those that are less.
func (f floats) sink(x float64) {
	if x <= f[0] {
		return
	}
	i := 0
	for child := 1; child < len(f); child = 2*i + 1 {
		if child+1 < len(f) && f[child+1] < f[child] {
			child++
		}
		if x <= f[child] {
			break
		}
		f[i] = f[child]
		i = child
	}
	f[i] = x
}
