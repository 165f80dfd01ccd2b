// Package linediff shows what changed between two texts, line by line.
package linediff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// around is how many equal lines a unified diff shows around a change.
const around = 3

// Unified is the unified diff that leads from one text to another, under the names that it is given;
// empty if they are equal. It does what [udiff.Unified] is for without a value for each line: a file of
// empty lines has a million of them, which took three seconds. And its numbers of lines are right after
// a hunk of several changes, where the library's are not.
func Unified(oldName, newName, old, changed string) string {
	edits := udiff.Lines(old, changed) // at the beginnings of lines, or where the text ends
	if len(edits) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
	done, oldLine, newLine := 0, 1, 1 // where the last hunk ended
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && strings.Count(old[edits[n-1].End:edits[n].Start], "\n") <= 2*around {
			n++
		}
		h := hunk{begin: before(old, edits[0].Start), end: after(old, edits[n-1].End), edits: edits[:n]}
		between := countLines(old[done:h.begin])
		oldLine, newLine = oldLine+between, newLine+between
		oldCount, newCount := h.count(old)
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", lineRange(oldLine, oldCount), lineRange(newLine, newCount))
		h.write(&b, old)
		done, oldLine, newLine, edits = h.end, oldLine+oldCount, newLine+newCount, edits[n:]
	}
	return b.String()
}

// A hunk is a part of a text with changes that are near one another.
type hunk struct {
	begin, end int
	edits      []udiff.Edit
}

// count is how many lines a hunk has, before and after the changes.
func (h *hunk) count(old string) (before, after int) {
	before = countLines(old[h.begin:h.end])
	after = before
	for _, e := range h.edits {
		after += countLines(e.New) - countLines(old[e.Start:e.End])
	}
	return before, after
}

func (h *hunk) write(b *strings.Builder, old string) {
	at := h.begin
	for _, e := range h.edits {
		writeLines(b, ' ', old[at:e.Start])
		writeLines(b, '-', old[e.Start:e.End])
		writeLines(b, '+', e.New)
		at = e.End
	}
	writeLines(b, ' ', old[at:h.end])
}

// lineRange is how a hunk names its lines.
func lineRange(first, count int) string {
	switch {
	case count > 1:
		return fmt.Sprintf("%d,%d", first, count)
	case count == 0 && first == 1: // of an empty text
		return "0,0"
	}
	return fmt.Sprint(first)
}

// before is where the lines around a change begin, and after is where they end.
func before(text string, at int) int {
	for range around {
		if at > 0 {
			at = strings.LastIndexByte(text[:at-1], '\n') + 1
		}
	}
	return at
}

func after(text string, at int) int {
	for range around {
		line, _, ended := strings.Cut(text[at:], "\n")
		if at += len(line); ended {
			at++
		}
	}
	return at
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func writeLines(b *strings.Builder, kind byte, text string) {
	for text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		b.WriteByte(kind)
		b.WriteString(line)
		b.WriteByte('\n')
		if !ended {
			b.WriteString("\\ No newline at end of file\n")
		}
		text = rest
	}
}
