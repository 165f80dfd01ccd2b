package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

var tenantCases = []testCase{
	{"the zero tenant is refused", func(b *bench) {
		b.stock()
		b.unchanged("calls of the zero tenant", func() {
			for _, c := range calls {
				b.refused(c.name, c.call(b.Context(), b.store, loci.Tenant{}), loci.Invalid)
			}
		})
	}},
	{"equal ids, slots, keys and places of two tenants do not meet", func(b *bench) {
		b.stockMore()
		mine := b.state()
		for _, name := range []string{"Acme", "acme ", "a", "🦭"} {
			b.as(name, func() {
				b.same("state of a tenant without data", b.state().Records, nil)
				b.stockMore()
				theirs := b.state()
				for i := range theirs.Events {
					theirs.Events[i].ID = mine.Events[i].ID // event ids are made again each time
					theirs.Events[i].Hash = mine.Events[i].Hash
				}
				theirs.Chain.Head = mine.Chain.Head
				b.same("state of tenant "+name, withoutSeq(theirs), withoutSeq(mine))
			})
		}
		b.same("state of the first tenant", b.state(), mine)
	}},
	{"each tenant's writes are its own, whatever its name", oddNames},
	{"another tenant's data changes no score and no count", func(b *bench) {
		b.stockMore()
		before := b.state()
		b.as("other", func() {
			for n := 1; n <= 200; n++ {
				b.apply(changeOf(embedded(record(n, "walrus telescope telescope harbour"), 0.99)))
			}
		})
		b.same("state", b.state(), before)
	}},
	{"the system's tenant is one like others, in no list of them", func(b *bench) {
		b.as("other", b.stockMore)
		theirs, mine := state{}, b.tenant
		b.as("other", func() { theirs = b.state() })
		b.tenant = loci.SystemTenant()
		b.put(record(1, "walrus"))
		look := func() {
			b.same("records", recordIDs(b.all(loci.Filter{Within: everywhere})), ids(1))
			b.wantTenants("other")
			for t, err := range b.store.Due(b.Context(), at(0)) {
				b.must("Due", err)
				if t == loci.SystemTenant() {
					b.Error("the system's tenant is due")
				}
			}
			b.as("other", func() { b.same("state of the other tenant", b.state(), theirs) })
		}
		look()
		if b.target.Reopen != nil {
			b.reopen()
			look()
		}
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		b.same("records after the erase", recordIDs(b.all(loci.Filter{Within: everywhere})), ids())
		b.tenant = mine
	}},
	{"the list of tenants may be left, and used while it runs", func(b *bench) {
		for _, name := range []string{"a", "b", "c"} {
			b.as(name, func() { b.put(record(1, "walrus")) })
		}
		var names []string
		for t, err := range b.store.Tenants(b.Context()) {
			b.must("Tenants", err)
			names = append(names, t.String())
			b.tenant = t
			b.same("records", recordIDs(b.all(loci.Filter{Within: everywhere})), ids(1))
			b.must("EraseTenant", b.store.EraseTenant(b.Context(), t))
			if len(names) == 2 {
				break
			}
		}
		b.same("tenants", names, []string{"a", "b"})
		b.wantTenants("c")
	}},
	{"whether one tenant holds data costs no look at others, and brings nothing about", func(b *bench) {
		holds := func(want bool) {
			there, err := b.store.Holds(b.Context(), b.tenant)
			b.must("Holds", err)
			b.same("what the tenant holds", there, want)
		}
		holds(false)
		b.as("other", b.stockMore)
		holds(false)
		b.wantTenants("other")
		gone := record(3, "walrus")
		b.put(gone)
		holds(true)
		b.apply(erasure(gone))
		holds(true) // its log is there
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		holds(false)
		b.as("other", func() { holds(true) })
	}},
	{"a tenant with something to do is due", func(b *bench) {
		due := func(now int) (names []string) {
			for t, err := range b.store.Due(b.Context(), at(now)) {
				b.must("Due", err)
				names = append(names, t.String())
			}
			return names
		}
		ends := func(n int, expires, due time.Time) {
			r := record(n, "walrus")
			r.ExpiresAt, r.DueAt = expires, due
			b.put(r)
		}
		b.as("expires", func() { ends(1, at(10), time.Time{}) })
		b.as("fades", func() { ends(1, time.Time{}, at(10)) })
		b.same("tenants that are new", due(0), []string{"expires", "fades"})
		due(0) // nothing has changed
		b.as("expires", func() { b.put(record(2, "telescope")) })
		if !slices.Contains(due(0), "expires") {
			b.Error("a tenant that has changed is not due")
		}
		due(0)
		b.same("tenants of which something has run out", due(10), []string{"expires", "fades"})
	}},
	{"an erased tenant leaves nothing, and may come again", func(b *bench) {
		b.as("other", b.stockMore)
		b.stockMore()
		var theirs state
		b.as("other", func() { theirs = b.state() })
		for range 2 { // the second time there is nothing to erase
			b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
			s := b.state()
			if len(s.Records)+len(s.Events)+len(s.Namespaces)+len(s.Spaces) > 0 || s.Replies["key 1"] != nil {
				b.Errorf("something is left: %+v", s)
			}
			for id, links := range s.Links {
				if len(links)+len(s.Revisions[id]) > 0 {
					b.Errorf("links or revisions of %v are left", id)
				}
			}
			for _, hits := range s.Hits {
				b.same("hits", hits, nil)
			}
		}
		b.wantTenants("other")
		b.as("other", func() { b.same("state of the other tenant", b.state(), theirs) })
		b.stockMore()
		b.wantTenants("acme", "other")
	}},
	{"erasing a tenant that never was is no error", func(b *bench) {
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), tenant(b, "never")))
		b.wantTenants()
	}},
}

