package memory

import "github.com/loci-memory/loci"

// IndexSpace is the space that the index of a tenant is of.
func IndexSpace(s *Store, t loci.Tenant) loci.Space { return s.tenants[t].index.Space() }
