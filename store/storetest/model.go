package storetest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"pgregory.net/rapid"
)

// Compare does the same random things to a store and to a reference and requires
// that both answer alike, in every outcome, order and score. Alphabets are small,
// so that ids, slots, keys and words meet often.
//
// Everything that a tenant has is compared after each operation. Where there is a goal, it goes
// on, with another seed each time, until it did so many operations, and compares everything after
// one of eight of them and in the end: reading it all is most of the work.
//
// The log says how many it did, and with which seed: -rapid.seed does the same again, once.
// LOCI_TEST_OPERATIONS is another goal.
func Compare(t *testing.T, goal int, open, reference func(*testing.T) loci.Store) {
	t.Helper()
	if text := os.Getenv("LOCI_TEST_OPERATIONS"); text != "" {
		var err error
		if goal, err = strconv.Atoi(text); err != nil {
			t.Fatalf("LOCI_TEST_OPERATIONS is %q; it must be a number", text)
		}
	}
	once := flag.Lookup("rapid.seed").Value.String() != "0"
	for done := 0; done == 0 || done < goal && !once; {
		n := compare(t, goal > 0, open, reference)
		if n == 0 || t.Failed() {
			return
		}
		done += n
		t.Logf("%d operations so far", done)
	}
}

// compare does so as often as -rapid.checks says, and returns how many operations that were.
func compare(t *testing.T, seldom bool, open, reference func(*testing.T) loci.Store) (operations int) {
	t.Helper()
	seed := flag.Lookup("rapid.seed")
	if seed.Value.String() == "0" { // rapid would choose one, and say so only of what failed
		if err := flag.Set(seed.Name, strconv.FormatUint(rand.Uint64()|1, 10)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := flag.Set(seed.Name, "0"); err != nil {
				t.Error(err)
			}
		}()
	}
	sequences := 0
	counted := func(do func(*rapid.T)) func(*rapid.T) {
		return func(rt *rapid.T) {
			do(rt)
			operations++
		}
	}
	defer func() { t.Logf("%d operations in %d sequences, seed %s", operations, sequences, seed.Value) }()
	rapid.Check(t, func(rt *rapid.T) {
		sequences++
		m := &machine{ctx: t.Context(), store: open(t), reference: reference(t), clock: 1}
		defer func() {
			for _, s := range []loci.Store{m.store, m.reference} {
				if err := s.Close(); err != nil {
					rt.Errorf("Close: %v", err)
				}
			}
		}()
		for _, name := range []string{"a", "A"} {
			m.tenants = append(m.tenants, tenant(rt, name))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"apply":        counted(m.apply),
			"apply more":   counted(m.apply),
			"apply again":  counted(m.apply),
			"touch":        counted(m.touch),
			"vectors":      counted(m.vectors),
			"generation":   counted(m.generation),
			"look":         counted(m.look),
			"erase tenant": counted(m.eraseTenant),
			"": func(rt *rapid.T) {
				if !seldom || rapid.IntRange(0, 7).Draw(rt, "all") == 0 {
					m.compare(rt)
				}
			},
		})
		for _, m.tenant = range m.tenants {
			m.compare(rt)
		}
	})
	return operations
}

// A machine drives both stores.
type machine struct {
	ctx              context.Context
	store, reference loci.Store
	tenants          []loci.Tenant
	tenant           loci.Tenant // that the last step was about
	clock            int
	event            int // the last event's number
}

