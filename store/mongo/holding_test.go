package mongo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
)

// A holder is a store of which one tenant is looked at.
type holder struct {
	*testing.T
	at string
	s  loci.Store
	tn loci.Tenant
}

func newHolder(t *testing.T) *holder {
	at, giveBack := database(t)
	t.Cleanup(giveBack)
	return &holder{t, at, openAt(t, at), locitest.Tenant(t, "kept")}
}

func (h *holder) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// save stores one record, under a quota of bytes unless that is 0.
func (h *holder) save(s loci.Store, bytes int64) error {
	c := storm.Creation(loci.NewID())
	if bytes > 0 {
		c.Quota = &loci.Quota{Bytes: bytes}
	}
	return s.Apply(h.Context(), h.tn, c)
}

// held is how many bytes the tenant holds, and whether that is kept.
func (h *holder) held() (bytes int64, kept bool) {
	h.Helper()
	held, err := h.s.Held(h.Context(), h.tn)
	h.must(err)
	h.must(mongotest.Shared(h).With(nameOf(h.at), func(ctx context.Context, db *driver.Database) error {
		raw, err := db.Collection("tenant").FindOne(ctx, h.self()).Raw()
		if err == nil {
			seq, known := raw.Lookup("held_seq").AsInt64OK()
			kept = known && seq == raw.Lookup("seq").AsInt64()
		}
		return err
	}))
	return held.Bytes, kept
}

func (h *holder) self() bson.D {
	return bson.D{{Key: "_id", Value: bson.Binary{Data: mongo.KeyOf(h.tn)}}}
}

// change changes the tenant's document, or all of its records, behind the back of the store.
func (h *holder) change(collection string, update bson.D) {
	h.Helper()
	mine := bson.D{{Key: "t", Value: bson.Binary{Data: mongo.KeyOf(h.tn)}}}
	h.must(mongotest.Shared(h).With(nameOf(h.at), func(ctx context.Context, db *driver.Database) error {
		_, err := db.Collection(collection).UpdateMany(ctx, mine, update)
		return err
	}))
}

// TestHoldingIsKept: every write keeps what the tenant holds, with a quota or without.
func TestHoldingIsKept(t *testing.T) {
	h := newHolder(t)
	other := openAt(t, h.at)
	h.must(h.save(h.s, 0))
	each, kept := h.held()
	if each == 0 || !kept {
		t.Fatalf("%d bytes, kept %v", each, kept)
	}
	for n := range 3 {
		h.must(h.save(other, 0))
		h.must(h.save(h.s, 1<<40))
		if bytes, kept := h.held(); bytes != each*int64(2*n+3) || !kept {
			t.Errorf("%d bytes, kept %v; want %d", bytes, kept, each*int64(2*n+3))
		}
	}
	h.must(other.EraseTenant(t.Context(), h.tn))
	h.must(h.save(h.s, each))
	if bytes, kept := h.held(); bytes != each || !kept {
		t.Errorf("after an erase: %d bytes, kept %v", bytes, kept)
	}
}

// TestServersThatKeepNoHolding: where a server of the version before has written, what is
// kept is of an earlier change, and a write under a quota measures it again, once.
func TestServersThatKeepNoHolding(t *testing.T) {
	h := newHolder(t)
	h.must(h.save(h.s, 0))
	each, _ := h.held()
	set := func(field string, value any) bson.D { return bson.D{{Key: field, Value: value}} }
	older := map[string]func(){
		"a write": func() {
			h.change("record", set("$set", set("body", bson.Binary{Data: []byte(`{"a":1234}`)})))
			h.change("tenant", set("$inc", set("seq", int64(1))))
		},
		"a tenant from before": func() {
			h.change("tenant", set("$unset", bson.D{
				{Key: "held_seq", Value: ""}, {Key: "held_records", Value: ""}, {Key: "held_bytes", Value: ""},
			}))
		},
	}
	for _, name := range []string{"a write", "a tenant from before"} {
		older[name]()
		now, kept := h.held()
		if now <= each || kept {
			t.Errorf("after %s: %d bytes, kept %v", name, now, kept)
		}
		h.must(h.s.Apply(t.Context(), h.tn, loci.Change{Events: storm.Creation(loci.NewID()).Events}))
		if _, kept := h.held(); kept {
			t.Errorf("after %s: a write without a quota says what it does not know", name)
		}
		var quota *loci.QuotaError
		if err := h.save(h.s, now+1); !errors.As(err, &quota) || quota.Used != now {
			t.Errorf("after %s: %v", name, err)
		}
		c := loci.Change{Events: storm.Creation(loci.NewID()).Events, Quota: &loci.Quota{Bytes: 1}}
		h.must(h.s.Apply(t.Context(), h.tn, c))
		if bytes, kept := h.held(); bytes != now || !kept {
			t.Errorf("after %s and a write under a quota: %d bytes, kept %v", name, bytes, kept)
		}
	}
}

// TestHalfAnEraseIsNotCounted: what is left of a tenant whose erase has stopped is measured.
func TestHalfAnEraseIsNotCounted(t *testing.T) {
	h := newHolder(t)
	defer mongo.EraseAtOnce(4)()
	for range 6 {
		h.must(h.save(h.s, 0))
	}
	whole, _ := h.held()
	ctx, stop := context.WithCancel(t.Context())
	halfway := func() { stop() }
	atCommit.Store(&halfway)
	if err := h.s.EraseTenant(ctx, h.tn); err == nil {
		t.Fatal("the erase did not stop")
	}
	left, kept := h.held()
	if left >= whole || left == 0 || kept {
		t.Errorf("%d bytes of %d are left, kept %v", left, whole, kept)
	}
	h.must(h.save(h.s, whole))
	if now, kept := h.held(); now != left+whole/6 || !kept {
		t.Errorf("after a write: %d bytes, kept %v; %d were left", now, kept, left)
	}
}

// TestWrongHoldingIsMeasuredAgain: a check finds what is kept wrong, and makes it right.
func TestWrongHoldingIsMeasuredAgain(t *testing.T) {
	h := newHolder(t)
	h.must(h.save(h.s, 0))
	want, _ := h.held()
	h.change("tenant", bson.D{{Key: "$inc", Value: bson.D{{Key: "held_bytes", Value: int64(1)}}}})
	for _, n := range []int{1, 0} {
		found, err := h.s.Check(t.Context(), h.tn)
		if err != nil || len(found) != n || n == 1 && !strings.Contains(found[0], "it is measured again") {
			t.Errorf("%q, %v; want %d findings", found, err, n)
		}
	}
	if bytes, kept := h.held(); bytes != want || !kept {
		t.Errorf("%d bytes, kept %v; want %d", bytes, kept, want)
	}
}
