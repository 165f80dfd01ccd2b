package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// BM25's parameters: the saturation of repeated words and the weight of a
// passage's length. These are the ones Trotman et al. recommend; Lucene's 1.2 and
// 0.75 are for documents whose lengths differ much more (docs/adr/0009).
const (
	bm25K1 = 0.9
	bm25B  = 0.4
)

// maxQueryTerms bounds the distinct words of a query that are searched for.
const maxQueryTerms = 256

// bm25 is what all terms of a search have in common.
type bm25 struct {
	passages, average         float64
	many                      float64 // how many passages there are: 0 up to a few, 1 for many, by their logarithm
	sequences, averageContext float64 // the sequences as documents; 0 sequences: they are not scored
	alone                     float64 // words of the passages that are in none

	asked []asked // in the order in which scores are added up
	skips bool    // passages are scored when they are looked at

	ideal        float64 // what a passage of average length gets that holds each term once
	contextIdeal float64 // the same of sequences
}

// The more passages there are, the more of them are like a query by chance.
const fewPassages, manyPassages = 1_000.0, 5_000.0

// rareness is the inverse document frequency of what some of all documents hold.
func rareness(all, holders float64) float64 { return math.Log(1 + (all-holders+0.5)/(holders+0.5)) }

// measure sums up the statistics of all shards.
func (s *search) measure(sequences bool) {
	passages, length, live, contexts := 0, uint64(0), 0, uint64(0)
	for i := range s.parts {
		have := s.parts[i].alive()
		passages += have.passages
		length += have.length
		contexts += have.contextLength
		if s.parts[i].first == i {
			live += s.parts[i].shard.liveSequences
		}
	}
	if passages == 0 {
		return
	}
	// Where all is stop words the average is 0, and so is every length.
	s.bm25 = bm25{passages: float64(passages), average: max(1, float64(length)) / float64(passages), asked: s.asked}
	s.many = min(1, max(0, math.Log(s.passages/fewPassages)/math.Log(manyPassages/fewPassages)))
	if sequences && live > 0 {
		s.sequences, s.averageContext = float64(live), max(1, float64(contexts))/float64(live)
		s.alone = float64(length - contexts)
	}
}

// parsed is where the query lies that the first question of a call has taken apart, see [loci.Probe].Shared.
type parsed struct{}

// scoreWords finds out what BM25 needs with the statistics of all shards together, and what the
// phrases of the query leave over.
func (s *search) scoreWords(p loci.Probe) error {
	s.measure(p.Sequences)
	if s.passages == 0 {
		return nil
	}
	var q retrieval.Query
	switch known := false; {
	case p.Quick:
		s.words = retrieval.AppendWords(s.words, p.Text, maxQueryTerms)
		q.Words = s.rarest(s.words)
	case p.Shared == nil:
		q = retrieval.Parse(p.Text, maxQueryTerms)
	default:
		if q, known = p.Shared[parsed{}].(retrieval.Query); !known {
			q = retrieval.Parse(p.Text, maxQueryTerms)
			p.Shared[parsed{}] = q
		}
	}
	s.askWords(&q, p)
	if p.Sequences && !p.Quick {
		s.askWishes(q.Aim)
		s.named = q.Named()
	}
	for _, prefix := range q.Prefixes {
		s.ask(s.findLists(func(sh *scoring) []posting { return sh.withPrefix(prefix) }), 1, 1)
	}
	for _, phrase := range q.Phrases {
		a := s.findLists(func(sh *scoring) []posting { return sh.withPhrase(phrase) })
		s.ask(a, 1, 1)
		if err := s.restrict(phrase, a.in); err != nil {
			return err
		}
	}
	s.skips = s.maySkip(len(q.Prefixes)+len(q.Phrases) == 0 && len(p.Times) == 0)
	for i := range s.asked {
		s.add(&s.asked[i])
	}
	return nil
}

