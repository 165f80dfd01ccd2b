package storetest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// The places and spaces of the cases.
var (
	everywhere = []loci.Namespace{{}}
	home       = loci.Namespace{"user", "ada"}

	spaceA = loci.Space{Model: "model-a", Dims: 8}
	spaceB = loci.Space{Model: "model-b", Dims: 8} // as many dimensions, another model
	spaceC = loci.Space{Model: "model-a", Dims: 4} // the same model, fewer dimensions
)

// epoch is the moment the cases count from.
var epoch = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// at is n seconds after the epoch.
func at(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }

// id is the n-th id; ids are ordered as their numbers.
func id(n int) (id loci.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// ids are the n-th ids.
func ids(n ...int) []loci.ID {
	out := make([]loci.ID, len(n))
	for i := range n {
		out[i] = id(n[i])
	}
	return out
}

// tenant makes a tenant of a valid name.
func tenant(t tester, name string) loci.Tenant {
	t.Helper()
	made, err := loci.NewTenant(name)
	if err != nil {
		t.Fatalf("NewTenant(%q): %v", name, err)
	}
	return made
}

// record is a live fact with a text of one passage, created n seconds after the epoch.
func record(n int, text string) loci.Record {
	return loci.Record{ID: id(n), Kind: loci.KindFact, Namespace: slices.Clone(home), Version: 1, Live: true,
		CreatedAt: at(n), UpdatedAt: at(n), Text: text, Passages: whole(text)}
}

// whole is a text as one passage.
func whole(text string) []loci.Span {
	if text == "" {
		return nil
	}
	return []loci.Span{{Start: 0, End: len(text)}}
}

// cut makes a text and its passages of parts.
func cut(parts ...string) (text string, passages []loci.Span) {
	for _, part := range parts {
		passages = append(passages, loci.Span{Start: len(text), End: len(text) + len(part)})
		text += part
	}
	return text, passages
}

// holding is the record in a slot.
func holding(r loci.Record, slot string) loci.Record {
	r.Slot = slot
	return r
}

// placed is the record in a namespace.
func placed(r loci.Record, labels ...string) loci.Record {
	r.Namespace = labels
	return r
}

// next is the state of a record after r, written a minute later.
func next(r loci.Record) loci.Record {
	r.Version++
	r.UpdatedAt = r.UpdatedAt.Add(time.Minute)
	return r
}

// event is a new event about a record.
func event(typ loci.EventType, r loci.Record) loci.Event {
	return loci.Event{ID: loci.NewID(), Type: typ, Kind: r.Kind, Entity: r.ID, Namespace: r.Namespace, At: r.UpdatedAt,
		Actor: "tester", RequestID: "request", Payload: json.RawMessage(fmt.Sprintf(`{"version":%d}`, r.Version))}
}

// changeOf makes a change of puts, with the events that belong to them.
func changeOf(puts ...loci.Put) (c loci.Change) {
	for _, p := range puts {
		typ := loci.EventCreated
		if p.Record.Version > 1 {
			typ = loci.EventUpdated
		}
		c.Put = append(c.Put, p)
		c.Events = append(c.Events, event(typ, p.Record))
	}
	return c
}

// creation makes a change that puts records without vectors.
func creation(records ...loci.Record) loci.Change {
	puts := make([]loci.Put, len(records))
	for i, r := range records {
		puts[i] = loci.Put{Record: r}
	}
	return changeOf(puts...)
}

// erasure makes a change that erases records at their versions.
func erasure(records ...loci.Record) (c loci.Change) {
	for _, r := range records {
		c.Erase = append(c.Erase, loci.Erase{ID: r.ID, Version: r.Version})
		e := event(loci.EventErased, r)
		e.At = e.At.Add(time.Minute)
		c.Events = append(c.Events, e)
	}
	return c
}

// reply is an answer remembered under a key for a day after a moment.
func reply(key string, now time.Time) *loci.Reply {
	return &loci.Reply{
		At: now, Key: key, Fingerprint: "print of " + key,
		Value: json.RawMessage(`{"ok":true}`), ExpiresAt: now.Add(24 * time.Hour),
	}
}

// leaning is the vector of a space whose cosine with the axis 0 is similarity.
func leaning(s loci.Space, similarity float64) []float32 {
	v := make([]float32, s.Dims)
	v[0], v[1] = float32(similarity), float32(math.Sqrt(1-similarity*similarity))
	return v
}

// axis is the unit vector along axis 0.
func axis(s loci.Space) []float32 { return leaning(s, 1) }

// randomVector is a unit vector in any direction.
func randomVector(r *rand.Rand, s loci.Space) []float32 {
	v := make([]float32, s.Dims)
	var sum float64
	for i := range v {
		x := r.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// dot is the cosine of two unit vectors.
func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// vectors are rows of a space.
func vectors(s loci.Space, rows ...[]float32) []loci.Vectors {
	return []loci.Vectors{{Space: s, Rows: rows}}
}

// embedded puts a record whose one passage leans so much to axis 0 of space A.
func embedded(r loci.Record, similarity float64) loci.Put {
	return loci.Put{Record: r, Vectors: vectors(spaceA, leaning(spaceA, similarity))}
}

// words is a probe by keyword.
func words(text string) loci.Probe { return loci.Probe{Text: text} }

// direction is a probe by similarity to axis 0 of a space.
func direction(s loci.Space) loci.Probe { return loci.Probe{Vector: axis(s), Space: s} }

// both is a probe by keyword and by similarity.
func both(text string, s loci.Space) loci.Probe {
	return loci.Probe{Text: text, Vector: axis(s), Space: s}
}

// random is a source of numbers that is the same in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 20260304)) }

// pick chooses one of some values.
func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
