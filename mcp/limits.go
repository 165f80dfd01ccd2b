package mcp

import "time"

// Limits bound what one client can make a server do. The zero value of each field
// means its default.
type Limits struct {
	Line        int           // bytes of one message; default 4 MiB
	Depth       int           // levels a message nests; default 64
	Batch       int           // messages in a batch; default 20
	BatchBytes  int           // bytes of a batch of several, of which what is not ASCII counts twice; default 1 MiB
	InFlight    int           // tool calls that run at once; default 64
	Queued      int           // further requests of a connection that wait; default 1024
	QueuedBytes int           // bytes of all of a connection's unanswered requests; default 64 MiB
	Drain       time.Duration // for unanswered requests after the input has ended; default 10 s
}

func (l *Limits) complete() {
	for _, f := range []struct {
		field  *int
		preset int
	}{
		{&l.Line, 4 << 20}, {&l.Depth, 64}, {&l.Batch, 20}, {&l.BatchBytes, 1 << 20},
		{&l.InFlight, 64}, {&l.Queued, 1024}, {&l.QueuedBytes, 64 << 20},
	} {
		if *f.field <= 0 {
			*f.field = f.preset
		}
	}
	if l.Drain <= 0 {
		l.Drain = 10 * time.Second
	}
}
