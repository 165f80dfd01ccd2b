package loci

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/rank"
	"github.com/loci-memory/loci/internal/retrieval"
)

// A Store keeps records and answers simple questions about them. It never decides, scores, makes an id
// or reads the clock: the engine does. Every method is safe for concurrent use, and for use by several
// processes where the store lives outside the process.
//
// Contract of every method:
//   - the zero Tenant is refused with Invalid;
//   - nothing of another tenant is read, counted or revealed;
//   - a cancelled context stops the call, which then has changed nothing, or
//     returns the outcome of a commit that could no longer be stopped;
//   - identifiers are opaque bytes, compared byte for byte;
//   - errors are *[Error]s: Unavailable for what may pass (a lock, a full disk),
//     Unsupported for what this store cannot do, Internal for damage.
//
// The suite in store/storetest is this contract as tests.
type Store interface {
	RecordLister
	RecordChanger
	VectorStore
	EventLog

	// Tenants yields the tenants that hold data, without SystemTenant, in order of name. Due, for upkeep, may leave out
	// those without anything expired or due by now and without a change since the last loop over them.
	// Holds reports whether a tenant is one of them, and looks at no other. To ask does not bring it about.
	Tenants(ctx context.Context) iter.Seq2[Tenant, error]
	Holds(ctx context.Context, t Tenant) (bool, error)
	Due(ctx context.Context, now time.Time) iter.Seq2[Tenant, error]

	// EraseTenant removes everything of a tenant, its audit events included. A tenant without data is no error.
	EraseTenant(ctx context.Context, t Tenant) error

	// Check looks for damage and returns what it found, in plain sentences.
	Check(ctx context.Context, t Tenant) ([]string, error)

	// Close lets running calls finish and gives every resource back. A second
	// Close does nothing; any other call after it is Unavailable.
	Close() error
}

// A RecordLister answers questions about the records a store holds. It changes nothing.
type RecordLister interface {
	// Records lists the records a filter selects in the order the page asks for, at most page.Limit. next is the cursor
	// of the following page, or "" at the end. Ordered by slot, where the filter names one exact namespace and one
	// kind, a page costs what it holds, however much lies before, after or beside it.
	Records(ctx context.Context, t Tenant, f Filter, page Page) (records []Record, next string, err error)

	// Match finds the live records that fit the probe best. The filter comes before the limit: a record it excludes
	// takes no place. What lies outside of f.Within and f.Kinds enters no statistic either, so that scores say nothing
	// about it, and a search of some kinds does not pay for the others beside them. See [Hit] for what comes back.
	Match(ctx context.Context, t Tenant, p Probe, f Filter, limit int) ([]Hit, error)

	// Namespaces yields the namespaces below a prefix that hold a record the
	// filter selects, in key order; f.Within is the prefix list.
	Namespaces(ctx context.Context, t Tenant, f Filter) ([]Namespace, error)

	// Count measures what a filter selects.
	Count(ctx context.Context, t Tenant, f Filter) (Counts, error)

	// Held measures what the tenant holds, as a [Quota] counts it.
	Held(ctx context.Context, t Tenant) (Holding, error)

	// Revisions returns the earlier states of a record, newest first.
	Revisions(ctx context.Context, t Tenant, id ID) ([]Revision, error)

	// Links returns the links from or to some records, 1000 at most, oldest first and each once.
	Links(ctx context.Context, t Tenant, ids ...ID) ([]Link, error)

	// Linked reports whether a link is there, whenever it was made, and looks at no other.
	Linked(ctx context.Context, t Tenant, l Link) (bool, error)
}

