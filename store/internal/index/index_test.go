package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/segment"
)

var space = loci.Space{Model: "m", Dims: 8}

// corpus is what an index is made from, to make it again and to search it slowly.
type corpus struct {
	records map[loci.ID]*loci.Record
	codes   map[loci.ID][][]byte
}

func record(id int, namespace loci.Namespace, passages ...string) *loci.Record {
	r := &loci.Record{ID: loci.ID{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)},
		Kind: loci.KindFact, Namespace: namespace, Version: 1, Live: true,
		CreatedAt: time.UnixMilli(int64(id % 5)).UTC()}
	for _, p := range passages {
		start := len(r.Text)
		r.Text += p + "\n"
		r.Passages = append(r.Passages, loci.Span{Start: start, End: start + len(p)})
	}
	return r
}

func codes(r *loci.Record, seed uint64) (out [][]byte) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range r.Passages {
		v := make([]float32, space.Dims)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		out = append(out, vector.Quantize(v))
	}
	return out
}

func (c *corpus) fresh(keys ...Key) *Index {
	x := New(space)
	for _, key := range keys {
		x.AddShard(key)
	}
	for _, id := range slices.SortedFunc(func(yield func(loci.ID) bool) {
		for id := range c.records {
			if !yield(id) {
				return
			}
		}
	}, func(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) }) {
		x.Upsert(c.records[id], c.codes[id])
	}
	return x
}

func (c *corpus) load(ids []loci.ID) (out []loci.Record, err error) {
	for _, id := range ids {
		if r := c.records[id]; r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

var places = []loci.Namespace{{"u"}, {"u", "x"}, {"v"}}

var kinds = []loci.Kind{loci.KindFact, "item"}

func keysOf() (keys []Key) {
	for _, n := range places {
		for _, kind := range kinds {
			keys = append(keys, Key{Namespace: n.Key(), Kind: kind})
		}
	}
	return keys
}

var vocabulary = strings.Fields("zebra lion tea cup river stone cloud zebra tea tea 42 東京 running runs")

func anyProbe(t *rapid.T) loci.Probe {
	p := loci.Probe{Space: space, Sequences: rapid.Bool().Draw(t, "sequences"), Texts: rapid.Bool().Draw(t, "texts")}
	if rapid.Bool().Draw(t, "by words") {
		p.Text = strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 4).Draw(t, "query"), " ")
		p.Text = fmt.Sprintf(rapid.SampledFrom([]string{"%s", "%s", `"%s"`, `"tea cup" %s`, "%s*", "st* %s runn*"}).Draw(t, "syntax"), p.Text)
	}
	if rapid.IntRange(0, 4).Draw(t, "loosely") == 0 { // the search that looks at everything cannot follow this
		p.Text += " zebrra rivver teacup stoned"
		p.Quick = rapid.Bool().Draw(t, "quick")
	}
	if p.Text == "" || rapid.Bool().Draw(t, "by vector") {
		p.Vector = rapid.SliceOfN(rapid.Float32Range(-1, 1), space.Dims, space.Dims).Draw(t, "vector")
	}
	return p
}

func anyFilter(t *rapid.T) loci.Filter {
	f := loci.Filter{Within: rapid.SliceOfN(rapid.SampledFrom(append(places, loci.Namespace{}, loci.Namespace{"w"})),
		0, 2).Draw(t, "within"), Exact: rapid.Bool().Draw(t, "exact")}
	if rapid.Bool().Draw(t, "tagged") {
		f.Tags = []string{"odd"}
	}
	switch rapid.IntRange(0, 9).Draw(t, "more") {
	case 0:
		f.Sequences = []string{"a", ""}
	case 1:
		f.At = time.UnixMilli(12).UTC()
	case 2:
		f.MinConfidence, f.At = 0.4, time.UnixMilli(6).UTC()
	case 3:
		slot := "slot 5"
		f.Slot = &slot
	case 4:
		f.Scopes, f.Statuses = []string{"scope"}, []string{"valid"}
	case 5:
		f.Due = time.UnixMilli(8).UTC()
	}
	f.Kinds = rapid.SliceOfN(rapid.SampledFrom(append(kinds, "none")), 0, 2).Draw(t, "kinds")
	return f
}

