package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// What a search skips (docs/adr/0095). Words that many passages hold cost the most to read, and say the
// least: once the best passages have more than such words can give, a passage that has nothing else
// is none of them. So the rarest words are read first, and what the others add is made of the words
// of those passages alone that may get among the best. Scores are added up in the order of the
// query then, as where all postings are read, so that they are the same to the bit.
const (
	skipFrom = 4096 // postings of a query; fewer are read
	readCost = 64   // postings that are read in the time in which the words of a passage are

	// slack is more than sums in float32 of at most maxQueryTerms numbers are off.
	slack = 1e-4
)

// maySkip reports whether passages are scored when they are looked at. plain: nothing is asked for but
// words, and nobody wants the scores of all.
func (s *search) maySkip(plain bool) bool {
	postings := 0
	for i := range s.asked {
		postings += s.asked[i].holders
	}
	return plain && postings >= s.skipFrom
}

// byWordsSkipping is [byWords] where passages are scored when they are looked at, for so many of the best. Those that
// have most already come first: once they are looked at, few others may still get among the best.
func (s *search) byWordsSkipping(limit int) signal {
	of := func(sh *scoring, n uint32) (float64, bool) {
		w := s.wordsAt(sh, n)
		return w.score, w.score > 0
	}
	return signal{of: of, each: func(sh *scoring, least *float64, yield func(uint32, float64) error) error {
		if s.fewTagged(sh) {
			return sh.eachTagged(of, yield)
		}
		look := func(from, rest float64) error {
			passages, sums := sh.passages, sh.sums
			for _, n := range sh.summed {
				sum := float64(sums[n])
				if sum < from || float64(sum*(1+slack))+rest < *least || !sh.hasTags(passages[n].Entry) {
					continue
				}
				sums[n] = looked
				if err := yield(n, s.wordsAt(sh, n).score); err != nil {
					return err
				}
			}
			return nil
		}
		rest, err := s.touch(sh, least, s.mostScore, s.addScores, func(rest float64) error {
			if reached := sh.reached(limit, rest, limit); reached > rest {
				return look(reached, math.Inf(1))
			}
			return nil
		})
		if err == nil {
			if reached := sh.reached(limit, *least-rest, fewSummed*limit); reached > 0 {
				err = look(reached, rest)
			}
		}
		if err == nil {
			err = look(0, rest)
		}
		return err
	}}
}

// looked is the sum of a passage that was looked at: it gets no further.
var looked = float32(math.Inf(-1))

// fewSummed is how many passages for each result are looked at as they come.
const fewSummed = 4

// reached is what so many of the passages with a sum have, of those with more than some sum; 0: these are not enough.
func (c *scratch) reached(passages int, over float64, enough int) float64 {
	have, above := 0, float32(over)
	for _, n := range c.summed {
		if c.sums[n] > above {
			have++
		}
	}
	if have < enough {
		return 0
	}
	best := slices.Grow(c.reach[:0], passages)[:0:passages]
	for _, n := range c.summed {
		if sum := c.sums[n]; sum > above && (len(best) < passages || float64(sum) > best[0]) {
			best.push(float64(sum))
		}
	}
	c.reach = best
	return best[0]
}

// fewTagged reports whether so few entries of a part have the tags of the filter that each is looked at.
func (s *search) fewTagged(sh *scoring) bool {
	if sh.tagged == nil {
		return false
	}
	have, postings := 0, 0
	for _, word := range sh.tagged {
		have += bits.OnesCount64(word)
	}
	for i := range s.asked {
		postings += s.asked[i].heldIn(sh)
	}
	return have*s.readCost < postings
}

// heldIn is about how many passages of a part have what is asked for.
func (a *asked) heldIn(sh *scoring) int {
	in := &a.in[sh.at]
	switch {
	case in.terms == 1:
		return sh.holding(in.term)
	case in.apart:
		return in.held
	}
	return len(in.list)
}

// rarestFirst numbers what is asked for, what a passage gets most for first.
func (s *search) rarestFirst() []int {
	if s.order == nil {
		s.order = make([]int, len(s.asked))
		for i := range s.order {
			s.order[i] = i
		}
		slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.asked[b].weight, s.asked[a].weight) })
	}
	return s.order
}

