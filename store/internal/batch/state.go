package batch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/loci-memory/loci"
)

const (
	// ChangesKept is how many change numbers back the list of changes reaches; an index
	// that is further behind is built again.
	ChangesKept = 100_000

	// trimEvery is how often the list is cut.
	trimEvery = 1000
)

// A State is the row of a tenant: what orders its writes, and what readers follow.
type State struct {
	There                                          bool
	Seq, Floor, Events, Namespaces, Spaces, Active int64
	Head                                           loci.Hash
	NameKey                                        loci.NameKey
	Name                                           string // "": it was erased
	ChainStart                                     int64
	Line                                           int64 // how often the database went back, as far as the process knows

	// What the tenant holds, as of the change number HeldSeq. A server of a version that does
	// not keep it raises Seq alone.
	Holding loci.Holding
	HeldSeq int64

	// Tally is what came to the kept counts since the table was written ([State.Tallied]); nil: they are
	// not known.
	Tally []byte
}

// NoHolding is the HeldSeq of a tenant of which nobody has kept what it holds.
const NoHolding = -1

// Held is what the tenant held as of a change number; nil: it has to be measured.
func (st *State) Held(seq int64) *loci.Holding {
	if !st.There || st.HeldSeq != seq {
		return nil
	}
	held := st.Holding
	return &held
}

// Keep has the state say what the tenant holds; nil: nothing is known.
func (st *State) Keep(held *loci.Holding) {
	if st.HeldSeq = NoHolding; held != nil {
		st.HeldSeq, st.Holding = st.Seq, *held
	}
}

// Of refuses a state that is another tenant's.
func (st *State) Of(t loci.Tenant) error {
	if st.Name != "" && st.Name != t.String() {
		return loci.Errorf(
			loci.Unsupported,
			"the tenant %q cannot be kept here: its place is taken by another one; give it another name",
			t.String(),
		)
	}
	return nil
}

// Trim raises the floor of the list of changes now and then; cut: what is below it goes.
func (st *State) Trim() (cut bool) {
	if st.Seq%trimEvery != 0 || st.Seq <= ChangesKept {
		return false
	}
	st.Floor = max(st.Floor, st.Seq-ChangesKept)
	return true
}

// KeyOf is the 16 bytes that stand for a tenant. That its name is the one beside them is
// checked at every look.
func KeyOf(t loci.Tenant) []byte {
	sum := sha256.Sum256([]byte("loci tenant\x00" + t.String()))
	return sum[:16]
}

// ErrStale says that what the process remembered of a tenant is no longer so.
var ErrStale = errors.New("the tenant was erased meanwhile, or the database is back at an earlier state")

// Names is what the process remembers of a tenant's namespaces: the number that stands for
// each, for as long as the tenant is not erased and the database does not go back.
type Names struct {
	mu      sync.Mutex
	key     loci.NameKey // nil: nothing is known
	numbers map[string]int64
	keys    map[int64]string
	past    Past
}

// A Past is the newest state of a tenant that a reader has seen. A database may go back behind
// it, to a standby that did not have everything or to a backup. Then it gives out numbers
// again, for something else, and what was remembered by them is wrong.
type Past struct {
	Seq    int64
	Events int64     // 0: none to go by
	Head   loci.Hash // the hash of that event
	Moves  bool      // the tenant was written to shortly before: it may have moved on

	key  loci.NameKey
	line int64 // how often the database went back
}

// maxNames bounds the namespaces remembered of a tenant.
const maxNames = 100_000

// Past is what the state that is read next must have behind it.
func (n *Names) Past() Past {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.past
}

// Follow notes a commit of this process with an event, given the state that it found and the one it
// left. ok: the state it found is the newest that was seen, so that nothing is between, or somebody
// has seen already what it left; line is how often the database went back before. Else the next
// state that is read tells whether the database went back: a write has not looked for that.
func (n *Names) Follow(found, left *State) (line int64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &n.past
	same := p.Events > 0 && bytes.Equal(p.key, found.NameKey)
	switch {
	case same && p.Seq+1 == found.Seq && p.Head == found.Head: // whose counter is raised already
		p.Seq, p.Events, p.Head = left.Seq, left.Events, left.Head
	case same && p.Seq == left.Seq && p.Head == left.Head:
	default:
		p.Moves = true
		return 0, false
	}
	return p.line, true
}

// Is reports whether a state is the one that was seen.
func (p *Past) Is(st *State) bool {
	return p.Events > 0 && p.Seq == st.Seq && p.Head == st.Head && bytes.Equal(p.key, st.NameKey)
}

// Unmoved reports whether a state is the one seen before, or one in its place: its head is then
// the hash of the event that was the last one.
func (p *Past) Unmoved(st *State) bool {
	return st.Events == p.Events && bytes.Equal(st.NameKey, p.key)
}

// CheckPast compares a state with one that was seen before it was read, and with the hash that
// the event of that one has now. If the database went back, all is forgotten.
func (n *Names) CheckPast(st *State, before *Past, hash loci.Hash) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before.line != n.past.line { // somebody noticed since
		return ErrStale
	}
	if bytes.Equal(before.key, st.NameKey) && (st.Seq < before.Seq || before.Events > 0 && hash != before.Head) {
		n.numbers, n.keys, n.past = nil, nil, Past{line: before.line + 1}
		return ErrStale
	}
	st.Line = n.past.line
	n.past.Moves = st.Seq > before.Seq
	if st.Seq > n.past.Seq || !bytes.Equal(n.past.key, st.NameKey) {
		n.past = Past{Seq: st.Seq, Moves: n.past.Moves, key: st.NameKey, line: st.Line}
		if st.Events > st.ChainStart {
			n.past.Events, n.past.Head = st.Events, st.Head
		}
	}
	return nil
}

// Check compares what is remembered with the tenant's row.
func (n *Names) Check(st *State) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if bytes.Equal(n.key, st.NameKey) {
		return nil
	}
	stale := n.key != nil
	n.key, n.numbers, n.keys = st.NameKey, nil, nil
	if stale {
		return ErrStale
	}
	return nil
}

// NameKey is the key of the tenant's marks; nil: nothing is known.
func (n *Names) NameKey() loci.NameKey {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.key
}

// Number is that of a namespace, if it is known.
func (n *Names) Number(key string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, ok := n.numbers[key]
	return number, ok
}

// Of is the key of a namespace, if it is known.
func (n *Names) Of(number int64) (key string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key, ok = n.keys[number]
	return key, ok
}

// Known are the keys of namespaces that are known, by their numbers, and the numbers of the others.
func (n *Names) Known(numbers map[int64]bool) (known map[int64]string, missing []int64) {
	known = make(map[int64]string, len(numbers))
	for number := range numbers {
		if key, ok := n.Of(number); ok {
			known[number] = key
		} else {
			missing = append(missing, number)
		}
	}
	return known, missing
}

// Learn remembers a namespace of the tenant as it was in a state.
func (n *Names) Learn(st *State, number int64, key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !bytes.Equal(n.key, st.NameKey) || n.past.line != st.Line {
		return
	}
	if n.numbers == nil || len(n.numbers) >= maxNames {
		n.numbers, n.keys = map[string]int64{}, map[int64]string{}
	}
	n.numbers[key], n.keys[number] = number, key
}
