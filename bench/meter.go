package bench

import (
	"runtime"
	"time"
)

// usage is what this process, and the processes it started and awaited, have used.
type usage struct {
	instructions float64 // 0: they cannot be counted here
	cpu          time.Duration
	allocs       float64
	bytes        float64
}

// A meter says what is used between start and stop.
type meter struct {
	counter counter
	cpu     time.Duration
	memory  runtime.MemStats
}

func newMeter() (*meter, error) {
	_, err := processorTime()
	return &meter{}, err
}

func (m *meter) start() (err error) {
	runtime.ReadMemStats(&m.memory)
	if m.cpu, err = processorTime(); err != nil {
		return err
	}
	m.counter.start()
	return nil
}

func (m *meter) stop() (u usage, err error) {
	u.instructions = m.counter.stop()
	cpu, err := processorTime()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.cpu = cpu - m.cpu
	u.allocs, u.bytes = float64(memory.Mallocs-m.memory.Mallocs), float64(memory.TotalAlloc-m.memory.TotalAlloc)
	return u, err
}
