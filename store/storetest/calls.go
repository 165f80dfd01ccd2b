package storetest

import (
	"context"

	"github.com/loci-memory/loci"
)

// calls are all methods of a store that do work, each with arguments that would
// change or find something of what [stock] put.
var calls = []struct {
	name string
	call func(ctx context.Context, s loci.Store, t loci.Tenant) error
}{
	{"Apply", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		c := creation(record(3, "walrus"), next(record(1, "telescope")))
		gone := erasure(record(2, ""))
		c.Erase, c.Events = gone.Erase, append(c.Events, gone.Events...)
		c.Links = []loci.Link{{From: id(3), Type: loci.LinkSupports, To: id(1), At: at(3)}}
		c.Reply = reply("key 2", at(3))
		return s.Apply(ctx, t, c)
	}},
	{"Touch", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.Touch(ctx, t, []loci.Touch{{ID: id(1), At: at(50), ExpiresAt: at(60)}})
	}},
	{"Records", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, _, err := s.Records(ctx, t, loci.Filter{Within: everywhere}, loci.Page{})
		return err
	}},
	{"Match", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Match(ctx, t, both("walrus", spaceA), loci.Filter{Within: everywhere}, 10)
		return err
	}},
	{"Revisions", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Revisions(ctx, t, id(1))
		return err
	}},
	{"Links", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Links(ctx, t, id(1))
		return err
	}},
	{"Linked", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Linked(ctx, t, loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2)})
		return err
	}},
	{"Namespaces", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Namespaces(ctx, t, loci.Filter{Within: everywhere})
		return err
	}},
	{"Replied", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Replied(ctx, t, "key 1")
		return err
	}},
	{"Count", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Count(ctx, t, loci.Filter{Within: everywhere, Space: spaceA})
		return err
	}},
	{"Unembedded", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Unembedded(ctx, t, spaceB, loci.ID{}, 10)
		return err
	}},
	{"PutVectors", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.PutVectors(ctx, t, []loci.RecordVectors{rowsOf(record(1, ""), spaceB, 0.5)})
	}},
	{"Spaces", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Spaces(ctx, t)
		return err
	}},
	{"ActiveSpace", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.ActiveSpace(ctx, t)
		return err
	}},
	{"SwitchSpace", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.SwitchSpace(ctx, t, spaceA, spaceC, 100)
	}},
	{"DropVectors", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.DropVectors(ctx, t, spaceB, 100)
		return err
	}},
	{"Events", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, _, err := s.Events(ctx, t, loci.EventFilter{Within: everywhere}, loci.Page{})
		return err
	}},
	{"Chain", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Chain(ctx, t)
		return err
	}},
	{"Untold", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Untold(ctx, t, ids(1))
		return err
	}},
	{"Check", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Check(ctx, t)
		return err
	}},
	{"Holds", func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		_, err := s.Holds(ctx, t)
		return err
	}},
	{"EraseTenant", func(ctx context.Context, s loci.Store, t loci.Tenant) error { return s.EraseTenant(ctx, t) }},
}

// tenants lists the names of the tenants that hold data.
func tenants(ctx context.Context, s loci.Store) (names []string, err error) {
	for t, err := range s.Tenants(ctx) {
		if err != nil {
			return names, err
		}
		names = append(names, t.String())
	}
	return names, nil
}

// stock puts a little of everything: two records with vectors, links, a
// revision, a reply and events.
func (b *bench) stock() {
	b.Helper()
	c := changeOf(embedded(holding(record(1, "walrus telescope"), "slot"), 0.5), embedded(record(2, "harbour walrus"), 0.25))
	c.Links = []loci.Link{{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(2)}}
	c.Reply = reply("key 1", at(2))
	c.Reply.Record = id(1)
	b.apply(c)
}

// stockMore adds what needs more than one change.
func (b *bench) stockMore() {
	b.Helper()
	b.stock()
	gone := record(3, "walrus")
	b.put(gone)
	b.apply(erasure(gone))
	edited := placed(record(4, "harbour"), "elsewhere", "日本")
	b.put(edited)
	b.apply(changeOf(loci.Put{Record: next(edited), SameText: true, Revisions: 5}))
	b.putVectors(rowsOf(next(edited), spaceB, 0.5))
	b.touch(loci.Touch{ID: id(1), At: at(50)}, loci.Touch{ID: id(2), ExpiresAt: at(1_000_000)})
	b.put(fullRecordInSlot(5, "another"))
}

func fullRecordInSlot(n int, slot string) loci.Record { return holding(fullRecord(n), slot) }
