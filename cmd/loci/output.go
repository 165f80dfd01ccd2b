package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/terminal"
)

// A pane gathers what a command prints for a part of a terminal.
type pane struct {
	bytes.Buffer
	columns int
}

// isTerminal reports whether a stream is one.
func isTerminal(stream any) bool {
	if _, ok := stream.(*pane); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether standard output gets colours: on a terminal, unless
// NO_COLOR or a dumb terminal forbids it; anywhere if CLICOLOR_FORCE demands it.
func (a *app) colour() bool {
	if a.env.Get("NO_COLOR") != "" {
		return false
	}
	if force := a.env.Get("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return isTerminal(a.rawOut) && a.env.Get("TERM") != "dumb" && a.env.Get("CLICOLOR") != "0"
}

// The styles in use, as parameters of the terminal's SGR sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// style wraps a text in a style where there are colours.
func (a *app) style(code, text string) string {
	if !a.colour() || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printJSON writes a value as JSON: indented for people, one line for programs.
func (a *app) printJSON(v any) error {
	data, err := jsonform.Marshal(v)
	if err != nil {
		return err
	}
	if isTerminal(a.rawOut) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, data, "", "  "); err != nil {
			return err
		}
		data = indented.Bytes()
	}
	a.printf("%s\n", data)
	return nil
}

// printf writes to standard output; run reports a failure when it flushes.
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format, args...) }

// note writes a remark to standard error, where it does not mix with the output. On a
// terminal its lines break between words.
func (a *app) note(format string, args ...any) {
	if a.json {
		return
	}
	text := fmt.Sprintf(format, args...)
	if isTerminal(a.err) {
		text = terminal.Wrap(text, terminalWidth(a.err), 0)
	}
	_, _ = fmt.Fprintln(a.err, text)
}

