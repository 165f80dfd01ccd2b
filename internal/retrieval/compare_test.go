package retrieval

import (
	"fmt"
	"strings"
	"testing"
)

// Pairs of an older and a newer text, and what the newer one is to it.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		older, newer string
		want         Relation
	}{
		// White space and letter case make no difference.
		{"Likes tea.", "likes  TEA.", Same},
		{"a\tb\nc", "A B C", Same},
		{"Uses Go 1.26", "uses go 1.26", Same},
		{"Grüße aus KÖLN", "grüße aus köln", Same},
		{"Waits 5 Minutes", "waits 5 minutes", Same},

		// Numbers and versions.
		{"PostgreSQL 16", "PostgreSQL 18", Changed},
		{"We run PostgreSQL 16 in production", "We run PostgreSQL 18 in production", Changed},
		{"Uses Go 1.25.1", "Uses Go 1.26.0", Changed},
		{"The API is at v2", "The API is at v3", Changed},
		{"Has 2 children", "Has 3 children", Changed},
		{"Has two children", "Has three children", Changed},
		{"Rent is 1,200 a month", "Rent is 1,350 a month", Changed},
		{"The port is 8080", "The port is 8081", Changed},
		{"The office is on floor 3", "The office is on floor 13", Changed},
		{"Threshold is 0.5", "Threshold is 0.05", Changed},
		{"The limit is 100", "The limit is -100", Changed},
		{"Budget: $500 for travel", "Budget: €500 for travel", Changed},
		{"Coverage is at 80%", "Coverage is at 90%", Changed},
		{"Phone number is +49 30 1234", "Phone number is +49 30 1243", Changed},
		{"The flight is LH 123", "The flight is LH 132", Changed},
		{"Python 2 is required", "Python 3 is required", Unrelated},
		{"The second door on the left", "The third door on the left", Unrelated},
		{"Runs once in 24 hours", "Runs once in 48 hours", Changed},

		// What only says that it is new counts for nothing, however much of it there is.
		{"The deadline is now actually already currently still May 3", "The deadline is June 5", Changed},
		{strings.Repeat("now ", 40) + "the deadline is May 3", "The deadline is June 5", Changed},
		{"My favorite food is hot soup", "My favorite food is hot stew", Unrelated},
		{"My favorite food is hot soup at night", "My favorite food is hot stew at night", Changed},

		// Dates and times.
		{"The meeting is on Monday", "The meeting is on Tuesday", Changed},
		{"Deadline is 2026-05-01", "Deadline is 2026-06-01", Changed},
		{"Birthday is 3 May", "Birthday is 5 May", Changed},
		{"Birthday is 3 May", "Birthday is 3 June", Changed},
		{"The standup is at 9:30", "The standup is at 10:30", Changed},
		{"The call is at 9 am", "The call is at 9 pm", Changed},
		{"Founded in 1998 in Berlin", "Founded in 1989 in Berlin", Changed},

		// Units.
		{"The laser has 5 mW", "The laser has 5 MW", Changed},
		{"The laser has 5mW", "The laser has 5MW", Changed},
		{"The link does 100 Mb", "The link does 100 MB", Changed},
		{"The run is 10 km long", "The run is 10 miles long", Changed},
		{"The disk has 16 GB", "The disk has 16 TB", Changed},
		{"Take 5 mg of aspirin", "Take 5 ml of aspirin", Changed},

		{"Pays for 5G at home", "Pays for 5g at home", Changed},
		{"The dose is 5 g a day", "The dose is 5 G a day", Changed},
		{"Costs 3M a year", "Costs 3m a year", Changed},

		// Negation.
		{"Bob likes tea", "Bob does not like tea", Changed},
		{"Bob likes tea", "Bob doesn't like tea", Changed},
		{"Bob likes tea", "Bob doesn’t like tea", Changed},
		{"Never deploy on Friday", "Deploy on Friday", Changed},
		{"Eats without salt", "Eats salt", Changed},
		{"The server can be restarted", "The server cannot be restarted", Changed},
		{"The server can be restarted", "The server can't be restarted", Changed},
		{"Smoking", "No smoking", Changed},
		{"Bob mag Tee", "Bob mag keinen Tee", Changed},
		{"Bob aime le thé", "Bob n'aime pas le thé", Changed},

		// Names and other words in place of one another.
		{"Alice works at Acme", "Alice works at Globex", Changed},
		{"The boss of Alice is Bob", "The boss of Alice is Carol", Changed},
		{"Office address is 12 Elm Road Leeds UK", "Office address is 34 Oak Lane Bath GB", Changed},
		{"Lives in Berlin with Carol", "Lives in Kiel with Carol", Changed},
		{"User prefers tea over water", "User prefers coffee over water", Changed},
		{"The project uses C++ for parsing", "The project uses C# for parsing", Changed},
		{"Bob likes tea", "Bob dislikes tea", Changed},
		{"The light is on upstairs now", "The light is off upstairs now", Changed},
		{"Flies from Berlin on Sundays", "Flies to Berlin on Sundays", Unrelated},
		{"Voted for the proposal", "Voted against the proposal", Changed},
		{"His dog is ill", "Her dog is ill", Unrelated},
		{"Alice manages Bob", "Bob manages Alice", Unrelated},
		{"Flies from Berlin to Kiel", "Flies from Kiel to Berlin", Unrelated},
		{"Prefers window seats", "Prefers aisle seats", Changed},
		{"Alice lives in Berlin", "Alice moved from Berlin to a small house near the old harbour of Kiel last summer", Changed},
		{"The key is under the red pot", "The key is under the blue pot", Changed},

		// The same in other words.
		{"Likes tea.", "Likes tea", Rephrased},
		{"Likes green tea in the morning", "In the morning likes green tea.", Unrelated}, // order may tell: not taken for granted
		{"Alice likes tea", "Alice liked the tea", Rephrased},
		{"Alice likes tea", "Alice likes tea very much", Rephrased},
		{"Alice's dog is called Rex", "The dog of Alice is called Rex", Rephrased},
		{"Deploys happen each Friday", "Deploys happen each Friday afternoon", Rephrased},
		{"The user prefers window seats", "User prefers a window seat", Rephrased},
		{"Disk has 16 GB", "Disk has 16GB", Rephrased},
		{"Runs on Linux since 2020", "Runs on Linux", Rephrased},

		{"Alice likes tea …", "Alice likes tea a lot", Rephrased},

		// Nothing to do with one another.
		{"Likes tea", "The deployment failed", Unrelated},
		{"Uses PostgreSQL 16", "Has 16 cats", Unrelated},
		{"Alice works at Acme", "Bob plays chess", Unrelated},
		{"5", "6", Unrelated},
		{"", "x", Unrelated},
		{"The meeting about the budget is on Monday", "The cat sleeps on the sofa", Unrelated},
		{"茶が好き", "会議は月曜日", Unrelated},
		{"我喜欢喝茶", "我不喜欢喝茶", Changed},
		{"서울에 산다", "서울에 산다", Same},
		{"会议在3点开始", "会议在4点开始", Changed},
	} {
		if got := Compare(c.older, c.newer); got != c.want {
			t.Errorf("%q → %q is %s, want %s", c.older, c.newer, got, c.want)
		}
		// Texts that are not the same must not count as the same in the other direction,
		// either.
		if (Compare(c.newer, c.older) == Same) != (c.want == Same) {
			t.Errorf("%q ← %q", c.older, c.newer)
		}
	}
}

// A text that is too long to be compared is not taken apart: it costs its length alone, with
// which most saves meet it.
func TestALongTextIsNotTakenApart(t *testing.T) {
	c := NewComparison("The service listens on port 80.")
	count := func(words int) int {
		var b strings.Builder
		for i := range words {
			fmt.Fprintf(&b, "word%d ", i)
		}
		text := b.String()
		if got := c.With(text); got != Unrelated {
			t.Errorf("%d words are %v", words, got)
		}
		return len(compared(text, Fold(text)).words)
	}
	if n := count(5000); n > 2*maxCompared {
		t.Errorf("%d words of 5000 are looked at", n)
	}
	if n := count(maxCompared / 2); n != maxCompared { // "word" and the number behind it
		t.Errorf("%d words are looked at of %d that are compared", n, maxCompared)
	}
}
