package index

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/vector"
)

// A Loader reads records in full, for filters on attributes that the index does
// not hold. Ids that are gone are left out.
type Loader func(ids []loci.ID) ([]loci.Record, error)

// Match answers [loci.RecordLister.Match] from the shards the filter covers.
// Statistics are those of these shards alone.
func (x *Index) Match(p loci.Probe, f loci.Filter, limit int, load Loader) ([]loci.Hit, error) {
	return x.MatchNumbered(p, f, limit, load, nil)
}

// MatchNumbered is Match that tells the numbers of the records found: of is that of the i-th hit, 0 if it has none.
func (x *Index) MatchNumbered(
	p loci.Probe, f loci.Filter, limit int, load Loader, tell func(hits []loci.Hit, of func(i int) uint32),
) ([]loci.Hit, error) {
	if p.Vector != nil && len(p.Vector) != p.Space.Dims {
		return nil, loci.Errorf(loci.Invalid, "the vector has %d dimensions and its space %d", len(p.Vector), p.Space.Dims)
	}
	s := searches.Get().(*search)
	s.filter, s.load, s.unguessed, s.tell, s.places = &f, load, &x.unguessed, tell, x.Places
	s.glances = glances(&f)
	s.coarseAbove, s.skipFrom, s.readCost, s.guessFrom = x.coarseAbove, x.skipFrom, x.readCost, x.guessFrom
	hits, err := s.match(x, &p, limit)
	if err == nil { // else it keeps what it has, as after a panic
		s.again()
		searches.Put(s)
	}
	return hits, err
}

// match is [Index.Match] by a search that was not used, or is ready again.
func (s *search) match(x *Index, p *loci.Probe, limit int) ([]loci.Hit, error) {
	defer s.leave()
	s.choose(x, p)
	if p.Text != "" {
		if err := s.scoreWords(*p); err != nil {
			return nil, err
		}
	}
	if p.Few > 0 && s.many < 1 {
		limit = p.Few
	}
	if err := s.findDescribed(p); err != nil {
		return nil, err
	}
	if p.Vector != nil && p.Space == x.space && !p.Space.IsZero() {
		vector := p.Vector
		if p.Reweigh != nil {
			if vector = p.Reweigh(s.rarity()); len(vector) != p.Space.Dims {
				vector = p.Vector // no word of the query counts
			}
		}
		s.compare(vector)
	}
	if _, err := s.gather(p, limit); err != nil {
		return nil, err
	}
	if s.lost != nil {
		return nil, s.lost
	}
	hits, at := s.newestFirst()
	if p.Texts {
		if err := s.addTexts(p, hits, at); err != nil {
			return nil, err
		}
	}
	if s.tell != nil {
		s.tell(hits, func(i int) uint32 { return s.parts[at[i].part].numberOf(at[i].entry) })
	}
	s.release()
	return hits, nil
}

// newestFirst returns the hits, where they were made if that is one place: together they are large. at says of which
// entry each is.
func (s *search) newestFirst() (hits []loci.Hit, at []place) {
	type made struct { // times are compared most often, and lie together
		moment
		at int
	}
	sorted := make([]made, len(s.made))
	for i, h := range s.made {
		sorted[i] = made{momentOf(h.CreatedAt), i}
	}
	slices.SortFunc(sorted, func(a, b made) int {
		if a.moment != b.moment {
			return b.compare(a.moment)
		}
		return bytes.Compare(s.made[a.at].ID[:], s.made[b.at].ID[:])
	})
	order := make([]int, len(sorted))
	for i := range sorted {
		order[i] = sorted[i].at
	}
	at = make([]place, len(order))
	for n, i := range order {
		at[n] = s.madeOf[i]
	}
	if len(s.made) <= len(s.within) {
		Arrange(s.within, order)
		return s.within[:len(order):len(order)], at
	}
	hits = make([]loci.Hit, len(order))
	for n, i := range order {
		hits[n] = *s.made[i]
	}
	return hits, at
}

