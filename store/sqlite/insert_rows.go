package sqlite

import (
	"math/bits"
	"strings"
	"sync"
)

// mostRows is how many rows one statement inserts where there are as many: each of its own takes twice as long.
const mostRows = 32

// rowsAtOnce is for how many of some rows there is one statement.
func rowsAtOnce(rows int) int { return 1 << (bits.Len(uint(min(rows, mostRows))) - 1) }

// An insertOf has the statements that insert 1, 2, 4 and more rows. A statement of several rows that fails leaves those
// before the one that fails, as who inserts them takes all back that the job or the transaction did: else SQLite would
// copy each page that the statement changes.
type insertOf struct {
	head, row, tail string
	once            sync.Once
	made            []string
}

// of is the statement for as many rows as [rowsAtOnce] says.
func (i *insertOf) of(rows int) string {
	i.once.Do(func() {
		for n := 1; n <= mostRows; n *= 2 {
			i.made = append(i.made, i.head+i.row+strings.Repeat(", "+i.row, n-1)+i.tail)
		}
	})
	return i.made[bits.TrailingZeros(uint(rows))]
}
