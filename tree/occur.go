package tree

import (
	"iter"
	"strings"
)

// shortText is the length up to which package strings looks for a text, in bytes. It compares
// again at each place where the text could begin, which takes a second for half a megabyte
// that says the same again and again.
const shortText = 64

// places are where a text begins in another, in order, also where one overlaps another.
// No text begins without a byte.
func places(text, sought string) iter.Seq[int] {
	if len(sought) <= shortText {
		return placesOfShort(text, sought)
	}
	return func(yield func(int) bool) {
		// By Knuth, Morris and Pratt: no byte of the text is read twice.
		border := borders(sought)
		matched := int32(0)
		for i := range len(text) {
			for matched > 0 && (int(matched) == len(sought) || text[i] != sought[matched]) {
				matched = border[matched-1]
			}
			if text[i] == sought[matched] {
				matched++
			}
			if int(matched) == len(sought) && !yield(i+1-len(sought)) {
				return
			}
		}
	}
}

func placesOfShort(text, sought string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; sought != ""; {
			at := strings.Index(text[from:], sought)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}

// borders says of each beginning of a text how long the longest shorter one is that it ends
// with.
func borders(text string) []int32 {
	border := make([]int32, len(text))
	matched := int32(0)
	for i := 1; i < len(text); i++ {
		for matched > 0 && text[i] != text[matched] {
			matched = border[matched-1]
		}
		if text[i] == text[matched] {
			matched++
		}
		border[i] = matched
	}
	return border
}

// apart are the places that do not overlap, as [strings.ReplaceAll] takes them.
func apart(text, sought string) (out []int) {
	end := 0
	for at := range places(text, sought) {
		if at >= end {
			out = append(out, at)
			end = at + len(sought)
		}
	}
	return out
}

// substitute is a text with another one in the place of each of some that are length bytes long.
func substitute(text string, at []int, length int, content string) string {
	var b strings.Builder
	b.Grow(len(text) + len(at)*(len(content)-length))
	from := 0
	for _, i := range at {
		b.WriteString(text[from:i])
		b.WriteString(content)
		from = i + length
	}
	b.WriteString(text[from:])
	return b.String()
}
