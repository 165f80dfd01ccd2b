package postgres_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// dueOf are the names of the tenants that are due for a store.
func dueOf(t *testing.T, s loci.Store, now time.Time) (names []string) {
	t.Helper()
	for tn, err := range s.Due(t.Context(), now) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tn.String())
	}
	return names
}

func wantDue(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q are due; want %q", what, got, want)
	}
}

// All servers pass over a tenant that one of them has seen to, until it changes or something of
// it runs out. But each server looks once at every tenant, since its settings may be new.
func TestServersShareWhatIsDue(t *testing.T) {
	here := open(t)
	there := openAt(t, urlOf(t, here))
	now := time.UnixMilli(1_800_000_000_000)
	put := func(name string, expires time.Time) {
		t.Helper()
		c := creation(loci.NewID())
		c.Put[0].Record.ExpiresAt = expires
		if err := here.Apply(t.Context(), locitest.Tenant(t, name), c); err != nil {
			t.Fatal(err)
		}
	}
	put("a", time.Time{})
	put("b", now.Add(time.Hour))
	wantDue(t, "the first loop here", dueOf(t, here, now), "a", "b")
	wantDue(t, "the first loop there", dueOf(t, there, now), "a", "b")
	wantDue(t, "nothing has changed", dueOf(t, there, now))
	put("a", time.Time{})
	wantDue(t, "a has changed", dueOf(t, there, now), "a")
	wantDue(t, "a was seen to there", dueOf(t, here, now))
	wantDue(t, "a millisecond too soon", dueOf(t, here, now.Add(time.Hour-time.Millisecond)))
	wantDue(t, "b has something that runs out", dueOf(t, here, now.Add(time.Hour)), "b")

	// A tenant that changes during its own upkeep is looked at again.
	put("a", time.Time{})
	for tn, err := range here.Due(t.Context(), now) {
		if err != nil || tn.String() != "a" {
			t.Fatal(tn, err)
		}
		put("a", time.Time{})
	}
	wantDue(t, "a changed meanwhile", dueOf(t, here, now), "a")
	// A loop that ended early has not done everything.
	put("a", time.Time{})
	for range here.Due(t.Context(), now) {
		break
	}
	wantDue(t, "the loop was left", dueOf(t, here, now), "a")
	if err := here.EraseTenant(t.Context(), locitest.Tenant(t, "a")); err != nil {
		t.Fatal(err)
	}
	wantDue(t, "a was erased", dueOf(t, here, now))
}

// While one server sees to a tenant, no other does: until the first is done, or has been gone
// for the time of a lease.
func TestUpkeepIsLeased(t *testing.T) {
	here := open(t)
	there := openAt(t, urlOf(t, here))
	now := time.UnixMilli(1_800_000_000_000)
	for _, name := range []string{"a", "b", "c"} {
		if err := here.Apply(t.Context(), locitest.Tenant(t, name), creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
	}
	for tn, err := range here.Due(t.Context(), now) {
		if err != nil {
			t.Fatal(err)
		}
		if tn.String() == "b" {
			wantDue(t, "b is seen to here", dueOf(t, there, now), "a", "c")
		}
	}
	var left []int64
	d := superOf(t, here)
	if query(t, d, "SELECT count(*) FROM loci.lease", &left); left[0] != 0 {
		t.Errorf("%d leases are left", left[0])
	}
	for _, until := range []string{"until", "0"} {
		execute(t, d, "DELETE FROM loci.lease")
		execute(t, d, "UPDATE loci.tenant SET due_at = 0")
		execute(t, d, fmt.Sprintf(
			"INSERT INTO loci.lease SELECT '\\x%032x', '\\x%x', 'gone', 9000000000000", 0, postgres.KeyOf(locitest.Tenant(t, "a"))))
		execute(t, d, "UPDATE loci.lease SET until = "+until)
		want := []string{"a", "b", "c"}
		if until != "0" {
			want = want[1:]
		}
		wantDue(t, "a server that is gone holds a until "+until, dueOf(t, there, now), want...)
	}
}

// A lease is kept for as long as the upkeep takes.
func TestLeasesAreRenewed(t *testing.T) {
	s := open(t)
	if err := s.Apply(t.Context(), locitest.Tenant(t, "a"), creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	old := postgres.SetLeaseTime(300 * time.Millisecond)
	defer postgres.SetLeaseTime(old)
	until := func() int64 {
		var found []int64
		query(t, superOf(t, s), "SELECT until FROM loci.lease", &found)
		if len(found) != 1 {
			t.Fatalf("%d leases", len(found))
		}
		return found[0]
	}
	for _, err := range s.Due(t.Context(), time.UnixMilli(0)) {
		if err != nil {
			t.Fatal(err)
		}
		first, end := until(), time.Now().Add(30*time.Second)
		for until() == first {
			if time.Now().After(end) {
				t.Fatal("the lease is not renewed")
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// superOf is the URL of the superuser for the database of a store.
func superOf(t *testing.T, s loci.Store) string {
	t.Helper()
	return changed(t, pgtest.Shared(t).URL, func(u *url.URL) {
		of, err := url.Parse(urlOf(t, s))
		if err != nil {
			t.Fatal(err)
		}
		u.Path = of.Path
	})
}
