package bench

import (
	"math/rand/v2"
	"testing"
)

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
		ModeKeyword: {"inflected": 186},
		ModeHybrid:  {"inflected": 192},
	})
}

// TestSlipsFindTheirNotes: a random error in words of all languages but English, see testdata/hostile/README.md.
// Nobody looked at a query of the half "held" while words were mended.
func TestSlipsFindTheirNotes(t *testing.T) {
	findTheirNotes(t, slippedSet(t), map[string]map[string]int{
		ModeKeyword: {"word fit": 183, "form fit": 176, "question fit": 126, "word held": 193, "form held": 174, "question held": 135},
		ModeHybrid:  {"word fit": 183, "form fit": 179, "question fit": 120, "word held": 190, "form held": 173, "question held": 131},
	})
}

// TestSlips: an error is one, it is the same each time, and in words that are long enough.
func TestSlips(t *testing.T) {
	first, again := slippedSet(t), slippedSet(t)
	kinds := map[string]int{}
	for i, q := range first.Questions {
		kinds[q.Category]++
		if q.Text != again.Questions[i].Text {
			t.Fatalf("%q is %q the second time", q.Text, again.Questions[i].Text)
		}
	}
	for kind, least := range map[string]int{"word fit": 150, "word held": 150, "form held": 150, "form fit": 150, "question fit": 150, "question held": 150} {
		if kinds[kind] < least {
			t.Errorf("%d queries of %s, want %d", kinds[kind], kind, least)
		}
	}
	s := slipper{rand.New(rand.NewPCG(1, 1)), []rune("abc漢가")}
	for _, short := range []string{"", "abc", "漢", "12 34567", "가"} {
		if got := s.slip(short); got != "" {
			t.Errorf("%q becomes %q", short, got)
		}
	}
}