// gather returns the best limit by words, by vectors and by time, and what stands beside
// them.
func (s *search) gather(p *loci.Probe, limit int) (map[place]*loci.Hit, error) {
	words := byWords
	if s.skips {
		words = s.byWordsSkipping(limit)
	}
	byWord, err := s.best(limit, words, nil)
	if err != nil {
		return nil, err
	}
	// What says the words of the query is mostly near to it, and few others need to be looked at then.
	byVector, err := s.best(limit, byVectors, byWord)
	if err != nil {
		return nil, err
	}
	byTime, err := s.bestInTime(limit, p.Times)
	if err != nil {
		return nil, err
	}
	byWish, err := s.bestWishes(limit)
	if err != nil {
		return nil, err
	}
	byPerson, err := s.bestDescribed(limit)
	if err != nil {
		return nil, err
	}
	others := slices.Concat(byTime, byWish, byPerson)
	hits := make(map[place]*loci.Hit, len(byWord)+len(byVector)+len(others))
	for _, list := range [][]place{byWord, byVector, others} {
		for _, at := range list {
			hits[at] = nil // until they are counted
		}
	}
	s.within, s.made = make([]loci.Hit, len(hits)), make([]*loci.Hit, 0, len(hits))
	s.madeOf = make([]place, 0, len(hits))
	for i, at := range byWord {
		s.hit(hits, at).KeywordRank = i + 1
	}
	for i, at := range byVector {
		s.hit(hits, at).VectorRank = i + 1
	}
	for _, at := range others {
		s.hit(hits, at)
	}
	if p.Sequences {
		if err := s.addNeighbours(hits, slices.Concat(byWord, byVector, others)); err != nil {
			return nil, err
		}
	}
	s.addCovered(hits)
	return hits, nil
}

// choose takes the shards that the filter covers; a quick search passes over large ones.
func (s *search) choose(x *Index, p *loci.Probe) {
	small := func(sh *shard) bool { return !p.Quick || sh.records() <= loci.QuickRecords }
	var covered []Key
	if above := x.coveredAbove(s.filter); len(above) > 0 && !p.Quick {
		for _, sh := range above {
			s.cover(sh)
		}
		for _, key := range x.besides(s.filter, above) {
			s.cover(x.shards[key])
		}
		return
	}
	if s.gathering, covered = x.gather(s.filter); s.gathering == nil {
		s.parts = slices.Grow(s.parts, len(covered)) // most shards have one part
		for _, key := range covered {
			if small(x.shards[key]) {
				s.cover(x.shards[key])
			}
		}
		return
	}
	s.cover(s.gathering.all)
	for _, apart := range []map[*shard]bool{s.gathering.waiting, s.gathering.large} {
		for sh := range apart {
			if small(sh) {
				s.cover(sh)
			}
		}
	}
}

// place is an entry of a part.
type place struct {
	part  int32
	entry uint32
}

// scoring is a part with the scores of one probe.
type scoring struct {
	part
	*scratch
	shard    *shard // that it is a part of
	first    int    // number of the first part of the shard
	at       int    // its own number
	talk     *talk  // of the shard
	passages []passage
	matrix   *vector.Matrix
	query    *vector.Query // of the search; nil: none, or no vector to compare with it
	rows     []uint32
	gone     bool         // some of its passages are removed
	wishes   [2][]posting // by mark; nil: not asked for
	about    []posting    // where somebody stands whom the query is about
	tagged   []uint64     // a bit for each entry that has the tags of the filter; nil: look at each
	covered  bool         // the filter has its namespace and its kind
}

// cover takes the parts of a shard into a search.
func (s *search) cover(sh *shard) {
	first, t := len(s.parts), talks.Get().(*talk)
	for p := range sh.parts {
		matrix, rows := p.embeddings()
		passages := p.allPassages()
		s.parts = append(s.parts, scoring{p, scratches.Get().(*scratch), sh, first, len(s.parts), t,
			passages, matrix, nil, rows, p.alive().passages < len(passages),
			[2][]posting{}, nil, p.withTags(s.filter.Tags), covers(s.filter, sh)})
	}
}

// release gives back what a search worked in. One that ended early, such as by a panic about a segment that is
// damaged, keeps it: there it is not as the next search must find it.
func (s *search) release() {
	for i := range s.parts {
		if s.parts[i].first == i {
			s.parts[i].talk.release()
		}
		s.parts[i].release()
	}
}

