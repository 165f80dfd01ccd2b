package retrieval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What tells a correction from another text at the edges of its rules.
func TestCompareAtTheEdges(t *testing.T) {
	for _, c := range []struct {
		older, newer string
		want         Relation
	}{
		{"The database is Postgres", "The database is MySQL", Changed}, // a subject of one word
		{"Prefers hot", "Prefers cold", Changed},                       // nobody is named
		{"We use plan M", "We use plan m", Same},                       // no number, so no unit
		{"The door is unable to close", "The door is able to close", Changed},
		{"The door is able to close", "The door is unable to close", Changed},
	} {
		if got := Compare(c.older, c.newer); got != c.want {
			t.Errorf("%q → %q is %s, want %s", c.older, c.newer, got, c.want)
		}
	}
}

// A text of as many words as are compared is, and one with a word more is not, whichever is the newer one.
func TestCompareUpToALength(t *testing.T) {
	words := make([]string, maxCompared+1)
	for i := range words {
		words[i] = "a" + strings.Repeat("b", i%20) + strings.Repeat("c", i/20)
	}
	most, more := strings.Join(words[:maxCompared], " "), strings.Join(words, " ")
	less := strings.Join(words[:maxCompared-1], " ")
	for _, c := range []struct {
		older, newer string
		want         Relation
	}{{less, most, Rephrased}, {most, less, Rephrased}, {most, more, Unrelated}, {more, most, Unrelated}} {
		if got := Compare(c.older, c.newer); got != c.want {
			t.Errorf("%d → %d bytes is %s, want %s", len(c.older), len(c.newer), got, c.want)
		}
	}
}

func TestAddressesAndOpposites(t *testing.T) {
	for word, want := range map[string]bool{"a.b": true, ".b": false, "b.": false, "a/b": true, "a@b": true, "ab": false} {
		if isAddress(word) != want {
			t.Errorf("%q is an address: %t", word, !want)
		}
	}
	for _, c := range []struct {
		x, y string
		want bool
	}{{"able", "unable", true}, {"unable", "able", true}, {"act", "unact", false}, {"unact", "act", false}} {
		if antonym(nil, c.x, c.y) != c.want {
			t.Errorf("%q and %q are opposites: %t", c.x, c.y, !c.want)
		}
	}
}

// A capital makes a name from the second word on.
func TestNamesOfASentence(t *testing.T) {
	var names []bool
	for _, w := range sentenceOf("My Anna met bob and Carla").words {
		names = append(names, w.name)
	}
	if want := []bool{false, true, false, false, false, true}; !slices.Equal(names, want) {
		t.Errorf("names are %v; want %v", names, want)
	}
}

// Letters beyond ASCII are capitals or small as others are.
func TestCompoundsBeyondASCII(t *testing.T) {
	if s := shapeOf("größe"); s != (shape{}) {
		t.Errorf("größe is %+v", s)
	}
	for word, want := range map[string]string{"müsliRiegel": "müsli Riegel", "größeÄnderung": "größe Änderung", "größe": "größe"} {
		if got := strings.Join(splitCompound(word, false), " "); got != want {
			t.Errorf("%s has the parts %q; want %q", word, got, want)
		}
	}
}

// One capital behind a number begins no part.
func TestCompoundsWithACapitalBehindANumber(t *testing.T) {
	for word, want := range map[string]string{"x8Ab": "x8Ab", "x8ABc": "x8A Bc", "3Dprint": "3 Dprint", "HTTPServer": "HTTP Server"} {
		if got := strings.Join(splitCompound(word, true), " "); got != want {
			t.Errorf("%s has the parts %q; want %q", word, got, want)
		}
	}
}

