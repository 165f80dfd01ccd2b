package aside

import "runtime"

// breath is how many records are read or indexed in one breath: half a millisecond's work.
const breath = 16

// Breathe lets others run at every sixteenth step of what takes long. Go takes a processor away
// from a goroutine after 10 ms only, and a search that others wait for takes one or two.
func Breathe(step int) {
	if step%breath == breath-1 {
		runtime.Gosched()
	}
}
