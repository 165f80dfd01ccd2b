package segment

import "sync/atomic"

// leastFirsts is how long a list is of which it is worth to know where texts begin with which byte.
const leastFirsts = 256

// firsts says where in a sorted list texts begin with which byte, and where texts are that somebody has looked for;
// nil until it is asked for.
type firsts struct {
	at    atomic.Pointer[[257]uint32]
	found atomic.Pointer[[foundKept]atomic.Uint32]
}

// foundKept is how many places of texts a list notes.
const foundKept = 4096

// noted is where it is noted at which place a text is, plus one, or would be. Other texts share it, so that a place is
// good only if its neighbours say so.
func (f *firsts) noted(name string) *atomic.Uint32 {
	found := f.found.Load()
	if found == nil {
		found = &[foundKept]atomic.Uint32{}
		f.found.Store(found) // if another one has, what is noted there is found again
	}
	hash := uint32(len(name))
	for i := range len(name) {
		hash = (hash ^ uint32(name[i])) * 0x01000193
	}
	return &found[(hash^hash>>15)%foundKept]
}

// wouldBeAt reports whether a text would be at a place of a sorted list.
func (b *blob) wouldBeAt(n uint32, name string) bool {
	return int(n) <= b.len() && (int(n) == b.len() || b.text(n) > name) && (n == 0 || b.text(n-1) < name)
}

// isAt reports whether a text is at a place of a list of distinct ones.
func (b *blob) isAt(n uint32, name string) bool { return int(n) < b.len() && b.text(n) == name }

// from is between which places of a sorted list the texts are that begin with a byte, or would be.
func (b *blob) from(first byte) (low, high uint32) {
	at := b.firsts.at.Load()
	if at == nil { // all of it is made before anybody sees it: to read a file that was cut ends in a fault
		at = &[257]uint32{}
		for c := 1; c <= 256; c++ {
			low, high = at[c-1], uint32(b.len())
			for low < high {
				if middle := low + (high-low)/2; len(b.at(middle)) == 0 || int(b.at(middle)[0]) < c {
					low = middle + 1
				} else {
					high = middle
				}
			}
			at[c] = low
		}
		b.firsts.at.Store(at)
	}
	return at[first], at[int(first)+1]
}

// search finds a text in a sorted list. Texts are made of the same words again and again: where one was found is
// noted, so that two looks do in place of a dozen.
func (b *blob) search(name string) (n uint32, found bool) {
	if b.firsts == nil || name == "" {
		return b.within(0, uint32(b.len()), name)
	}
	noted := b.firsts.noted(name)
	if place := noted.Load(); place != 0 {
		switch n = place - 1; {
		case b.isAt(n, name):
			return n, true
		case b.wouldBeAt(n, name):
			return n, false
		}
	}
	low, high := b.from(name[0])
	n, found = b.within(low, high, name)
	noted.Store(n + 1)
	return n, found
}

// within finds a text in a part of a sorted list.
func (b *blob) within(n, end uint32, name string) (at uint32, found bool) {
	for n < end { // sort.Search would call a function for each look
		if middle := n + (end-n)/2; b.text(middle) < name {
			n = middle + 1
		} else {
			end = middle
		}
	}
	return n, b.isAt(n, name)
}
