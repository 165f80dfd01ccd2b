package follow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/index"
)

// A Plan says which groups a tenant has, and which of its namespaces have shards that are in none. It lies in the
// table of images, as one without segments.
type Plan struct {
	Sum    string         `json:"sum"`  // see [index.SumOf]
	Upto   int64          `json:"upto"` // the highest number of a namespace then
	Rest   []int64        `json:"rest"`
	Groups []index.Joined `json:"groups"`
}

// planShard is under which the plan lies: no namespace has the number.
var planShard = Shard{Kind: "above"}

// numberOf is the number under which the image of a group lies, below those of namespaces. A group that leaves out
// others has another one.
func numberOf(g *index.Joined) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s:%v", g.Mark, g.Apart))
	return -1 - int64(binary.BigEndian.Uint64(sum[:])>>2)
}

func (p *Plan) sum(names loci.NameKey) string {
	q := *p
	q.Sum = ""
	return index.SumOf(names, q)
}

// plan is what an image says as the plan of a tenant; nil: nothing that can be used.
func (m *Image) plan(st *batch.State) *Plan {
	if m.Plan == nil || !m.of(st) || m.Seq > st.Seq || m.Plan.Sum != m.Plan.sum(st.NameKey) ||
		slices.ContainsFunc(m.Plan.Groups, func(g index.Joined) bool {
			_, ok := g.BeginOf()
			return !ok
		}) {
		return nil
	}
	return m.Plan
}

// readPlan reads the plan; p is nil where there is none that can be used.
func readPlan(r ImageSource, st *batch.State) (m *Image, p *Plan, err error) {
	err = r.Images([]Shard{planShard}, func(found *Image) {
		if found.Shard == planShard {
			m, p = found, found.plan(st)
		}
	})
	return m, p, err
}

// replan plans the groups of a tenant, if enough namespaces came since that was done.
func (s *Shelf) replan(ctx context.Context, t loci.Tenant) error {
	var next, old *Image
	var key loci.NameKey
	err := s.Table.Read(ctx, t, func(r ImageSource) error {
		next, old = nil, nil
		st, err := r.State()
		if err != nil || st.Namespaces < int64(s.Join) {
			return err
		}
		m, p, err := readPlan(r, st)
		if err != nil {
			return err
		}
		key, old = st.NameKey, m
		if p == nil {
			p = new(Plan)
		}
		if st.Namespaces-p.Upto < index.JoinFrom(s.Join, p.Upto) {
			return nil
		}
		next, err = s.planAll(r, st, p)
		return err
	})
	if err != nil || next == nil {
		return err
	}
	return s.Table.Replace(ctx, t, key, old, next)
}

// planAll plans what is there now; nil: that is of no use, or the counts are not known.
func (s *Shelf) planAll(r ImageSource, st *batch.State, old *Plan) (*Image, error) {
	type counts struct{ records, bytes int64 }
	of := map[Shard]counts{}
	known, err := r.Counts(nil, func(namespace int64, kind loci.Kind, records, bytes int64) {
		c := of[Shard{namespace, kind}]
		of[Shard{namespace, kind}] = counts{c.records + records, c.bytes + bytes}
	})
	if err != nil || !known {
		return nil, err
	}
	var all []index.Small
	if err := r.Places(-1, []string{""}, func(place batch.Place) {
		mark := string(st.NameKey.Mark(loci.NamespaceFromKey(place.Key)))
		for _, kind := range place.Kinds {
			n := of[Shard{place.N, kind}]
			all = append(all, index.Small{
				Shard: place.N, Place: place.N, Kind: kind, Mark: mark, Records: n.records,
				Large: place.N > math.MaxUint32 || n.records >= int64(s.From) || n.records > 0 && n.bytes >= keptBytes,
			})
		}
	}); err != nil {
		return nil, err
	}
	p := &Plan{Upto: st.Namespaces}
	p.Groups, p.Rest = index.Join(all, old.Groups, s.Join, s.From)
	p.Rest = slices.Compact(p.Rest) // sorted; a namespace has several kinds
	if len(p.Groups)+len(old.Groups) == 0 || len(p.Rest) > index.MostRest {
		return nil, nil
	}
	p.Sum = p.sum(st.NameKey)
	m := newImage(st.NameKey, planShard, loci.Space{}, st.Seq)
	m.Plan = p
	return m, nil
}

// planNow plans for a search, which goes on without where that fails.
func (s *Shelf) planNow(ctx context.Context, t loci.Tenant) {
	if err := s.replan(ctx, t); err != nil && !errors.Is(err, ErrMoved) && ctx.Err() == nil {
		s.warn("plan the index", err)
	}
}

// groupsNow are the groups that are planned, and those of them of which the database has no image that can be used.
func (s *Shelf) groupsNow(ctx context.Context, t loci.Tenant) (groups []*group, lacking map[index.Key]bool, err error) {
	err = s.Table.Read(ctx, t, func(r ImageSource) error {
		groups, lacking = nil, map[index.Key]bool{}
		st, err := r.State()
		if err != nil || st.Namespaces < int64(s.Join) {
			return err
		}
		_, p, err := readPlan(r, st)
		if err != nil || p == nil {
			return err
		}
		if groups, err = groupsOf(r, st, p); err != nil || len(groups) == 0 {
			return err
		}
		var shards []Shard
		for _, g := range groups {
			lacking[g.Key] = true
			shards = append(shards, g.shard())
		}
		return r.Images(shards, func(m *Image) {
			for _, g := range groups {
				if g.shard() == m.Shard && m.readable() && m.follows(st, 0) {
					delete(lacking, g.Key)
				}
			}
		})
	})
	return groups, lacking, err
}

// unplanned reports whether an image is that of a group which is planned no more. Where the plan cannot be used, it
// will be made again, mostly the same.
func (p *pending) unplanned(m *Image) bool {
	if m.Shard.Namespace >= 0 {
		return false
	}
	for _, other := range p.images {
		if other.Shard != planShard {
			continue
		}
		if plan := other.plan(p.st); plan != nil {
			return !slices.ContainsFunc(plan.Groups, func(g index.Joined) bool {
				return (Shard{numberOf(&g), g.Kind}) == m.Shard
			})
		}
	}
	return false
}
