package embedding

import (
	"strings"
	"sync"
)

// stopWords are English words that say little about what a text is about, with
// the halves of contractions such as "don't". The list is part of the space and
// never changes. It is made at the first use.
var stopWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`a about above after again against all also am an and any are aren as at be because been before being
below between both but by can cannot could couldn d did didn do does doesn doing don down during
each few for from further get got had hadn has hasn have haven having he her here hers herself him
himself his how i if in into is isn it its itself just ll m me more most my myself no nor not now of
off on once only or other our ours ourselves out over own re s same shall she should shouldn so some
such t than that the their theirs them themselves then there these they this those through to too
under until up ve very was wasn we were weren what when where which while who whom why will with won
would wouldn you your yours yourself yourselves`) {
		words[w] = true
	}
	return words
})
