package jsonguard

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/loci-memory/loci/internal/jsonform"
)

// lookedAgain is how long a text may be that is looked through once more to say where it is wrong.
const lookedAgain = 4 << 20

// longestName is how much of a name a message shows.
const longestName = 64

// Words say what a text with the fault does wrong, and the remedy. They go on after its
// name: "the body" + " is not valid UTF-8".
func (f Fault) Words() string {
	switch f {
	case UTF8:
		return "is not valid UTF-8"
	case NUL:
		return `has a text with the NUL character \u0000: leave it out`
	case Surrogate:
		return `has a text with half of a surrogate pair, such as \ud800: write the whole character`
	case Depth:
		return "nests too deep: flatten it"
	case Duplicate:
		return "has an object with the same name twice: give it once"
	}
	return "is not valid JSON"
}

// Of is Words with what helps to find the fault in the text that [Check] refused: at which byte it is no
// JSON, or which name comes twice.
func (f Fault) Of(text []byte) string {
	if len(text) > lookedAgain {
		return f.Words()
	}
	switch f {
	case JSON:
		var whole json.RawMessage
		if err := json.Unmarshal(text, &whole); err != nil {
			return f.Words() + ": " + jsonform.Fault(err)
		}
	case Duplicate:
		if name, twice := Twice(text); twice {
			return fmt.Sprintf("has an object with the name %q twice: give it once", name)
		}
	}
	return f.Words()
}

// Twice finds the name that an object of a text with the fault [Duplicate] has twice. A long one is cut.
func Twice(text []byte) (name string, twice bool) {
	s := scan{text: text, limit: math.MaxInt, nul: true}
	if s.run() != Duplicate || s.twice == nil {
		return "", false
	}
	if len(s.twice) > longestName {
		return string(s.twice[:longestName]) + "…", true
	}
	return string(s.twice), true
}
