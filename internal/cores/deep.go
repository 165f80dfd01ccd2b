package cores

// deep is how much stack a call of the engine takes, with what SQLite takes below it.
const deep = 12 << 10

// Deepen makes the stack of a goroutine as large as a call of the engine needs, if it is not: a stack that grows at
// its end, step by step, is copied with all that stands on it each time.
//
//go:noinline
func Deepen(at int) byte {
	var room [deep]byte
	return room[at%deep]
}
