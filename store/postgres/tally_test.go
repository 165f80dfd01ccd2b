package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

const tallyKnown = "EXISTS (SELECT 1 FROM loci.tenant WHERE tally IS NOT NULL)"

// records is how many a count says there are.
func records(t *testing.T, s loci.Store, tn loci.Tenant, within string) int64 {
	t.Helper()
	f := loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}
	if within != "" {
		f.Within = []loci.Namespace{{within}}
	}
	n, err := s.Count(t.Context(), tn, f)
	if err != nil {
		t.Fatal(err)
	}
	return n.Records
}

// created is a creation in a namespace.
func created(namespace string) loci.Change {
	c := creation(loci.NewID())
	c.Put[0].Record.Namespace = loci.Namespace{namespace}
	return c
}

// sound requires that a check finds so many sentences, all about kept counts.
func sound(t *testing.T, s loci.Store, tn loci.Tenant, wrong int) {
	t.Helper()
	found, err := s.Check(t.Context(), tn)
	n := 0
	for _, sentence := range found {
		if strings.Contains(sentence, "kept counts differ") {
			n++
		}
	}
	if err != nil || n != wrong || wrong == 0 && len(found) > 0 {
		t.Errorf("%q, %v; want %d findings", found, err, wrong)
	}
}

// Counts are kept by every write of several servers, in the tenant's row as long as they are few and in a
// table beyond, and a count reads those and no records.
func TestCountsAreKept(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "counted")
	servers := []loci.Store{openAt(t, d.Server), openAt(t, d.Server), openAt(t, d.Server)}
	const places, each = 80, 2
	var group sync.WaitGroup
	for n := range places {
		group.Go(func() {
			for i := range each {
				if err := servers[(n+i)%len(servers)].Apply(t.Context(), tn, created(fmt.Sprint("p", n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, s := range servers {
		if all, one := records(t, s, tn, ""), records(t, s, tn, "p7"); all != places*each || one != each {
			t.Errorf("%d records, %d in a place", all, one)
		}
		sound(t, s, tn, 0)
	}
	waitFor(t, d.Super, "(SELECT count(*) FROM loci.tally) > 20")
	execute(t, d.Super, "DELETE FROM loci.record")
	if all := records(t, servers[0], tn, ""); all != places*each {
		t.Errorf("a count reads the records themselves: %d", all)
	}
	sound(t, servers[1], tn, 1)
	sound(t, servers[1], tn, 0)
	if all := records(t, servers[0], tn, ""); all != 0 {
		t.Errorf("%d records after they were counted again", all)
	}
}

// What is no longer of the tenant's change is not trusted: a server of the version before has written. It is
// counted one by one then, and kept again by who asked.
func TestServersThatKeepNoCounts(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "counted")
	s := openAt(t, d.Server)
	for range 2 {
		if err := s.Apply(t.Context(), tn, created("p")); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, d.Super, "DELETE FROM loci.record WHERE id = (SELECT min(id::text)::bytea FROM loci.record); UPDATE loci.tenant SET seq = seq + 1")
	if n := records(t, s, tn, ""); n != 1 {
		t.Errorf("%d records, as an earlier change had them", n)
	}
	waitFor(t, d.Super, "(SELECT coalesce(sum(records), 0) FROM loci.tally WHERE space = 0) = 1")
	if err := s.Apply(t.Context(), tn, created("p")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, d.Super, tallyKnown)
	sound(t, s, tn, 0)
	if n := records(t, s, tn, "p"); n != 2 {
		t.Errorf("%d records", n)
	}
	// A doctor counts, too, what nobody has asked for, and finds nothing wrong.
	execute(t, d.Super, "UPDATE loci.tenant SET tally = NULL")
	sound(t, s, tn, 0)
	waitFor(t, d.Super, tallyKnown)
}

// A migration counts what there is, once.
func TestMigrateCounts(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "counted")
	s := openAt(t, d.Server)
	for range 3 {
		if err := s.Apply(t.Context(), tn, created("p")); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, d.Super, "UPDATE loci.tenant SET tally = NULL; DELETE FROM loci.tally; UPDATE loci.setting SET value = '5' WHERE name = 'schema'")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := postgres.Migrate(ctx, d.Owner, postgres.Migration{Role: d.Role})
	if err != nil || strings.Join(report.Steps, " ") != "0006_tally 0007_event_span 0008_time_order" {
		t.Fatalf("%+v, %v", report, err)
	}
	waitFor(t, d.Super, tallyKnown)
	execute(t, d.Super, "DELETE FROM loci.record")
	if n := records(t, openAt(t, d.Server), tn, "p"); n != 3 {
		t.Errorf("%d records", n)
	}
}

// A check finds what is kept of the blocks of the log and is wrong, and makes it again.
func TestWrongSpansAreMadeAgain(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "spans")
	s := openAt(t, d.Server)
	var c loci.Change
	for range 600 {
		e := creation(loci.NewID()).Events[0]
		c.Events = append(c.Events, e)
	}
	if err := s.Apply(t.Context(), tn, c); err != nil {
		t.Fatal(err)
	}
	waitFor(t, d.Super, "(SELECT count(*) FROM loci.event_span) = 4")
	execute(t, d.Super, "UPDATE loci.event_span SET first_seq = first_seq + 1 WHERE block = 1; DELETE FROM loci.event_span WHERE type <> '' AND block = 2")
	for _, n := range []int{1, 0} {
		found, err := s.Check(t.Context(), tn)
		if err != nil || len(found) != n || n == 1 && !strings.Contains(found[0], "kept places of events") {
			t.Errorf("%q, %v; want %d findings", found, err, n)
		}
	}
	all := loci.EventFilter{Within: []loci.Namespace{{}}, Types: []loci.EventType{c.Events[0].Type}}
	if found, _, err := s.Events(t.Context(), tn, all, loci.Page{Limit: 1000}); err != nil || len(found) != 600 {
		t.Errorf("%d events, %v", len(found), err)
	}
}