// touch adds up what passages of a part get for what counts most, until a passage that has nothing
// of it cannot get least. It returns the most that the others can add. most is what a passage gets
// of one at most, and add adds it to the passages. Unless it is nil, early is called before what many passages have is
// added to all of them, with the most that it and the others can add: it may raise least.
func (s *search) touch(
	sh *scoring, least *float64, most func(*scoring, *asked) float64, add func(sh *scoring, a *asked, fresh bool),
	early func(rest float64) error,
) (rest float64, err error) {
	sh.forget()
	order := s.rarestFirst()
	rests := slices.Grow(s.rests[:0], len(order))[:len(order)]
	s.rests = rests
	for k, j := range slices.Backward(order) {
		if a := &s.asked[j]; a.heldIn(sh) > 0 {
			rest += most(sh, a) * (1 + slack)
		}
		rests[k] = rest
	}
	sh.sums = resize(sh.sums, len(sh.passages))
	for k, j := range order {
		a := &s.asked[j]
		if early != nil && rests[k] >= *least && len(sh.summed) < 2*a.heldIn(sh) {
			if err := early(rests[k]); err != nil {
				return 0, err
			}
		}
		fresh := rests[k] >= *least
		if !fresh {
			sh.prune(rests[k], *least)
			if len(sh.summed)*s.readCost <= a.heldIn(sh) {
				return rests[k], nil
			}
		}
		add(sh, a, fresh)
	}
	return 0, nil
}

// prune forgets the passages that cannot get least.
func (c *scratch) prune(rest, least float64) {
	enough := math.Nextafter32(float32((least-rest)/(1+slack)), float32(math.Inf(-1)))
	sums, summed, kept := c.sums, c.summed, 0
	for _, n := range summed {
		if sums[n] < enough {
			sums[n] = 0
			continue
		}
		summed[kept] = n
		kept++
	}
	c.summed = summed[:kept]
}

// forget makes all sums zero.
func (c *scratch) forget() {
	for _, n := range c.summed {
		c.sums[n] = 0
	}
	c.summed = c.summed[:0]
}

// addScores adds what passages of a part get for one thing; fresh: also to those that have nothing yet.
func (s *search) addScores(sh *scoring, a *asked, fresh bool) {
	if a.scores == nil {
		a.scores = new(scoresByCount)
	}
	p := a.packedIn(sh)
	if p == nil {
		s.addListed(sh, a, a.listOf(sh), fresh)
		return
	}
	s.addPacked(sh, a, p, fresh)
	s.addListed(sh, a, p.others, fresh)
	// A passage that has two of the words gets both, which is more than the greater of them: that it has is a guess.
	s.addListed(sh, a, a.in[sh.at].beside, fresh)
}

// addListed is addScores of a list.
func (s *search) addListed(sh *scoring, a *asked, list []posting, fresh bool) {
	sh.summed = slices.Grow(sh.summed, len(list))
	room := sh.summed[len(sh.summed):cap(sh.summed)]
	for len(list) > 0 {
		n, k := 0, 0
		if fresh {
			n, k = a.scores.addFresh(list, sh.passages, sh.sums, room)
		} else {
			n = a.scores.add(list, sh.passages, sh.sums)
		}
		if sh.summed, room = sh.summed[:len(sh.summed)+k], room[k:]; n == len(list) {
			return
		}
		p := list[n]
		list = list[n+1:]
		length, sum := sh.passages[p.Passage].Length, &sh.sums[p.Passage]
		if p.Count == 0 || !fresh && *sum == 0 {
			continue
		}
		if *sum == 0 {
			sh.summed, room = append(sh.summed, p.Passage), room[1:]
		}
		*sum += float32(score(a.weight, float64(p.Count), float64(length), s.average))
		a.scores.make(p.Count, length, a.weight, s.average)
	}
}

// scoresByCount are what a passage gets for what stands in it so often, from 1, by its length; 0: that is not made yet.
// Nearly all passages are short and nearly all words stand in them a few times. What adds them calls nothing, so that all
// that the loop works with stays in registers: it ends at a posting for which nothing is made, and says which that is.
type scoresByCount [4][64]float32

// make makes those of a count, if there is room for it.
func (c *scoresByCount) make(count, length uint32, weight, average float64) {
	if count > uint32(len(c)) || length >= uint32(len(c[0])) {
		return
	}
	for length := range c[count-1] {
		c[count-1][length] = float32(score(weight, float64(count), float64(length), average))
	}
}

// add adds them to passages that have something already. Inlined, it would work in memory.
//
//go:noinline
func (c *scoresByCount) add(list []posting, passages []passage, sums []float32) (n int) {
	for n = range list {
		passage, row := list[n].Passage, list[n].Count-1
		if sums[passage] == 0 {
			continue
		}
		length := passages[passage].Length
		if row >= uint32(len(c)) || length >= uint32(len(c[0])) || c[row][length] == 0 {
			return n
		}
		sums[passage] += c[row][length]
	}
	return len(list)
}

