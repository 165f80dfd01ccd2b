package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// When the finished text has too many tokens, the lowest score of all sections goes
// first, whatever its section.
func TestLowestScoreGoesFirst(t *testing.T) {
	item := func(name string, score float64) *Line[float64] {
		return &Line[float64]{About: &score, Text: "- " + name + "\n", Tokens: 1, Shown: true}
	}
	for budget, want := range map[int]string{7: "a b c d", 6: "a c d", 5: "a d", 4: "a", 3: "", 2: "no headings"} {
		w := Writer[float64]{Title: "# Memory Context\n", Compare: func(a, b *float64) int {
			return cmp.Compare(*b, *a)
		}, Count: func(text string) int {
			return strings.Count(text, "\n- ") + strings.Count(text, "# ")
		}, Budget: budget,
			Sections: []Section[float64]{{Heading: "## x", Lines: []*Line[float64]{item("a", 0.9), item("b", 0.1)}},
				{Heading: "## y", Lines: []*Line[float64]{item("c", 0.2), item("d", 0.3)}}}}
		text, tokens := w.Fit()
		var shown []string
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
				shown = append(shown, name)
			}
		}
		got := strings.Join(shown, " ")
		if text == "" {
			got = "no headings"
		}
		if got != want || tokens > budget {
			t.Errorf("budget %d: %q, %d tokens", budget, got, tokens)
		}
	}
}

// What all sections leave goes to the best lines that had no room, of whatever section.
func TestWhatIsLeftGoesToTheBest(t *testing.T) {
	line := func(tokens int, score float64) *Line[float64] {
		return &Line[float64]{About: &score, Text: strings.Repeat("x", tokens)}
	}
	w := Writer[float64]{Compare: func(a, b *float64) int { return cmp.Compare(*b, *a) }, Budget: 20,
		Count: func(text string) int { return strings.Count(text, "x") },
		Sections: []Section[float64]{
			{Share: 0.25, Lines: []*Line[float64]{line(6, 0.5), line(6, 0.4)}},
			{Share: 0.25, Lines: []*Line[float64]{line(14, 0.9), line(12, 0.6), line(8, 0.3)}},
			{Share: 0.5, Lines: []*Line[float64]{line(24, 0.8)}},
		}}
	if err := w.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, s := range w.Sections {
		for _, it := range s.Lines {
			shown = append(shown, fmt.Sprint(*it.About, " ", it.Shown))
		}
	}
	// The second section has 5 of its own and the 5 of the first: 8 go there, and of the 12 that are left 12.
	if got, want := fmt.Sprint(shown), "[0.5 false 0.4 false 0.9 false 0.6 true 0.3 true 0.8 false]"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// Where hardly any room is left no more lines are made. Short ones are looked for as long as there is room for one, or
// few have been looked at.
func TestNoLinesAreMadeWithoutRoom(t *testing.T) {
	type lines = [][2]int // how many, and of how many tokens
	for name, c := range map[string]struct {
		budget        int
		lines         lines
		made, shown   int
		tokens, other int // of all that is shown; of a section behind it, with one line of so many
	}{
		"a section that is full":             {400, lines{{100, 30}}, 13, 13, 390, 0},
		"a short one among few":              {1000, lines{{1, 970}, {1, 900}, {1, 15}}, 3, 2, 985, 0},
		"and behind some that fit no text":   {1000, lines{{8, 2000}, {1, 970}, {1, 15}}, 10, 2, 985, 0},
		"a short one where there is room":    {2000, lines{{12, 1200}, {1, 45}}, 13, 2, 1245, 0},
		"a short one without room":           {1000, lines{{10, 98}, {30, 97}, {1, 15}}, 10, 10, 980, 0},
		"a small budget":                     {200, lines{{10, 19}, {20, 18}, {1, 9}}, 31, 11, 199, 0},
		"nor is one of another section made": {400, lines{{100, 30}}, 13, 13, 390, 9},
		"but where there may be room":        {830, lines{{30, 60}}, 31, 13, 780, 45},
		"no room at all: each is too long":   {0, lines{{12, 5}}, 12, 0, 0, 0},
		"lines that are too long are no few": {900, lines{{20, 1000}, {40, 100}}, 29, 9, 900, 0},
	} {
		made := 0
		w := Writer[int]{Budget: c.budget, Compare: func(a, b *int) int { return 0 },
			Count: func(text string) int { return strings.Count(text, "x") },
			Line:  func(tokens *int) (string, error) { made++; return strings.Repeat("x", *tokens), nil },
		}
		first := Section[int]{Share: 1}
		for _, l := range c.lines {
			for range l[0] {
				first.Add(&l[1], l[1], c.budget)
			}
		}
		w.Sections = append(w.Sections, first)
		if c.other > 0 {
			next := Section[int]{}
			next.Add(&c.other, c.other, c.budget)
			w.Sections = append(w.Sections, next)
		}
		if err := w.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		shown, tokens := 0, 0
		for _, it := range w.Sections[0].Lines {
			if it.Shown {
				shown, tokens = shown+1, tokens+it.Tokens
			}
			if c.budget == 0 && !it.TooLong {
				t.Errorf("%s: %+v", name, it)
			}
		}
		if made != c.made || shown != c.shown || tokens != c.tokens {
			t.Errorf("%s: %d lines are made and %d shown, of %d tokens; want %d, %d and %d",
				name, made, shown, tokens, c.made, c.shown, c.tokens)
		}
	}
	failed := errors.New("damaged")
	fails := func(*int) (string, error) { return "", failed }
	w := Writer[int]{Budget: 10, Count: func(string) int { return 0 }, Line: fails}
	w.Sections = []Section[int]{{Share: 1}}
	w.Sections[0].Add(new(int), 1, 10)
	if err := w.Fill(t.Context()); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// TestDayOfCalls: what a call took replaces its reservation; a call that never ended, or
// is still under way, counts as reserved; one that was reserved before midnight counts
// then.
func TestDayOfCalls(t *testing.T) {
	var d Day[string]
	d.add("under way", 100, false)
	d.add("ended", 30, true)
	d.add("of yesterday", 7, true)
	d.add("ended", 200, false)
	d.add("died", 1000, false)
	if d.Sum != 100+30+1000 {
		t.Errorf("%d", d.Sum)
	}
}

// A log that is asked again counts what came since, alone, and on another day begins again. Entries of an earlier day end
// the look, unless a clock that was set back may have put some of the day behind them.
func TestDayIsReadOn(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	type entry struct {
		at   time.Time
		call string
		took bool
	}
	log := []entry{
		{noon.Add(-48 * time.Hour), "long ago", false}, {noon.Add(-time.Hour), "first", false},
		{noon.Add(-13 * time.Hour), "before midnight", false}, {noon, "second", false},
	}
	var d Day[string]
	read := func(now time.Time) (looked int) {
		d.Begin(now)
		for n := len(log); n > 0; n-- {
			e := log[n-1]
			looked++
			data := fmt.Appendf(nil, `{"call":%q,"tokens":%d}`, e.call, map[bool]int64{false: 100, true: 7}[e.took])
			more, err := d.Take(int64(n), e.at, data, e.took)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
		}
		d.End()
		return looked
	}
	for _, c := range []struct {
		what   string
		more   []entry
		now    time.Time
		looked int
		sum    int64
	}{
		{"at first", nil, noon, 4, 200},
		{"again", nil, noon, 1, 200},
		{"a call has ended and another begun", []entry{{noon, "second", true}, {noon, "third", false}}, noon, 3, 207},
		{"the next day", []entry{{noon.Add(24 * time.Hour), "fourth", false}}, noon.Add(24 * time.Hour), 5, 100},
	} {
		log = append(log, c.more...)
		if looked := read(c.now); looked != c.looked || d.Sum != c.sum {
			t.Errorf("%s: %d entries were looked at, and the sum is %d; want %d and %d", c.what, looked, d.Sum, c.looked, c.sum)
		}
	}
}

// TestLeft: the smaller budget counts; of equal ones that of the run.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		run, day, tokens int64
		budget           string
	}{{5, 9, 5, "run"}, {9, 5, 5, "day"}, {5, 5, 5, "run"}, {1, -3, -3, "day"}} {
		if tokens, budget := Left(c.run, c.day); tokens != c.tokens || budget != c.budget {
			t.Errorf("%+v: %d of the %s", c, tokens, budget)
		}
	}
}