// mutate makes one random change to index and corpus alike.
func (c *corpus) mutate(t *rapid.T, x *Index) {
	id := rapid.IntRange(0, 30).Draw(t, "id")
	n := places[id%len(places)] // a record never changes its namespace
	r := record(id, n, rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6),
		func(words []string) string { return strings.Join(words, " ") }), 0, 4).Draw(t, "passages")...)
	if id%2 == 1 {
		r.Tags = []string{"odd"}
	}
	r.Kind = kinds[id/3%2]
	if talk := rapid.SampledFrom([]string{"", "", "a", "b", "named"}).Draw(t, "sequence"); talk == "named" {
		r.Attributes = json.RawMessage(`{"thread_id":"a","role":"assistant"}`)
	} else if r.Sequence = talk; talk != "" {
		r.Position = rapid.Int64Range(0, 5).Draw(t, "position")
	}
	if id%4 == 1 {
		r.Slot, r.Heading, r.Scope, r.Status = fmt.Sprint("slot ", id), "heading", "scope", "valid"
		r.Decay = loci.Decay{Confidence: 0.5, Rate: 0.25, From: time.UnixMilli(5).UTC()}
		r.ExpiresAt, r.EndsAt, r.DueAt = time.UnixMilli(int64(id)).UTC(),
			time.UnixMilli(100).UTC(), time.UnixMilli(7).UTC()
	}
	delete(c.codes, r.ID)
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		delete(c.records, r.ID)
		x.Remove(n.Key(), r.ID)
	case 1:
		r.Live = false
		c.records[r.ID] = r
		x.Upsert(r, nil)
	default:
		c.records[r.ID] = r
		if rapid.Bool().Draw(t, "embedded") {
			c.codes[r.ID] = codes(r, rapid.Uint64().Draw(t, "seed"))
		}
		x.Upsert(r, c.codes[r.ID])
	}
	if rapid.IntRange(0, 9).Draw(t, "compact") == 0 {
		for _, s := range x.shards {
			s.compact()
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "shelve") == 0 {
		for _, key := range keysOf() {
			if n := len(x.shards[key].segments); n > 0 && rapid.IntRange(0, 2).Draw(t, "thaw") == 0 {
				x.Thaw(key, rapid.IntRange(0, n-1).Draw(t, "thawed"))
			}
			shelve(t, x, key)
		}
	}
}

// shelve puts what a shard has on the heap into a segment.
func shelve(t require, x *Index, key Key) {
	t.Helper()
	origin := OriginOf([16]byte{1}, x.space)
	g, err := segment.Open(x.Freeze(key, origin), origin)
	if err != nil {
		t.Fatal(err)
	}
	x.Shelve(key, g, nil)
}

type require interface {
	Helper()
	Fatal(args ...any)
}

