package jsonguard_test

import (
	"strings"
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

// A text that nests deeper than package json reads is not called invalid: its sender would look
// for a fault that it does not have.
func TestDeeperThanAnyParserReads(t *testing.T) {
	nested := func(opens, closes string) string {
		return `{"a":"[\"[","x":` + strings.Repeat(opens, 20_000) + "1" + strings.Repeat(closes, 20_000) + "}"
	}
	for text, want := range map[string]jsonguard.Fault{
		nested("[", "]"):                   jsonguard.Depth,
		nested(`{"x":`, "}"):               jsonguard.Depth,
		nested("[],[", "]") + "}":          jsonguard.Depth,
		nested(`"[",`, ""):                 jsonguard.JSON,
		"[" + nested("[],", "") + "]":      jsonguard.JSON,
		strings.Repeat("[]", 20_000):       jsonguard.JSON,
		strings.Repeat("[", 9_000):         jsonguard.JSON,
		`["` + strings.Repeat("[", 20_000): jsonguard.JSON,
	} {
		if got := jsonguard.Check([]byte(text), 64, nil); got != want {
			t.Errorf("%.40s…: %q, want %q", text, got, want)
		}
	}
}
