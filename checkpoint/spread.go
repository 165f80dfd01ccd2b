package checkpoint

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// spreadOver is how many channels a valueList takes from at once.
const spreadOver = 64

// A valueList reads the values of a graph, some of each channel: those of the same time, which a store keeps beside one
// another. In order of slot one channel would come after the other, and a change of 512 values would touch as many
// pages of the store.
type valueList struct {
	c      *Handle
	prefix string // of the slots of the graph

	channels []string          // the beginnings of slots of those that it takes from
	from     map[string]string // by channel: where it goes on
	behind   string            // channels up to here have no more
}

// next returns some values, at most so many; none: there are none behind those before.
func (l *valueList) next(ctx context.Context, most int) (out []loci.Record, err error) {
	if l.from == nil {
		l.from = map[string]string{}
	}
	for {
		if len(l.channels) == 0 {
			if err := l.more(ctx); err != nil || len(l.channels) == 0 {
				return out, err
			}
		}
		each := max(1, most/len(l.channels))
		left := l.channels[:0:0]
		for i, channel := range l.channels {
			if len(out) >= most {
				left = append(left, l.channels[i:]...)
				break
			}
			slots := loci.SlotsBeginning(channel)
			slots.From = max(slots.From, l.from[channel])
			records, err := l.c.firstOf(ctx, KindValue, slots, min(each, most-len(out)), loci.Page{Brief: true})
			if err != nil {
				return nil, err
			}
			if out = append(out, records...); len(records) > 0 {
				left = append(left, channel)
				l.from[channel] = records[len(records)-1].Slot + "\x00"
			}
		}
		l.channels = left
		if len(out) > 0 {
			return out, nil
		}
	}
}

// more finds the next channels that have values.
func (l *valueList) more(ctx context.Context) error {
	for len(l.channels) < spreadOver {
		slots := loci.SlotsBeginning(l.prefix)
		slots.From = max(slots.From, l.behind)
		first, err := l.c.firstOf(ctx, KindValue, slots, 1, loci.Page{Brief: true})
		if err != nil || len(first) == 0 {
			return err
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(first[0].Slot, l.prefix), "\x00\x01")
		channel := l.prefix + name + "\x00\x01"
		l.channels, l.behind = append(l.channels, channel), loci.SlotsBeginning(channel).To
	}
	return nil
}
