package retrieval

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
)

// maxSketches bounds the sketches that are remembered: about 50 bytes each.
const maxSketches = 20_000

// A sketch is what tells most texts from a text without a look at their words. It says no word of them.
type sketch struct {
	terms uint64 // a bit for each term of content: see [comparedWord]
	loose uint16 // words that [corrects] reads in another way
}

// A sketchKey is two hashes of a text, which no other text has.
type sketchKey [2]uint64

// sketches remembers texts that were compared: most are near to more than one of the notes that come after them.
var sketches = struct {
	sync.RWMutex
	of map[sketchKey]sketch
}{of: map[sketchKey]sketch{}}

var sketchSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func sketchKeyOf(text string) sketchKey {
	return sketchKey{maphash.String(sketchSeeds[0], text), maphash.String(sketchSeeds[1], text)}
}

// sketchOf is the sketch of a text, if it is known.
func sketchOf(key sketchKey) (s sketch, ok bool) {
	sketches.RLock()
	defer sketches.RUnlock()
	s, ok = sketches.of[key]
	return s, ok
}

// remember keeps the sketch of a text of so many words, if it is one that is compared.
func (c *comparison) remember(key sketchKey, words int) {
	if words == 0 || words > maxCompared || c.loose > math.MaxUint16 {
		return
	}
	sketches.Lock()
	defer sketches.Unlock()
	if len(sketches.of) >= maxSketches {
		clear(sketches.of)
	}
	sketches.of[key] = sketch{c.terms, uint16(c.loose)}
}

// unlikeAtOnce is [Comparison.unlike] of a text by its sketch. A bit that one of the two lacks stands for at least one
// term that it lacks.
func (c *Comparison) unlikeAtOnce(s sketch) bool {
	if n := len(c.words); c.changing || n == 0 || n > maxCompared {
		return false
	}
	gone, come := bits.OnesCount64(s.terms&^c.terms), bits.OnesCount64(c.terms&^s.terms)
	a := comparison{loose: int(s.loose)}
	return gone > 0 && come > 0 && !mayReplace(&a, &c.comparison, gone, come)
}

func forgetSketches() {
	sketches.Lock()
	defer sketches.Unlock()
	clear(sketches.of)
}
