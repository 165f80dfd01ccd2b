package loci

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/fit"
	"github.com/loci-memory/loci/internal/label"
	"github.com/loci-memory/loci/internal/rank"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/sequence"
	"github.com/loci-memory/loci/internal/turn"
)

// Defaults and limits of [Options].
const (
	DefaultChunkSize      = 640  // characters in a passage
	DefaultChunkOverlap   = 96   // characters two neighbouring passages share
	DefaultVectorWeight   = 0.5  // of similarity in a fused score; keywords weigh the rest (docs/adr/0015-fusion.md)
	DefaultNeighbourShare = 0.3  // of the score of what stands beside a match in its sequence
	DefaultContextShare   = 0.25 // of the score of the sequence that a match stands in
	DefaultMaxContent     = 256 << 10
	DefaultRevisions      = 10
	DefaultIdempotencyTTL = 24 * time.Hour
	DefaultEpisodeTTL     = 7 * 24 * time.Hour
	DefaultEpisodeCap     = 10_000 // episodes of one agent
	MaxQueryBytes         = 16 << 10
	MaxSearchLimit        = 1000
	MaxTags               = label.MaxTags
	MaxTagCharacters      = label.MaxTagCharacters
	MaxMetadataBytes      = 64 << 10
	MaxMetadataNames      = 10_000
	MaxScopes             = 100 // that a search may name
)