// addFresh adds them to all passages, and says how many had nothing: those are put into some room.
func (c *scoresByCount) addFresh(list []posting, passages []passage, sums []float32, room []uint32) (n, k int) {
	for n = range list {
		passage, row := list[n].Passage, list[n].Count-1
		length := passages[passage].Length
		if row >= uint32(len(c)) || length >= uint32(len(c[0])) || c[row][length] == 0 {
			return n, k
		}
		sum := sums[passage]
		sums[passage] = sum + c[row][length]
		if sum == 0 {
			room[k] = passage
			k++
		}
	}
	return len(list), k
}

// mostScore is the most that a passage of a part gets for what is asked for.
func (s *search) mostScore(sh *scoring, a *asked) float64 {
	in := &a.in[sh.at]
	if in.terms != 1 {
		return a.weight * (bm25K1 + 1)
	}
	p, noted := sh.peak(&sh.room, in.term)
	if !noted {
		return a.weight * (bm25K1 + 1)
	}
	most := 0.0
	for i, shortest := range p.shortest {
		count := uint32(i + 1)
		if i == len(p.shortest)-1 {
			count = p.most
		}
		if shortest != none {
			most = max(most, score(a.weight, float64(count), float64(shortest), s.average))
		}
	}
	return most
}

// A peak is how short the passages are that have a term once, twice, three times and more, the shortest
// of each, and how often it stands in one.
type peak struct {
	shortest [4]uint32 // by count, from 1
	most     uint32
}

// none says that no passage has a term so often.
const none = 1<<32 - 1

// peakIn finds the peak of some postings.
func peakIn(list []posting, passages []passage) peak {
	p := peak{shortest: [4]uint32{none, none, none, none}}
	for _, x := range list {
		if x.Count == 0 {
			continue
		}
		shortest := &p.shortest[min(int(x.Count), len(p.shortest))-1]
		*shortest, p.most = min(*shortest, passages[x.Passage].Length), max(p.most, x.Count)
	}
	return p
}

// wordsAt is what the words of the query say of a passage.
func (s *search) wordsAt(sh *scoring, n uint32) worded {
	if !s.skips {
		if len(sh.words) == 0 {
			return worded{}
		}
		return sh.words[n]
	}
	sh.words = resize(sh.words, len(sh.passages))
	w := &sh.words[n]
	if w.score == 0 {
		if *w = s.read(sh, n); w.score > 0 {
			sh.touched = append(sh.touched, n)
		}
	}
	return *w
}

// read makes what the words of the query say of a passage from its own words.
func (s *search) read(sh *scoring, n uint32) (w worded) {
	counts := s.targetsIn(sh).in(sh, n)
	length := float64(sh.passages[n].Length)
	for i, count := range counts {
		if a := &s.asked[i]; count > 0 {
			w.score += score(a.weight, float64(count), length, s.average)
			w.covered += a.weight
		}
	}
	return w
}

// targets are the terms of a part that stand for what is asked for.
type targets struct {
	list   []target // by term
	terms  uint64   // a bit for each, at the lowest of its number: most other terms have another
	counts []uint32 // by what is asked for
	room   []uint32
}

type target struct {
	term, count uint32
	asked       int
}

// targetsIn lists those of a part.
func (s *search) targetsIn(sh *scoring) *targets {
	t := &sh.targets
	if len(t.counts) > 0 {
		return t
	}
	t.counts = slices.Grow(t.counts, len(s.asked))[:len(s.asked)]
	for i := range s.asked {
		in := &s.asked[i].in[sh.at]
		if in.terms == 1 {
			t.list = append(t.list, target{term: in.term, asked: i})
		}
		for _, term := range in.more {
			t.list = append(t.list, target{term: term, asked: i})
		}
	}
	slices.SortFunc(t.list, func(a, b target) int { return cmp.Compare(a.term, b.term) })
	for _, x := range t.list {
		t.terms |= 1 << (x.term % 64)
	}
	return t
}

// in is how often a passage has what is asked for, good until the next call.
func (t *targets) in(sh *scoring, passage uint32) []uint32 {
	sh.countTerms(t, passage)
	clear(t.counts)
	for i := range t.list {
		x := &t.list[i]
		t.counts[x.asked], x.count = max(t.counts[x.asked], x.count), 0
	}
	return t.counts
}

// add counts a term of a passage, if it is one.
func (t *targets) add(term uint32) {
	if t.terms&(1<<(term%64)) == 0 {
		return
	}
	list := t.list
	if len(list) > 16 {
		i, _ := slices.BinarySearchFunc(list, term, func(x target, t uint32) int { return cmp.Compare(x.term, t) })
		list = list[i:]
	}
	for i := range list {
		if x := &list[i]; x.term == term {
			x.count++
		} else if x.term > term {
			break
		}
	}
}
