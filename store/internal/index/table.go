package index

import "hash/maphash"

// A table finds the numbers of texts that lie elsewhere. Most words of a large text were never seen: a map reads each
// of its keys again whenever it grows, from all over the memory, which took half of the time of taking them in.
type table struct {
	slots []slot // as many as a power of two
	used  int
}

// A slot is the hash of a text and its number with 1 added; number 0: it is free.
type slot struct{ hash, number uint32 }

// leastSlots are those of the smallest table that holds anything.
const leastSlots = 8

// tableSeed is that of all tables.
var tableSeed = maphash.MakeSeed()

// hashOf is what tables know a text by.
func hashOf(text string) uint32 { return uint32(maphash.String(tableSeed, text)) }

// find is the number of the text of a hash. is reports whether a number is that of the text.
func (t *table) find(hash uint32, is func(number uint32) bool) (number uint32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		switch s := t.slots[at]; {
		case s.number == 0:
			return 0, false
		case s.hash == hash && is(s.number-1):
			return s.number - 1, true
		}
	}
}

// likely is the number of the first text that has a hash, with 1 added; 0: none has.
func (t *table) likely(hash uint32) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask := uint32(len(t.slots) - 1)
	at := hash & mask
	for t.slots[at].number != 0 && t.slots[at].hash != hash {
		at = (at + 1) & mask
	}
	return t.slots[at].number
}

// touch reads where the text of a hash would be.
func (t *table) touch(hash uint32) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint32(len(t.slots)-1)].number
}

// add adds the number of a text that the table lacks.
func (t *table) add(hash, number uint32) {
	if 4*(t.used+1) > 3*len(t.slots) {
		t.grow()
	}
	t.used++
	t.place(slot{hash, number + 1})
}

func (t *table) place(s slot) {
	mask := uint32(len(t.slots) - 1)
	at := s.hash & mask
	for t.slots[at].number != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = s
}

func (t *table) grow() {
	before := t.slots
	t.slots = make([]slot, max(leastSlots, 2*len(before)))
	for _, s := range before {
		if s.number != 0 {
			t.place(s)
		}
	}
}

// remove takes out the number of the text of a hash. What lies behind it moves to where it is found.
func (t *table) remove(hash, number uint32) {
	if len(t.slots) == 0 {
		return
	}
	mask := uint32(len(t.slots) - 1)
	free := hash & mask
	for t.slots[free].number != number+1 {
		if t.slots[free].number == 0 {
			return
		}
		free = (free + 1) & mask
	}
	t.used--
	for at := (free + 1) & mask; t.slots[at].number != 0; at = (at + 1) & mask {
		home := t.slots[at].hash & mask
		if (at-home)&mask >= (at-free)&mask {
			t.slots[free] = t.slots[at]
			free = at
		}
	}
	t.slots[free] = slot{}
}
