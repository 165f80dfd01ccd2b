package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
)

// writers is how many goroutines race in the cases below.
const writers = 16

var concurrencyCases = []testCase{
	{"concurrent edits of one record are all there", func(b *bench) { increments(b, []loci.Store{b.store}) }},
	{"one of many takes a slot", func(b *bench) { slotRace(b, []loci.Store{b.store}) }},
	{"one of many creates a record", func(b *bench) {
		won := b.race([]loci.Store{b.store}, func(n int) loci.Change {
			r := record(1, fmt.Sprintf("winner%d", n))
			return creation(r)
		})
		b.same("hits of the winner", b.found(words(fmt.Sprint("winner", won))), ids(1))
		if events := b.events(loci.EventFilter{}); len(events) != 1 {
			b.Errorf("%d events; want 1", len(events))
		}
	}},
	{"one of many uses an idempotency key", func(b *bench) {
		won := b.race([]loci.Store{b.store}, func(n int) loci.Change {
			c := creation(record(n+1, "walrus"))
			c.Reply = reply("key 1", at(1))
			return c
		})
		b.same("hits", b.found(words("walrus")), ids(won+1))
	}},
	{"writers of different records do not disturb one another", func(b *bench) {
		const rounds = 12
		b.together([]loci.Store{b.store}, func(w int, s loci.Store) error {
			for round := range rounds {
				r := record(1+w*rounds+round, "walrus")
				if err := s.Apply(b.Context(), b.tenant, changeOf(embedded(r, 0.5))); err != nil {
					return err
				}
				if err := s.Touch(b.Context(), b.tenant, []loci.Touch{{ID: r.ID, At: at(50)}}); err != nil {
					return err
				}
				rows := []loci.RecordVectors{rowsOf(r, spaceB, 0.5)}
				if err := s.PutVectors(b.Context(), b.tenant, rows); err != nil {
					return err
				}
			}
			return nil
		})
		all := b.all(loci.Filter{Within: everywhere})
		for _, r := range all {
			if r.Uses != 1 {
				b.Errorf("record %v has %d uses; want 1", r.ID, r.Uses)
			}
		}
		if hits := b.match(words("walrus"), loci.Filter{}, 1000); len(all) != writers*rounds || len(hits) != writers*rounds {
			b.Errorf("%d records and %d hits; want %d", len(all), len(hits), writers*rounds)
		}
		b.wantSpaces(map[loci.Space]int64{spaceA: writers * rounds, spaceB: writers * rounds})
		events := b.events(loci.EventFilter{})
		if len(events) != writers*rounds {
			b.Errorf("%d events; want %d", len(events), writers*rounds)
		}
		b.ascending(events)
	}},
	{"concurrent touches are all counted", func(b *bench) {
		b.put(record(1, ""))
		b.together([]loci.Store{b.store}, func(w int, s loci.Store) error {
			for range 10 {
				if err := s.Touch(b.Context(), b.tenant, []loci.Touch{{ID: id(1), At: at(50)}}); err != nil {
					return err
				}
			}
			return nil
		})
		if got := b.get(id(1)).Uses; got != 10*writers {
			b.Errorf("%d uses; want %d", got, 10*writers)
		}
	}},
	{"readers never see half a change", func(b *bench) { halves(b, []loci.Store{b.store}) }},
}

// increments lets many goroutines count up one record by compare-and-swap.
func increments(b *bench, handles []loci.Store) {
	const rounds = 12
	b.put(counting(record(1, "counter"), 0))
	b.together(handles, func(w int, s loci.Store) error {
		for range rounds {
			for {
				records, _, err := s.Records(b.Context(), b.tenant, loci.Filter{Within: everywhere, IDs: ids(1)},
					loci.Page{Limit: 1})
				if err != nil || len(records) != 1 {
					return fmt.Errorf("records: %d, %w", len(records), err)
				}
				r := counting(next(records[0]), count(&records[0])+1)
				err = s.Apply(b.Context(), b.tenant, changeOf(loci.Put{Record: r, SameText: true, Revisions: 3}))
				if err == nil {
					break
				}
				if codeOf(err) != loci.Conflict {
					return err
				}
				runtime.Gosched()
			}
		}
		return nil
	})
	const want = writers * rounds
	r := b.get(id(1))
	if r.Version != want+1 || count(r) != want {
		b.Errorf("version %d, counter %d; want %d and %d", r.Version, count(r), want+1, want)
	}
	events := b.events(loci.EventFilter{})
	if len(events) != want+1 {
		b.Errorf("%d events; want %d", len(events), want+1)
	}
	b.ascending(events)
	for i, e := range events {
		if payload := fmt.Sprintf(`{"version":%d}`, want+1-i); !equalJSON(e.Payload, json.RawMessage(payload)) {
			b.Fatalf("event %d from the end tells %s; want %s: the log is not in the order of the edits", i, e.Payload, payload)
		}
	}
	b.wantRevisions(want, want-1, want-2)
}

