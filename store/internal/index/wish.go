package index

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// mostWishes bounds the passages that are compared with a request only because they say how somebody wants things.
const mostWishes = 5_000

// wishing is what a search notes of a mark for what texts say: what is wanted, or what is always to be done.
type wishing struct {
	part    float64 // of what the mark gives: 1 where few passages have it, 0 where half of them do
	holders int
}

// The marks that a search notes.
const (
	ordered = iota
	wished
)

// askWishes looks for texts that say how somebody wants things, if the query asks for something that this may bear
// on. An order ("always …", "when I ask about …") may bear on any question but one for what was said or done.
func (s *search) askWishes(aim retrieval.Aim) {
	s.requests = aim == retrieval.ForAdvice
	for mark, term := range [...]string{ordered: retrieval.OrderTerm, wished: retrieval.WishTerm} {
		if aim == retrieval.ForRecord || mark == wished && !s.requests {
			continue
		}
		holders := s.holders(term)
		w := wishing{max(0, 1-2*float64(holders)/s.passages), holders}
		if s.wishes[mark] = w; holders == 0 || w.part == 0 {
			continue
		}
		for i := range s.parts {
			if t, ok := s.parts[i].findTerm(term); ok {
				s.parts[i].wishes[mark] = s.parts[i].list(t)
			}
		}
	}
}

// bestWishes are the best entries by similarity among those that say how somebody wants things: a request names
// what it is for, and seldom what they wish.
func (s *search) bestWishes(limit int) ([]place, error) {
	if !s.requests || s.wishes[ordered].holders+s.wishes[wished].holders > mostWishes {
		return nil, nil
	}
	each := func(sh *scoring, _ *float64, yield func(uint32, float64) error) error {
		for _, e := range sh.wishing() {
			seen := sh.seen(e)
			for n := seen.first; n < seen.first+seen.passages; n++ {
				if score, ok := sh.similarity(n); ok {
					if err := yield(n, score); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return s.best(limit, signal{of: (*scoring).similarity, each: each}, nil)
}

// wishing are the entries with a mark, each once.
func (sh *scoring) wishing() (entries []uint32) {
	for _, list := range sh.wishes {
		for _, p := range list {
			if p.Count > 0 {
				entries = append(entries, sh.passages[p.Passage].Entry)
			}
		}
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

// addWish says of a hit how much it counts that it says how somebody wants things. What assistants say is no wish.
func (s *search) addWish(sh *scoring, e *seen, h *loci.Hit) {
	if h.Speaker == loci.SpeakerAssistant || h.Speaker == loci.SpeakerLikelyAssistant {
		return
	}
	for mark, list := range sh.wishes {
		behind := func(p posting, n uint32) int { return int(p.Passage) - int(n) }
		at, _ := slices.BinarySearchFunc(list, e.first, behind)
		for ; at < len(list) && list[at].Passage < e.first+e.passages; at++ {
			if list[at].Count > 0 {
				h.Wish = max(h.Wish, s.wishes[mark].part)
			}
		}
	}
	h.Wanted = s.requests && h.Wish > 0
}
