package memory

import "github.com/loci-memory/loci"

// IndexSpace is the space that the index of a tenant is of.
func IndexSpace(s *Store, t loci.Tenant) loci.Space { return s.tenants[t].index.Space() }

// Looked is how many records are looked at for what a filter selects.
func Looked(s *Store, t loci.Tenant, f loci.Filter) (n int) {
	for range s.tenants[t].candidates(&f) {
		n++
	}
	return n
}

// Lanes is how many lists of records there are.
func Lanes(s *Store, t loci.Tenant) int { return s.tenants[t].lanes.Len() }