// A table is rows for people, and the same as tab-separated lines for programs.
type table struct {
	head []string
	rows [][]string
	wide bool // nothing is cut to the window
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// leastText is how many columns the text of a row must have beside the others; where the
// window has fewer, it stands below them.
const leastText = 20

// print writes the table. On a terminal columns are aligned and the last one is
// cut to the window unless the table is wide; in a pipe every value is whole.
func (t *table) print(a *app) {
	if !isTerminal(a.rawOut) {
		for _, row := range t.rows {
			for i, cell := range row {
				row[i] = terminal.Clean(cell, false)
			}
			a.printf("%s\n", strings.Join(row, "\t"))
		}
		return
	}
	if len(t.rows) == 0 {
		return
	}
	all := append([][]string{t.head}, t.rows...)
	last := len(t.head) - 1
	widths := make([]int, len(t.head))
	for _, row := range all {
		for i, cell := range row {
			row[i] = terminal.Clean(cell, false)
			widths[i] = max(widths[i], terminal.Columns(row[i]))
		}
	}
	window := terminalWidth(a.rawOut)
	room := t.fit(widths, window)
	for n, row := range all {
		for i, cell := range row {
			style := dim
			if n == 0 {
				style = bold
			}
			if i == last {
				a.printText(style, cell, room, window, n == 0, t.wide)
				break
			}
			if !t.wide {
				cell = terminal.Truncate(cell, widths[i])
			}
			gap := strings.Repeat(" ", widths[i]+2-terminal.Columns(cell))
			if i == last-1 && room == 0 && !t.wide {
				gap = ""
			}
			a.printf("%s%s", a.style(style, cell), gap)
		}
	}
}

// printText writes the last cell of a row, and ends the row.
func (a *app) printText(style, cell string, room, window int, head, wide bool) {
	switch {
	case wide:
	case room == 0:
		a.printf("\n  ")
		cell = terminal.Truncate(cell, window-2)
	default:
		cell = terminal.Truncate(cell, room)
	}
	if head {
		cell = a.style(style, cell)
	}
	a.printf("%s\n", cell)
}

// fit narrows what is widest in front of the text until that has room beside it, and returns
// how much; 0 where it must stand below. What is as short as an id stays whole.
func (t *table) fit(widths []int, window int) (room int) {
	const shortest = 8
	last := len(widths) - 1
	if last == 0 {
		return window
	}
	front := widths[:last]
	room = window
	for _, w := range front {
		room -= w + 2
	}
	if room >= leastText || room >= widths[last] || t.wide {
		return max(room, leastText)
	}
	// A short last cell has room enough if others give some; a longer one stands below.
	over, below := -room-2, true
	if widths[last] < leastText {
		over, below = widths[last]-room, false
	}
	for ; over > 0; over-- {
		widest := 0
		for i, w := range front {
			if w > front[widest] {
				widest = i
			}
		}
		if front[widest] <= shortest {
			break
		}
		front[widest]--
	}
	if below || over > 0 {
		return 0
	}
	return widths[last]
}

// fields are names with a value each: aligned for people, a line with a tab each for
// programs.
type fields struct {
	names, values []string
}

func (f *fields) add(name, value string) {
	f.names, f.values = append(f.names, name), append(f.values, value)
}

func (f *fields) print(a *app) {
	longest := 0
	for _, name := range f.names {
		longest = max(longest, len(name))
	}
	for i, name := range f.names {
		a.row([]string{name}, []int{longest}, f.values[i])
	}
}

// row prints cells of the given widths on a terminal, or with tabs between them, and
// then a text. The cells are the program's own words, with or without colour.
func (a *app) row(cells []string, widths []int, text string) {
	for i, cell := range cells {
		gap := "\t"
		if isTerminal(a.rawOut) {
			gap = strings.Repeat(" ", max(0, widths[i]-terminal.Columns(unstyled(cell)))+2)
		}
		a.printf("%s%s", cell, gap)
	}
	text = terminal.Clean(text, false)
	if isTerminal(a.rawOut) {
		before := 0
		for i := range cells {
			before += max(widths[i], terminal.Columns(unstyled(cells[i]))) + 2
		}
		text = terminal.Wrap(text, terminalWidth(a.rawOut), before)
	}
	a.printf("%s\n", text)
}

// unstyled is a text of [app.style] without its style.
func unstyled(text string) string {
	if rest, styled := strings.CutPrefix(text, "\x1b["); styled {
		_, rest, _ = strings.Cut(rest, "m")
		return strings.TrimSuffix(rest, "\x1b[0m")
	}
	return text
}

// bytes shows a size: rounded for people, exact for programs.
func (a *app) bytes(n int64) string {
	if isTerminal(a.rawOut) && n >= 0 {
		return humanize.IBytes(uint64(n)) //nolint:gosec // it is not negative
	}
	return number(n, "byte", "bytes")
}

func terminalWidth(w io.Writer) int {
	if p, ok := w.(*pane); ok {
		return p.columns
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// age says how long ago something was, for people.
func age(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d < 60*24*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return at.Format(time.DateOnly)
}

// when shows a time: its age on a terminal, in full elsewhere.
func (a *app) when(at time.Time) string {
	if isTerminal(a.rawOut) {
		return age(at, time.Now())
	}
	return jsonform.Time(at)
}

// progress returns a function that shows how far long work is, and one that
// clears what it showed. Nothing is shown unless standard error is a terminal.
func (a *app) progress(verb string) (show func(done int64), end func()) {
	of, end := a.progressOf(verb)
	return func(done int64) { of(done, 0) }, end
}

// progressOf is progress where the end is known; a total of 0 is none.
func (a *app) progressOf(verb string) (show func(done, total int64), end func()) {
	if !isTerminal(a.err) || a.json {
		return func(int64, int64) {}, func() {}
	}
	var shown time.Time
	return func(done, total int64) {
			if now := time.Now(); now.Sub(shown) > 100*time.Millisecond {
				shown = now
				of := ""
				if total > 0 {
					of = fmt.Sprintf(" of %d", total)
				}
				_, _ = fmt.Fprintf(a.err, "\r%s %d%s", verb, done, of)
			}
		}, func() {
			if !shown.IsZero() {
				shown = time.Time{}
				_, _ = fmt.Fprint(a.err, "\r\x1b[K")
			}
		}
}
