package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// After its upkeep a tenant is passed over, without its file being opened, until it changes or
// something runs out.
func TestUpkeepAsksForWhatIsDue(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.UnixMilli(1_700_000_000_000)
	quiet, ends := tenantOf(t, "quiet"), tenantOf(t, "ends")
	writer := openFile(t, dir) // another process
	put := func(tenant loci.Tenant, expires time.Time) {
		t.Helper()
		c := note("a walrus")
		c.Put[0].Record.ExpiresAt = expires
		if err := writer.Apply(t.Context(), tenant, c); err != nil {
			t.Fatal(err)
		}
	}
	put(quiet, time.Time{})
	put(ends, now.Add(time.Hour))
	s := openFile(t, dir)
	due := func(at time.Time, want ...loci.Tenant) {
		t.Helper()
		var got []loci.Tenant
		for tenant, err := range s.Due(t.Context(), at) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tenant)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("due are %v; want %v", got, want)
		}
	}
	age := func() { aged(t, dir, now) }
	age()
	due(now, ends, quiet)
	before := s.tick
	due(now)
	if s.tick != before {
		t.Error("a file was opened for a tenant with nothing to do")
	}
	due(now.Add(time.Hour), ends)
	put(quiet, time.Time{})
	due(now, quiet)
	due(now, quiet) // its file is too new for its time to say anything
	age()
	due(now, quiet)
	due(now)
	for range s.Due(t.Context(), now.Add(time.Hour)) {
		break // the upkeep of the tenant failed
	}
	due(now.Add(time.Hour), ends)
}

// A list of tenants opens the file of none that is as it was: to open them all took 2.5 ms of CPU each.
func TestListOfTenantsOpensWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full, empty := tenantOf(t, "full"), tenantOf(t, "empty")
	writer := openFile(t, dir) // another process
	put := func() {
		t.Helper()
		if err := writer.Apply(t.Context(), full, note("a walrus")); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if _, err := writer.Chain(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	s := openFile(t, dir)
	list := func(opened int64, want ...loci.Tenant) {
		t.Helper()
		before := s.tick
		var got []loci.Tenant
		for tenant, err := range s.Tenants(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tenant)
		}
		if !slices.Equal(got, want) || s.tick-before != opened {
			t.Errorf("%v, with %d files opened; want %v with %d", got, s.tick-before, want, opened)
		}
	}
	list(2, full)
	list(2, full) // they are too new for their times to say anything
	aged(t, dir, time.UnixMilli(1_700_000_000_000))
	list(2, full)
	list(0, full)
	put()
	list(1, full)
	if err := writer.EraseTenant(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	list(1)
	there, err := s.Holds(t.Context(), tenantOf(t, "nobody"))
	if err != nil || there {
		t.Errorf("%t, %v", there, err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*nobody*")); err != nil || len(files) > 0 {
		t.Errorf("to ask made %q, %v", files, err)
	}
}

// aged gives all files of a store a time that is long ago.
func aged(t *testing.T, dir string, when time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if err := os.Chtimes(path, time.Time{}, when); err != nil {
			t.Fatal(err)
		}
	}
}

func tenantOf(t *testing.T, name string) loci.Tenant {
	t.Helper()
	tenant, err := loci.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// A stamp changes with the file and with its log. An empty log comes and goes with each
// process, so it counts as none. A file written a moment ago may be written again within the
// same time stamp.
func TestStamps(t *testing.T) {
	t.Parallel()
	dir, old := t.TempDir(), time.Now().Add(-time.Hour)
	s := openFile(t, dir)
	tenant := tenantOf(t, "a")
	path := s.fileName(tenant)
	write := func(path, text string, at time.Time) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chtimes(path, time.Time{}, at))
	}
	look := func(wantSure bool) stamp {
		t.Helper()
		now, sure, err := s.stamp(tenant)
		if err != nil || sure != wantSure {
			t.Errorf("sure: %t, %v; want %t", sure, err, wantSure)
		}
		return now
	}
	write(path, "a file", old)
	first := look(true)
	if first != (stamp{size: 6, at: old.UnixNano()}) {
		t.Errorf("the stamp is %+v", first)
	}
	write(path+"-wal", "", time.Now())
	if look(true) != first {
		t.Error("an empty log makes a difference")
	}
	write(path+"-wal", "x", old)
	if look(true) != (stamp{6, old.UnixNano(), 1, old.UnixNano()}) {
		t.Error("a log makes no difference")
	}
	write(path+"-wal", "x", time.Now())
	look(false)
}