// A changed index equals one built from what is left, bit for bit, and both equal
// a search that looks at everything.
func TestChangedIndexEqualsFreshOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &corpus{records: map[loci.ID]*loci.Record{}, codes: map[loci.ID][][]byte{}}
		x := c.fresh(keysOf()...)
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		x.skipFrom = rapid.SampledFrom([]int{0, 20, skipFrom}).Draw(t, "skip from")        // the fresh one reads all
		x.gatherings.least = rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "least gathered") // the fresh one never gathers
		x.gatherings.most = rapid.SampledFrom([]int{2, 100}).Draw(t, "most gathered")
		x.gatherings.atOnce = rapid.SampledFrom([]int{1, 100}).Draw(t, "gathered at once")
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			c.mutate(t, x)
			if rapid.IntRange(0, 9).Draw(t, "search between") == 0 { // what is gathered by then changes
				if _, err := x.Match(anyProbe(t), everywhere, 3, c.load); err != nil {
					t.Fatal(err)
				}
			}
			if r := c.records[loci.ID{0, 0, 0, byte(rapid.IntRange(0, 30).Draw(t, "expiring"))}]; r != nil {
				changed := *r
				changed.ExpiresAt = time.UnixMilli(rapid.Int64Range(0, 30).Draw(t, "expiry")).UTC()
				c.records[r.ID] = &changed
				x.SetExpiry(KeyOf(r), r.ID, changed.ExpiresAt)
			}
			if rapid.IntRange(0, 9).Draw(t, "move") == 0 { // a shard leaves the index and comes back
				key := rapid.SampledFrom(keysOf()).Draw(t, "moved")
				x.Adopt(x.Detach(key))
			}
		}
		fresh := c.fresh(keysOf()...)
		for range 3 {
			p, f, limit := anyProbe(t), anyFilter(t), rapid.IntRange(1, 12).Draw(t, "limit")
			if rapid.Bool().Draw(t, "everywhere") {
				f.Within, f.Exact, f.Kinds = everywhere.Within, false, nil
			}
			got, err := x.Match(p, f, limit, c.load)
			if err != nil {
				t.Fatal(err)
			}
			want, err := fresh.Match(p, f, limit, c.load)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("changed:\n%+v\nfresh:\n%+v, %v", got, want, err)
			}
			if !strings.Contains(p.Text, "zebrra") {
				c.compare(t, p, f, limit, got)
			}
		}
		if x.Passages() != fresh.Passages() {
			t.Fatalf("%d passages, fresh %d", x.Passages(), fresh.Passages())
		}
	})
}

