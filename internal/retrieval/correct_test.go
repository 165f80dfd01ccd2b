package retrieval

import (
	"bufio"
	"encoding/json"
	"hash/fnv"
	"os"
	"testing"
)

// A pair of the set in testdata/corrections.jsonl; its README says how it was made.
type correctionPair struct {
	Older    string `json:"older"`
	Newer    string `json:"newer"`
	Corrects bool   `json:"corrects"`
	Kind     string `json:"kind"`
	Lang     string `json:"lang"`
}

// heldBack is the half of the set that the rules were not made on.
func (p *correctionPair) heldBack() bool {
	h := fnv.New32a()
	h.Write([]byte(p.Older + "\n" + p.Newer))
	return h.Sum32()%2 == 1
}

func correctionPairs(t *testing.T) (pairs []correctionPair) {
	f, err := os.Open("testdata/corrections.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var p correctionPair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// A score of hints: how many are right, of the hints and of the corrections there are.
type hintScore struct{ right, wrong, missed int }

func (s hintScore) precision() float64 { return float64(s.right) / float64(max(1, s.right+s.wrong)) }
func (s hintScore) recall() float64    { return float64(s.right) / float64(max(1, s.right+s.missed)) }

// A hint that a text corrects another one is right in 19 of 20, on both halves of the
// set; what it finds of the corrections is printed.
func TestHintsAreRight(t *testing.T) {
	pairs := correctionPairs(t)
	var halves [2]hintScore
	corrections, others := 0, 0
	for _, p := range pairs {
		half := 0
		if p.heldBack() {
			half = 1
		}
		hint := Compare(p.Older, p.Newer) == Changed
		switch {
		case p.Corrects && hint:
			halves[half].right++
		case hint:
			halves[half].wrong++
		case p.Corrects:
			halves[half].missed++
		}
		if half == 0 && hint != p.Corrects {
			t.Logf("%s %s: %q → %q: hint %t", p.Kind, p.Lang, p.Older, p.Newer, hint)
		}
		if p.Corrects {
			corrections++
		} else {
			others++
		}
	}
	if corrections < 100 || others < 300 {
		t.Errorf("the set has %d corrections and %d others", corrections, others)
	}
	for i, name := range []string{"tuned on", "held back"} {
		s := halves[i]
		t.Logf("%s: precision %.3f (%d wrong), recall %.3f (%d of %d)", name, s.precision(), s.wrong, s.recall(), s.right, s.right+s.missed)
		if s.precision() < 0.95 || s.recall() < 0.6 {
			t.Errorf("%s: precision %.3f, recall %.3f; the floors are 0.95 and 0.6", name, s.precision(), s.recall())
		}
	}
}
