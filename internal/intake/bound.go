package intake

import "math"

// LineLimit bounds a line of an import, so that a file without line ends does not fill the
// memory. It grows with the greatest content, since a line holds one state of one record:
// its text, of which JSON makes at most six bytes from one, and its attributes, which hold
// another content in no worse a form. The fixed part is for all the rest, all of which has
// a bound. So whatever an export writes can be read with the same bound of contents; the
// number of revisions does not matter, for they have lines of their own.
func LineLimit(content int) int { return 32<<20 + 16*min(content, math.MaxInt/32) }

// Room is how many bytes of attributes and body there may be beside a text, so that their
// record fits into a line.
func Room(content, text int) int {
	const rest = 1 << 20
	return LineLimit(content) - rest - 6*min(text, math.MaxInt/32)
}
