package postgres

import "github.com/loci-memory/loci"

// What the tests of this package may see of its inside.
var (
	ListTenants = listTenants
	LockTenant  = lockTenant
	Tables      = tables
	KeyOf       = keyOf
	Version     = len(migrations)
)

// Observe shows every statement to a function, from now on.
func Observe(see func(sql string)) { observe = see }

// ChangesKept is how far back the list of changes reaches.
const ChangesKept = changesKept

// TakePlace gives a tenant the place of another one.
func TakePlace(s loci.Store, t, of loci.Tenant) {
	store := s.(*Store)
	store.mu.Lock()
	defer store.mu.Unlock()
	store.tenants[t] = &tenant{name: t, key: keyOf(of)}
}
