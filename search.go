package loci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/rank"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/sequence"
	"github.com/loci-memory/loci/internal/when"
)

// A Mode says which signals a search uses.
type Mode string

// The modes of a search.
const (
	Hybrid   Mode = "hybrid"   // keywords and similarity, fused
	Keyword  Mode = "keyword"  // keywords alone
	Semantic Mode = "semantic" // similarity alone
)

// A Query is what [Memory.Search] looks for.
type Query struct {
	// Text is in plain words; empty: list what the conditions select, newest first. Except in mode Semantic a "quoted
	// phrase" must be in every match, and begin* stands for the words that begin so.
	Text   string
	Mode   Mode // default Hybrid
	Limit  int  // 1 to 1000; default 10
	Offset int  // results to pass over, 0 to 10000

	Kinds  []Kind   // default: facts, items, episodes and rules; packages tree and session search files and messages
	Scopes []string // of facts and rules, the agent of episodes; default: all
	Tags   []string
	Where  Where

	MinConfidence float64 // effective confidence of at least so much, 0 to 1; 0: all live ones
	MinScore      float64 // score of at least so much, 0 to 1; 0: whatever fits best
	MaxBytes      int     // of what the records of the results hold; more is [ErrTooMuch]. 0: no bound

	// Rerank says whether the re-ranker of the engine reads the best results again; nil: if
	// it has one. True without one is an Unsupported error.
	Rerank *bool

	Since, Until time.Time // created at or after Since and before Until; zero: at any time
}

// FloorScore is a score from which a memory is worth showing unasked: docs/scoring.md
// says what it keeps and what it leaves out.
const FloorScore = 0.05

// A Match is a record that a search found.
type Match struct {
	Record  Record
	Passage string  // the part of its text that fits best
	Span    Span    // where in Record.Text the passage is
	Speaker string  // who said it, by the attribute speaker or role; "": that is not known
	Score   float64 // the chance that it answers the query, 0 to 1 (docs/search.md); 0 when nothing was searched for
	Explain Explain
}

// Explain says how a score came about.
type Explain struct {
	Keyword     float64 `json:"keyword"`      // BM25 of the best passage
	KeywordRank int     `json:"keyword_rank"` // from 1; 0: not among the candidates by keyword
	Similarity  float64 `json:"similarity"`   // cosine of the best passage
	VectorRank  int     `json:"vector_rank"`  // from 1; 0: not among the candidates by similarity
	Embedded    bool    `json:"embedded"`     // has vectors in the active space
	KeywordPart float64 `json:"keyword_part"` // what the keywords add to the score
	VectorPart  float64 `json:"vector_part"`  // what the similarity adds to the score

	ContextPart   float64 `json:"context_part"`         // what its sequence as a whole adds to the score
	NeighbourPart float64 `json:"neighbour_part"`       // what the records next to it in its sequence add to the score
	TimePart      float64 `json:"time_part"`            // what the time that the query names adds to the score
	SignerPart    float64 `json:"signer_part,omitzero"` // what it adds that the query names who says it

	Reranked   float64 `json:"reranked,omitzero"`    // the re-ranker's chance, which then is the score; 0: it did not read it
	FirstScore float64 `json:"first_score,omitzero"` // the score before that
}

// A Result is what a search returns.
type Result struct {
	Matches []Match

	// KeywordOnly is set when a search that should use vectors had none, because the embedder did not answer.
	KeywordOnly bool

	// Corrections are the words of the query that no memory has, each with those that were searched for in its
	// place ("alergy" with "allergy"), and words beside which names were ("daughter" with "daughter" and "mia").
	Corrections []Correction

	// Times are the times that the query names, as of At: what was made then, or speaks of then, has a better score.
	Times []NamedTime

	// NoWords is set when the query has no word to look for, such as "?!": nothing fits it.
	NoWords bool

	// NotReranked says why the re-ranker has not read the results though it was to. "": it has, or was not to.
	NotReranked string

	At time.Time // the moment of the search: what was live then
}

// A Correction is a word of a query, with those that were searched for in its place: itself first if it was, too.
type Correction struct {
	Word        string   `json:"word"`
	SearchedFor []string `json:"searched_for"`
}

// A NamedTime is a time that a query names, such as "last week".
type NamedTime = when.Span

