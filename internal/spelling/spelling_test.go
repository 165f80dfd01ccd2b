package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"store", "user", "tools", "dedupe"}
	for name, want := range map[string]string{
		"stor": "store", "Users": "user", "toolz": "tools", "xyz": "", "": "", "dedup": "dedupe",
		"restore": "", "tsore": "store", "ddupee": "dedupe", "rl": "", strings.Repeat("x", 100): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// OneOf names what was meant, else all that there is.
func TestOneOf(t *testing.T) {
	names := []string{"store", "user"}
	for word, want := range map[string]string{
		"user": "", "usr": `"usr" is not known: did you mean user?`, "x": `"x" is not known: must be one of store, user`,
	} {
		got, err := OneOf(word, names...)
		if want == "" && (err != nil || got != word) || want != "" && (err == nil || err.Error() != want || got != "") {
			t.Errorf("%s: %q, %v", word, got, err)
		}
	}
}
