package aside

import (
	"fmt"

	"github.com/loci-memory/loci"
)

// NoRoom is the error for a shard that takes about so many bytes of memory, for which there is no
// room within a limit.
func NoRoom(bytes, limit int64) *loci.Error {
	if bytes > limit {
		return &loci.Error{Code: loci.TooLarge,
			Msg: fmt.Sprintf("the search index of this memory takes about %s; index.memory is %s",
				megabytes(bytes), megabytes(limit)),
			Recovery: "Raise index.memory, or search a narrower part of the memory."}
	}
	return &loci.Error{Code: loci.Unavailable,
		Msg:      fmt.Sprintf("the searches under way take all of index.memory, which is %s", megabytes(limit)),
		Recovery: "Try again; if it persists, raise index.memory, or search a narrower part of the memory."}
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+1<<20-1)>>20) }