// Search finds memories by meaning and by words. Each record comes once, with its best passage.
//
// Candidates are the best 4·(Offset+Limit) records by each signal, or if more 16,000 or Offset+Limit, among what the conditions select, and what
// stands beside them in their sequences. A match gets VectorWeight·similarity + (1−VectorWeight)·words, where words
// is BM25 as a share of the most that the query's words allow, times the root of how much of the query they cover,
// and similarity is the cosine scaled from where texts have nothing in common to where they say the same. An
// embedder that knows only a part of the query's words ([KnowingEmbedder]) gets only that part of VectorWeight; by
// vectors alone its scores are low. In mode Hybrid a match also gets a share of its sequence as a whole and of its
// neighbours there, what an assistant said counts less than what a person said, and a time that the query names
// lifts what was made then or speaks of it. The sum orders the matches; the score is the chance that belongs to the
// sum. It does not depend on the other matches, nor on Limit and Offset. A re-ranker, if the engine has one, reads
// the best of them again: its chance is then their score, and their order ([RerankOptions]). Ties: the better by
// words, then by similarity, then newer first, then by id.
func (m *Memory) Search(ctx context.Context, q Query) (Result, error) {
	if err := q.Check(); err != nil {
		return Result{}, err
	}
	if len(q.Kinds) == 0 {
		q.Kinds = m.engine.memoryKinds()
	}
	f := m.readable(m.engine.now(), q.Kinds...)
	f.Where, f.Scopes, f.MinConfidence, f.Since, f.Until = q.Where, q.Scopes, q.MinConfidence, q.Since, q.Until
	var err error
	if f.Tags, err = CheckTags(q.Tags); err != nil {
		return Result{}, err
	}
	if strings.TrimSpace(q.Text) == "" {
		return m.browse(ctx, f, q)
	}
	return m.searchIn(ctx, f, q)
}

// SearchWhere ranks what a filter selects, inside of what the handle may read, for the
// words of a query; of the query only Text, Mode, Limit, Offset, MinScore, Rerank, Since and Until count.
func (m *Memory) SearchWhere(ctx context.Context, f Filter, q Query) (Result, error) {
	if err := cmp.Or(q.Check(), m.inView(f)); err != nil {
		return Result{}, err
	}
	f.Since, f.Until = q.Since, q.Until
	return m.searchIn(ctx, f, q)
}

// searchIn ranks what a filter selects for the words of a query.
func (m *Memory) searchIn(ctx context.Context, f Filter, q Query) (Result, error) {
	if !retrieval.HasWords(q.Text) {
		return Result{NoWords: true, At: f.At}, nil
	}
	reranks, err := m.engine.reranks(&q)
	if err != nil {
		return Result{}, err
	}
	depth := q.Offset + q.Limit
	if reranks { // it reads the same candidates however many results are asked for
		depth = max(depth, m.engine.opts.Rerank.Candidates)
	}
	// A record may change between Match and reading it; then it is ranked again.
	var p probing
	for attempt := 0; ; attempt++ {
		hits, err := m.candidates(ctx, q, &p, func(p Probe) ([]Hit, error) {
			return m.engine.store.Match(ctx, m.view.Tenant, p, f, rank.Candidates(depth))
		})
		if err != nil {
			return Result{}, err
		}
		ranked := m.engine.rank(hits, q.Mode, &p)
		page, err := m.page(ctx, f, &q, ranked, reranks)
		if err != nil {
			return Result{}, err
		}
		if !page.stale || attempt == 3 {
			return Result{Matches: page.matches, At: f.At, KeywordOnly: p.keywordOnly,
				Corrections: p.corrections, Times: p.Times, NotReranked: page.missed}, nil
		}
	}
}

// Check puts defaults in the place of zeros and refuses what is out of range.
func (q *Query) Check() error {
	setDefault(&q.Mode, Hybrid)
	setDefault(&q.Limit, 10)
	switch {
	case q.Mode != Hybrid && q.Mode != Keyword && q.Mode != Semantic:
		return Errorf(Invalid, "Invalid mode: '%s'. Must be one of ['hybrid', 'keyword', 'semantic']", q.Mode)
	case q.Limit < 1 || q.Limit > MaxSearchLimit:
		return Errorf(Invalid, "limit is %d; it must be 1 to %d", q.Limit, MaxSearchLimit)
	case q.Offset < 0 || q.Offset > 10_000:
		return Errorf(Invalid, "offset is %d; it must be 0 to 10000", q.Offset)
	case !(q.MinScore >= 0 && q.MinScore <= 1):
		return Errorf(Invalid, "min_score is %v; it must be 0 to 1", q.MinScore)
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return Errorf(Invalid, "until is %s; it must be after since, %s", ShowTime(q.Until), ShowTime(q.Since))
	case len(q.Text) > MaxQueryBytes:
		return Errorf(TooLarge, "query has %d bytes; the limit is %d: shorten it", len(q.Text), MaxQueryBytes)
	case !utf8.ValidString(q.Text):
		return Errorf(Invalid, "query is not valid UTF-8")
	case len(q.Scopes) > MaxScopes: // each is compared with those of every record
		return Errorf(Invalid, "scopes has %d entries; the limit is %d: leave some out", len(q.Scopes), MaxScopes)
	case len(q.Kinds) > maxKinds:
		return Errorf(Invalid, "types has %d entries; the limit is %d: name each once", len(q.Kinds), maxKinds)
	}
	return nil
}

