package label_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/label"
)

func TestBlank(t *testing.T) {
	for text, blank := range map[string]bool{
		" \t\r\n\u00a0\u2028\u3000": true, //nolint:gocritic // white space is what is tried
		"":                          true,
		"\x00\x1b\x7f\u0085":        true,
		"\u200b":                    true, "\u200c\u200d\u2060\ufeff\u00ad\u202e": true, "\u180e\u180b\ufe0f\U000e0101": true,
		"\u115f\u1160\u3164\uffa0\u034f\u17b4": true, "\U000e0041": true, "\u2800": true,
		".": false, "\u200b.\u200b": false, "\u0301": false, "\ufffd": false, "\xff": false, "👩\u200d🚀": false,
		"می\u200cخواهم": false, "\ue000": false, strings.Repeat("\u200b", 1000) + "x": false,
	} {
		if got := label.Blank(text); got != blank {
			t.Errorf("%+q is blank: %v", text, got)
		}
	}
}

// TestHidden: one character that looks like nothing, or like another one, is enough. A space is one.
func TestHidden(t *testing.T) {
	for text, hidden := range map[string]bool{
		"ada@example.com": false, "Ada Lovelace": false, "": false, " ": false, "Åse": false, "A\u030ase": false, "李雷": false,
		"ali\u200bce": true, "ecila\u202e": true, "a\u2066b": true, "a\u00adb": true, "a\u00a0b": true, "a\tb": true, "a\nb": true,
		"a\u3164": true, "a\ufe0f": true, "a\u2800": true, "\U000e0041a": true,
	} {
		if got := label.Hidden(text); got != hidden {
			t.Errorf("%+q hides something: %v", text, got)
		}
	}
}
