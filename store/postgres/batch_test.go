package postgres_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/postgres"
)

// Writes that share a transaction do what they would do one after the other, also where
// they are about the same record, slot or key, and each has an outcome of its own.
func TestWritesThatShareATransaction(t *testing.T) {
	s, reference := open(t), loci.Store(memory.Open())
	tn := locitest.Tenant(t, "batch")
	one, two := loci.NewID(), loci.NewID()
	create := creation(one)
	update := creation(one)
	update.Put[0].Record.Version, update.Put[0].Record.Slot = 2, "moved"
	update.Put[0].Revisions = 3
	taken := creation(two)
	taken.Put[0].Record.Slot = create.Put[0].Record.Slot // free again after the update
	erase := loci.Change{Erase: []loci.Erase{{ID: one, Version: 2}}, Events: []loci.Event{create.Events[0]}}
	erase.Events[0].ID, erase.Events[0].Type = loci.NewID(), loci.EventErased
	again := creation(one)
	again.Put[0].Record.Slot = "moved"
	link := loci.Change{Events: []loci.Event{create.Events[0]}}
	link.Events[0].ID = loci.NewID()
	link.Links = []loci.Link{{From: one, Type: loci.LinkSupports, To: two, At: create.Events[0].At}}
	stale := creation(two)
	gone := loci.Change{Erase: []loci.Erase{{ID: two, Version: 1}}, Events: []loci.Event{create.Events[0]}}
	gone.Events[0].ID, gone.Events[0].Type, gone.Events[0].Entity = loci.NewID(), loci.EventErased, two
	changes := []loci.Change{create, update, taken, erase, again, link, stale, gone}

	got := postgres.ApplyTogether(s, tn, changes...)
	for i, c := range changes {
		want := reference.Apply(t.Context(), tn, c)
		if (want == nil) != (got[i] == nil) || want != nil && loci.AsError(want).Code != loci.AsError(got[i]).Code {
			t.Errorf("change %d: %v; one after the other: %v", i, got[i], want)
		}
	}
	look := func(s loci.Store) (seen []any) {
		records, _, err := s.Records(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{})
		seen = append(seen, records, err)
		for _, id := range []loci.ID{one, two} {
			links, err := s.Links(t.Context(), tn, id)
			revisions, fault := s.Revisions(t.Context(), tn, id)
			seen = append(seen, len(links), err, len(revisions), fault)
		}
		log, _, err := s.Events(t.Context(), tn, loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{})
		for i := range log {
			seen = append(seen, log[i].Entity, string(log[i].Type), string(log[i].Payload))
		}
		return append(seen, err)
	}
	if diff := cmp.Diff(look(reference), look(s)); diff != "" {
		t.Errorf("together they leave something else (-one after the other +together):\n%s", diff)
	}
}

// Once another server has erased a tenant, this server must not use what it remembers of the
// tenant's places; the places are then made again.
func TestPlacesOfAnErasedTenantAreForgotten(t *testing.T) {
	s := open(t)
	other := openAt(t, urlOf(t, s))
	tn := locitest.Tenant(t, "again")
	here := loci.Filter{Within: []loci.Namespace{{"user", "ada"}}, Exact: true}
	for round := range 3 {
		id := loci.NewID()
		if err := other.Apply(t.Context(), tn, creation(id)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time by the number of the place
			records, _, err := s.Records(t.Context(), tn, here, loci.Page{})
			if err != nil || len(records) != 1 || records[0].ID != id {
				t.Fatalf("round %d: %d records, %v", round, len(records), err)
			}
		}
		if err := other.EraseTenant(t.Context(), tn); err != nil {
			t.Fatal(err)
		}
	}
}

// A change of many records is one transaction however long it takes: no time that bounds a
// write of few ends it.
func TestChangesOfManyRecords(t *testing.T) {
	base, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openAt(t, base.Server), locitest.Tenant(t, "many")
	n := locitest.Long(2_000, 100_000)
	create, update, erase := loci.Change{}, loci.Change{}, loci.Change{}
	for range n {
		one := creation(loci.NewID())
		r := one.Put[0].Record
		one.Put[0].Record.Slot = r.ID.String()
		create.Put, create.Events = append(create.Put, one.Put...), append(create.Events, one.Events...)
		one.Put[0].Record.Version = 2
		one.Events[0].ID = loci.NewID()
		update.Put, update.Events = append(update.Put, one.Put...), append(update.Events, one.Events...)
		one.Events[0].ID, one.Events[0].Type, one.Events[0].Entity = loci.NewID(), loci.EventErased, r.ID
		erase.Erase = append(erase.Erase, loci.Erase{ID: r.ID, Version: 2})
		erase.Events = append(erase.Events, one.Events...)
	}
	for version, change := range []loci.Change{create, update, erase} {
		if err := s.Apply(t.Context(), tn, change); err != nil {
			t.Fatalf("change %d of %d records: %v", version+1, n, err)
		}
		var rows []int64
		query(t, base.Super, `SELECT count(*) FROM loci.record WHERE version = `+fmt.Sprint(version+1), &rows)
		if want := []int64{int64(n), int64(n), 0}[version]; rows[0] != want {
			t.Errorf("after change %d there are %d records of its version, want %d", version+1, rows[0], want)
		}
	}
}