// ErrTooMuch is the cause of the error TooLarge of a search whose results are more than [Query.MaxBytes].
var ErrTooMuch = errors.New("too much at once")

// loadedAtOnce is how many records are read until their bytes are looked at, where these have a bound.
const loadedAtOnce = 64

// holds adds the bytes that records hold to size, and refuses more than the bound.
func (q *Query) holds(records []Record, size *int) error {
	for i := range records {
		*size += len(records[i].Text) + len(records[i].Attributes) + len(records[i].Body)
	}
	if q.MaxBytes <= 0 || *size <= q.MaxBytes {
		return nil
	}
	return &Error{Code: TooLarge, Err: ErrTooMuch, Msg: fmt.Sprintf("the results have more than %d bytes, the limit of one answer", q.MaxBytes),
		Recovery: "Ask for fewer by limit, and for the others by offset."}
}

// maxKinds is more than there are kinds.
const maxKinds = 32

// together is how many records are read at once.
func (q *Query) together() int {
	if q.MaxBytes > 0 {
		return loadedAtOnce
	}
	return MaxSearchLimit
}

// browse answers a search without words: newest first.
func (m *Memory) browse(ctx context.Context, f Filter, q Query) (Result, error) {
	var matches []Match
	skip, cursor, more, size := q.Offset, "", true, 0
	for more && len(matches) < q.Limit {
		page := Page{Limit: min(q.Limit-len(matches), q.together()), Cursor: cursor}
		if skip > 0 { // what is passed over is not shown
			page.Limit, page.NoText = min(skip, 1000), true
		}
		records, next, err := m.engine.store.Records(ctx, m.view.Tenant, f, page)
		if err != nil {
			return Result{}, err
		}
		if cursor, more = next, next != ""; skip > 0 {
			skip -= len(records)
			continue
		}
		if err := q.holds(records, &size); err != nil {
			return Result{}, err
		}
		matches = slices.Grow(matches, len(records)) // each is large
		for _, r := range records {
			matches = append(matches, Match{Record: r, Passage: r.Text, Span: Span{Start: 0, End: len(r.Text)}})
		}
	}
	return Result{Matches: matches, At: f.At}, nil
}

// probing is what a search looks for, made once for a space.
type probing struct {
	Probe
	made        bool
	active      Space // the active space it was made for
	keywordOnly bool
	corrections []Correction
	known       float64 // how much of the text the embedder of Vector knows, 0 to 1
	scale       Scale   // of its cosines
	onlyTime    bool    // the text asks for nothing but a time
}

// respelled is a text with the words that were searched for in place of misspelt ones.
func (p *probing) respelled(text string) string {
	for _, x := range p.corrections {
		text = retrieval.Respell(text, x.Word, x.SearchedFor)
	}
	return text
}

// candidates asks the store by match. When the active space has become another one by the
// time there is an answer, it asks again: the old vectors may have been half gone.
func (m *Memory) candidates(
	ctx context.Context, q Query, p *probing, match func(Probe) ([]Hit, error),
) (hits []Hit, err error) {
	e, t := m.engine, m.view.Tenant
	active := p.active
	if !p.made && e.own != nil && q.Mode != Keyword {
		if active, err = e.activeSpace(ctx, t); err != nil {
			return nil, err
		}
	}
	for attempt := 0; ; attempt++ {
		if !p.made || p.active != active {
			*p = probing{active: active}
			err = m.probe(ctx, q, p)
		}
		if err == nil {
			p.corrections, p.Shared = nil, map[any]any{}
			p.Corrected = func(word string, by []string) { p.corrections = append(p.corrections, Correction{word, by}) }
			hits, err = match(p.Probe)
		}
		if e.own == nil || q.Mode == Keyword || ctx.Err() != nil {
			return hits, err
		}
		now, lookErr := e.look(ctx, t)
		if lookErr != nil {
			return nil, lookErr
		}
		if now == active || attempt == 3 {
			return hits, err
		}
		active = now
	}
}