// A RecordChanger changes the records a store holds.
type RecordChanger interface {
	// Apply makes a change, all of it or nothing, durable when it returns nil. Conflict: a version is not the expected
	// one, a slot is taken, an end of a link is not there, or the idempotency key is stored already; the engine reads
	// again and decides again. The events continue the tenant's chain in the order given; the payloads of earlier
	// events about an erased record go with it. Conflict with an [UntoldError] as its cause: there are such payloads,
	// and the change has no erased event about the record. After a change that erases, the store also removes leftover
	// copies of the erased bytes from its files as soon as it can.
	Apply(ctx context.Context, t Tenant, c Change) error

	// Touch counts uses and moves expiry times. It is no edit: versions stay,
	// no event is written, ids that do not exist are passed over.
	Touch(ctx context.Context, t Tenant, touches []Touch) error

	// Replied returns what was stored under an idempotency key, or nil.
	Replied(ctx context.Context, t Tenant, key string) (*Reply, error)
}

// A VectorStore keeps vectors beside the records they describe.
type VectorStore interface {
	// Unembedded returns up to limit live records, in order of ID, that have
	// passages but no vectors in the space, with an ID after the given one.
	Unembedded(ctx context.Context, t Tenant, s Space, after ID, limit int) ([]Record, error)

	// PutVectors stores vectors for records whose version is still the given
	// one; others are passed over, since newer text needs newer vectors.
	PutVectors(ctx context.Context, t Tenant, vectors []RecordVectors) error

	// Spaces returns the spaces that hold vectors, with the number of records each covers.
	Spaces(ctx context.Context, t Tenant) (map[Space]int64, error)

	// ActiveSpace returns the space that searches use: that of the first vectors the
	// tenant ever got, until SwitchSpace names another. Zero: there were none yet.
	ActiveSpace(ctx context.Context, t Tenant) (Space, error)

	// SwitchSpace makes another space the active one. Conflict, and nothing is
	// changed: the active space is not from, or more than lacking live records have
	// passages but no vectors in the new one, both as of the moment of the switch.
	SwitchSpace(ctx context.Context, t Tenant, from, to Space, lacking int64) error

	// DropVectors removes the vectors that up to limit records have in a space, and
	// returns the number of these records. Conflict: the space is the active one.
	DropVectors(ctx context.Context, t Tenant, s Space, limit int) (int, error)
}

// An EventLog is the append-only record of what happened.
type EventLog interface {
	// Events lists events, newest first, at most page.Limit.
	Events(ctx context.Context, t Tenant, f EventFilter, page Page) (events []Event, next string, err error)

	// Chain returns where the tenant's chain of events begins and ends.
	Chain(ctx context.Context, t Tenant) (Chain, error)

	// Untold returns those of some ids whose records an older build may have erased without an event: they are gone,
	// and as far as the store still knows what it erased, it erased them. None where every build refused such changes.
	Untold(ctx context.Context, t Tenant, ids []ID) ([]ID, error)
}

// A Change is everything one write does, as a value: a store applies it whole or not at all.
type Change struct {
	Put    []Put
	Erase  []Erase
	Events []Event // at least one for each change, which names what it touched
	Links  []Link
	Reply  *Reply // what a repetition of this request is answered with

	// Active, when not nil, is what the engine took for the active space when it made the
	// vectors of Put; zero for none. Conflict: [Change.FitsSpace] refuses the space that
	// is really active. So a generation that became active in between misses no vector.
	Active *Space

	// Quota, when not nil, is how much the tenant may hold afterwards. TooLarge, with a [QuotaError] as its cause:
	// [Quota.Refuse] refuses what the change would come to, as of the moment it is made.
	Quota *Quota

	// More says that the caller goes on with another change that erases, and tells nobody that
	// anything is erased before one without More. A store need not wait for wiping now: the last
	// change waits for all. If none comes, it is wiped within seconds, or at the next opening.
	More bool

	// Last says that changes with More came before, so the store may wait longer for all of it.
	Last    bool
	Settled bool // waits for the wiping of what others erased; the change may be empty
}

// Empty reports whether there is nothing to be changed.
func (c *Change) Empty() bool {
	return len(c.Put)+len(c.Erase)+len(c.Links)+len(c.Events) == 0 && c.Reply == nil
}