// TestFaultOfShares: no share may be negative or not a number, and the sum must be 1.
func TestFaultOfShares(t *testing.T) {
	for want, lists := range map[string][][]float64{
		"":                     {{1}, {0.5, 0.3, 0.2}, {0, 1}, {0.1, 0.2, 0.3, 0.4}},
		"none may be negative": {{-0.1, 1.1}, {math.NaN(), 1}},
		"they must sum to 1":   {{}, {0.5}, {1, 0.001}, {math.Inf(1)}},
	} {
		for _, shares := range lists {
			if got := FaultOfShares(shares...); got != want {
				t.Errorf("%v: %q; want %q", shares, got, want)
			}
		}
	}
}

// Of many texts that are longer than what is shown only some are made and counted, a beginning
// of each; those that are not counted are not shown, and a short one behind them is.
func TestNotAllLongTextsAreLookedAt(t *testing.T) {
	const size = 256 << 10
	for budget, most := range map[int]int{3000: 17, 200_000: 5} {
		made, counted := 0, 0
		s := Section[float64]{Heading: "## x", Share: 0.5}
		texts := map[*float64]string{}
		add := func(score float64, text string) {
			texts[&score] = text
			s.Add(&score, len(text), budget)
		}
		for i := range 100 {
			add(1-float64(i)/1000, strings.Repeat("long", size/4))
		}
		add(0.1, "- short\n")
		line := func(about *float64) (string, error) { made++; return texts[about], nil }
		w := Writer[float64]{Sections: []Section[float64]{s}, Budget: budget, Line: line, Count: func(text string) int {
			counted += len(text)
			return len(text) / 4
		}, Compare: func(a, b *float64) int { return cmp.Compare(*b, *a) }}
		if err := w.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if made > most+1 {
			t.Errorf("budget %d: %d texts are made; want %d and the short one", budget, made, most)
		}
		if counted > most*min(2*size, usualToken*(budget+longestToken)+100) {
			t.Errorf("budget %d: %d bytes are counted of %d texts", budget, counted, made)
		}
		for _, it := range w.Sections[0].Lines {
			if it.Passed && (it.Shown || it.Tokens != 0 || it.Text != "") {
				t.Errorf("budget %d: a line that was passed over: %+v", budget, it)
			}
		}
		if text, _ := w.Fit(); !strings.HasSuffix(text, "- short\n") {
			t.Errorf("budget %d: the short one is not in %.100q", budget, text)
		}
	}
}
