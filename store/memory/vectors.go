package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/loci-memory/loci"
)

// PutVectors implements [loci.VectorStore].
func (s *Store) PutVectors(ctx context.Context, t loci.Tenant, vectors []loci.RecordVectors) error {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return err
	}
	for i := range vectors {
		if err := vectors[i].Vectors.Validate(); err != nil {
			return err
		}
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	for _, v := range vectors {
		if r := data.records[v.ID]; r != nil && r.Version == v.Version && len(v.Vectors.Rows) == len(r.Passages) {
			data.putVectors(r, &v.Vectors)
			data.indexRecord(r)
		}
	}
	return nil
}

// Unembedded implements [loci.VectorStore].
func (s *Store) Unembedded(
	ctx context.Context, t loci.Tenant, space loci.Space, after loci.ID, limit int,
) ([]loci.Record, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	var lacking []*stored // the first ones, in order
	place := func(r *stored, id loci.ID) int { return bytes.Compare(r.ID[:], id[:]) }
	for _, r := range data.records {
		if !r.Live || len(r.Passages) == 0 || r.vectors[space] != nil || bytes.Compare(r.ID[:], after[:]) <= 0 {
			continue
		}
		if n := len(lacking); n < limit || place(lacking[n-1], r.ID) > 0 {
			at, _ := slices.BinarySearchFunc(lacking, r.ID, place)
			lacking = slices.Insert(lacking[:min(n, limit-1)], at, r)
		}
	}
	var out []loci.Record
	for _, r := range lacking {
		out = append(out, clone(&r.Record))
	}
	return out, nil
}

// Spaces implements [loci.VectorStore].
func (s *Store) Spaces(ctx context.Context, t loci.Tenant) (map[loci.Space]int64, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	spaces := map[loci.Space]int64{}
	for _, r := range data.records {
		for space := range r.vectors {
			spaces[space]++
		}
	}
	return spaces, nil
}

// ActiveSpace implements [loci.VectorStore].
func (s *Store) ActiveSpace(ctx context.Context, t loci.Tenant) (loci.Space, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return loci.Space{}, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	return data.active, nil
}

// SwitchSpace implements [loci.VectorStore].
func (s *Store) SwitchSpace(ctx context.Context, t loci.Tenant, from, to loci.Space, lacking int64) error {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return err
	}
	if err := to.Validate(); err != nil {
		return err
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	if data.active != from {
		return loci.Errorf(loci.Conflict, "the active space is %s, not %s", data.active, from)
	}
	n := int64(0)
	for _, r := range data.records {
		if r.Live && len(r.Passages) > 0 && r.vectors[to] == nil {
			n++
		}
	}
	if n > lacking {
		return loci.Errorf(loci.Conflict, "%d memories have no vectors in %s", n, to)
	}
	data.active = to
	return nil
}

// DropVectors implements [loci.VectorStore].
func (s *Store) DropVectors(ctx context.Context, t loci.Tenant, space loci.Space, limit int) (n int, err error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	if space == data.active {
		return 0, loci.Errorf(loci.Conflict, "%s is the active space", space)
	}
	for _, r := range data.records {
		if n == limit {
			break
		}
		if r.vectors[space] == nil {
			continue
		}
		delete(r.vectors, space)
		n++
		if data.index.Space() == space {
			data.indexRecord(r)
		}
	}
	return n, nil
}
