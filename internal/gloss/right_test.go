package gloss

import (
	"maps"
	"slices"
	"testing"
)

// Words of a list are right, whatever form they have, and what nobody knows is not.
func TestWordsOfAListAreRight(t *testing.T) {
	for text, want := range map[string][]string{
		"¿Qué ventajas tiene la energía xolar?": {"energia", "tiene", "ventajas"},
		"Как варить рсис?":                      {"варить"},
		"كيف تعمل الثلاجة":                      {"الثلاجه", "تعمل"},
		"Warum schlägt der Xeblr fehl?":         {"fehl", "schlagt"},
		"fix the failing test":                  nil,
	} {
		if got := slices.Sorted(maps.Keys(Right(text))); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
