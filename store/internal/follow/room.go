package follow

import (
	"math"

	"github.com/loci-memory/loci/store/internal/aside"
)

// What does not fit into the bytes that indexes may take is refused, never searched in part.

// fit refuses what there is no room for, with the size that it has, or will have; it returns the
// others.
func (x *Index) fit(parts []*asked) (fit []*asked) {
	for _, one := range parts {
		p := one.Of
		if size := max(p.bytes, p.all); size > p.q.Budget {
			x.loads.Finish(aside.NoRoom(size, p.q.Budget), one)
			continue
		}
		fit = append(fit, one)
	}
	if len(fit) == 0 {
		return nil
	}
	q := fit[0].Of.q
	held := q.Trim(fit[0].Of.of)
	for held > q.Budget && len(fit) > 0 {
		last := fit[len(fit)-1]
		fit = fit[:len(fit)-1]
		held -= last.Of.bytes
		x.loads.Finish(aside.NoRoom(last.Of.bytes, q.Budget), last)
	}
	return fit
}

// measure estimates what a shard will take by what its first records do, so that one that will not
// fit is not read in vain. Segments are smaller than what they are made of, so that it takes one of
// those; what is mapped takes next to nothing.
func (b *reading) measure(p *part) error {
	bytes := p.x.index.Bytes()
	records, err := b.r.CountShard(p.x.shardOf(p.key).Namespace, p.key.Kind, math.MaxInt32)
	p.all = bytes * records / p.read
	return err
}
