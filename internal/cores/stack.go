package cores

// stackRoom is how much of a stack a save or a search takes below whoever asks for it, in bytes.
const stackRoom = 11 << 10

// RoomyStack has the stack of a goroutine grow at once to what a call is going to need. A goroutine begins with some
// KiB, and what is on its stack is adjusted frame by frame each time it grows: where a dozen calls lie on it, that takes
// as long as to embed a sentence.
//
//go:noinline
func RoomyStack() {
	if wanted := &roomWanted; *wanted {
		var room [stackRoom]byte
		for i := range room {
			room[i] = byte(i)
		}
		*wanted = room[len(room)/2] == 0
	}
}

// roomWanted is never set. Nobody but the compiler needs to believe otherwise: a function asks for the stack of all of
// its variables when it begins, and the room is not filled.
var roomWanted bool