// counting is the record with a counter in its attributes.
func counting(r loci.Record, n int) loci.Record {
	r.Attributes = json.RawMessage(fmt.Sprintf(`{"counter":%d}`, n))
	return r
}

// count reads the counter; -1 when there is none.
func count(r *loci.Record) int {
	doc := struct{ Counter *int }{}
	if json.Unmarshal(r.Attributes, &doc) != nil || doc.Counter == nil {
		return -1
	}
	return *doc.Counter
}

// slotRace lets many goroutines want one slot, again and again.
func slotRace(b *bench, handles []loci.Store) {
	for round := range 5 {
		slot := fmt.Sprint("slot ", round)
		won := b.race(handles, func(n int) loci.Change { return creation(holding(record(1+round*writers+n, "walrus"), slot)) })
		b.wantSlot(slot, 1+round*writers+won)
	}
	if got := b.all(loci.Filter{Within: everywhere}); len(got) != 5 {
		b.Errorf("%d records; want 5", len(got))
	}
}

// halves lets readers look while writers count two records up together.
func halves(b *bench, handles []loci.Store) {
	const edits = 60
	pair := []loci.Record{counting(record(1, "walrus"), 0), counting(record(2, "walrus"), 0)}
	b.apply(creation(pair...))
	var done atomic.Bool
	var group sync.WaitGroup
	for n := range 6 {
		s := handles[n%len(handles)]
		group.Go(func() {
			last := int64(0)
			for !done.Load() {
				version, err := readPair(b.Context(), s, b.tenant, n)
				if err != nil {
					b.Errorf("reader %d: %v", n, err)
					return
				}
				if version < last {
					b.Errorf("reader %d: version %d after %d", n, version, last)
					return
				}
				last = version
				runtime.Gosched()
			}
		})
	}
	for n := 1; n <= edits; n++ {
		pair[0], pair[1] = counting(next(pair[0]), n), counting(next(pair[1]), n)
		c := changeOf(loci.Put{Record: pair[0], SameText: true}, loci.Put{Record: pair[1], SameText: true})
		if n%2 == 0 { // both orders, and text that changes
			c.Put[0], c.Put[1] = c.Put[1], c.Put[0]
			c.Put[0].SameText, c.Put[1].SameText = false, false
		}
		if err := b.store.Apply(b.Context(), b.tenant, c); err != nil {
			b.Errorf("Apply: %v", err)
			break
		}
	}
	done.Store(true)
	group.Wait()
}

// readPair reads both records of a pair in one call and returns their version; an
// error tells that they do not belong together.
func readPair(ctx context.Context, s loci.Store, t loci.Tenant, n int) (int64, error) {
	f := loci.Filter{Within: everywhere}
	var versions []int64
	switch n % 3 {
	case 0:
		records, _, err := s.Records(ctx, t, f, loci.Page{})
		if err != nil {
			return 0, err
		}
		for i := range records {
			versions = append(versions, records[i].Version)
			if int64(count(&records[i]))+1 != records[i].Version {
				return 0, fmt.Errorf("record %v has version %d and counter %d", records[i].ID, records[i].Version, count(&records[i]))
			}
		}
	case 1:
		hits, err := s.Match(ctx, t, words("walrus"), f, 10)
		if err != nil {
			return 0, err
		}
		for _, h := range hits {
			versions = append(versions, h.Version)
		}
	case 2:
		events, _, err := s.Events(ctx, t, loci.EventFilter{Within: everywhere}, loci.Page{Limit: 1000})
		if err != nil {
			return 0, err
		}
		if len(events)%2 != 0 {
			return 0, fmt.Errorf("%d events of pairs", len(events))
		}
		return int64(len(events) / 2), nil
	}
	if len(versions) != 2 || versions[0] != versions[1] {
		return 0, fmt.Errorf("versions %v were read together", versions)
	}
	return versions[0], nil
}

// together runs do in many goroutines at once, spread over the handles.
func (b *bench) together(handles []loci.Store, do func(w int, s loci.Store) error) {
	b.Helper()
	errs := make([]error, writers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for w := range writers {
		group.Go(func() {
			<-start
			errs[w] = do(w, handles[w%len(handles)])
		})
	}
	close(start)
	group.Wait()
	for w, err := range errs {
		b.must(fmt.Sprint("writer ", w), err)
	}
}

// race applies one change of each goroutine, of which exactly one may succeed and
// all others must conflict. It returns the number of the winner.
func (b *bench) race(handles []loci.Store, change func(n int) loci.Change) (won int) {
	b.Helper()
	outcomes := make([]error, writers)
	b.together(handles, func(w int, s loci.Store) error {
		outcomes[w] = s.Apply(b.Context(), b.tenant, change(w))
		return nil
	})
	won = -1
	for w, err := range outcomes {
		switch {
		case err != nil:
			b.refused("the loser of a race", err, loci.Conflict)
		case won >= 0:
			b.Fatalf("both %d and %d won", won, w)
		default:
			won = w
		}
	}
	if won < 0 {
		b.Fatal("nobody won")
	}
	return won
}
