package linediff

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

// follow is what a unified diff makes of a text. It requires every line that the diff names to be
// where its hunk says.
func follow(t *testing.T, old, diff string) string {
	t.Helper()
	lines, out, at, kind := strings.SplitAfter(old, "\n"), []string{}, 0, byte(0)
	for line := range strings.Lines(diff) {
		var from, to int
		last := kind
		switch kind = line[0]; kind {
		case '\\': // the line before ends the text
			if last == '+' {
				out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
			}
		case '@':
			for i, into := range []*int{&from, &to} {
				number, _, _ := strings.Cut(strings.Fields(line)[1+i][1:], ",")
				if _, err := fmt.Sscan(number, into); err != nil {
					t.Fatal(err)
				}
			}
			for ; at < from-1; at++ {
				out = append(out, lines[at])
			}
			if len(out) != max(0, to-1) {
				t.Errorf("%q: there are %d lines before it", line, len(out))
			}
		case '+':
			out = append(out, line[1:])
		default:
			if strings.TrimSuffix(lines[at], "\n") != strings.TrimSuffix(line[1:], "\n") {
				t.Fatalf("line %d is %q and not %q", at+1, lines[at], line)
			}
			if line[0] == ' ' {
				out = append(out, lines[at])
			}
			at++
		}
	}
	return strings.Join(append(out, lines[at:]...), "")
}

// A unified diff leads from one text to the other, with the numbers of its lines, and has the hunks
// that the library would make. The library's numbers are wrong after a hunk of several changes.
func TestUnifiedDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString([]string{"a", "b", "c", "", "dd"}[r.IntN(5)] + "\n")
		}
		if r.IntN(3) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	numbers := regexp.MustCompile(`(?m)^@@ .* @@$`)
	for range 5000 {
		old, changed := text(), text()
		if r.IntN(2) == 0 && old != "" { // alike but for two lines
			lines := strings.SplitAfter(old, "\n")
			lines[r.IntN(len(lines))] = "x\n"
			lines[r.IntN(len(lines))] = ""
			changed = strings.Join(lines, "")
		}
		got := Unified("o", "n", old, changed)
		want := udiff.Unified("o", "n", old, changed)
		if numbers.ReplaceAllString(got, "@@") != numbers.ReplaceAllString(want, "@@") {
			t.Fatalf("%q and %q:\n%s\nwant except the numbers\n%s", old, changed, got, want)
		}
		_, hunks, differ := strings.Cut(got, "+++ n\n")
		if differ == (old == changed) || follow(t, old, hunks) != changed {
			t.Fatalf("%q is not what comes of %q and\n%s", changed, old, got)
		}
	}
}

// A diff holds no value for each of its lines.
func TestDiffOfManyLinesIsCheap(t *testing.T) {
	old, changed := strings.Repeat("\n", 100_000), strings.Repeat("x\n", 50_000)
	var diff string
	if n := testing.AllocsPerRun(2, func() { diff = Unified("o", "n", old, changed) }); n > 1000 {
		t.Errorf("%.0f allocations for a diff of 150,000 lines", n)
	}
	if lines := strings.Count(diff, "\n"); lines != 150_003 {
		t.Errorf("the diff has %d lines", lines)
	}
}
