package seal

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// MaxProblems bounds the problems that a [Verifier] tells of.
const MaxProblems = 20

// maxOpen bounds the events whose payloads are looked at a second time.
const maxOpen = 100_000

// A Line is an event as it was read back.
type Line struct {
	Entry
	Seq  int64
	Hash Hash // as it was noted

	Place   string // the key of its namespace as [Entry.FormerAfter] covered it
	Renamed bool   // its namespace is not the one its mark stands for
	Unnamed bool   // its namespace has lost its name, so that Place proves nothing
	Erases  bool   // it tells that its entity was erased

	// Older builds, whose files are still in use, erased parts along with what they
	// belonged to, without an event about each part. Family names what belonged together;
	// "": nothing did. Part: the event is about a part. Ends: what it tells of may have
	// taken parts along.
	Family     string
	Part, Ends bool
}

// A Verifier reads a log from its end to its start. Give it each line with Check, the
// newest first, ask for Quiet now and then, and call End after the last one. Events
// that are still Open then are settled by what was appended meanwhile: give that to Later,
// the newest first, and call Settle.
type Verifier struct {
	Head, Known Hash  // the last hash of the log; one that was noted earlier, or zero
	Start       int64 // lines up to here are older than the chain

	Events, Older, Emptied int64 // in the chain; from before it; whose payload went with an erased record
	Found                  bool  // Known is in the chain
	Problems               []string

	erased    map[[16]byte]bool // entities that an event read so far erased
	alongside map[string]bool   // families of which an event read so far may have erased parts
	open      []openLine        // whose payloads are not what was written, and no event read so far says why
	asked     int               // how many of them Quiet has looked at
	quiet     int               // how many it would return
	headSeen  bool
	newest    *Line
	later     *Line     // the event after the one to come
	since     *Verifier // of what was appended after newest
}

// An openLine is an event whose payload is missing or another one.
type openLine struct {
	seq     int64
	id      [16]byte
	entity  [16]byte
	emptied bool // it is missing, as after an erase
	along   bool // it is missing, and an older build may have erased the record without an event
}

func (v *Verifier) problem(format string, args ...any) {
	if len(v.Problems) < MaxProblems {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}

// Check looks at one event and at the one after it.
func (v *Verifier) Check(l *Line) {
	if l.Seq <= v.Start {
		v.Older++
		return
	}
	v.Events++
	v.headSeen = v.headSeen || l.Hash == v.Head
	v.Found = v.Found || v.Known != Hash{} && (l.Hash == v.Known || l.Former == v.Known)
	if l.Renamed {
		v.problem("event %d (%s): its namespace was changed", l.Seq, uuid.UUID(l.ID))
	}
	if l.PayloadDigest() != l.Digest {
		v.missing(l)
	}
	if l.Ends {
		note(&v.alongside, l.Family)
	}
	v.follow(l)
}

// note adds a key to a set.
func note[K comparable](set *map[K]bool, key K) {
	if *set == nil {
		*set = map[K]bool{}
	}
	(*set)[key] = true
}

// missing judges an event whose payload is not the one it was written with.
func (v *Verifier) missing(l *Line) {
	emptied := len(l.Payload)+len(l.Nonce) == 0
	switch {
	case emptied && v.erased[l.Entity]:
		v.Emptied++
	case len(v.open) == maxOpen:
		v.payloadChanged(l.Seq, l.ID)
	default:
		along := emptied && l.Part && v.alongside[l.Family]
		v.open = append(v.open, openLine{l.Seq, l.ID, l.Entity, emptied, along})
		if along {
			v.quiet++
		}
	}
}

func (v *Verifier) payloadChanged(seq int64, id [16]byte) {
	v.problem("event %d (%s): its payload was changed", seq, uuid.UUID(id))
}

// follow checks the event after this one, and notes what this one erased.
func (v *Verifier) follow(l *Line) {
	v.link(l.Hash, l.Former)
	if l.Erases {
		note(&v.erased, l.Entity)
	}
	if v.newest == nil {
		v.newest = l
	}
	v.later = l
}

// link checks the event after the one with these hashes. The former hash proves something
// while the name that it covers is still there. So a head that was noted before a file
// was brought up to date still proves what it did then.
func (v *Verifier) link(before, former Hash) {
	l := v.later
	if l == nil {
		return
	}
	unproven := l.Former == Hash{} || l.Unnamed
	if l.After(before) != l.Hash || !unproven && l.FormerAfter(former, l.Place) != l.Former {
		v.problem("event %d (%s): it was changed, or an event before it was changed, removed or put in", l.Seq, uuid.UUID(l.ID))
	}
}

// Quiet returns the entities, new since the last call, that an older build may have
// erased without an event. It returns none while there are fewer than least. Give those
// that it really erased to [Verifier.Acquit].
func (v *Verifier) Quiet(least int) (entities [][16]byte) {
	if v.quiet < least {
		return nil
	}
	for _, o := range v.open[v.asked:] {
		if o.along {
			entities = append(entities, o.entity)
		}
	}
	v.asked, v.quiet = len(v.open), 0
	return entities
}

// Acquit clears the events about entities that went without an event of their own.
func (v *Verifier) Acquit(entities [][16]byte) {
	gone := make(map[[16]byte]bool, len(entities))
	for _, id := range entities {
		gone[id] = true
	}
	before := len(v.open)
	v.open = slices.DeleteFunc(v.open, func(o openLine) bool { return o.along && gone[o.entity] })
	v.Emptied += int64(before - len(v.open))
	v.asked = len(v.open)
}

// End checks the first event of the chain. open: there are payloads that nothing read so
// far explains.
func (v *Verifier) End() (open bool) {
	v.link(Hash{}, Hash{})
	v.since = &Verifier{}
	return len(v.open) > 0
}

// Later looks at an event that was appended since the first one was checked: it may have
// erased the record of an open one. more is false for what was there before.
func (v *Verifier) Later(l *Line) (more bool) {
	if l.Seq <= v.newest.Seq {
		return false
	}
	v.since.follow(l)
	return true
}

// Settle judges the open events, now that all later ones are known, and the ends of the log.
func (v *Verifier) Settle() {
	if v.newest != nil {
		v.since.link(v.newest.Hash, v.newest.Former)
		v.Problems = append(v.Problems, v.since.Problems...)
	}
	for _, o := range v.open {
		if o.emptied && v.since.erased[o.entity] {
			v.Emptied++
			continue
		}
		v.payloadChanged(o.seq, o.id)
	}
	v.Problems = v.Problems[:min(len(v.Problems), MaxProblems)]
	switch {
	case v.Head != Hash{} && !v.headSeen:
		v.problem("the last event is missing: the log was cut short")
	case v.Known != Hash{} && !v.Found:
		v.problem("no event has the hash %x: the log was rewritten", v.Known)
	}
}