// oddTenants are names that a file system, a collation, a pattern or an encoding
// could take for one another, or for something of its own.
var oddTenants = []string{"a", "A", "a/b", "a%2Fb", "a%", "a_", "a ", " ", ".", "..", "../a", "/", `\`, "con", "NUL.txt", "a.db", "default", "-", "'", `"`, ":", "*", "?",
	"a\n", "\x01", "á", "a\u0301", "ß", "ss", "🦭", "日本", strings.Repeat("x", 256), strings.Repeat("x", 255), strings.Repeat("é", 128), strings.Repeat("X", 256)}

// oddNames writes as tenants of odd names, and reads what is there of each, also
// after reopening.
func oddNames(b *bench) {
	b.wantTenants()
	for i, name := range oddTenants {
		b.as(name, func() { b.put(record(i+1, "walrus")) })
	}
	for _, name := range []string{"never", "asked"} { // reading makes no tenant
		b.as(name, func() { b.found(words("walrus")) })
	}
	look := func() {
		b.wantTenants(slices.Sorted(slices.Values(oddTenants))...)
		for i, name := range oddTenants {
			b.as(name, func() {
				b.same("records of "+name, recordIDs(b.all(loci.Filter{Within: everywhere})), ids(i+1))
				b.same("hits of "+name, b.found(words("walrus")), ids(i+1))
			})
		}
	}
	look()
	for i, name := range oddTenants {
		b.as(name, func() {
			theirs := creation(next(record(1+(i+1)%len(oddTenants), "")))
			b.refused("an edit of another tenant's record", b.store.Apply(b.Context(), b.tenant, theirs), loci.Conflict)
		})
	}
	if b.target.Reopen != nil {
		b.reopen()
		look()
	}
}

// as runs a part of a case as another tenant.
func (b *bench) as(name string, do func()) {
	b.Helper()
	mine := b.tenant
	b.tenant = tenant(b, name)
	do()
	b.tenant = mine
}

// wantTenants requires the names of the tenants that hold data.
func (b *bench) wantTenants(want ...string) {
	b.Helper()
	got, err := tenants(context.WithoutCancel(b.Context()), b.store)
	b.must("Tenants", err)
	b.same("tenants", got, want)
}

// withoutSeq numbers the events of a state from the oldest on and leaves out what
// follows from a tenant's own key, for comparison
// between logs, of which the contract fixes the order alone.
func withoutSeq(s state) state {
	s.Events = slices.Clone(s.Events)
	for i := range s.Events {
		e := &s.Events[i]
		e.Seq, e.Mark, e.Hash = int64(len(s.Events)-i), "", loci.Hash{}
		if e.Unnamed {
			e.Namespace = nil
		}
	}
	s.Chain.Head, s.Chain.Names = loci.Hash{}, nil
	return s
}
