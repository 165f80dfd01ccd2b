package retrieval

import "testing"

// What asks for whatever there was has no content beside the time that it names.
func TestAskingWhatHappenedHasNoContent(t *testing.T) {
	for _, text := range []string{"What happened?", "what did we do", "Anything going on", ""} {
		if HasContent(text) {
			t.Errorf("%q has content", text)
		}
	}
	for _, text := range []string{"What happened to the roof?", "notes about Mia", "Was hat Mia gemacht", "Will Mia come", "happened-upon"} {
		if !HasContent(text) {
			t.Errorf("%q has no content", text)
		}
	}
}
