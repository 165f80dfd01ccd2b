package batch

import (
	"bytes"
	"maps"
	"sync"

	"github.com/loci-memory/loci"
)

// maxKnown bounds the namespaces of a tenant that are remembered for its next write.
const maxKnown = 256

// Known is what a process knows of a tenant from its own last commit: how that left the tenant's
// row, the namespaces that its writes were about, and the vector spaces. Every write of anybody
// raises the change counter. So all of this holds for as long as the row is the one that the commit
// left, and a store may decide the next write from it without a look, as a guess: the database
// must then write nothing of it unless the row is still that one.
//
// That is told by the counter and the head of the chain together. A database that went back to an
// earlier state gives out the same counters again; a head never comes again, as it is made
// from events with ids of their own. So what was left by a commit without an event is not known.
//
// The zero value knows nothing.
type Known struct {
	mu     sync.Mutex
	last   State // how the last commit left the row; where it is unknown, no namespace is known
	wary   bool  // a guess was wrong, and no two commits have followed each other since
	places map[loci.Mark]Place
	spaces map[loci.Space]int64 // all there are; nil: unknown

	marks   map[string]loci.Mark // of namespaces, by their keys: a mark costs several hashes
	marksOf loci.NameKey
}

// Follow fills a new batch with what a transaction would find that follows another one, which is being
// committed and was decided in the same way; nil: one that follows the last commit.
func (k *Known) Follow(b, before *Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b.Found, b.spaced = k.last, k.spaces != nil
	spaces := k.spaces
	if before != nil {
		b.Found, b.spaced, spaces = before.State, before.spaced, before.Spaces
	}
	maps.Copy(b.Spaces, spaces)
	b.Found.Seq++
	b.Begin()
}

// Join adds to a batch that [Known.Follow] has begun what a job needs, given the batch that it follows.
// false: too little is known for that, or guesses go wrong here.
func (k *Known) Join(b, before *Batch, n *Needs) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wary || !n.New || n.Spaces && !b.spaced {
		return false
	}
	for _, place := range n.Places {
		mark := k.mark(b, place)
		if b.Places[mark] != nil {
			continue
		}
		w, ok := k.places[mark]
		if before != nil && before.Places[mark] != nil {
			w, ok = before.Places[mark].left(), true
		}
		if !ok {
			return false
		}
		b.Places[mark] = &w
	}
	return true
}

// mark is the mark of a namespace, which the batch will ask for, too.
func (k *Known) mark(b *Batch, n loci.Namespace) loci.Mark {
	if !bytes.Equal(k.marksOf, b.Found.NameKey) || len(k.marks) >= maxKnown {
		k.marksOf, k.marks = b.Found.NameKey, nil
	}
	if k.marks == nil {
		k.marks = map[string]loci.Mark{}
	}
	key := n.Key()
	mark, ok := k.marks[key]
	if !ok {
		mark = b.Found.NameKey.Mark(n)
		k.marks[key] = mark
	}
	b.marks[key] = mark
	return mark
}

// Wrong notes that a guess was not what the database held: somebody else writes to the tenant, too.
// The next guess is made after two commits that nobody wrote between.
func (k *Known) Wrong() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wary = true
}

// Forget notes that the process no longer knows how the last commit left the tenant: one may have
// been made whose answer was lost.
func (k *Known) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget()
}

func (k *Known) forget() { k.last, k.places, k.spaces = State{}, nil, nil }

// Learn takes in a batch that was committed, and what its jobs needed.
func (k *Known) Learn(b *Batch, n *Needs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !b.Mark.Event {
		k.forget()
		return
	}
	if b.Found.Seq == k.last.Seq+1 && b.Found.Head == k.last.Head {
		k.wary = false
	} else {
		k.places, k.spaces = nil, nil
	}
	k.last = b.State
	if n.Spaces {
		k.spaces = b.Spaces
	}
	if k.places == nil || len(k.places)+len(b.Places) > maxKnown {
		k.places = map[loci.Mark]Place{}
	}
	for mark, w := range b.Places {
		if len(k.places) < maxKnown {
			k.places[mark] = w.left()
		}
	}
	if len(b.Left) > 0 {
		// One that may have lost its name with its last record is looked at again.
		maps.DeleteFunc(k.places, func(_ loci.Mark, w Place) bool { return b.Left[w.N] })
	}
}