// The alphabets.
var (
	modelIDs         = rapid.SampledFrom(ids(1, 2, 3, 4, 5, 6))
	modelSlots       = rapid.SampledFrom([]string{"", "slot", "slot\x00", "Slot", "t"})
	modelWords       = rapid.SliceOfN(rapid.SampledFrom([]string{"walrus", "telescope", "harbour", "the", "東京"}), 0, 6)
	modelSpaces      = rapid.SampledFrom([]loci.Space{spaceA, spaceB, spaceC})
	modelTags        = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "X", "y"}), 0, 2, rapid.ID[string])
	modelDocs        = rapid.SampledFrom([]string{"", `{}`, `{"c":"x"}`, `{"c":"y","n":2}`, `{"n":10}`})
	modelPlaces      = []loci.Namespace{{}, {"a"}, {"a", "b"}, {"ab"}}
	modelKinds       = []loci.Kind{loci.KindFact, "item"}
	modelLinks       = rapid.SampledFrom([]loci.LinkType{loci.LinkSupports, loci.LinkSupersedes})
	modelScopes      = rapid.SampledFrom([]string{"", "global", "health"})
	modelHeadings    = rapid.SampledFrom([]string{"", "", "walrus", "red_telescope"})
	modelKeys        = rapid.SampledFrom([]string{"key 1", "key 2"})
	modelConfidences = rapid.SampledFrom([]float64{0.05, 0.2, 0.5, 1})

	modelCosine = rapid.SampledFrom([]float64{-1, -0.5, 0, 0.25, 0.5, 0.75, 1})
)

// begin chooses a tenant and lets time pass.
func (m *machine) begin(t *rapid.T) time.Time {
	m.tenant = rapid.SampledFrom(m.tenants).Draw(t, "tenant")
	m.clock++
	return at(m.clock)
}

// outcome does the same to both stores and requires the same outcome.
func (m *machine) outcome(t *rapid.T, what string, do func(s loci.Store) error) {
	want, got := do(m.reference), do(m.store)
	if codeOf(want) != codeOf(got) {
		t.Fatalf("%s: got %v; the reference says %v", what, got, want)
	}
}

// stored reads the reference's record of an id, or nil.
func (m *machine) stored(t *rapid.T, id loci.ID) *loci.Record {
	records := allRecords(m.ctx, t, m.reference, m.tenant, loci.Filter{
		Within: everywhere, IDs: []loci.ID{id}, NotLive: true,
	}, 10)
	if len(records) == 0 {
		return nil
	}
	return &records[0]
}

// apply makes a change of a few puts, erases and links, and often a reply. Most
// versions are right, some are not.
func (m *machine) apply(t *rapid.T) {
	now := m.begin(t)
	var c loci.Change
	named := rapid.SliceOfNDistinct(modelIDs, 1, 4, rapid.ID[loci.ID]).Draw(t, "ids")
	var put []loci.ID
	for _, id := range named {
		old := m.stored(t, id)
		slip := int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "slip"))
		if rapid.IntRange(0, 3).Draw(t, "erase") == 0 && (old != nil || slip != 0) {
			e := loci.Erase{ID: id, Version: 1 + slip}
			r := loci.Record{ID: id}
			if old != nil {
				e.Version, r = old.Version+slip, *old
			}
			c.Erase = append(c.Erase, e)
			if rapid.IntRange(0, 3).Draw(t, "tell") > 0 {
				c.Events = append(c.Events, m.note(loci.EventErased, r, now))
			}
			continue
		}
		p := m.put(t, id, old, now)
		p.Record.Version += slip
		put = append(put, id)
		c.Put = append(c.Put, p)
		c.Events = append(c.Events, m.note(loci.EventUpdated, p.Record, now))
	}
	if len(put) > 0 && rapid.Bool().Draw(t, "link") {
		ends := rapid.SampledFrom(put)
		c.Links = append(c.Links, loci.Link{
			From: ends.Draw(t, "from"), Type: modelLinks.Draw(t, "type"), To: ends.Draw(t, "to"), At: now,
		})
	}
	if rapid.IntRange(0, 3).Draw(t, "reply") == 0 {
		c.Reply = &loci.Reply{
			At: now, Key: modelKeys.Draw(t, "key"),
			Fingerprint: fmt.Sprint(m.clock), Value: json.RawMessage(`{"n":1}`),
			ExpiresAt: now.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "ttl")) * time.Second),
		}
		if len(put) > 0 {
			c.Reply.Record = put[0]
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "expect") == 0 {
		active := rapid.SampledFrom([]loci.Space{{}, spaceA, spaceB, spaceC}).Draw(t, "active")
		c.Active = &active
	}
	m.outcome(t, fmt.Sprintf("Apply %+v", c), func(s loci.Store) error { return s.Apply(m.ctx, m.tenant, c) })
}

