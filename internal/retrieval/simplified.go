package retrieval

import (
	_ "embed" // the table
	"strings"
	"sync"
)

// simplifiedText pairs traditional characters with simplified ones; its head says
// where it comes from.
//
//go:embed simplified.txt
var simplifiedText string

// The characters of the table lie in one block of Unicode.
const (
	firstHan = 0x4e00
	lastHan  = 0x9fff
)

// simplifiedForms holds the simplified form of each character of the block, 0 for
// most. 42 kB, made when the first Chinese or Japanese text comes.
var simplifiedForms = sync.OnceValue(func() *[lastHan - firstHan + 1]uint16 {
	var forms [lastHan - firstHan + 1]uint16
	for line := range strings.Lines(simplifiedText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pair := []rune(strings.TrimSpace(line))
		for ; len(pair) >= 2; pair = pair[2:] {
			forms[pair[0]-firstHan] = uint16(pair[1])
		}
	}
	return &forms
})

// simplified returns the simplified form of a Chinese character, so that people who
// write differently find each other's memories. Where several characters became
// one it finds too much; pairs of characters seldom do.
func simplified(r rune) rune {
	if r < firstHan || r > lastHan {
		return r
	}
	if form := simplifiedForms()[r-firstHan]; form != 0 {
		return rune(form)
	}
	return r
}
