package index

import (
	"math"
	"slices"

	"github.com/loci-memory/loci"
)

// A glance is what most filters ask of an entry that is there. To read it takes less than to read its header, and a
// search asks for hundreds.
type glance struct {
	scope         string
	ends, expires int64 // in milliseconds; never, if it does not
	decay         loci.Decay
}

const never = math.MaxInt64

// glances reports whether a filter asks for nothing else of entries of a shard that it covers.
func glances(f *loci.Filter) bool {
	return len(f.Tags)+len(f.IDs)+len(f.Statuses)+len(f.Sequences) == 0 && f.Where.IsZero() &&
		f.Slot == nil && f.Slots.IsZero() && f.Since.IsZero() && f.Until.IsZero() && f.Due.IsZero() &&
		!f.NotLive && !f.Gone && !f.Waning && !f.Ended && !f.Expired
}

// covers reports whether a filter has the namespace and the kind of a shard. A search chooses its shards by that, too:
// whoever chooses a wrong one finds nothing in it.
func covers(f *loci.Filter, sh *shard) bool {
	return f.Covers(sh.namespace) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, sh.key.Kind))
}

// selectedBy is [loci.Filter.SelectsHeader] of a filter that glances.
func (g *glance) selectedBy(f *loci.Filter) bool {
	if !f.At.IsZero() {
		if at := f.At.UnixMilli(); at >= g.ends || at >= g.expires {
			return false
		}
	}
	if len(f.Scopes) > 0 && !slices.Contains(f.Scopes, g.scope) {
		return false
	}
	return !(f.MinConfidence > 0 && g.decay.At(f.At) < f.MinConfidence)
}

// glance reads it from a rest, which has more behind it.
func (m *mapped) glance(n uint32) (g glance, ok bool) {
	if _, moved := m.expiries[n]; moved {
		return g, false
	}
	d := decoder{m.Rest(n), true}
	mask := d.number()
	if mask&restPlace != 0 {
		d.number()
	}
	for text := uint64(restSlot); text <= restHeading; text <<= 1 {
		switch {
		case mask&text == 0:
		case text == restScope:
			g.scope = d.text()
		default:
			d.cut(d.number())
		}
	}
	g.ends, g.expires = never, never
	for time := uint64(restEnds); time <= restExpires; time <<= 1 {
		if mask&time == 0 {
			continue
		}
		switch n := d.milli(); time {
		case restEnds:
			g.ends = n
		case restExpires:
			g.expires = n
		}
	}
	if mask&restDecay != 0 {
		if mask&restAttributes != 0 {
			d.cut(d.number())
		}
		if mask&restTags != 0 {
			for n := d.number(); n > 0 && d.ok; n-- {
				d.cut(d.number())
			}
		}
		g.decay = d.decay()
	}
	return g, d.ok
}

// glance is never asked for: a header lies there as it is.
func (s *shard) glance(uint32) (glance, bool) { return glance{}, false }
