package index

import (
	"math"
	"math/bits"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/when"
)

// A signal is one way of scoring passages.
type signal struct {
	// each yields the passages that it scores, those with less than *least may be left out.
	each func(sh *scoring, least *float64, yield func(passage uint32, score float64) error) error
	of   func(sh *scoring, passage uint32) (score float64, ok bool)
	rows bool // each yields cheaply, and may be called twice
}

// hasTags reports whether an entry has the tags of the filter, as far as the part has noted that.
func (sh *scoring) hasTags(entry uint32) bool {
	return sh.tagged == nil || sh.tagged[entry/64]&(1<<(entry%64)) != 0
}

// word returns the score of a passage by words, if one was searched for and is there.
func (sh *scoring) word(n uint32) (float64, bool) {
	if len(sh.words) == 0 {
		return 0, false
	}
	return sh.words[n].score, sh.words[n].score > 0
}

// similarity returns the score of a passage by vector, if there is one to compare.
func (sh *scoring) similarity(n uint32) (float64, bool) {
	row := sh.passages[n].Row
	if row < 0 || sh.query == nil {
		return 0, false
	}
	return float64(sh.matrix.Score(sh.query, int(row))), true
}

// byWords scores the passages that share a word with the query.
var byWords = signal{
	each: func(sh *scoring, least *float64, yield func(uint32, float64) error) error {
		words := sh.words
		for _, n := range sh.touched {
			score := words[n].score
			if score < *least {
				continue
			}
			if err := yield(n, score); err != nil {
				return err
			}
		}
		return nil
	},
	of:   (*scoring).word,
	rows: true,
}

// byVectors scores the passages that have a vector.
var byVectors = signal{
	each: func(sh *scoring, least *float64, yield func(uint32, float64) error) error {
		switch {
		case sh.query == nil:
			return nil
		case sh.tagged != nil:
			return sh.eachTagged((*scoring).similarity, yield)
		}
		return sh.matrix.Above(sh.query, least, func(row int, score float32) error {
			if sh.gone && !sh.hasRow(row) {
				return nil // removed
			}
			return yield(sh.rows[row], float64(score))
		})
	},
	of:   (*scoring).similarity,
	rows: true,
}