// askWords looks for the words of a query, and for what stands in for those that nobody has.
func (s *search) askWords(q *retrieval.Query, p loci.Probe) {
	found, holders := make([]asked, len(q.Words)), make([]int, len(q.Words))
	parts := len(s.parts)
	s.found = slices.Grow(s.found, len(q.Words)*parts)[:len(q.Words)*parts]
	var terms []string
	stems := false
	for i := range s.parts {
		stems = stems || s.parts[i].hasStems()
	}
	for i := range q.Words {
		w := &q.Words[i]
		terms = w.Or(append(terms[:0], w.Term), stems)
		found[i] = s.findIn(s.found[i*parts:(i+1)*parts:(i+1)*parts], terms)
		holders[i] = found[i].holders
	}
	mended := map[int]bool(nil)
	if !p.Quick {
		mended = s.mendPairs(q.Words, found, holders, p.Corrected)
	}
	missed := q.Missed(holders)
	s.asked = slices.Grow(s.asked, len(q.Words))
	unheard := []retrieval.QueryWord(nil)
	roles := 0
	grouped := map[int]bool{}
	if !p.Quick {
		for _, who := range s.findPeople(q, found) {
			if slices.ContainsFunc(who.words, func(i int) bool { return grouped[i] }) {
				continue
			}
			s.askPerson(who, q, found, missed, p.Corrected)
			for _, i := range who.words {
				grouped[i] = true
			}
		}
	}
	for i, w := range q.Words {
		if grouped[i] {
			continue
		}
		if p.Sequences && s.holders(retrieval.BearerTerm(w.Term)) > 0 {
			s.addAbout(w.Term)
		}
		if len(w.Roles) > 0 && !p.Quick && roles < mostRoles {
			if roles++; s.askBearers(q.Words, i, &found[i], p.Corrected) {
				continue
			}
		}
		switch {
		case mended[i] && missed[i]:
			s.ask(found[i], w.Weight*mendedWeight, w.Weight)
		case mended[i]:
			s.ask(found[i], w.Weight*mendedWeight, 0)
		case !missed[i] && holders[i] > 0:
			s.ask(found[i], w.Weight, 0)
			s.asked[len(s.asked)-1].term = w.Term
		case !missed[i]:
		case holders[i] > 0 || w.Spelling == "" || p.Quick:
			s.ask(found[i], w.Weight, w.Weight)
			s.asked[len(s.asked)-1].term = w.Term
		default:
			unheard = append(unheard, w)
		}
	}
	s.mend(unheard, q, p.Corrected)
}

// asked is something that a search looks for: a word, what begins so, or a phrase.
type asked struct {
	in      []askedIn // by part
	holders int       // passages that have it
	term    string    // of the word that it is, if it stands for no other
	around  float64   // words of the sequences that have it

	said   float64 // how much it counts, 0 to 1
	own    float64 // the same, if it were spelled as in the query
	weight float64 // what a passage of average length gets that has it once

	scores *scoresByCount // see [search.addScores]; nil: there are none yet
}

// askedIn is where that is in a part.
type askedIn struct {
	terms int       // that stand for it
	term  uint32    // if it is one
	more  []uint32  // if they are more: all of them
	list  []posting // if it is not one, unless they are apart

	apart  bool      // term is that of most passages, and the postings of the others lie beside it
	beside []posting // of the others
	held   int       // passages that have any of them
}

// listOf are the postings of what is asked for in a part, good until the next call for it.
func (a *asked) listOf(sh *scoring) []posting {
	in := &a.in[sh.at]
	switch {
	case in.terms == 1:
		return sh.listIn(&sh.room, in.term)
	case in.apart:
		in.list, in.apart = union(in.beside, sh.listIn(&sh.room, in.term)), false
	}
	return in.list
}