// compare ranks the corpus naively and checks a result against it.
func (c *corpus) compare(t *rapid.T, p loci.Probe, f loci.Filter, limit int, got []loci.Hit) {
	type doc struct {
		r       *loci.Record
		words   []string // folded
		terms   []string // that have a position
		all     []string // terms
		ordinal int
		length  float64
	}
	var docs []doc
	total := 0.0
	for _, r := range c.records {
		if !r.Live || !f.Covers(r.Namespace) || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind) {
			continue
		}
		for i := range r.Passages {
			d := doc{r: r, ordinal: i}
			retrieval.Analyze(r.Searched(i), func(token retrieval.Token) {
				term, stop := retrieval.Normalize(token.Text)
				d.all = append(d.all, term)
				if !stop {
					d.words = append(d.words, token.Text)
				}
				if token.Kind.HasPosition() {
					d.terms = append(d.terms, term)
					if !stop {
						d.length++
					}
				}
			})
			docs = append(docs, d)
			total += d.length
		}
	}
	asked := retrieval.Parse(p.Text, maxQueryTerms)
	var counts []func(*doc) float64 // how often each thing asked for is in a passage
	var weights []float64
	ask := func(weight float64, list func(*doc) []string, fits func(at []string) bool) {
		weights = append(weights, weight)
		counts = append(counts, func(d *doc) (n float64) {
			all := list(d)
			for i := range all {
				if fits(all[i:]) {
					n++
				}
			}
			return n
		})
	}
	for _, w := range asked.Words {
		ask(w.Weight, func(d *doc) []string { return d.all }, func(at []string) bool { return at[0] == w.Term })
	}
	for _, prefix := range asked.Prefixes {
		ask(1, func(d *doc) []string { return d.words }, func(at []string) bool {
			return strings.HasPrefix(at[0], prefix)
		})
	}
	for _, phrase := range asked.Phrases {
		ask(1, func(d *doc) []string { return d.terms }, func(at []string) bool {
			return len(at) >= len(phrase) && slices.Equal(at[:len(phrase)], phrase)
		})
	}
	words, likeness := map[loci.ID]float64{}, map[loci.ID]float64{}
	query := vector.New(space.Dims)
	for i := range docs {
		d, score := &docs[i], 0.0
		for k, count := range counts {
			holders := 0.0
			for j := range docs {
				if count(&docs[j]) > 0 {
					holders++
				}
			}
			if n := count(d); n > 0 {
				idf := math.Log(1 + (float64(len(docs))-holders+0.5)/(holders+0.5))
				score += weights[k] * idf * n * 1.9 / (n + 0.9*(0.6+0.4*d.length/(max(1, total)/float64(len(docs)))))
			}
		}
		if slices.ContainsFunc(asked.Phrases, func(phrase []string) bool {
			return !retrieval.HasPhrase(d.r.Text, phrase)
		}) {
			continue
		}
		if !f.Selects(d.r) {
			continue
		}
		if score > 0 {
			words[d.r.ID] = max(words[d.r.ID], score)
		}
		if own := c.codes[d.r.ID]; p.Vector != nil && own != nil {
			scale, code, err := vector.Split(own[d.ordinal], space.Dims)
			if err != nil {
				t.Fatal(err)
			}
			row := query.AppendQuantized(scale, code)
			out := float64(query.Score(vector.NewQuery(p.Vector), row))
			if have, ok := likeness[d.r.ID]; !ok || out > have {
				likeness[d.r.ID] = out
			}
		}
	}
	rank := func(scores map[loci.ID]float64, tolerance float64) map[loci.ID]int {
		var ids []loci.ID
		for id := range scores {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b loci.ID) int {
			if math.Abs(scores[a]-scores[b]) > tolerance {
				return cmp.Compare(scores[b], scores[a])
			}
			return cmp.Or(c.records[b].CreatedAt.Compare(c.records[a].CreatedAt), bytes.Compare(a[:], b[:]))
		})
		ranks := map[loci.ID]int{}
		for i, id := range ids[:min(limit, len(ids))] {
			ranks[id] = i + 1
		}
		return ranks
	}
	byWord, byVector := rank(words, 1e-9), rank(likeness, 0) // similarities are equal to the bit
	for _, h := range got {
		if math.Abs(h.Keyword-words[h.ID]) > 1e-9 || h.Embedded && h.Similarity != likeness[h.ID] ||
			h.VectorRank != byVector[h.ID] || h.KeywordRank != byWord[h.ID] {
			t.Fatalf("hit %+v, want keyword %v at %d, similarity %v at %d", h, words[h.ID], byWord[h.ID], likeness[h.ID], byVector[h.ID])
		}
		delete(byWord, h.ID)
		delete(byVector, h.ID)
	}
	if len(byWord)+len(byVector) > 0 {
		t.Fatalf("not found: %v, %v", byWord, byVector)
	}
}

// A record the filter excludes takes no place in the list, however well it fits.
func TestFilterComesBeforeLimit(t *testing.T) {
	x := New(space)
	x.AddShard(Key{Namespace: loci.Namespace{"u"}.Key(), Kind: loci.KindFact})
	for i := range 100 {
		r := record(i, loci.Namespace{"u"}, "zebra zebra zebra")
		if i == 57 {
			r = record(i, loci.Namespace{"u"}, "one zebra among many other words")
			r.Tags = []string{"odd"}
		}
		x.Upsert(r, codes(r, uint64(i)))
	}
	hits, err := x.Match(loci.Probe{Text: "zebra", Vector: make([]float32, space.Dims), Space: space},
		loci.Filter{Within: []loci.Namespace{{"u"}}, Tags: []string{"odd"}}, 1, nil)
	if err != nil || len(hits) != 1 || hits[0].ID != record(57, nil).ID ||
		hits[0].KeywordRank != 1 || hits[0].VectorRank != 1 {
		t.Errorf("hits %+v, %v", hits, err)
	}
}

