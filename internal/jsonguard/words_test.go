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

// Whoever sent a text is told where it is wrong, in words that name the place.
func TestFaultsNameTheirPlace(t *testing.T) {
	long := strings.Repeat("k", 100)
	for text, want := range map[string]string{
		`{"a":NaN}`:                "is not valid JSON: the character 'N' is not expected, at byte 6",
		"\ufeff{}":                 "is not valid JSON: the character 'ï' is not expected, at byte 1",
		`{"a":1} x`:                "is not valid JSON: the character 'x' is not expected, at byte 9",
		`{"a":`:                    "is not valid JSON: it ends too early, at byte 5",
		`{"b":{"c":1,"\u0063":2}}`: `has an object with the name "c" twice: give it once`,
		`{"` + long + `":1,"` + long + `":2}`: `has an object with the name "` + long[:64] +
			`…" twice: give it once`,
		`["\ud800"]`:               jsonguard.Surrogate.Words(),
		"[\"\xff\"]":               jsonguard.UTF8.Words(),
		`[[[[]]]]`:                 jsonguard.Depth.Words(),
		strings.Repeat("x", 5<<20): jsonguard.JSON.Words(), // is not looked through again
	} {
		fault := jsonguard.Check([]byte(text), 3, nil)
		if got := fault.Of([]byte(text)); got != want {
			t.Errorf("%.60s: the body %s; want: the body %s", text, got, want)
		}
	}
	many := "{"
	for i := range 100 {
		many += `"k` + strings.Repeat("x", i) + `":1,`
	}
	many += `"kx":2}`
	if name, twice := jsonguard.Twice([]byte(many)); name != "kx" || !twice {
		t.Errorf("of many names %q comes twice: %v", name, twice)
	}
	if name, twice := jsonguard.Twice([]byte(`{"a":1,"b":{"a":1}}`)); twice {
		t.Errorf("%q comes twice", name)
	}
}