// rarest are the words that a quick search looks for: what they cost is bounded, and
// texts that are near to one another share some of them.
func (s *search) rarest(words []retrieval.QueryWord) []retrieval.QueryWord {
	type held struct{ at, holders int }
	rare := make([]held, 0, len(words))
	for i := range words {
		if n := s.holders(words[i].Term); n > 0 && n <= loci.QuickHolders {
			rare = append(rare, held{i, n})
		}
	}
	slices.SortFunc(rare, func(a, b held) int { return cmp.Or(a.holders-b.holders, a.at-b.at) })
	rare = rare[:min(len(rare), loci.QuickWords)]
	var out [loci.QuickWords]retrieval.QueryWord
	for i, r := range rare {
		out[i] = words[r.at]
	}
	return append(words[:0], out[:len(rare)]...)
}

// findWord finds a word that has several terms.
func (s *search) findWord(terms []string) asked {
	return s.findIn(make([]askedIn, len(s.parts)), terms)
}

// findIn is findWord with memory for what is found, by part.
func (s *search) findIn(in []askedIn, terms []string) asked {
	a := asked{in: in}
	var have []uint32
	for i := range s.parts {
		sh, in := &s.parts[i], &a.in[i]
		have = have[:0]
		for _, term := range terms {
			if !sh.hasStems() && isStem(term) {
				continue // mostly: each word of a query may have a dozen
			}
			if t, ok := sh.findTerm(term); ok {
				have = append(have, t)
			}
		}
		switch in.terms = len(have); in.terms {
		case 0:
		case 1:
			in.term = have[0]
		default:
			in.more = slices.Clone(have)
			sh.join(in)
		}
		a.holders += a.heldIn(sh)
	}
	return a
}

// join puts the lists of several terms together. Mostly one of them is a word that many say, and the others are words
// of other languages that few say: then its list stays as it is, and theirs lie beside it.
func (sh *scoring) join(in *askedIn) {
	most := slices.MaxFunc(in.more, func(a, b uint32) int { return cmp.Compare(sh.holding(a), sh.holding(b)) })
	var beside []posting
	for _, t := range in.more {
		if t != most {
			beside = union(beside, sh.list(t))
		}
	}
	p := sh.packed(&sh.room, most)
	if p == nil || len(beside)*fewBeside > sh.holding(most) {
		in.list = union(beside, sh.listIn(&sh.room, most))
		return
	}
	in.term, in.beside, in.apart, in.held = most, beside, true, sh.holding(most)
	for _, x := range beside {
		if !p.has(x.Passage) {
			in.held++
		}
	}
}

// fewBeside is how many times as many passages say the word that has others beside it.
const fewBeside = 16

// findLists finds what stands in passages that are listed.
func (s *search) findLists(list func(*scoring) []posting) asked {
	a := asked{in: make([]askedIn, len(s.parts))}
	for i := range s.parts {
		a.in[i].list = list(&s.parts[i])
		a.holders += len(a.in[i].list)
	}
	return a
}