// note is an event with a number of its own, the same for both stores.
func (m *machine) note(typ loci.EventType, r loci.Record, now time.Time) loci.Event {
	m.event++
	return loci.Event{
		ID: id(1_000_000 + m.event), Type: typ, Kind: r.Kind, Entity: r.ID, Namespace: r.Namespace,
		At: now, Actor: "model", Payload: json.RawMessage(`{"n":1}`), Nonce: []byte(fmt.Sprint(m.event)),
	}
}

// put draws a new state of a record; old is the stored one, or nil.
func (m *machine) put(t *rapid.T, id loci.ID, old *loci.Record, now time.Time) loci.Put {
	n := int(id[15])
	r := loci.Record{ID: id, Kind: modelKinds[n%2], Namespace: modelPlaces[n%4], Version: 1, CreatedAt: now}
	p := loci.Put{Revisions: rapid.IntRange(-1, 3).Draw(t, "revisions")}
	if old != nil {
		r = *old
		r.Version++
		p.SameText = rapid.Bool().Draw(t, "same text")
	} else if rapid.Bool().Draw(t, "earlier") {
		r.CreatedAt = at(0) // many of one time
	}
	r.UpdatedAt = now
	r.Slot = modelSlots.Draw(t, "slot")
	r.Live = rapid.IntRange(0, 4).Draw(t, "live") > 0
	r.ExpiresAt = time.Time{}
	if rapid.IntRange(0, 2).Draw(t, "expires") == 0 {
		r.ExpiresAt = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "life")) * time.Second)
	}
	r.Tags = modelTags.Draw(t, "tags")
	r.Attributes = nil
	if doc := modelDocs.Draw(t, "attributes"); doc != "" {
		r.Attributes = json.RawMessage(doc)
	}
	r.Scope, r.Status = modelScopes.Draw(t, "scope"), modelScopes.Draw(t, "status")
	if r.Sequence, r.Position = modelScopes.Draw(t, "sequence"), 0; r.Sequence != "" {
		r.Position = int64(rapid.IntRange(0, 2).Draw(t, "position"))
	}
	r.Decay, r.EndsAt, r.DueAt = loci.Decay{}, time.Time{}, time.Time{}
	if rapid.Bool().Draw(t, "decays") {
		r.Decay = loci.Decay{Confidence: modelConfidences.Draw(t, "confidence"), Rate: 30_000, From: now}
		r.EndsAt, r.DueAt = r.Decay.Below(loci.LiveConfidence), r.Decay.Below(loci.ActiveConfidence)
	}
	if !p.SameText {
		r.Text, r.Passages = m.text(t)
		r.Heading = modelHeadings.Draw(t, "heading")
		if len(r.Passages) > 0 && rapid.Bool().Draw(t, "embedded") {
			p.Vectors = []loci.Vectors{m.rows(t, len(r.Passages))}
			if more := m.rows(t, len(r.Passages)); more.Space != p.Vectors[0].Space && rapid.Bool().Draw(t, "two spaces") {
				p.Vectors = append(p.Vectors, more)
			}
		}
	}
	p.Record = r
	return p
}

// text draws a text of up to two passages.
func (m *machine) text(t *rapid.T) (string, []loci.Span) {
	first := strings.Join(modelWords.Draw(t, "words"), " ")
	if first == "" {
		return "", nil
	}
	if rapid.IntRange(0, 2).Draw(t, "long") == 0 {
		return cut(first, ". "+strings.Join(modelWords.Draw(t, "more words"), " "))
	}
	return cut(first)
}

func (m *machine) rows(t *rapid.T, n int) loci.Vectors {
	v := loci.Vectors{Space: modelSpaces.Draw(t, "space")}
	for range n {
		v.Rows = append(v.Rows, leaning(v.Space, modelCosine.Draw(t, "cosine")))
	}
	return v
}

