package mongo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
)

// records is how many a count says there are.
func (h *holder) records(s loci.Store) int64 {
	h.Helper()
	n, err := s.Count(h.Context(), h.tn, loci.Filter{Within: []loci.Namespace{{}}, NotLive: true})
	h.must(err)
	return n.Records
}

// sound requires that a check finds so many sentences, all about kept counts.
func (h *holder) sound(wrong int) {
	h.Helper()
	found, err := h.s.Check(h.Context(), h.tn)
	n := 0
	for _, sentence := range found {
		if strings.Contains(sentence, "kept counts differ") {
			n++
		}
	}
	if err != nil || n != wrong || wrong == 0 && len(found) > 0 {
		h.Errorf("%q, %v; want %d findings", found, err, wrong)
	}
}

// without takes all records away behind the back of the store.
func (h *holder) without() {
	h.Helper()
	h.must(mongotest.Shared(h).With(nameOf(h.at), func(ctx context.Context, db *driver.Database) error {
		_, err := db.Collection("record").DeleteMany(ctx, bson.D{})
		return err
	}))
}

// TestCountsAreKept: every write of several servers keeps them, in the tenant's document as long as they are
// few and in a collection beyond; a count reads those and no records; a check finds what is wrong, and counts
// again. A migration counts what nobody has.
func TestCountsAreKept(t *testing.T) {
	h := newHolder(t)
	other := openAt(t, h.at)
	const places = 80
	for n := range places {
		c := storm.Creation(loci.NewID())
		c.Put[0].Record.Namespace = loci.Namespace{fmt.Sprint("p", n)}
		h.must([]loci.Store{h.s, other}[n%2].Apply(t.Context(), h.tn, c))
	}
	h.sound(0)
	h.change("tenant", bson.D{{Key: "$unset", Value: bson.D{{Key: "tally", Value: ""}}}})
	_, err := mongo.Migrate(t.Context(), h.at, false)
	h.must(err)
	h.without()
	if n := h.records(other); n != places {
		t.Errorf("%d records; a count reads the records themselves", n)
	}
	h.sound(1)
	h.sound(0)
	if n := h.records(h.s); n != 0 {
		t.Errorf("%d records after they were counted again", n)
	}
}

// TestServersThatKeepNoCounts: what is no longer of the tenant's change is not trusted.
func TestServersThatKeepNoCounts(t *testing.T) {
	h := newHolder(t)
	h.must(h.save(h.s, 0))
	h.without()
	h.change("tenant", bson.D{{Key: "$inc", Value: bson.D{{Key: "seq", Value: int64(1)}}}})
	if n := h.records(h.s); n != 0 {
		t.Errorf("%d records, as an earlier change had them", n)
	}
}

// TestWrongSpansAreMadeAgain: a check finds what is kept of the blocks of the log and is wrong, and makes it again.
func TestWrongSpansAreMadeAgain(t *testing.T) {
	h := newHolder(t)
	var c loci.Change
	for range 300 {
		c.Events = append(c.Events, storm.Creation(loci.NewID()).Events[0])
	}
	h.must(h.s.Apply(t.Context(), h.tn, c))
	h.sound(0)
	h.change("span", bson.D{{Key: "$inc", Value: bson.D{{Key: "first_seq", Value: int64(1)}}}})
	for _, n := range []int{1, 0} {
		found, err := h.s.Check(t.Context(), h.tn)
		if err != nil || len(found) != n || n == 1 && !strings.Contains(found[0], "kept places of events") {
			t.Errorf("%q, %v; want %d findings", found, err, n)
		}
	}
}
