package index

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A glance selects what the header would, whatever else an entry has.
func TestAGlanceSelectsAsTheHeader(t *testing.T) {
	t.Parallel()
	key, rng := keysOf()[0], rand.New(rand.NewPCG(7, 8))
	x := New(space)
	x.AddShard(key)
	moment := func() time.Time {
		if rng.IntN(2) == 0 {
			return time.Time{}
		}
		return time.UnixMilli(rng.Int64N(40) - 10).UTC()
	}
	some := func(text string) string {
		if rng.IntN(2) == 0 {
			return ""
		}
		return text
	}
	const records = 400
	for i := range records {
		r := record(i, places[0], "tea")
		r.Slot, r.Status, r.Heading = some("slot"+string(rune(i))), some("proven"), some("About tea")
		r.Scope = []string{"", "global", "ada"}[rng.IntN(3)]
		r.EndsAt, r.DueAt, r.UpdatedAt, r.ExpiresAt = moment(), moment(), moment(), moment()
		if rng.IntN(2) == 0 {
			r.Attributes = json.RawMessage(`{"a":1}`)
		}
		if rng.IntN(2) == 0 {
			r.Tags = []string{"one", "two"}
		}
		if rng.IntN(3) > 0 {
			r.Decay = loci.Decay{Confidence: rng.Float64(), Rate: rng.Float64() * 3e6, From: time.UnixMilli(3).UTC()}
		}
		x.UpsertPlaced(r, codes(r, uint64(i)), int64(i+1), int64(rng.IntN(3)))
	}
	shelve(t, x, key)
	for i := range 40 {
		x.SetExpiry(key, record(i*10, places[0]).ID, moment())
	}
	selected, glanced := 0, 0
	for range 200 {
		f := loci.Filter{Within: places[:1], At: moment(), Kinds: []loci.Kind{loci.KindFact}}
		f.MinConfidence = float64(rng.IntN(3)) / 4
		if !f.At.IsZero() {
			f.At = f.At.Add(time.Duration(rng.IntN(2)) * 999_999)
		}
		if rng.IntN(2) == 0 {
			f.Scopes = []string{"global", "ada"}[:1+rng.IntN(2)]
		}
		if !glances(&f) || !covers(&f, x.shards[key]) {
			t.Fatalf("a filter that asks for the scope and moments alone is asked the header: %+v", f)
		}
		for p := range x.shards[key].parts {
			for n := range uint32(p.allEntries()) {
				g, ok := p.glance(n)
				if !ok {
					continue
				}
				glanced++
				var room loci.Record
				want := f.SelectsHeader(p.headerOf(n, &room))
				if got := g.selectedBy(&f); got != want {
					t.Fatalf("%+v of %+v by %+v: %v, want %v", g, room, f, got, want)
				}
				if want {
					selected++
				}
			}
		}
	}
	if glanced != 200*(records-40) || selected < glanced/20 || selected > glanced*3/4 {
		t.Errorf("%d of %d are selected", selected, glanced)
	}
	for _, f := range []loci.Filter{{}, {Within: places[2:]}, {Within: places[:1], Kinds: []loci.Kind{"item"}}} {
		if covers(&f, x.shards[key]) {
			t.Errorf("%+v covers the facts of another namespace", f)
		}
	}
}

// Of a shard that the filter does not cover nothing is selected, even if a search comes to look into it.
func TestNothingIsSelectedBesideTheFilter(t *testing.T) {
	t.Parallel()
	key := keysOf()[0]
	x := New(space)
	x.AddShard(key)
	r := record(1, places[0], "tea")
	x.Upsert(r, codes(r, 1))
	shelve(t, x, key)
	for selects, f := range map[bool]loci.Filter{true: {Within: places[:1]}, false: {Within: places[2:]}} {
		s := &search{filter: &f, glances: glances(&f)}
		s.cover(x.shards[key])
		found := 0
		for i := range s.parts {
			for n := range uint32(s.parts[i].allEntries()) {
				ok, err := s.selected(place{int32(i), n})
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					found++
				}
			}
		}
		if want := map[bool]int{true: 1}[selects]; found != want || !s.glances {
			t.Errorf("%+v selects %d entries, want %d", f, found, want)
		}
	}
}

// Whatever else a filter asks for, it asks the header: also what it may learn to ask for one day.
func TestOtherFiltersAskTheHeader(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"Within": true, "Exact": true, "Kinds": true, "Scopes": true, "At": true, "MinConfidence": true,
		"Space": true, "Each": true} // of these two a search asks nothing
	of := reflect.TypeFor[loci.Filter]()
	for i := range of.NumField() {
		var f loci.Filter
		switch v := reflect.ValueOf(&f).Elem().Field(i); v.Interface().(type) {
		case loci.Where:
			f.Where.Member = "data"
		case loci.SlotRange:
			f.Slots = loci.SlotsBeginning("a")
		case time.Time:
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
		case bool:
			v.SetBool(true)
		case float64:
			v.SetFloat(0.5)
		default:
			switch v.Kind() {
			case reflect.Slice:
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			case reflect.Pointer:
				v.Set(reflect.New(v.Type().Elem()))
			}
		}
		if name := of.Field(i).Name; glances(&f) != known[name] {
			t.Errorf("a filter with %s glances: %v", name, !known[name])
		}
	}
}

// A time in milliseconds is the same moment as the time that is made of it, before 1970, too.
func TestMomentsOfMilliseconds(t *testing.T) {
	t.Parallel()
	for _, milli := range []int64{0, 1, 999, 1000, 1_764_464_400_123, -1, -999, -1000, -1001, -62_135_596_800_000} {
		if got, want := momentAt(milli), momentOf(time.UnixMilli(milli)); got != want {
			t.Errorf("%d: %v, want %v", milli, got, want)
		}
	}
}
