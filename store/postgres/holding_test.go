package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// bounded is a change under a quota of bytes.
func bounded(c loci.Change, bytes int64) loci.Change {
	c.Quota = &loci.Quota{Bytes: bytes}
	return c
}

// heldBytes is what the tenant holds, and whether that is kept.
func heldBytes(t *testing.T, s loci.Store, tn loci.Tenant, super string) (bytes int64, kept bool) {
	t.Helper()
	held, err := s.Held(t.Context(), tn)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	query(t, super, "SELECT coalesce(held_seq = seq, false)::text FROM loci.tenant WHERE name = '"+tn.String()+"'", &found)
	return held.Bytes, len(found) == 1 && found[0] == "true"
}

// TestHoldingIsKept: every write keeps what the tenant holds, with a quota or without, and
// nobody measures it.
func TestHoldingIsKept(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "kept")
	s, other := openAt(t, d.Server), openAt(t, d.Server)
	one := loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(one)); err != nil {
		t.Fatal(err)
	}
	each, kept := heldBytes(t, s, tn, d.Super)
	if each == 0 || !kept {
		t.Fatalf("%d bytes, kept %v", each, kept)
	}
	seen.Delete(postgres.Measuring)
	for n := range 4 {
		if err := other.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), tn, bounded(creation(loci.NewID()), 1<<40)); err != nil {
			t.Fatal(err)
		}
		touch := loci.Touch{ID: one, ExpiresAt: creation(one).Put[0].Record.CreatedAt}
		if err := other.Touch(t.Context(), tn, []loci.Touch{touch}); err != nil {
			t.Fatal(err)
		}
		bytes, kept := heldBytes(t, other, tn, d.Super)
		if want := each * int64(2*n+3); bytes != want || !kept {
			t.Errorf("%d bytes, kept %v; want %d", bytes, kept, want)
		}
	}
	if err := other.EraseTenant(t.Context(), tn); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), tn, bounded(creation(loci.NewID()), each)); err != nil {
		t.Fatal(err)
	}
	if bytes, kept := heldBytes(t, s, tn, d.Super); bytes != each || !kept {
		t.Errorf("after an erase: %d bytes, kept %v", bytes, kept)
	}
	if _, measured := seen.Load(postgres.Measuring); measured {
		t.Error("all records were read to measure them")
	}
}

// TestServersThatKeepNoHolding: where a server of the version before has written, what is
// kept is of an earlier change, and a write under a quota measures it again, once.
func TestServersThatKeepNoHolding(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "kept")
	s := openAt(t, d.Server)
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	each, _ := heldBytes(t, s, tn, d.Super)
	for _, older := range []string{
		"UPDATE loci.record SET text = text || '12345'; UPDATE loci.tenant SET seq = seq + 1",
		"UPDATE loci.tenant SET seq = seq + 1, held_seq = NULL, held_records = NULL, held_bytes = NULL", // before anybody kept it
	} {
		execute(t, d.Super, older)
		if bytes, kept := heldBytes(t, s, tn, d.Super); bytes != each+5 || kept {
			t.Errorf("after %s: %d bytes, kept %v", older, bytes, kept)
		}
		if found, err := s.Check(t.Context(), tn); err != nil || len(found) > 0 {
			t.Errorf("after %s: %q, %v", older, found, err)
		}
		if err := s.Apply(t.Context(), tn, loci.Change{Events: creation(loci.NewID()).Events}); err != nil {
			t.Fatal(err)
		}
		if _, kept := heldBytes(t, s, tn, d.Super); kept {
			t.Errorf("after %s: a write without a quota says what it does not know", older)
		}
		err := s.Apply(t.Context(), tn, bounded(creation(loci.NewID()), 2*each+4))
		var quota *loci.QuotaError
		if !errors.As(err, &quota) || quota.Used != each+5 {
			t.Errorf("after %s: %v", older, err)
		}
		if err := s.Apply(t.Context(), tn, bounded(loci.Change{Events: creation(loci.NewID()).Events}, 1)); err != nil {
			t.Fatal(err)
		}
		if bytes, kept := heldBytes(t, s, tn, d.Super); bytes != each+5 || !kept {
			t.Errorf("after %s and a write under a quota: %d bytes, kept %v", older, bytes, kept)
		}
	}
}

// TestWrongHoldingIsMeasuredAgain: a check finds what is kept wrong, and makes it right.
func TestWrongHoldingIsMeasuredAgain(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	tn := locitest.Tenant(t, "kept")
	s := openAt(t, d.Server)
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	want, _ := heldBytes(t, s, tn, d.Super)
	execute(t, d.Super, "UPDATE loci.tenant SET held_bytes = held_bytes + 1")
	for _, n := range []int{1, 0} {
		found, err := s.Check(t.Context(), tn)
		if err != nil || len(found) != n || n == 1 && !strings.Contains(found[0], "it is measured again") {
			t.Errorf("%q, %v; want %d findings", found, err, n)
		}
	}
	if bytes, kept := heldBytes(t, s, tn, d.Super); bytes != want || !kept {
		t.Errorf("%d bytes, kept %v; want %d", bytes, kept, want)
	}
}