func (m *machine) touch(t *rapid.T) {
	now := m.begin(t)
	var touches []loci.Touch
	for _, id := range rapid.SliceOfN(modelIDs, 1, 3).Draw(t, "ids") {
		touch := loci.Touch{ID: id}
		if rapid.Bool().Draw(t, "use") {
			touch.At = now
		}
		if rapid.Bool().Draw(t, "move") {
			touch.ExpiresAt = now.Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "life")) * time.Second)
		}
		touches = append(touches, touch)
	}
	m.outcome(t, "Touch", func(s loci.Store) error { return s.Touch(m.ctx, m.tenant, touches) })
}

func (m *machine) vectors(t *rapid.T) {
	m.begin(t)
	var rows []loci.RecordVectors
	for _, id := range rapid.SliceOfNDistinct(modelIDs, 1, 3, rapid.ID[loci.ID]).Draw(t, "ids") {
		old := m.stored(t, id)
		if old == nil || len(old.Passages) == 0 {
			continue
		}
		slip := int64(rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(t, "slip"))
		rows = append(rows, loci.RecordVectors{
			ID: id, Version: old.Version + slip, Vectors: m.rows(t, len(old.Passages)),
		})
	}
	m.outcome(t, "PutVectors", func(s loci.Store) error { return s.PutVectors(m.ctx, m.tenant, rows) })
}

// generation switches to another space, from the right one or not, and drops the
// vectors of one.
func (m *machine) generation(t *rapid.T) {
	m.begin(t)
	from, err := m.reference.ActiveSpace(m.ctx, m.tenant)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.IntRange(0, 4).Draw(t, "wrong") == 0 {
		from = modelSpaces.Draw(t, "from")
	}
	to, lacking := modelSpaces.Draw(t, "to"), rapid.Int64Range(0, 6).Draw(t, "lacking")
	m.outcome(t, "SwitchSpace", func(s loci.Store) error { return s.SwitchSpace(m.ctx, m.tenant, from, to, lacking) })
	drop := modelSpaces.Draw(t, "drop")
	dropped := map[loci.Store]int{}
	m.outcome(t, "DropVectors", func(s loci.Store) (err error) {
		dropped[s], err = s.DropVectors(m.ctx, m.tenant, drop, 100)
		return err
	})
	if dropped[m.store] != dropped[m.reference] {
		t.Fatalf("vectors of %d records are dropped; the reference says %d", dropped[m.store], dropped[m.reference])
	}
}

func (m *machine) eraseTenant(t *rapid.T) {
	m.begin(t)
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		return
	}
	m.outcome(t, "EraseTenant", func(s loci.Store) error { return s.EraseTenant(m.ctx, m.tenant) })
}