// An Embedder turns texts into vectors of unit length. It is safe for concurrent
// use and returns one vector of Dims numbers for each text, in order.
type Embedder interface {
	Model() string // names the vector space; a change of it starts a new one

	// Dims is 1 to 4096 and never changes; it may be 0 until a service has answered for
	// the first time, so that making an engine does not wait for it.
	Dims() int

	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A QueryEmbedder is an Embedder whose model wants to be told that a text is a query. [Memory.Search] then calls
// EmbedQuery in place of Embed; both give vectors of one space.
type QueryEmbedder interface {
	Embedder
	EmbedQuery(ctx context.Context, query string) ([]float32, error)
}

// A KnowingEmbedder is an Embedder that knows its limits: a model of English makes
// vectors of Chinese too, but they mean nothing. In mode Hybrid [Memory.Search] multiplies the weight
// of similarity by Knows of the query, in mode Semantic by the double of it up to 1.
type KnowingEmbedder interface {
	Embedder

	// Knows returns how much of a text the model's vocabulary covers in a way that means something, 0 to 1. It needs
	// no model and never fails. An embedder without this method counts as knowing everything.
	Knows(text string) float64
}

// A ScaledEmbedder is an Embedder that knows what its cosines mean. Those of one without
// it are taken as [DefaultScale].
type ScaledEmbedder interface {
	Embedder
	Scale() Scale
}

// A Scale says what the cosines of an embedder mean: up to Unrelated texts have nothing in
// common, from Alike on they say the same.
type Scale = rank.Scale

// DefaultScale is that of the built-in model, and near to those of most sentence transformers.
var DefaultScale = Scale{Unrelated: 0.15, Alike: 0.75}

// A WeighingEmbedder is an Embedder that can count each word of a query as much as it
// is told to. A search then counts words the more the rarer they are in the memories it
// searches: in a conversation of Ann and Bob their names say little.
type WeighingEmbedder interface {
	Embedder

	// EmbedWeighed embeds a query with weights of at least 0. weight is called with each word as the model reads it, in
	// lower case. Nil: no word of weight is left. It needs no network, and never waits.
	EmbedWeighed(query string, weight func(word string) float64) []float32
}

// None says "none of it" where the zero value of an option means its default: no
// overlap, no earlier states (docs/adr/0023-options.md). Options that take it say so.
const None = -1

// Options configure an [Engine]: first what it works with, then, in groups, what governs
// it. The zero value of each field means its default, in the groups as well.
type Options struct {
	Embedder Embedder // nil: search by keyword only

	// EmbedderFor makes the embedder of another space than Embedder's: that of vectors stored under an earlier
	// configuration, so that search by similarity works until [Engine.Reindex] has made the new ones. While it fails,
	// every search may ask it again. Nil: those spaces are not searched.
	EmbedderFor func(Space) (Embedder, error)

	Tokenizer Tokenizer // counts the tokens of a context; nil: each byte counts as one, which is never too few

	// Features are the kinds of memory from packages of their own, such as package
	// session, with their options. Facts, rules and episodes are always there.
	Features []Feature

	Now    func() time.Time // default time.Now; the only clock of the engine
	NewID  func() ID        // default NewID
	Logger *slog.Logger     // default slog.Default(); gets ids and sizes, never content

	Content       ContentOptions
	Passages      PassageOptions
	Search        SearchOptions
	Rerank        RerankOptions
	Recall        RecallOptions
	ContextQuotas ContextQuotas // of the sections of a context; default 0.5, 0.3 and 0.2
	Retention     RetentionOptions

	// Quota says how much a tenant may hold; stores keep writers to it together. It is asked
	// before each write. Nil: nobody is bounded.
	Quota func(context.Context, Tenant) (Quota, error)

	// ModelTokens says how many tokens of language models a tenant may use on a day (UTC), all
	// uses and processes together; 0: any number. It is asked before each call. A call beyond it
	// is refused, with a [TokensError] where somebody asked for it. Nil: nobody is bounded.
	ModelTokens func(context.Context, Tenant) (int64, error)
}

// ContentOptions govern which texts are stored, and how.
type ContentOptions struct {
	MaxBytes       int  // of one memory's text, at least 1; default 256 KiB
	KeepDuplicates bool // store a memory again that says exactly what another one says
	KeepSecrets    bool // store credentials as written instead of "[REDACTED]"
}

// PassageOptions govern how a text is cut into the passages that are searched.
type PassageOptions struct {
	Size    int // characters, 64 to 8192; default 640
	Overlap int // characters shared by neighbours, less than half of Size; default 96 and a quarter of Size at most, or None
}

// SearchOptions weigh the signals of a search.
type SearchOptions struct {
	VectorWeight float64 // of similarity, 0 to 1; default 0.5, or None. Keywords weigh 1 − VectorWeight

	// NeighbourShare, 0 to 1, is the share of its neighbours' own scores that a match of mode Hybrid gets, by how
	// much of the query they hold; default 0.3, or None. Neighbours stand beside it in its sequence.
	NeighbourShare float64

	// ContextShare, 0 to 1, is the share that a match of mode Hybrid gets of the score of
	// its whole sequence, by the query's words; default 0.25, or None.
	ContextShare float64

	Scale Scale // of cosines, in place of the embedder's own; zero: that
}

// RecallOptions weigh what is recalled.
type RecallOptions struct {
	Weights       RecallWeights   // of the components of a memory's score; they sum to 1
	Maturity      MaturityWeights // of a rule's relevance
	MinConfidence float64         // effective confidence, 0 to 1; default 0.2, or None
}

// RetentionOptions govern what is kept besides the memories, and how long memories are.
type RetentionOptions struct {
	Revisions      int           // earlier states of each record, 0 to 1000; default 10, or None
	IdempotencyTTL time.Duration // of replies to writes with a key; default 24 h
	EpisodeTTL     time.Duration // of an episode, at least 1 ms; default 7 days
	EpisodeCap     int           // episodes of one agent, at least 1; upkeep erases consolidated ones beyond; default 10,000
}

// An Engine is the memory of every tenant of one store. It is safe for concurrent use and keeps no state of its own
// but its options, what it has seen of each tenant's vectors, and who waits for a turn: several engines, in several
// processes, may share a store.
type Engine struct {
	store Store
	opts  Options
	own   *encoder // of Options.Embedder; nil without one

	ownAlone []*encoder // own, as most writes need it

	memories []Kind           // see [Engine.memoryKinds]
	keepers  map[Kind]Feature // see [Engine.featureOf]

	formers sync.Map // Space → *encoder of EmbedderFor
	missing sync.Map // Space → true once it was logged that it has no encoder
	seen    sync.Map // Tenant → what was seen of its generations

	turns  turn.Queues      // of the writers of one thing; see [Memory.Turn]
	places sequence.Counter // of what is saved one after another; see [Memory.join]
}

// New makes an engine over a store, which stays the caller's to close. opts may
// be nil. An option out of range is an Invalid error that names it.
func New(s Store, opts *Options) (*Engine, error) {
	if s == nil {
		return nil, Errorf(Invalid, "an engine needs a store")
	}
	e := &Engine{store: s}
	if opts != nil {
		e.opts = *opts
	}
	e.opts.complete()
	if err := e.opts.check(); err != nil {
		return nil, err
	}
	e.learnKinds()
	if e.opts.Embedder != nil {
		e.own = newEncoder(e.opts.Embedder)
		e.ownAlone = []*encoder{e.own}
		if s := e.own.space(); s.Model == "" || s.Dims < 0 || s.Dims > MaxDims {
			return nil, Errorf(Invalid, "embedder %q has %d dimensions; it needs a name and 1 to %d", s.Model, s.Dims, MaxDims)
		}
	}
	return e, nil
}

// complete puts the default in the place of each zero, and zero in that of None.
func (o *Options) complete() {
	setDefault(&o.Content.MaxBytes, DefaultMaxContent)
	setDefault(&o.Passages.Size, DefaultChunkSize)
	setDefaultOrNone(&o.Passages.Overlap, min(DefaultChunkOverlap, o.Passages.Size/4))
	setDefaultOrNone(&o.Search.VectorWeight, DefaultVectorWeight)
	setDefaultOrNone(&o.Search.NeighbourShare, DefaultNeighbourShare)
	setDefaultOrNone(&o.Search.ContextShare, DefaultContextShare)
	setDefault(&o.Rerank.Candidates, DefaultRerankCandidates)
	setDefault(&o.Rerank.Timeout, DefaultRerankTimeout)
	setDefault(&o.Recall.Weights, RecallWeights{Relevance: 0.4, Importance: 0.3, Recency: 0.2, Confidence: 0.1})
	setDefault(&o.Recall.Maturity, MaturityWeights{Proven: 1, Established: 0.9, Candidate: 0.8})
	setDefaultOrNone(&o.Recall.MinConfidence, DefaultRecallMinConfidence)
	if o.ModelTokens == nil {
		o.ModelTokens = func(context.Context, Tenant) (int64, error) { return 0, nil }
	}
	setDefault(&o.ContextQuotas, ContextQuotas{Facts: 0.5, Rules: 0.3, Episodes: 0.2})
	setDefaultOrNone(&o.Retention.Revisions, DefaultRevisions)
	setDefault(&o.Retention.IdempotencyTTL, DefaultIdempotencyTTL)
	setDefault(&o.Retention.EpisodeTTL, DefaultEpisodeTTL)
	setDefault(&o.Retention.EpisodeCap, DefaultEpisodeCap)
	if o.Tokenizer == nil {
		o.Tokenizer = fit.Bytes{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = NewID
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// check refuses what is out of range.
func (o *Options) check() error {
	q := o.ContextQuotas
	return cmp.Or(o.Passages.check(), o.Search.check(), o.Rerank.check(), o.Content.check(), o.Retention.check(),
		o.Recall.check(),
		checkShares("context quotas", q.Facts, q.Rules, q.Episodes), o.checkFeatures())
}

func (o *ContentOptions) check() error {
	if o.MaxBytes < 1 {
		return Errorf(Invalid, "max content is %d; it must be at least 1 byte", o.MaxBytes)
	}
	return nil
}

func (o *PassageOptions) check() error {
	switch {
	case o.Size < 64 || o.Size > 8192:
		return Errorf(Invalid, "chunk size is %d; it must be 64 to 8192 characters", o.Size)
	case o.Overlap < 0 || o.Overlap >= o.Size/2:
		return Errorf(Invalid, "chunk overlap is %d; it must be 0 to less than half of the chunk size %d", o.Overlap, o.Size)
	}
	return nil
}

func (o *SearchOptions) check() error {
	switch {
	case !(o.VectorWeight >= 0 && o.VectorWeight <= 1):
		return Errorf(Invalid, "vector weight is %v; it must be 0 to 1", o.VectorWeight)
	case !(o.NeighbourShare >= 0 && o.NeighbourShare <= 1):
		return Errorf(Invalid, "neighbour share is %v; it must be 0 to 1", o.NeighbourShare)
	case !(o.ContextShare >= 0 && o.ContextShare <= 1):
		return Errorf(Invalid, "context share is %v; it must be 0 to 1", o.ContextShare)
	case o.Scale != Scale{} && !o.Scale.Fits():
		return Errorf(Invalid, "the scale of cosines goes from %v to %v; both must be -1 to 1, the second one greater",
			o.Scale.Unrelated, o.Scale.Alike)
	}
	return nil
}

func (o *RecallOptions) check() error {
	if err := o.Weights.check("recall weights"); err != nil {
		return err
	}
	for _, weight := range []float64{o.Maturity.Proven, o.Maturity.Established, o.Maturity.Candidate} {
		if !(weight >= 0 && weight <= 1) {
			return Errorf(Invalid, "maturity weight is %v; it must be 0 to 1", weight)
		}
	}
	if !(o.MinConfidence >= 0 && o.MinConfidence <= 1) {
		return Errorf(Invalid, "recall min confidence is %v; it must be 0 to 1", o.MinConfidence)
	}
	return nil
}

func (o *RetentionOptions) check() error {
	switch {
	case o.Revisions < 0 || o.Revisions > 1000:
		return Errorf(Invalid, "revisions is %d; it must be 0 to 1000", o.Revisions)
	case o.IdempotencyTTL < 0:
		return Errorf(Invalid, "idempotency TTL must not be negative")
	case o.EpisodeTTL < time.Millisecond:
		return Errorf(Invalid, "episode TTL is %v; it must be at least 1ms", o.EpisodeTTL)
	case o.EpisodeCap < 1:
		return Errorf(Invalid, "episode cap is %d; it must be at least 1", o.EpisodeCap)
	}
	return nil
}

// checkShares refuses shares that are negative or do not sum to 1.
func checkShares(name string, shares ...float64) error {
	if fault := fit.FaultOfShares(shares...); fault != "" {
		return Errorf(Invalid, "%s are %v; %s", name, shares, fault)
	}
	return nil
}

func (w RecallWeights) check(name string) error {
	return checkShares(name, w.Relevance, w.Importance, w.Recency, w.Confidence)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDefaultOrNone is setDefault for an option that may be zero: [None] asks for that.
func setDefaultOrNone[T int | float64](field *T, value T) {
	if *field == None {
		*field = 0
		return
	}
	setDefault(field, value)
}

// Space returns the vector space of the engine's embedder; zero without one. Its
// dimensions are 0 until a remote embedder has answered.
func (e *Engine) Space() Space {
	if e.own == nil {
		return Space{}
	}
	return e.own.space()
}

// now is the engine's clock: UTC, whole milliseconds.
func (e *Engine) now() time.Time { return e.opts.Now().UTC().Truncate(time.Millisecond) }

// redact removes known credential formats unless the operator keeps them.
func (e *Engine) redact(text string) string {
	if e.opts.Content.KeepSecrets {
		return text
	}
	return secret.Redact(text)
}

// A View says whose memory a handle is bound to.
type View struct {
	Tenant    Tenant
	Namespace Namespace // where writes go; reads reach it and everything below it

	// Also names further places that may be read, such as what an organisation shares.
	Also []Namespace

	Actor     string // who acts, for the audit log: 1 to 256 bytes
	RequestID string // of the request, for the audit log; may be empty. The first 256 bytes are kept

	// IdempotencyKey, when not empty, makes the one write of this handle
	// repeatable: the same request gets the stored reply, another one Conflict.
	IdempotencyKey string

	Source Source

	// Sequence is what new memories belong to unless they say so themselves, such as a
	// session or a connection: up to 256 bytes. Empty: none.
	Sequence string
}

// A Source says where a memory came from. The first 256 bytes of each text are kept.
type Source struct {
	Kind   string `json:"kind,omitempty"`   // user, agent, tool, import or derived
	Client string `json:"client,omitempty"` // the program that called
	Tool   string `json:"tool,omitempty"`   // the tool it called
}

// A Memory is a handle bound to one tenant and to namespaces in it. No method can
// reach outside them. Making one costs nothing: make one a call.
type Memory struct {
	engine *Engine
	view   View
}

// Memory binds a handle to a view. The view is checked: a namespace with a bad label, or a missing tenant, is Invalid.
func (e *Engine) Memory(v View) (*Memory, error) {
	if v.Tenant.IsZero() {
		return nil, Errorf(Invalid, "a view needs a tenant")
	}
	if err := CheckLabel("actor", v.Actor); err != nil {
		return nil, err
	}
	for _, n := range append([]Namespace{v.Namespace}, v.Also...) {
		if err := n.Validate(); err != nil {
			return nil, err
		}
	}
	if v.Sequence != "" {
		if err := CheckLabel("sequence", v.Sequence); err != nil {
			return nil, err
		}
	}
	if len(v.IdempotencyKey) > 256 {
		return nil, Errorf(Invalid, "idempotency key is %d bytes long; the limit is 256", len(v.IdempotencyKey))
	}
	v = v.clone()
	// What a program says of itself is kept with everything it stores: a short part
	// of it is enough to tell programs apart.
	v.RequestID, v.Sequence, v.Source = e.short(v.RequestID), e.short(v.Sequence), e.shortened(v.Source)
	return &Memory{engine: e, view: v}, nil
}

func (e *Engine) short(text string) string { return e.redact(ClipLabel(text)) }

func (e *Engine) shortened(s Source) Source {
	return Source{Kind: e.short(s.Kind), Client: e.short(s.Client), Tool: e.short(s.Tool)}
}

// ClipLabel shortens a text to MaxLabelBytes of valid UTF-8 without NUL.
func ClipLabel(text string) string { return label.Clip(text, MaxLabelBytes) }

// clone copies the view with its labels, so that nobody can move a handle to another place after the check.
func (v View) clone() View {
	v.Namespace = slices.Clone(v.Namespace)
	v.Also = slices.Clone(v.Also)
	for i, n := range v.Also {
		v.Also[i] = slices.Clone(n)
	}
	return v
}

// View returns what the handle is bound to.
func (m *Memory) View() View { return m.view.clone() }

// readable is the filter for everything the handle may read at a moment.
func (m *Memory) readable(at time.Time, kinds ...Kind) Filter {
	return Filter{Within: append([]Namespace{m.view.Namespace}, m.view.Also...), Kinds: kinds, At: at}
}

// writable is the filter for everything the handle may change.
func (m *Memory) writable(at time.Time, kinds ...Kind) Filter {
	return Filter{Within: []Namespace{m.view.Namespace}, Kinds: kinds, At: at, NotLive: true}
}