// leave ends a search, however it went. Until here the parts are in use: what lies elsewhere is taken away when
// nothing refers to it.
func (s *search) leave() {
	if s.gathering != nil {
		s.gathering.release()
	}
	runtime.KeepAlive(s.parts)
}

// scratch is the memory one search of a part works in; it is used again, since
// it grows with the part.
type scratch struct {
	words   []worded  // by passage; all zero when not in use, empty: no word searched for
	touched []uint32  // passages with a word of the query, of those that are scored
	room    []posting // of the term at hand, where they do not lie as a list

	likely []uint64  // a bit for each entry, zero when not in use: see [search.note]
	sums   []float32 // by passage; zero when not in use: see [search.touch]
	summed []uint32  // passages with a sum

	ordinals []int32 // by entry: its place in its sequence, see [search.number]
	targets  targets

	found []row // see [search.guess]
	most  floats
	reach floats // see [scratch.reached]
}

// worded is what words of the query say of a passage.
type worded struct {
	score   float64
	covered float64 // the weight of those that are in it
}

// talk is the same for the sequences of a shard as documents, by number; zero like words.
type talk struct {
	contexts []float64
	coverage []float64 // by sequence: the greatest covered of its passages
	counts   []uint32  // of the term at hand
	spoken   []uint32  // sequences with the term at hand
	heard    []uint32  // sequences with a word of the query
	speaking []int32   // by sequence: see [search.talksOf]
}

// keptParts, keptWords and keptFound bound the memory that a search leaves to the next one.
const (
	keptParts = 16
	keptWords = 64
	keptFound = 256
)

// again makes a search ready for another one, with the memory that it has worked in, and nothing in it.
func (s *search) again() {
	if s.coarse != nil {
		s.coarse.Release()
	}
	parts, words, found, asks := s.parts, s.words, s.found, s.asked
	*s = search{}
	s.parts, s.words = emptied(parts, keptParts), emptied(words, keptWords)
	s.found, s.asked = emptied(found, keptFound), emptied(asks, keptWords)
}

// emptied is the memory of a slice, if it is for no more than some elements.
func emptied[T any](s []T, most int) []T {
	if cap(s) > most {
		return nil
	}
	s = s[:cap(s)]
	clear(s)
	return s[:0]
}

var (
	searches  = sync.Pool{New: func() any { return new(search) }}
	scratches = sync.Pool{New: func() any { return new(scratch) }}
	talks     = sync.Pool{New: func() any { return new(talk) }}
)

// release gives the scratch back, its words zero again.
func (c *scratch) release() {
	words := c.words
	for _, n := range c.touched {
		words[n] = worded{}
	}
	c.words, c.touched = c.words[:0], c.touched[:0]
	c.forget()
	c.targets.list, c.targets.counts, c.targets.terms = c.targets.list[:0], c.targets.counts[:0], 0
	scratches.Put(c)
}

func (t *talk) release() {
	for _, n := range t.heard {
		t.contexts[n], t.coverage[n] = 0, 0
	}
	t.contexts, t.coverage, t.counts, t.heard = t.contexts[:0], t.coverage[:0], t.counts[:0], t.heard[:0]
	t.speaking = t.speaking[:0]
	talks.Put(t)
}

// resize returns a slice of n elements, with the memory of the old one if that is
// enough; elements that come back into view are as they were left.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4) // a shard grows by one record at a time
	}
	return s[:n]
}

type search struct {
	filter    *loci.Filter
	glances   bool // see [glances]
	load      Loader
	tell      func(hits []loci.Hit, of func(i int) uint32) // see [Index.MatchNumbered]
	places    func(uint32) (loci.Namespace, bool, error)   // see [Index.Places]
	lost      error                                        // of these
	gathering *gathering                                   // in which the small shards are; nil: in none
	parts     []scoring                                    // of the shards, those of one after another
	room      loci.Record                                  // for the header of the entry that is looked at
	checked   map[place]bool                               // outcome of the filter on attributes
	phrased   [][]bool                                     // by part and entry: holds every phrase of the query; nil: there is none

	coarseAbove, skipFrom, readCost, guessFrom int
	coarse                                     *vector.Query // see [search.compare]
	bm25

	unguessed *atomic.Int32 // of the index

	wishes    [2]wishing // by mark
	requests  bool       // the query asks for advice, or for something to be done
	roles     []string   // of whom the query is about
	described            // whom it describes
	named     []string   // terms of names in it
	about     bool       // it is about somebody whom some passages name

	made   []*loci.Hit // in within, and then elsewhere
	madeOf []place     // of which entry each is
	within []loci.Hit
	more   []loci.Hit // room elsewhere

	words []retrieval.QueryWord // memory for those of the query
	found []askedIn             // memory for where they are

	order []int     // see [search.rarestFirst]
	rests []float64 // memory for touch

	beside     map[place]*neighbours // that were looked for
	moreBeside []neighbours          // room for others
	sum        []float32             // memory for together

	members []uint32 // memory for number
}

