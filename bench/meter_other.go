//go:build !linux

package bench

// A counter counts instructions where the system can.
type counter struct{}

func (*counter) start() {}

func (*counter) stop() float64 { return 0 }