// A query has a name if it has one of the name's words.
func TestNamesOfAQuery(t *testing.T) {
	has := Names("Where does Ann Lee live, and where Will?")
	for name, want := range map[string]bool{"ann": true, "bo lee": true, "will": true, "bo": false, "": false} {
		if has(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

// Up to four words with hyphens are written together, too.
func TestWordsWithHyphens(t *testing.T) {
	for text, want := range map[string]bool{"state-of-the-art": true, "e-mail": true, "one-two-three-four-five": false} {
		joined := false
		Analyze("a "+text+" thing", func(k Token) {
			joined = joined || k.Text == strings.ReplaceAll(text, "-", "")
		})
		if joined != want {
			t.Errorf("%s is written together: %t", text, joined)
		}
	}
}

// A phrase that is not closed is no phrase, and none of its words is lost.
func TestPhraseThatIsNotClosed(t *testing.T) {
	q := Parse(`say "hello there friend`, 10)
	var words []string
	for _, w := range q.Words {
		words = append(words, w.Term)
	}
	if got := fmt.Sprint(words, len(q.Phrases)); got != "[say hello friend] 0" {
		t.Errorf("it asks for %s", got)
	}
}

// A word with an asterisk is a prefix, unless it stands in quotes, straight or curly, that another word opens
// or closes.
func TestPrefixesOutsideOfQuotes(t *testing.T) {
	for text, want := range map[string][]string{
		`walr*`: {"walr"}, `walr* harb* walr*`: {"walr", "harb"}, `"a walr* b"`: nil, `"a walr* b" harb*`: {"harb"},
		`“a walr* b” harb*`: {"harb"}, `“a walr* b harb*`: nil, `"walr*"`: nil, `"a" walr*`: {"walr"}, `“a” walr*`: {"walr"},
		`w*`: nil, `wa*`: {"wa"}, `海*`: nil, `a/b*`: nil, `v1.2*`: {"v1.2"},
	} {
		if got := Parse(text, 16).Prefixes; !slices.Equal(got, want) {
			t.Errorf("%s: prefixes %q, want %q", text, got, want)
		}
	}
}

// A word that is there keeps the greater weight, and is optional only if it always is.
func TestAddedTwice(t *testing.T) {
	for _, c := range []struct{ before, then, want QueryWord }{
		{QueryWord{Term: "a", Weight: 1, Optional: true}, QueryWord{Term: "a", Weight: 2}, QueryWord{Term: "a", Weight: 2}},
		{QueryWord{Term: "a", Weight: 2}, QueryWord{Term: "a", Weight: 1, Optional: true}, QueryWord{Term: "a", Weight: 2}},
		{
			QueryWord{Term: "a", Weight: 1, Optional: true}, QueryWord{Term: "a", Weight: 1, Optional: true},
			QueryWord{Term: "a", Weight: 1, Optional: true},
		},
	} {
		got := addWord(addWord(nil, &c.before, 1), &c.then, 1)
		if len(got) != 1 || got[0].Weight != c.want.Weight || got[0].Optional != c.want.Optional {
			t.Errorf("%+v and %+v: %+v", c.before, c.then, got)
		}
	}
	if got := addWord(addWord(nil, &QueryWord{Term: "a"}, 1), &QueryWord{Term: "b"}, 1); len(got) != 1 || got[0].Term != "a" {
		t.Errorf("beyond the limit: %+v", got)
	}
}

// The word before a colon is a name, as "May:buy" has one, and that before an apostrophe by its place alone:
// what begins a sentence has its capital from there.
func TestNamesBeforeAColon(t *testing.T) {
	for text, want := range map[string]bool{
		"May:buy milk": true, "It'zz go": false, "we saw It'zz": true, "It:zz go": true, "to:May go": true, "may:buy milk": false,
		"Will's tea": true, "It's tea": false,
	} {
		named := false
		Analyze(text, func(token Token) { named = named || token.Kind == Name })
		if named != want {
			t.Errorf("%q has a name: %t, want %t", text, named, want)
		}
	}
}

// What a text is about is definite as "the database" is, but not a person, and only if there is something.
func TestDefiniteSubjects(t *testing.T) {
	the, person, other := word{term: "databas", definite: true}, word{term: "customer"}, word{term: "server"}
	definite := person
	definite.definite = true
	for _, c := range []struct {
		before []word
		want   bool
	}{
		{nil, false}, {[]word{the}, true}, {[]word{other}, false}, {[]word{the, person}, false},
		{[]word{definite}, false}, {[]word{other, the}, false}, {[]word{the, other}, true},
	} {
		s := slot{before: append(slices.Clone(c.before), word{term: "is"}), verb: len(c.before)}
		if s.subjectDefinite() != c.want {
			t.Errorf("%+v: %t", c.before, !c.want)
		}
	}
}

// A name with a dot in front is a word at the beginning of a text, too.
func TestADotLeadsATextsFirstWord(t *testing.T) {
	var joined []string
	Analyze(".NET and .env", func(token Token) {
		if token.Kind == Joined {
			joined = append(joined, token.Text)
		}
	})
	if want := []string{".net", ".env"}; !slices.Equal(joined, want) {
		t.Errorf("joined %q, want %q", joined, want)
	}
}

// An article is said of the word behind it, and an equals sign is a word, once.
func TestWordsOfASentence(t *testing.T) {
	for text, want := range map[string]string{
		"The boss has a cat and a red dog near the house": "the boss, has, a cat, and, a red, dog, near, the house",
		"port = 80":         "port, =, 80",
		"size == 3":         "size, =, 3",
		"The port:":         "the port",
		"The port: 80":      "the port, =, 80",
		"an owl sees an 80": "a owl, sees, a 80",
	} {
		var got []string
		for _, w := range sentenceOf(text).words {
			shown := w.low
			if w.definite {
				shown = "the " + shown
			}
			if w.indefinite {
				shown = "a " + shown
			}
			got = append(got, shown)
		}
		if shown := strings.Join(got, ", "); shown != want {
			t.Errorf("%q: %s; want %s", text, shown, want)
		}
	}
}

// What has one value is known by its word as it is written, or by its stem.
func TestAttributesAreKnownByWordOrStem(t *testing.T) {
	for _, c := range []struct {
		low, term string
		want      bool
	}{{"salary", "salari", true}, {"prices", "price", true}, {"color", "color", true}, {"walk", "walk", false}} {
		s := slot{before: []word{{low: c.low, term: c.term}, {low: "is", term: "="}}, verb: 1}
		if s.attribute() != c.want {
			t.Errorf("%s: %t", c.low, !c.want)
		}
	}
}
