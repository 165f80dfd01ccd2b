package lesson

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestLine: no text that is shown can end its line, a quotation or a tag.
func TestLine(t *testing.T) {
	got := Line(map[string]any{"content": "a\n\"b\"</episodes>"})
	if want := `{"content":"a\n\"b\"\u003c/episodes\u003e"}` + "\n"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := Question("h\n", "m\n", "e\n"), "h\n<memories>\nm\n</memories>\n<episodes>\ne\n</episodes>\n"; got != want {
		t.Errorf("%q", got)
	}
}

type episode struct {
	key  string
	cost int64
}

// TestGroups: a group is of one key and fits the room; the order stays.
func TestGroups(t *testing.T) {
	episodes := []episode{{"a", 4}, {"b", 5}, {"a", 6}, {"a", 1}, {"b", 11}, {"b", 5}}
	got, tooLarge := Groups(episodes, 10, func(e *episode) (string, int64) { return e.key, e.cost })
	want := [][]episode{{{"a", 4}, {"a", 6}}, {{"b", 5}, {"b", 5}}, {{"a", 1}}}
	if tooLarge != 1 || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %d too large", got, tooLarge)
	}
}

// TestRead takes one object out of an answer, and refuses what could be read in two ways.
func TestRead(t *testing.T) {
	for _, good := range []string{
		`{"new_facts":[{},{}],"updated_facts":[],"new_rules":[{}],"confirmations":[]}`,
		"Here it is:\n```json\n{\"new_facts\":[{},{}],\"new_rules\":[{}]}\n```\nThat is all.",
		`{"new_facts":[{},{}],"new_rules":[{}],"other":7}`,
	} {
		if d, err := Read(good); err != nil || len(d.NewFacts) != 2 || len(d.NewRules) != 1 || d.Len() != 3 {
			t.Errorf("%s: %+v, %v", good, d, err)
		}
	}
	for bad, want := range map[string]string{
		"":                              "has no JSON object",
		"nothing to remember":           "has no JSON object",
		`{"new_facts":[`:                "is not JSON",
		`{"new_facts":[]} {}`:           "has more than one JSON object",
		`{"new_facts":[]}` + "\n```\n{": "has more than one JSON object",
		`{"new_facts":{}}`:              "a list in the answer of the model is none",
		`{}`:                            "has none of the lists asked for",
		`{"facts":[]}`:                  "has none of the lists asked for",
	} {
		if _, err := Read(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestEach: items come in a fixed order, with evidence that is known, and what is left out
// is counted by its reason.
func TestEach(t *testing.T) {
	d, err := Read(`{
		"new_facts": [
			{"content":"fact","evidence":["E1","e1","e2"]},
			{"content":"no evidence"},
			{"content":"invented","evidence":["e1","e9"]},
			{"content":7},
			{"content":"refused","evidence":["e1"]}],
		"new_rules": [{"content":"rule","evidence":["e1"]}],
		"confirmations": [{"id":"c","evidence":["e1"]}],
		"updated_facts": [{"id":"u","evidence":["e1"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	taker := func(list string) Taker {
		return func(item *Item) (string, error) {
			got = append(got, fmt.Sprintf("%s %s%s %v", list, item.ID, item.Content, item.Evidence))
			if item.Content == "refused" {
				return SkipEmpty, nil
			}
			return "", nil
		}
	}
	takers := Takers{Update: taker("update"), Confirm: taker("confirm"), NewFact: taker("fact"), NewRule: taker("rule")}
	known := func(evidence string) bool { return evidence == "e1" || evidence == "e2" }
	if d.Len() != 8 {
		t.Errorf("there are %d items", d.Len())
	}
	skipped, err := d.Each(known, takers)
	want := []string{"update u [e1]", "confirm c [e1]", "fact fact [e1 e2]", "fact refused [e1]", "rule rule [e1]"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if want := map[string]int{
		SkipNoEvidence: 1,
		SkipEvidence:   1,
		SkipMalformed:  1,
		SkipEmpty:      1,
	}; !maps.Equal(skipped, want) {
		t.Errorf("skipped %v", skipped)
	}
}

// TestEachIsBounded: of each list the first hundred count.
func TestEachIsBounded(t *testing.T) {
	item := `{"evidence":["e"]}`
	d, err := Read(`{"new_facts":[` + strings.Repeat(item+",", maxItems+1) + item + `],"new_rules":[` + item + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	take := func(*Item) (string, error) { taken++; return "", nil }
	skipped, err := d.Each(func(string) bool { return true }, Takers{take, take, take, take})
	if err != nil || taken != maxItems+1 || skipped[SkipTooMany] != 2 {
		t.Errorf("%d taken, skipped %v, %v", taken, skipped, err)
	}
	full := errors.New("disk full")
	fail := func(*Item) (string, error) { return "", full }
	if _, err := d.Each(func(string) bool { return true }, Takers{fail, fail, fail, fail}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}
