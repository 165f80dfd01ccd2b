package retrieval

import "sync/atomic"

// mostRemembered is up to which character answers are remembered: what lies behind it is hardly written.
const mostRemembered = 0x40000

// Characters remembers what a function says of single characters, which is asked of each of a text: the tables of
// package unicode are searched for an answer, and normal forms cost more. It is safe for concurrent use, and takes
// 2 MiB at most.
type Characters struct {
	ask    func(rune) uint64
	blocks [mostRemembered >> 8]atomic.Pointer[[256]atomic.Uint64]
}

// NewCharacters makes one of a function that always says the same, and never 0.
func NewCharacters(ask func(rune) uint64) *Characters { return &Characters{ask: ask} }

// Of is what the function says of a character.
func (c *Characters) Of(r rune) uint64 {
	if uint32(r) >= mostRemembered {
		return c.ask(r)
	}
	block := c.blocks[r>>8].Load()
	if block == nil {
		block = new([256]atomic.Uint64)
		if !c.blocks[r>>8].CompareAndSwap(nil, block) {
			block = c.blocks[r>>8].Load()
		}
	}
	answer := block[r&0xff].Load()
	if answer == 0 {
		answer = c.ask(r)
		block[r&0xff].Store(answer)
	}
	return answer
}