// look asks both stores the same random questions.
func (m *machine) look(t *rapid.T) {
	now := m.begin(t)
	f := loci.Filter{
		Within:  rapid.SliceOfN(rapid.SampledFrom(modelPlaces), 1, 2).Draw(t, "within"),
		Exact:   rapid.Bool().Draw(t, "exact"),
		NotLive: rapid.Bool().Draw(t, "not live"), Gone: rapid.IntRange(0, 3).Draw(t, "gone") == 0, Space: modelSpaces.Draw(t, "space"),
		Waning: rapid.IntRange(0, 3).Draw(t, "waning") == 0, Ended: rapid.IntRange(0, 5).Draw(t, "ended") == 0,
	}
	if rapid.Bool().Draw(t, "at") {
		f.At, f.Expired = now, rapid.IntRange(0, 3).Draw(t, "expired") == 0
	}
	if rapid.IntRange(0, 2).Draw(t, "by tag") == 0 {
		f.Tags = modelTags.Draw(t, "tags")
	}
	if rapid.IntRange(0, 2).Draw(t, "by kind") == 0 {
		f.Kinds = []loci.Kind{rapid.SampledFrom(modelKinds).Draw(t, "kind")}
	}
	if rapid.IntRange(0, 2).Draw(t, "by scope") == 0 {
		f.Scopes, f.Statuses = []string{modelScopes.Draw(t, "scope")}, []string{modelScopes.Draw(t, "status"), ""}
	}
	if rapid.IntRange(0, 2).Draw(t, "by confidence") == 0 {
		f.MinConfidence = modelConfidences.Draw(t, "least confidence")
	}
	if rapid.IntRange(0, 3).Draw(t, "due") == 0 {
		f.Due = now
	}
	if rapid.IntRange(0, 2).Draw(t, "by attribute") == 0 {
		f.Where = where(t, rapid.SampledFrom([]map[string]any{{"c": "x"}, {"n": map[string]any{"$gte": 2}}, {"content": "walrus"}}).Draw(t, "where"))
	}
	p := loci.Probe{Text: strings.Join(modelWords.Draw(t, "words"), " ")}
	if p.Text != "" {
		p.Text = fmt.Sprintf(rapid.SampledFrom([]string{"%s", "%s", `"%s"`, "%s*", "%s wal*"}).Draw(t, "syntax"), p.Text)
	}
	if rapid.Bool().Draw(t, "by vector") {
		p.Space, p.Quick = modelSpaces.Draw(t, "probe space"), rapid.Bool().Draw(t, "quick")
		p.Vector = leaning(p.Space, modelCosine.Draw(t, "cosine"))
	}
	if rapid.IntRange(0, 2).Draw(t, "by slot") == 0 {
		f.Slots = loci.SlotRange{From: modelSlots.Draw(t, "from slot"), To: modelSlots.Draw(t, "to slot")}
	}
	if rapid.IntRange(0, 2).Draw(t, "by sequence") == 0 {
		f.Sequences = []string{modelScopes.Draw(t, "of sequence")}
	}
	order := rapid.SampledFrom(orders).Draw(t, "order")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	p.Few = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "limit of few")
	size := rapid.IntRange(1, 4).Draw(t, "page")
	answers := func(s loci.Store) (out []any) {
		out = append(out, recordIDs(recordsInOrder(m.ctx, t, s, m.tenant, f, order, size)))
		hits, err := s.Match(m.ctx, m.tenant, p, f, limit)
		out = append(out, tidy(hits), codeOf(err))
		counts, err := s.Count(m.ctx, m.tenant, f)
		out = append(out, counts, codeOf(err))
		namespaces, err := s.Namespaces(m.ctx, m.tenant, f)
		out = append(out, namespaces, codeOf(err))
		unembedded, err := s.Unembedded(m.ctx, m.tenant, f.Space, id(2), size)
		return append(out, unembedded, codeOf(err))
	}
	if diff := difference(answers(m.reference), answers(m.store)); diff != "" {
		t.Fatalf("answers to %+v and %+v differ (-reference +store):\n%s", p, f, diff)
	}
}

// modelWatch is what is compared after every step.
var modelWatch = watch{ids: ids(1, 2, 3, 4, 5, 6), keys: []string{"key 1", "key 2"},
	probes: []loci.Probe{both("walrus telescope 東京", spaceA), words("harbour"), direction(spaceB)}}

// compare requires that the tenant of the last step is the same in both stores.
func (m *machine) compare(t *rapid.T) {
	if m.tenant.IsZero() {
		return
	}
	read := func(s loci.Store) state {
		out := withoutSeq(stateOf(m.ctx, t, s, m.tenant, modelWatch))
		for key, reply := range out.Replies {
			if reply != nil && !at(m.clock).Before(reply.ExpiresAt) {
				out.Replies[key] = nil // a store may drop it at any time
			}
		}
		return out
	}
	want, got := read(m.reference), read(m.store)
	if diff := difference(want, got); diff != "" {
		t.Fatalf("the stores differ (-reference +store):\n%s", diff)
	}
	// The log accuses nobody, whatever was done.
	e, err := loci.New(m.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := e.VerifyEvents(m.ctx, m.tenant, loci.Hash{}); err != nil || len(report.Problems) > 0 {
		t.Fatalf("the log of a healthy store: %+v, %v", report, err)
	}
	wantTenants, _ := tenants(m.ctx, m.reference)
	gotTenants, err := tenants(m.ctx, m.store)
	if err != nil || !slices.Equal(wantTenants, gotTenants) {
		t.Fatalf("tenants %q, error %v; the reference has %q", gotTenants, err, wantTenants)
	}
	for s := range maps.Keys(got.Spaces) {
		if s.IsZero() {
			t.Fatalf("vectors in no space")
		}
	}
}
