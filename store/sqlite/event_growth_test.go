//go:build !race

// This test counts work and starts no goroutine: the race detector has nothing to see, and
// `make test` runs it without it.

package sqlite_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/effort"
	"github.com/loci-memory/loci/internal/locitest"
)

// Events of a rare type, or of long ago, are found among as few others in a long log as in a short one.
func TestRareEventsAreFoundInALongLog(t *testing.T) {
	tenant := locitest.Tenant(t, "t")
	fill := func(others int) func() {
		s := open(t)
		log := func(n int, typ loci.EventType, from time.Time) {
			var c loci.Change
			for i := range n {
				c.Events = append(c.Events, loci.Event{
					ID: loci.NewID(), Type: typ, Entity: loci.NewID(), Actor: "a",
					At: from.Add(time.Duration(i) * time.Second),
				})
			}
			if err := s.Apply(t.Context(), tenant, c); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Unix(1e9, 0)
		log(20, "rare", began)
		log(others, loci.EventUpdated, began.Add(time.Hour))
		return func() {
			for range 20 {
				for _, f := range []loci.EventFilter{{Types: []loci.EventType{"rare"}}, {Until: began.Add(time.Minute)}} {
					f.Within = []loci.Namespace{{}}
					if found, _, err := s.Events(t.Context(), tenant, f, loci.Page{}); err != nil || len(found) != 20 {
						t.Fatalf("%d events, %v", len(found), err)
					}
				}
			}
		}
	}
	few, many := fill(1_000), fill(40_000)
	few()
	many()
	effort.AtMost(t, "a look for rare events in a long log", 3, few, many)
}

// What a tenant's language models have used is read before each of their calls. How much else the log tells makes no
// difference.
func TestChargesAreFoundInALongLog(t *testing.T) {
	const calls = 120
	fill := func(others int) func() {
		s := open(t)
		e := locitest.NewEngine(t, s, loci.Options{})
		tenant := locitest.Bind(t, e, "u").View().Tenant
		note := func(typ loci.EventType, about loci.ID, payload string) loci.Event {
			return loci.Event{
				ID: loci.NewID(), Type: typ, Entity: about, At: time.Now(), Actor: "a", Payload: []byte(payload),
			}
		}
		var c loci.Change
		for range calls { // there are some in each part of the log
			id := loci.NewID()
			c.Events = append(c.Events, note(loci.EventReserved, loci.ID{}, `{"call":"`+id.String()+`","tokens":5}`))
			for range others / calls {
				c.Events = append(c.Events, note(loci.EventUpdated, loci.NewID(), `{"version":3}`))
			}
		}
		if err := s.Apply(t.Context(), tenant, c); err != nil {
			t.Fatal(err)
		}
		return func() {
			for range 20 {
				e := locitest.NewEngine(t, s, loci.Options{}) // another one remembers what it has counted
				if used, err := e.ModelTokensUsed(t.Context(), tenant); err != nil || used != 5*calls {
					t.Fatalf("%d tokens, %v", used, err)
				}
			}
		}
	}
	few, many := fill(120), fill(60_000)
	few()
	many()
	effort.AtMost(t, "a look at what language models used, in a long log", 3, few, many)
}
