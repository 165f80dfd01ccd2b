package batch

import (
	"sync"

	"github.com/loci-memory/loci"
)

// A Usage is what a process knows of what a tenant holds, as of a change number. Whoever
// commits another one makes it worthless, so that it is right whoever writes.
type Usage struct {
	mu   sync.Mutex
	seq  int64
	used loci.Holding
	told bool
}

// Before is what the tenant held when the transaction began that has a change number; nil:
// it has to be measured.
func (u *Usage) Before(seq int64) *loci.Holding {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.told || u.seq != seq-1 {
		return nil
	}
	used := u.used
	return &used
}

// Committed takes note of what a transaction left.
func (u *Usage) Committed(seq int64, used *loci.Holding) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told = used != nil; u.told {
		u.seq, u.used = seq, *used
	}
}
