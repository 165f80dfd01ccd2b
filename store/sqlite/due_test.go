package sqlite

import (
	"os"
	"path/filepath"
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
	// The files were written long ago.
	age := func() {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "*.db*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if err := os.Chtimes(path, time.Time{}, now); err != nil {
				t.Fatal(err)
			}
		}
	}
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