// eachTagged scores the entries that have the tags of the filter, which may be few.
func (sh *scoring) eachTagged(
	of func(*scoring, uint32) (float64, bool), yield func(uint32, float64) error,
) error {
	for i, word := range sh.tagged {
		for ; word != 0; word &= word - 1 {
			e := sh.seen(uint32(i*64 + bits.TrailingZeros64(word)))
			if !e.alive {
				continue
			}
			for n := e.first; n < e.first+e.passages; n++ {
				score, ok := of(sh, n)
				if !ok {
					continue
				}
				if err := yield(n, score); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// best returns the limit best entries the filter selects, best first, by the
// score of their best passage. The filter is asked only for entries that would
// make it into the list, and an entry it refuses takes no place in it. It begins with those
// that are likely among them, which the filter is known to select, and makes no difference otherwise.
func (s *search) best(limit int, by signal, likely []place) ([]place, error) {
	t := top{limit: limit, heap: make([]ranked, 0, min(limit, 128))}
	least := math.Inf(-1)
	begun := false // likely ones were looked at
	take := func(i int, n uint32, score float64) error {
		if score < least {
			return nil
		}
		sh := &s.parts[i]
		at := place{int32(i), sh.passages[n].Entry}
		if !sh.hasTags(at.entry) {
			return nil // of a tag that few have: all others are looked at no closer
		}
		r := ranked{at: at, score: score}
		var first, passages uint32
		r.id, r.created, first, passages = sh.standing(at.entry)
		if t.full() && !r.before(t.worst()) || !isBest(sh, first, passages, n, score, by) {
			return nil
		}
		if len(likely) > 0 && sh.isLikely(at.entry) {
			if begun {
				return nil // it was taken or refused
			} // what is likely came out of another list of this search: the filter selects it
		} else if ok, err := s.selected(r.at); !ok || err != nil {
			return err
		}
		if t.push(r); t.full() {
			least = t.worst().score
		}
		return nil
	}
	if len(likely) > 0 {
		defer s.note(likely)()
	}
	rows, all, err := s.guess(limit, by, likely)
	t.inOrder = len(rows) > 0
	for i := 0; err == nil && i < len(rows) && rows[i].score >= least; i++ {
		err = take(rows[i].part, rows[i].passage, rows[i].score)
	}
	if err != nil {
		return nil, err
	}
	if all || len(rows) > 0 && t.full() {
		return t.sorted(), nil // no other row has so much
	}
	if len(rows) > 0 {
		s.unguessed.Store(unguessed)
		t.heap, t.inOrder, least = t.heap[:0], false, math.Inf(-1)
	}
	for _, at := range likely {
		sh := &s.parts[at.part]
		e := sh.seen(at.entry)
		for n := e.first; n < e.first+e.passages; n++ {
			if score, ok := by.of(sh, n); ok {
				if err := take(int(at.part), n, score); err != nil {
					return nil, err
				}
			}
		}
	}
	begun = len(likely) > 0
	for i := range s.parts {
		sh := &s.parts[i]
		if err := by.each(sh, &least, func(n uint32, score float64) error { return take(i, n, score) }); err != nil {
			return nil, err
		}
	}
	return t.sorted(), nil
}

// isLikely reports whether an entry is noted.
func (sh *scoring) isLikely(entry uint32) bool { return sh.likely[entry/64]&(1<<(entry%64)) != 0 }

// note notes entries in the memory of their parts, until the function that it returns is called.
func (s *search) note(entries []place) (forget func()) {
	for i := range s.parts {
		sh := &s.parts[i]
		sh.likely = resize(sh.likely, (sh.allEntries()+63)/64)
	}
	for _, at := range entries {
		s.parts[at.part].likely[at.entry/64] |= 1 << (at.entry % 64)
	}
	return func() {
		for _, at := range entries {
			s.parts[at.part].likely[at.entry/64] = 0
		}
	}
}

// bestInTime returns the best entries among those created inside of some times.
func (s *search) bestInTime(limit int, times []loci.NamedTime) ([]place, error) {
	if len(times) == 0 {
		return nil, nil
	}
	of := func(sh *scoring, n uint32) (float64, bool) {
		words, _ := sh.word(n)
		vector, _ := sh.similarity(n)
		return words/max(s.ideal, 1) + vector, true
	}
	each := func(sh *scoring, _ *float64, yield func(uint32, float64) error) error {
		for i := range uint32(sh.allEntries()) {
			e := sh.seen(i)
			named := func(t loci.NamedTime) bool { return when.In(e.created, t.Since, t.Until) }
			if !e.alive || !slices.ContainsFunc(times, named) {
				continue
			}
			for n := e.first; n < e.first+e.passages; n++ {
				score, _ := of(sh, n)
				if err := yield(n, score); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return s.best(limit, signal{of: of, each: each}, nil)
}

// isBest reports whether a passage is the one its entry is ranked by, so that an
// entry comes once: the best scored, the first of equal ones.
func isBest(sh *scoring, first, passages, n uint32, score float64, by signal) bool {
	for other := first; other < first+passages; other++ {
		if other == n {
			continue
		}
		if s, ok := by.of(sh, other); ok && (s > score || s == score && other < n) {
			return false
		}
	}
	return true
}

// selected asks the filter about an entry.
func (s *search) selected(at place) (bool, error) {
	if s.phrased != nil && !s.phrased[at.part][at.entry] {
		return false, nil
	}
	sh := &s.parts[at.part]
	if !sh.hasTags(at.entry) {
		return false, nil
	}
	if s.glances {
		if g, ok := sh.glance(at.entry); ok {
			return sh.covered && g.selectedBy(s.filter), nil
		}
	}
	r := sh.headerOf(at.entry, &s.room)
	if !s.filter.SelectsHeader(r) {
		return false, nil
	}
	if s.filter.Where.IsZero() {
		return true, nil
	}
	if ok, known := s.checked[at]; known {
		return ok, nil
	}
	if sh.seen(at.entry).lazy || s.filter.Where.NeedsText(r) {
		full, err := s.load([]loci.ID{r.ID})
		if err != nil || len(full) == 0 {
			return false, err
		}
		r = &full[0]
	}
	ok := s.filter.Where.Match(r)
	if s.checked == nil {
		s.checked = map[place]bool{}
	}
	s.checked[at] = ok
	return ok, nil
}