// union merges two lists of postings; a passage of both has the greater count.
func union(a, b []posting) []posting {
	out := make([]posting, 0, len(a)+len(b))
	keep := func(p posting) {
		if p.Count > 0 {
			out = append(out, p)
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch p, q := a[i], b[j]; {
		case p.Passage < q.Passage:
			keep(p)
			i++
		case q.Passage < p.Passage:
			keep(q)
			j++
		default:
			keep(posting{Passage: p.Passage, Count: max(p.Count, q.Count)})
			i, j = i+1, j+1
		}
	}
	for _, p := range a[i:] {
		keep(p)
	}
	for _, p := range b[j:] {
		keep(p)
	}
	return out
}

// ask adds something to what is looked for. own is what the query would give it if it were
// spelled as there.
func (s *search) ask(a asked, said, own float64) {
	s.askRare(a, said, own, rareness(s.passages, float64(a.holders)))
}

// askRare is ask of something that is so rare.
func (s *search) askRare(a asked, said, own, rare float64) {
	a.said, a.own, a.weight = said, own, said*rare
	s.ideal += own * rare
	s.asked = append(s.asked, a)
}

// add adds the scores of what is asked for, of passages unless they are made when they are needed.
func (s *search) add(a *asked) {
	speaking := 0
	for i := range s.parts {
		sh := &s.parts[i]
		if s.skips {
			if s.sequences > 0 {
				speaking += sh.countTalk(a)
			}
			continue
		}
		list := a.listOf(sh)
		sh.addList(list, a.weight, s.average)
		if s.sequences > 0 {
			speaking += sh.countSequences(list)
		}
	}
	if s.sequences == 0 {
		return
	}
	rare := rareness(s.sequences, float64(speaking))
	s.contextIdeal += a.own * rare
	for i := range s.parts {
		if s.parts[i].first == i {
			a.around += s.parts[i].addContexts(a.said*rare, s.averageContext)
		}
	}
}

// score is BM25 of a term that stands count times in a document of so many words.
func score(weight, count, length, average float64) float64 {
	norm := bm25K1 * (1 - bm25B + bm25B*length/average)
	return weight * count * (bm25K1 + 1) / (count + float64(norm)) // no step is fused, wherever this stands
}

func (sh *scoring) addList(list []posting, weight, average float64) {
	if len(list) == 0 {
		return
	}
	sh.words = resize(sh.words, len(sh.passages))
	// All that is read in the loop lies in variables of its own: what a call or a store might change is read again.
	words, passages, touched := sh.words, sh.passages, slices.Grow(sh.touched, len(list))
	var once [64]float64 // the score where it stands once, as mostly, by the length of the passage; 0: not made yet
	for _, p := range list {
		if p.Count == 0 {
			continue
		}
		w, length, more := &words[p.Passage], passages[p.Passage].Length, 0.0
		if p.Count == 1 && length < uint32(len(once)) {
			more = once[length]
		}
		if more == 0 {
			more = score(weight, float64(p.Count), float64(length), average)
			if p.Count == 1 && length < uint32(len(once)) {
				once[length] = more
			}
		}
		if w.score == 0 {
			touched = append(touched, p.Passage)
		}
		w.score += more
		w.covered += weight
	}
	sh.touched = touched
}

// beginCount makes room for a term that is counted in the sequences of the shard.
func (sh *scoring) beginCount() {
	t, n := sh.talk, len(sh.shard.sequences)
	if sh.first == sh.at {
		t.spoken = t.spoken[:0]
	}
	t.contexts, t.coverage, t.counts = resize(t.contexts, n), resize(t.coverage, n), resize(t.counts, n)
}

// countSequences counts a term in the sequences of a shard, as far as a part has them, and
// how many hold it that did not in the parts before.
func (sh *scoring) countSequences(list []posting) (more int) {
	sh.beginCount()
	if len(list) == 0 || !sh.hasSequences() {
		return 0
	}
	t := sh.talk
	for _, p := range list {
		q := sh.sequenceOfPassage(&sh.passages[p.Passage])
		if p.Count == 0 || q == 0 {
			continue
		}
		more += t.hear(q, p.Count)
		t.coverage[q] = max(t.coverage[q], sh.words[p.Passage].covered)
	}
	return more
}

// hear counts a term in a sequence, and returns 1 if it is the first time.
func (t *talk) hear(q, count uint32) (more int) {
	if t.counts[q] == 0 {
		t.spoken = append(t.spoken, q)
		more = 1
	}
	t.counts[q] += count
	return more
}

// addContexts adds the scores of the term that was counted, and says how many words the sequences have that have it.
func (sh *scoring) addContexts(weight, average float64) (around float64) {
	t := sh.talk
	for _, q := range t.spoken {
		if t.contexts[q] == 0 {
			t.heard = append(t.heard, q)
		}
		length := float64(sh.shard.sequences[q].length)
		t.contexts[q] += score(weight, float64(t.counts[q]), length, average)
		t.counts[q] = 0
		around += length
	}
	return around
}