// hit returns the hit of an entry, made at its first mention from the best of its
// passages by each signal.
func (s *search) hit(hits map[place]*loci.Hit, at place) *loci.Hit {
	if h := hits[at]; h != nil {
		return h
	}
	sh := &s.parts[at.part]
	e := sh.seen(at.entry)
	h := s.newHit()
	*h = loci.Hit{ID: e.id, Version: e.version, CreatedAt: e.created,
		Namespace: s.namespaceOf(sh, at.entry), Sequence: sh.shard.nameOf(e.sequence),
		Position: e.position, Speaker: e.speaker, Signer: sh.signer(&e), Traits: e.traits,
		Long: s.long(), Many: s.many}
	s.share(sh, &e, h)
	s.addWish(sh, &e, h)
	h.OfOthers = s.about && !sh.isAbout(&e)
	var wordsThere, vectorThere float64 // the other signal where each is best: it decides between equals
	for ordinal := range int(e.passages) {
		n := e.first + uint32(ordinal)
		words := s.wordsAt(sh, n).score
		vector, embedded := sh.similarity(n)
		if words > h.Keyword || words > 0 && words == h.Keyword && vector > vectorThere {
			h.Keyword, h.KeywordSpan, vectorThere = words, ordinal, vector
		}
		if embedded && (!h.Embedded || vector > h.Similarity || vector == h.Similarity && words > wordsThere) {
			h.Similarity, h.VectorSpan, h.Embedded, wordsThere = vector, ordinal, true, words
		}
	}
	if s.ideal > 0 {
		h.KeywordShare = h.Keyword / s.ideal
	}
	if !h.OfOthers && s.description != "" && at != s.by {
		h.KeywordShare = min(1, h.KeywordShare+float64(describedPart*s.worded.score/s.ideal))
		h.Covered = min(1, h.Covered+float64(describedPart*s.coverage(s.worded.covered)))
	}
	hits[at], s.madeOf = h, append(s.madeOf, at)
	return h
}

// newHit makes room for a hit, which stays where it is.
func (s *search) newHit() *loci.Hit {
	var h *loci.Hit
	switch n := len(s.made); {
	case n < len(s.within):
		h = &s.within[n]
	default:
		if len(s.more) == 0 {
			s.more = make([]loci.Hit, 32)
		}
		h, s.more = &s.more[0], s.more[1:]
	}
	s.made = append(s.made, h)
	return h
}

// namespaceOf is the namespace of an entry.
func (s *search) namespaceOf(sh *scoring, entry uint32) loci.Namespace {
	switch {
	case sh.shard.key.Above:
		return s.placed(sh, entry)
	case sh.shard.gathered:
		return sh.shard.entries[entry].record.Namespace
	default:
		return sh.shard.namespace
	}
}

// share says how much of the query an entry and its sequence hold.
func (s *search) share(sh *scoring, e *seen, h *loci.Hit) {
	if s.ideal == 0 {
		return
	}
	for n := e.first; n < e.first+e.passages; n++ {
		h.Covered = max(h.Covered, s.coverage(s.wordsAt(sh, n).covered))
	}
	if e.sequence != 0 && s.contextIdeal > 0 && int(e.sequence) < len(sh.talk.contexts) {
		h.Context = sh.talk.contexts[e.sequence] / s.contextIdeal
		h.ContextCovered = s.coverage(sh.talk.coverage[e.sequence])
	}
}

// coverage is how much of the query a weight is, at most 1: what lies between words adds to it, too.
func (s *search) coverage(weight float64) float64 { return min(1, weight/s.ideal) }
