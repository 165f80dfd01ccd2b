package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

var roundTripCases = []testCase{
	{"every field comes back", func(b *bench) {
		bare := loci.Record{ID: id(2), Kind: "k", Version: 1, CreatedAt: at(2), UpdatedAt: at(2)}
		b.put(fullRecord(1), bare)
		b.comesBack(fullRecord(1), bare)
		b.put(next(fullRecord(1)), next(bare))
		b.comesBack(next(fullRecord(1)), next(bare))
	}},
	{"every character comes back", func(b *bench) {
		var n int
		// A text holds at most 256 KiB here: planes are cut into pieces.
		for first := rune(1); first <= 0x3ffff; first += 0x8000 {
			n++
			b.charactersComeBack(n, first, first+0x7fff)
		}
		b.charactersComeBack(n+1, 0xe0000, 0xe01ff)   // tags and variation selectors
		b.charactersComeBack(n+2, 0x10ff00, 0x10ffff) // the end of the code space
		b.put(record(n+3, "\ufeff\r\n\t \u202e "))    // a byte order mark and spaces stay
		b.comesBack(record(n+3, "\ufeff\r\n\t \u202e "))
	}},
	{"a text of 256 KiB comes back", func(b *bench) {
		r := record(1, strings.Repeat("walrus and telescope. ", 256<<10/22))
		r.Passages = nil
		for start := 0; start < len(r.Text); start += 640 {
			r.Passages = append(r.Passages, loci.Span{Start: start, End: min(start+700, len(r.Text))})
		}
		b.put(r)
		b.comesBack(r)
		if hits := b.match(words("telescope"), loci.Filter{}, 5); len(hits) != 1 {
			b.Errorf("%d hits; want 1", len(hits))
		}
	}},
	{"bytes of 16 MiB that are not searched come back", func(b *bench) {
		blob := make([]byte, 16<<20)
		source := rand.NewChaCha8([32]byte{})
		if _, err := source.Read(blob); err != nil {
			b.Fatal(err)
		}
		copy(blob, "walrus \x00\xff\xfe\xc3\x28")
		r := record(1, string(blob))
		r.Passages = nil
		b.put(r, record(2, "walrus"))
		want := sha256.Sum256(blob)
		if got := b.get(r.ID); sha256.Sum256([]byte(got.Text)) != want || len(got.Passages) > 0 {
			b.Errorf("%d bytes came back, not the %d that were put", len(got.Text), len(blob))
		}
		b.same("hits", b.found(words("walrus")), ids(2))
		r = next(r)
		r.Tags = []string{"kept"}
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Revisions: 1}))
		if got := b.get(r.ID); sha256.Sum256([]byte(got.Text)) != want || len(got.Tags) != 1 {
			b.Error("an edit beside the bytes changed them")
		}
		revisions, err := b.store.Revisions(b.Context(), b.tenant, r.ID)
		b.must("Revisions", err)
		if len(revisions) != 1 || sha256.Sum256([]byte(revisions[0].Text)) != want {
			b.Error("the revision does not hold the bytes")
		}
	}},
	{"every time comes back", func(b *bench) {
		times := []time.Time{
			time.Date(1, 1, 1, 0, 0, 0, 1_000_000, time.UTC), time.Date(1582, 10, 10, 1, 2, 3, 4_000_000, time.UTC),
			time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC), time.Unix(0, 0).UTC(), time.UnixMilli(1).UTC(),
			time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Date(2100, 2, 28, 23, 59, 59, 999_000_000, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		}
		var want []loci.Record
		for i, moment := range times {
			r := record(i+1, "")
			r.CreatedAt, r.UpdatedAt, r.ExpiresAt, r.UsedAt, r.Uses = moment, moment, moment, moment, 1
			b.put(r)
			want = append(want, r)
		}
		b.comesBack(want...)
		all := b.all(loci.Filter{Within: everywhere})
		for i, r := range all {
			if r.ID != want[len(want)-1-i].ID {
				b.Errorf("order by time is %v", recordIDs(all))
				break
			}
			for _, moment := range []time.Time{r.CreatedAt, r.UpdatedAt, r.ExpiresAt, r.UsedAt} {
				if name, _ := moment.Zone(); name != "UTC" {
					b.Errorf("time %v is not in UTC", moment)
				}
			}
		}
		for _, moment := range times {
			f := loci.Filter{Within: everywhere, At: moment}
			var selected []loci.ID
			for i := len(want) - 1; i >= 0; i-- {
				if f.Selects(&want[i]) {
					selected = append(selected, want[i].ID)
				}
			}
			b.same(fmt.Sprintf("records not expired at %v", moment), recordIDs(b.all(f)), selected)
		}
	}},
	{"times written in another zone are the same moments", func(b *bench) {
		r := record(1, "")
		zone := time.FixedZone("east", 5*3600+1800)
		r.CreatedAt, r.UpdatedAt, r.ExpiresAt = r.CreatedAt.In(zone), r.UpdatedAt.In(zone), at(9).In(zone)
		b.put(r, record(2, ""))
		b.comesBack(r)
		b.same("order", recordIDs(b.all(loci.Filter{Within: everywhere, At: at(8).In(zone)})), ids(2, 1))
	}},
	{"numbers at their limits come back", func(b *bench) {
		r := record(1, "")
		r.Uses = math.MaxInt64
		b.put(r)
		b.comesBack(r)
	}},
	{"JSON means the same when it comes back", func(b *bench) {
		documents := []string{`{}`, `{"a":null}`, `{"a":[]}`, `{"a":{"a":{"a":{}}}}`, `{"":"empty key"}`, `{"$ne":1,"a.b":2,"$a":{"$b":3},"_id":4}`,
			`{"n":[0,-0,1e2,1.50,0.1,9007199254740993,12345678901234567890,123456789.123456789123456789,-1e-300,1e300]}`,
			`{"s":"<&> ' \" \\ / \u0001 \u001f \u007f \u2028 \ud83d\ude00 \ufffd"}`, `{"ключ":"значение","鍵":"値","á":1,"a\u0301":2}`,
			`{"A":1,"a":2}`, ` { "spaced" : [ 1 , 2 ] } `, `{"$date":"2026-01-01T00:00:00Z","$numberLong":"1","$oid":"x"}`,
			`{"deep":` + strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60) + `}`}
		var want []loci.Record
		for i, document := range documents {
			r := record(i+1, "")
			r.Attributes, r.Body = json.RawMessage(document), json.RawMessage(document)
			c := creation(r)
			c.Events[0].Payload = json.RawMessage(document)
			c.Reply = reply(fmt.Sprint("document ", i), at(1))
			c.Reply.Value = json.RawMessage(document)
			b.apply(c)
			want = append(want, r)
			got, err := b.store.Replied(b.Context(), b.tenant, c.Reply.Key)
			b.must("Replied", err)
			b.same("reply", got, c.Reply)
			events := allEvents(b.Context(), b, b.store, b.tenant,
				loci.EventFilter{Within: everywhere, Entity: r.ID}, 10)
			if len(events) != 1 || !equalJSON(events[0].Payload, c.Events[0].Payload) {
				b.Errorf("payload %s came back as %v", document, events)
			}
		}
		b.comesBack(want...)
	}},
	{"a reply need not be an object", func(b *bench) {
		for i, value := range []string{`null`, `"text"`, `[]`, `0`, `true`} {
			c := loci.Change{Reply: reply(fmt.Sprint("value ", i), at(1))}
			c.Reply.Value = json.RawMessage(value)
			b.apply(c)
			got, err := b.store.Replied(b.Context(), b.tenant, c.Reply.Key)
			b.must("Replied", err)
			b.same("reply", got, c.Reply)
		}
	}},
	{"tags keep their order, letter case and form", func(b *bench) {
		r := record(1, "")
		r.Tags = []string{"b", "a", "A", "á", "a\u0301", "with space", "comma,", "'", `"`, "%", "_", "\\", "[", "null", "日本", "🦭", strings.Repeat("é", 64)}
		b.put(r)
		b.comesBack(r)
		for _, tag := range r.Tags {
			b.same("records with the tag "+tag, recordIDs(b.all(loci.Filter{Within: everywhere, Tags: []string{tag}})), ids(1))
		}
		for _, tag := range []string{"B", "comma", "with", "ab", "日", "", " a", "nul"} {
			b.same("records with the tag "+tag, recordIDs(b.all(loci.Filter{Within: everywhere, Tags: []string{tag}})), nil)
		}
	}},
	{"passages come back as they are", func(b *bench) {
		r := record(1, "overlapping passages of a text")
		r.Passages = []loci.Span{{Start: 0, End: 20}, {Start: 12, End: 30}, {Start: 0, End: 30}}
		b.put(r)
		b.comesBack(r)
	}},
}

// comesBack requires that records are read as they were put, each alone.
func (b *bench) comesBack(want ...loci.Record) {
	b.Helper()
	for i := range want {
		got := b.get(want[i].ID)
		if got == nil {
			b.Errorf("record %v is not there", want[i].ID)
		} else if diff := difference(&want[i], got); diff != "" {
			b.Errorf("record %v came back changed (-want +got):\n%.2000s", want[i].ID, diff)
		}
	}
}

// charactersComeBack puts the characters from first to last into every field
// that takes any text.
func (b *bench) charactersComeBack(n int, first, last rune) {
	b.Helper()
	var text strings.Builder
	for c := first; c <= last; c++ {
		if utf8.ValidRune(c) {
			text.WriteRune(c)
		}
	}
	r := record(n, text.String())
	r.Passages = nil // what the characters mean to search is another case
	value, err := json.Marshal(map[string]string{"text": r.Text})
	b.must("Marshal", err)
	r.Attributes, r.Body = value, value
	r.Tags = []string{string(first), string(last - 1)}
	r.Slot = string(first)
	b.put(r)
	b.comesBack(r)
}
