package label_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/label"
)

func TestLabels(t *testing.T) {
	for text, labels := range map[string][]string{
		"": {}, "user": {"user"}, "user/ada": {"user", "ada"}, "a%2Fb/50%25": {"a/b", "50%"}, "a//b": {"a", "", "b"},
	} {
		if got := label.Join(labels); got != text {
			t.Errorf("%q joined is %q, not %q", labels, got, text)
		}
		if got, err := label.Split(text); err != nil || !slices.Equal(got, labels) {
			t.Errorf("%q split is %q, %v", text, got, err)
		}
	}
	if got, err := label.Split("a%2fb"); err != nil || !slices.Equal(got, []string{"a/b"}) {
		t.Errorf("a lower-case escape: %q, %v", got, err)
	}
	if got, err := label.Split("50%"); err == nil {
		t.Errorf("a lone %% was read as %q", got)
	}
}

// TestTagsThatCannotBeSeen: nobody could ask for one.
func TestTagsThatCannotBeSeen(t *testing.T) {
	for _, tag := range []string{"\u200b", " \ufeff ", "\u2800"} {
		if got, err := label.Tags([]string{"a", tag}); err == nil || err.Error() != "tags[1] must not be empty" {
			t.Errorf("%q: %q, %v", tag, got, err)
		}
	}
	if got, err := label.Tags([]string{"👩\u200d👧"}); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}
