package sqlite

import (
	"encoding/binary"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// To find a row by its id, SQLite walks through an index first, which takes a quarter of what reading the row takes. A
// search knows the number of each row that it finds: who reads what it found asks by that. Ids are random, so that one
// table does for all files of a store. What it says is not trusted: a row of another id is not taken (docs/adr/0183).

// keptNumbers is how many numbers are kept, those of some searches.
const keptNumbers = 4096

// numbers are those of the rows that searches have found lately.
type numbers struct {
	mu   sync.Mutex
	kept []numberedRow // by a part of the id; nil until there is one
}

// A numberedRow is an id and the number of its row.
type numberedRow struct {
	id     loci.ID
	number uint32 // 0: there is none
}

// numberPlace is where the number of an id is kept: its last bytes are random.
func numberPlace(id loci.ID) int {
	return int(binary.LittleEndian.Uint16(id[len(id)-2:])) % keptNumbers
}

// note keeps the numbers of what a search has found.
func (n *numbers) note(hits []loci.Hit, of func(i int) uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		n.kept = make([]numberedRow, keptNumbers)
	}
	for i := range hits {
		id := hits[i].ID
		n.kept[numberPlace(id)] = numberedRow{id, of(i)}
	}
}

// find puts the numbers of ids at some places into a list; 0: not known.
func (n *numbers) find(ids []rowcache.ID, places []int, found []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		return
	}
	for _, at := range places {
		if row := &n.kept[numberPlace(loci.ID(ids[at]))]; row.id == loci.ID(ids[at]) {
			found[at] = row.number
		}
	}
}
