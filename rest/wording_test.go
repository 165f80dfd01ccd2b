package rest

import (
	"regexp"
	"strings"
	"testing"
)

// Each of huma's sentences is said in its own words of ours: none is taken for one that begins like it.
func TestEachWordingIsReached(t *testing.T) {
	for _, w := range wordings {
		theirs := regexp.MustCompile(`%.`).ReplaceAllString(w.theirs, "7")
		words, whole := inWords("body.a", theirs)
		if want := strings.Replace(w.ours, "{}", "7", 1); words != want || whole != "body.a "+want {
			t.Errorf("%q is said as %q, %q; want %q", theirs, words, whole, want)
		}
	}
	words, _ := inWords("body.a", "expected number <= 1e+06")
	if want := "is too large: send 1000000 or less"; words != want {
		t.Errorf("%q; want %q", words, want)
	}
	if words, whole := inWords("body.a", "something else"); words != "something else" || whole != "body.a: something else" {
		t.Errorf("what is not known is said as %q, %q", words, whole)
	}
}
