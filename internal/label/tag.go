package label

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits on tags.
const (
	MaxTags          = 16
	MaxTagCharacters = 64

	// MaxGivenTags bounds what a caller may give, repetitions included.
	MaxGivenTags = 4 * MaxTags
)

// Tags brings tags to their stored form: trimmed, lower case, each once, in the order
// given. At most [MaxTags] of 1 to [MaxTagCharacters] characters, of which one can be seen.
func Tags(tags []string) ([]string, error) {
	tooMany := func() error {
		return fmt.Errorf("tags has %d entries; the limit is %d: leave some out", len(tags), MaxTags)
	}
	if len(tags) > MaxGivenTags { // before any is looked at
		return nil, tooMany()
	}
	var out []string
	for i, tag := range tags {
		valid := utf8.ValidString(tag) // asked first: ToLower replaces what is not
		tag = strings.ToLower(strings.TrimSpace(tag))
		n := utf8.RuneCountInString(tag)
		switch {
		case n > MaxTagCharacters:
			return nil, fmt.Errorf("tags[%d] has %d characters; the limit is %d: shorten it", i, n, MaxTagCharacters)
		case Blank(tag):
			return nil, fmt.Errorf("tags[%d] must not be empty", i)
		case !valid || strings.ContainsRune(tag, 0):
			return nil, fmt.Errorf("tags[%d] is not valid text", i)
		}
		if !slices.Contains(out, tag) {
			if len(out) == MaxTags { // before more are compared with one another
				return nil, tooMany()
			}
			out = append(out, tag)
		}
	}
	return out, nil
}