// probe prepares what the store looks for, in the active space, or the engine's own while there is none. A hybrid
// search goes on without vectors when no embedder answers; a semantic one cannot.
func (m *Memory) probe(ctx context.Context, q Query, p *probing) error {
	e := m.engine
	if q.Mode != Semantic {
		p.Text = q.Text
	}
	if p.Sequences = q.Mode == Hybrid; p.Sequences {
		p.Times = when.Find(q.Text, e.now())
		if p.Texts = len(p.Times) > 0; p.Texts { // for the times that they name
			p.MostText, p.Wanted = mostDatedBytes, func(hits []Hit) []int { return e.dated(hits, q.Mode, p) }
		}
		p.onlyTime = p.Texts && !retrieval.HasContent(when.Without(q.Text, p.Times))
	}
	switch {
	case q.Mode == Keyword || e.own == nil && q.Mode != Semantic:
		p.made = true
		return nil
	case e.own == nil:
		return Errorf(Unsupported, "mode semantic needs an embedder and none is configured: use mode keyword")
	}
	c := e.own
	if !p.active.IsZero() {
		c = e.encoderOf(ctx, p.active)
	}
	if c == nil {
		p.made, p.keywordOnly = true, true
		if q.Mode == Semantic {
			return &Error{Code: Unavailable, Op: "search", Msg: "the vectors are those of " + p.active.String() + ", and that embedder is not available",
				Recovery: "Use mode keyword, or run loci reindex to make the vectors of the configured embedder."}
		}
		return nil
	}
	about := retrieval.Subject(q.Text)
	vector, known, err := c.Query(ctx, about)
	switch {
	case err == nil && !p.active.IsZero() && c.space() != p.active: // only now it knows its dimensions
		return m.probe(ctx, q, p)
	case err == nil:
		p.Vector, p.Space, p.made = vector, c.space(), true
		strange := q.Mode == Semantic && (retrieval.InOtherScript(q.Text) || retrieval.Strange(q.Text) != nil)
		kana := q.Mode == Hybrid && retrieval.HasKana(q.Text)
		p.scale, p.known = rank.Told(c.scale(e.opts.Search.Scale), known, strange, kana)
		// If it knows less, most words mean nothing to it, however rare they are.
		if known >= 0.5 && c.Reweigh(q.Text) != nil {
			p.Reweigh = func(weight func(string) float64) []float32 { return c.Reweigh(p.respelled(about))(weight) }
		}
		return nil
	case q.Mode == Semantic || ctx.Err() != nil:
		return &Error{Code: Unavailable, Op: "search", Msg: "the embedder does not answer", Err: err,
			Recovery: "Use mode keyword, or try again later."}
	}
	e.opts.Logger.WarnContext(ctx, "embedder did not answer; searching by keyword", "model", c.embedder.Model(), "error", err)
	p.made, p.keywordOnly = true, true
	return nil
}

// matches reads the records of ranked hits; stale is that of load.
func (m *Memory) matches(
	ctx context.Context, f Filter, q *Query, ranked []scored,
) (matches []Match, stale bool, err error) {
	matches = make([]Match, 0, len(ranked))
	size := 0
	for some := range slices.Chunk(ranked, q.together()) {
		var read []Record
		changed, err := m.load(ctx, f, Page{}, rank.Pointers(nil, some), func(h *scored, r *Record, best Span) {
			read = append(read, *r)
			matches = append(matches, Match{Record: *r, Passage: best.Of(r.Text), Span: best,
				Speaker: sequence.Speaker(r.Attributes), Score: h.score, Explain: h.explain})
		})
		if stale = stale || changed; err != nil {
			return nil, false, err
		}
		if err := q.holds(read, &size); err != nil {
			return nil, false, err
		}
	}
	return matches, stale, nil
}

// load reads the records of ranked hits, up to 1,000, as a page shows them, and calls keep for each with its best
// passage. stale reports that one of them is gone or changed since it was ranked; it is then left out.
func (m *Memory) load(
	ctx context.Context, f Filter, page Page, ranked []*scored, keep func(h *scored, r *Record, best Span),
) (stale bool, err error) {
	if page.Limit = len(ranked); page.Limit == 0 {
		return false, nil
	}
	f.IDs = make([]ID, len(ranked))
	for i, h := range ranked {
		f.IDs[i] = h.ID
	}
	records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, page)
	if err != nil {
		return false, err
	}
	find := rank.Finder(records, func(r *Record) ID { return r.ID })
	for _, h := range ranked {
		best := h.KeywordSpan
		if h.explain.VectorPart > h.explain.KeywordPart || h.Keyword == 0 {
			best = h.VectorSpan
		}
		n, there := find(h.ID)
		if !there || records[n].Version != h.Version ||
			best >= len(records[n].Passages) { // erased and imported again at the same version
			stale = true
			continue
		}
		keep(h, &records[n], records[n].Passages[best])
	}
	return stale, nil
}

// Events lists the audit events of the handle's namespace, newest first.
func (m *Memory) Events(ctx context.Context, f EventFilter, page Page) (events []Event, next string, err error) {
	if len(f.Types) > len(EventTypes) {
		return nil, "", Errorf(Invalid, "types has %d entries; there are %d: name each once", len(f.Types), len(EventTypes))
	}
	f.Within = []Namespace{m.view.Namespace}
	return m.engine.store.Events(ctx, m.view.Tenant, f, page)
}