// Records without a passage cannot be found, so changing one often costs nothing.
func TestRecordsWithoutTextTakeNoRoom(t *testing.T) {
	x := New(space)
	key := Key{Namespace: loci.Namespace{"u"}.Key(), Kind: loci.KindFact}
	x.AddShard(key)
	for range 10_000 {
		x.Upsert(record(1, loci.Namespace{"u"}), nil)
	}
	for i := range 10_000 { // and a text that changes often is compacted
		x.Upsert(record(2, loci.Namespace{"u"}, fmt.Sprint("version ", i)), nil)
	}
	s := x.shards[key]
	if len(s.entries) > 2100 || s.terms.used > 2100 || s.vocabulary.len() > 4200 || len(s.passages) > 2100 {
		t.Errorf("%d entries, %d passages and %d terms for two records", len(s.entries), len(s.passages), s.terms.used)
	}
}

func TestKeysFindWhatLiesBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SampledFrom([]string{"a", "a\x01", "ab", "b", "\x01", "é"})
		namespace := rapid.Map(rapid.SliceOfN(label, 0, 3), func(l []string) loci.Namespace { return l })
		kind := rapid.SampledFrom([]loci.Kind{"a", "b", "ab"})
		type of struct {
			namespace loci.Namespace
			kind      loci.Kind
		}
		all := rapid.SliceOf(rapid.Custom(func(t *rapid.T) of {
			return of{namespace.Draw(t, "namespace"), kind.Draw(t, "kind")}
		})).Draw(t, "all")
		var keys Keys
		for _, o := range all {
			keys.Add(Key{Namespace: o.namespace.Key(), Kind: o.kind})
		}
		f := loci.Filter{Within: rapid.SliceOfN(namespace, 0, 3).Draw(t, "within"),
			Exact: rapid.Bool().Draw(t, "exact"), Kinds: rapid.SliceOfN(kind, 0, 2).Draw(t, "kinds")}
		want := map[Key]bool{}
		for _, o := range all {
			if f.Covers(o.namespace) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, o.kind)) {
				want[Key{Namespace: o.namespace.Key(), Kind: o.kind}] = true
			}
		}
		got := keys.Covered(&f)
		if len(got) != len(want) || !slices.IsSortedFunc(got, Key.compare) {
			t.Fatalf("covered %v, want %v", got, want)
		}
		for _, key := range got {
			if !want[key] {
				t.Fatalf("%v is covered", key)
			}
		}
	})
}

// The records of a sequence share one copy of its name.
func TestASequenceIsNamedOnce(t *testing.T) {
	x := New(loci.Space{})
	n := loci.Namespace{"u"}
	x.AddShard(Key{Namespace: n.Key(), Kind: ""})
	for i := range 3 {
		r := loci.Record{ID: loci.ID{byte(i)}, Namespace: n, Live: true,
			Text: "tea", Passages: []loci.Span{{Start: 0, End: 3}},
			Sequence: strings.Clone("talk"), Position: int64(i)}
		x.Upsert(&r, nil)
	}
	entries := x.shards[Key{Namespace: n.Key(), Kind: ""}].entries
	for _, e := range entries {
		if e.record.Sequence != "talk" ||
			unsafe.StringData(e.record.Sequence) != unsafe.StringData(entries[0].record.Sequence) {
			t.Errorf("a copy of its own: %q", e.record.Sequence)
		}
	}
}

// Hits say how long passages are on average where it was searched, small words left aside.
func TestHitsSayHowLongPassagesAre(t *testing.T) {
	here := loci.Namespace{"u"}
	for words, want := range map[int]float64{10: 0, 20: 0, 30: 0.5, 40: 1, 60: 1} {
		x := New(loci.Space{})
		x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
		x.Upsert(record(1, here, "the and of "+strings.Repeat("w ", words)), nil)
		hits, err := x.Match(loci.Probe{Text: "w"}, loci.Filter{Within: []loci.Namespace{here}}, 10, nil)
		if err != nil || len(hits) != 1 || hits[0].Long != want {
			t.Errorf("%d words: %+v, %v, want Long %v", words, hits, err, want)
		}
	}
}
