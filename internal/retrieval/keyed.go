package retrieval

import "strings"

// Keyed is a text that may have a key: what a fact says of its subject and predicate.
type Keyed struct{ Text, Key string }

// All is the text, led by the words of its key.
func (k Keyed) All() string { return strings.TrimSpace(Words(k.Key) + " " + k.Text) }

// value is the text as what its key is: "user favorite color: blue".
func (k Keyed) value() string {
	if k.Key == "" {
		return k.Text
	}
	return Words(k.Key) + ": " + k.Text
}

// Relations compares a text with older ones. That of a key may be a value, "blue", or a
// sentence, "My favorite color is blue": it is compared with and without its key.
func (k Keyed) Relations() func(older Keyed) Relation {
	text := NewComparison(k.Text)
	text.remember(sketchKeyOf(k.Text), len(text.words)) // others will be compared with it
	return func(older Keyed) Relation {
		r := text.With(older.Text)
		if older.Key == "" && k.Key == "" {
			return r
		}
		return max(r, Compare(older.All(), k.All()), Compare(older.value(), k.value()))
	}
}
