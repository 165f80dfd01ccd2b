package bench

import "testing"

// TestMisspeltFormsFindTheirNotes: a word in another form than in the note, with a typing error as well.
func TestMisspeltFormsFindTheirNotes(t *testing.T) {
	d := hostileSet(t, "inflected")
	mistyped := d.Questions[:0]
	for _, q := range d.Questions {
		if wrong := Mistyped(q.Text); wrong != q.Text {
			q.Text = wrong
			mistyped = append(mistyped, q)
		}
	}
	d.Questions = mistyped
	findTheirNotes(t, d, map[string]map[string]int{
		ModeKeyword: {"inflected": 157},
		ModeHybrid:  {"inflected": 159},
	})
}