// MakesRoom reports whether the change erases and adds no record and no text, so that it is to work on a full disk. So
// is the event that comes before the act of an elevated principal, such as an erase.
func (c *Change) MakesRoom() bool {
	if slices.ContainsFunc(c.Put, func(p Put) bool {
		return p.Record.Version < 2 || p.History != nil || !p.SameText && p.Record.Text != ""
	}) {
		return false
	}
	other := func(e Event) bool { return e.Type != EventElevated }
	return len(c.Erase) > 0 || len(c.Put)+len(c.Links) == 0 && !slices.ContainsFunc(c.Events, other)
}

// FitsSpace reports whether the change may be made while a space is active: the engine
// took that one for active, or every put with vectors has some of it.
func (c *Change) FitsSpace(active Space) bool {
	if c.Active == nil || *c.Active == active {
		return true
	}
	return !slices.ContainsFunc(c.Put, func(p Put) bool {
		return !p.SameText && len(p.Vectors) > 0 &&
			!slices.ContainsFunc(p.Vectors, func(v Vectors) bool { return v.Space == active })
	})
}

// Validate refuses what no store can do, whatever it holds: a record put twice, a slot wanted twice, an impossible
// place in a sequence, vectors that do not fit their passages.
func (c *Change) Validate() error {
	ids := make(map[ID]bool, len(c.Put))
	type slot struct {
		kind      Kind
		namespace string
		slot      string
	}
	slots := make(map[slot]bool, len(c.Put))
	for i := range c.Put {
		p, r := &c.Put[i], &c.Put[i].Record
		if ids[r.ID] {
			return Errorf(Invalid, "record %s is put twice in one change", r.ID)
		}
		ids[r.ID] = true
		if p.Moves && (!p.SameText || p.Revisions >= 0 || r.Version < 2 || p.History != nil) {
			return Errorf(Invalid, "record %s moves, and is to change otherwise, too", r.ID)
		}
		if err := r.checkSequence(); err != nil {
			return err
		}
		if key := (slot{r.Kind, r.Namespace.Key(), r.Slot}); r.Slot != "" {
			if slots[key] {
				return Errorf(Conflict, "two records of one change want the same slot")
			}
			slots[key] = true
		}
		if err := p.validateVectors(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Put) validateVectors() error {
	if p.SameText {
		return nil
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		if err := v.Validate(); err != nil {
			return err
		}
		if len(v.Rows) != len(p.Record.Passages) {
			return Errorf(Invalid, "record %s has %d passages and %d vectors", p.Record.ID, len(p.Record.Passages), len(v.Rows))
		}
		for _, other := range p.Vectors[:i] {
			if other.Space == v.Space {
				return Errorf(Invalid, "record %s has vectors of %s twice", p.Record.ID, v.Space)
			}
		}
	}
	return nil
}

// A Put creates or replaces a record; see [Record.Version].
type Put struct {
	Record Record

	// Vectors of the new text, one entry a space; those left out follow later. They are ignored with SameText.
	Vectors []Vectors

	// SameText: Text, Heading and Passages are as stored; their vectors stay.
	SameText bool

	// Moves: all but Slot and Version is as stored, so that a store may leave the rest
	// alone. It takes SameText, and Revisions below 0.
	Moves bool

	// Revisions is how many earlier states to keep, the replaced one included;
	// older ones go. Negative: leave the kept ones alone and keep no new one.
	Revisions int

	// History, when not nil, creates the record at whatever Version it has, with
	// these earlier states, newest first: an import. Conflict: it exists.
	History []Revision
}

// keptRevisions leaves the earlier states of a record alone: see [Put].Revisions.
const keptRevisions = -1

// An Erase removes a record with its passages, vectors, revisions and links, and every stored reply that names it.
type Erase struct {
	ID      ID
	Version int64 // the expected version
}

// A Touch counts one use of a record.
type Touch struct {
	ID        ID
	At        time.Time // when it was used; zero: do not count a use
	ExpiresAt time.Time // new expiry; zero: leave it

	// Version, when not 0, is the state the expiry belongs to: a record that was put since keeps its own.
	Version int64
}

// A Reply is the remembered answer to a request with an idempotency key.
type Reply struct {
	Key         string // opaque bytes; tells callers apart
	Fingerprint string // of the request
	Value       json.RawMessage
	Record      ID // the record it speaks of; erased with it
	ExpiresAt   time.Time

	// At is when the request came. A reply stored under the same key conflicts unless it has expired by then.
	At time.Time
}

// A Probe is what [RecordLister.Match] looks for: words, a vector, or both.
//
// In Text a "quoted phrase" restricts all hits, those by vector too, to records with these words next to one another,
// and begin* stands for every word that begins so. No text is an error: everything else is plain words.
type Probe struct {
	Text   string    // searched by keyword when not empty
	Vector []float32 // of unit length, searched by similarity when not nil
	Space  Space     // of Vector

	// Reweigh, where the embedder can, makes Vector again with each word of the query counted as much as weight says of
	// it: the rarer it is in what is searched, the more. Nil when nothing is left. The store calls it during Match.
	Reweigh func(weight func(word string) float64) []float32

	// Corrected, unless nil, is told of each word of Text that nothing searched holds, and of the words
	// that were searched for in its place; or of a word, of itself and the names beside it. The store calls it during Match.
	Corrected func(word string, by []string)

	// Sequences asks for what the sequences of hits say about them: Hit.Context and
	// Hit.Neighbours, and for the neighbours of the hits as hits of their own.
	Sequences bool

	// Times asks for the best limit records, by words and similarity together, of those
	// created inside of one of these times, too. They have ranks of 0 in the other lists.
	Times []NamedTime

	// Quick asks for a cheap answer, for a write that looks for similar memories. Only the [QuickWords] rarest words of
	// Text count, and none that more than [QuickHolders] passages hold; a phrase and begin* restrict nothing. Nothing
	// is found in a namespace of more than [QuickRecords] records of a kind, nor where the index has no room.
	Quick bool

	// Few is the limit in place of Match's where few passages are searched, whose Hit.Many is below 1; 0: the same.
	Few int

	// Texts asks for Hit.Text and Hit.Heading, to compare what hits say: of all, or of those of which Wanted gives the
	// numbers, in this order, until there are MostText bytes; 0: without a bound. The store calls it during Match, with
	// the hits as it returns them.
	Texts    bool
	Wanted   func(hits []Hit) []int
	MostText int
	Shared   map[any]any // where a store keeps what questions of one call have in common, one after another; nil: it keeps nothing
}

// Bounds of a quick [Probe].
const (
	QuickWords   = 8
	QuickHolders = 512
	QuickRecords = 100_000
)

// A Hit is a record that fits a probe. Match returns the union of the best limit records by keyword and the best limit
// by similarity, each record once with its best passage, ordered by CreatedAt descending, then ID ascending. Every hit
// has both scores, even if only one list found it. With Probe.Sequences, what the filter selects up to two places from
// one of these in its sequence is a hit as well, with a rank of 0 in the lists it is not in.
type Hit struct {
	ID        ID
	Version   int64
	CreatedAt time.Time

	Namespace Namespace // the store's own: not to be changed
	Sequence  string    // see [Record.Sequence]
	Position  int64
	Speaker   Speaker // of a record in a sequence
	Signer    string  // who says a record in a sequence, if it begins with a name: the terms of that, with spaces between

	Keyword     float64 // weighted BM25 of the best passage; 0: no word in common
	KeywordRank int     // from 1; 0: not among the best limit
	KeywordSpan int     // index of the best passage by keyword; of equal ones the more similar, then the first

	Similarity float64 // cosine of the best passage, -1..1; meaningless when !Embedded
	VectorRank int     // from 1; 0: not among the best limit
	VectorSpan int     // index of the best passage by similarity; of equal ones the better by keyword, then the first
	Embedded   bool    // the record has vectors in the probe's space
	Together   float64 // with Sequences, of one with a Signer who has a name: cosine of the sum of its vector and its Neighbours'; 0: not known
	Echo       float64 // with Sequences, of what no assistant says: the mean cosine of its passages and those of the one before it, of the first 8 and 32; 0: not known

	// KeywordShare is Keyword over what a passage of average length gets that holds each word of the
	// query once, words included that nobody has, but not what lies between two words of a script
	// without spaces; it may exceed 1. Covered, 0 to 1, is how much of the
	// weight of the query's words some passage holds, each word weighing its inverse document frequency.
	KeywordShare, Covered float64
	Wish                  float64          // how much it counts that it says how somebody wants things, 0 to 1
	Wanted, OfOthers      bool             // the query asks for what a Wish bears on; is about somebody whom it names nowhere
	Traits                retrieval.Traits // of a record with one passage

	// Context and ContextCovered are the same two for the sequence of the record: its
	// BM25 as one document among the sequences, and the Covered of its best passage.
	Context, ContextCovered float64

	// Long says how long the passages that are searched are on average: 0 up to 20 words, 1 from 40 words on. Many says
	// how many they are: 0 up to 1,000, 1 from 5,000 on. Each is the same for all hits of a search.
	Long, Many float64

	// Text and Heading are those of the record, if the probe asks for texts.
	Text, Heading string

	// Neighbours are the hits two places before, one before, one after and two after this
	// one in its sequence; zero: there is none, or the filter does not select it.
	Neighbours [4]ID

	// Lifter is set for a neighbour of a neighbour: it counts for those beside it and is no result.
	Lifter bool
}

// SomebodyElse is the Signer of a record that is said by another one than a name of the query.
const SomebodyElse = "?"

// A Speaker says which side of a chat said what a record holds: by the attribute role
// or type, by the name that the text begins with ("user: …"), or by the text's form.
type Speaker = rank.Speaker

// The speakers.
const (
	SpeakerUnknown         = rank.Unknown
	SpeakerPerson          = rank.Person
	SpeakerAssistant       = rank.Assistant
	SpeakerLikelyAssistant = rank.LikelyAssistant // by the form of the text alone
)

// A Page asks for a part of a list.
type Page struct {
	Limit    int    // 1 to 1000; 0 means 100
	MaxBytes int    // of texts, attributes and bodies of a list of records, of which it holds one at least; 0: no bound
	Cursor   string // from the page before; "" is the start

	Order Order // of records; the same for every page of a list

	NoText        bool // leaves Text of records empty: a list of large ones is read without them
	Core          bool // shows of records what [Record.Core] does, the store's own; in any order, if a filter names them by IDs and they fit
	Brief, Bodies bool // shows of a record what [Record.Brief] does, a third of it; with Bodies the body, too
	// Each, unless nil, gets one record after the other: slot and documents are the store's again when it returns.
	// A store calls it in place of making a list, or returns one, for whose records [Memory.Records] calls it.
	Each func(*Record)
}

// Shown is what a page shows of a record.
func (p *Page) Shown(r *Record) Record {
	out := *r
	switch {
	case p.Brief:
		out = r.Brief()
	case p.Core:
		out = r.Core()
	}
	if p.Bodies {
		out.Body = r.Body
	}
	if p.NoText {
		out.Text = ""
	}
	return out
}

// An Order is an order of records in a list.
type Order int

// The orders there are. Those by slot compare bytes, and list no record without a slot.
const (
	NewestFirst    Order = iota // by CreatedAt descending, then ID ascending
	OldestFirst                 // the reverse
	SlotAscending               // by Slot, then ID
	SlotDescending              // the reverse
)

// BySlot reports whether the order is one by slot.
func (o Order) BySlot() bool { return o == SlotAscending || o == SlotDescending }

// RecordVectors are vectors that come after their record.
type RecordVectors struct {
	ID      ID
	Version int64
	Vectors Vectors
}

// Counts measure a set of records.
type Counts struct {
	Records    int64 `json:"records"`
	Live       int64 `json:"live"`
	Passages   int64 `json:"passages"`
	Unembedded int64 `json:"unembedded"` // live records with passages but no vectors in f.Space
	Bytes      int64 `json:"bytes"`      // of text
}
