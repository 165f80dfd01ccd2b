package jsonguard_test

import (
	"testing"

	"github.com/loci-memory/loci/internal/jsonguard"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"\"\xff\"":                  "is not valid UTF-8",
		`{"a":`:                     "is not valid JSON",
		`"\u0000"`:                  `has a text with the NUL character \u0000: leave it out`,
		`["\ud800"]`:                `has a text with half of a surrogate pair, such as \ud800: write the whole character`,
		`{"a":1,"b":{"c":1,"c":2}}`: "has an object with the same name twice: give it once",
		`[[[[]]]]`:                  "nests too deep: flatten it",
	} {
		if got := jsonguard.Check([]byte(text), 3, nil).Words(); got != want {
			t.Errorf("%q: the body %s; want: the body %s", text, got, want)
		}
	}
}
