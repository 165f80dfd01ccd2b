package follow

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/index"
)

// readAbove reads the next records of a group: those of some of its namespaces. A namespace that has grown large is
// read in parts.
func (b *reading) readAbove(p *part) error {
	in, g := b.r.(ImageSource), p.x.groupAt(p.key)
	if p.chunks == nil {
		if err := p.divide(b, in, g); err != nil {
			return err
		}
	}
	if len(p.chunks) == 0 {
		p.whole = true
		return nil
	}
	some, n := p.chunks[0], int64(0)
	query := func(take Take) error {
		return in.ByShards(b.space, some.numbers, p.key.Kind, func(r *loci.Record, namespace int64, vectors []byte) {
			n++
			take(r, namespace, vectors)
		})
	}
	limit := p.q.part()
	if some.large {
		query = func(take Take) error {
			noted := func(r *loci.Record, namespace int64, vectors []byte) {
				n, p.after = n+1, r.ID
				take(r, namespace, vectors)
			}
			return b.r.ByShard(b.space, some.numbers[0], p.key.Kind, p.after, limit, noted)
		}
	}
	if err := p.x.take(nil, query, p.x.freezing(p.key)); err != nil {
		return err
	}
	b.records += int(n)
	p.read += n
	if !some.large || n < int64(limit) {
		p.chunks, p.after = p.chunks[1:], loci.ID{}
	}
	p.whole = len(p.chunks) == 0
	if s := p.x.shelf; p.all == 0 && !p.whole && s.Folder == nil && p.read >= int64(s.Book) {
		p.all = p.x.index.Bytes() * max(p.counted, p.read) / p.read
	}
	return nil
}

// A chunk is some namespaces that are read together, or a large one.
type chunk struct {
	numbers []int64
	large   bool
}

// mostChunk is how many namespaces are read together.
const mostChunk = 512

// divide learns the namespaces of a group, and packs them by the kept counts.
func (p *part) divide(b *reading, in ImageSource, g *group) error {
	var numbers []int64
	if err := b.r.Places(-1, []string{g.Key.Namespace}, func(place batch.Place) {
		p.x.learnPlace(place)
		if slices.Contains(place.Kinds, p.key.Kind) && g.Has(index.Key{Namespace: place.Key, Kind: p.key.Kind}) {
			numbers = append(numbers, place.N)
		}
	}); err != nil {
		return err
	}
	slices.Sort(numbers)
	of := map[int64]int64{}
	if _, err := in.Counts(numbers, func(namespace int64, kind loci.Kind, records, _ int64) {
		if kind == p.key.Kind {
			of[namespace] += records
		}
	}); err != nil {
		return err
	}
	p.chunks, p.counted = []chunk{}, 0
	most, sum, open := int64(p.q.part()), int64(0), false
	for _, n := range numbers {
		records := of[n]
		if p.counted += records; records > most {
			p.chunks, open = append(p.chunks, chunk{[]int64{n}, true}), false
			continue
		}
		if !open || sum+records > most || len(p.chunks[len(p.chunks)-1].numbers) == mostChunk {
			p.chunks, sum, open = append(p.chunks, chunk{}), 0, true
		}
		last := &p.chunks[len(p.chunks)-1]
		last.numbers, sum = append(last.numbers, n), sum+records
	}
	return nil
}
