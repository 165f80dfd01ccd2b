package postgres_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/postgres"
)

var (
	everywhere = loci.Filter{Within: []loci.Namespace{{}}}
	modelSpace = loci.Space{Model: "model", Dims: 2} // that of embedded
)

// words is a change that puts a record of a few words, which others have, too.
func words(text string) loci.Change {
	c := creation(loci.NewID())
	r := &c.Put[0].Record
	r.Text, r.Passages, r.Slot = text, []loci.Span{{Start: 0, End: len(text)}}, ""
	return c
}

// next is the next state of the record that a change has put.
func next(c loci.Change) loci.Change {
	c.Put, c.Events = slices.Clone(c.Put), slices.Clone(c.Events)
	c.Put[0].Record.Version++
	c.Events[0].ID = loci.NewID()
	return c
}

// hits are what a server finds by words, and by a vector if there is one.
func (g *guesser) hits(s loci.Store, vector []float32) []loci.Hit {
	g.Helper()
	p := loci.Probe{Text: "walrus harbour telescope", Vector: vector}
	if vector != nil {
		p.Space = modelSpace
	}
	hits, err := s.Match(g.Context(), g.tn, p, everywhere, 100)
	if err != nil {
		g.Fatal(err)
	}
	return hits
}

// fresh requires that a server finds what one finds that was just opened.
func (g *guesser) fresh(s loci.Store) {
	g.Helper()
	g.alike(s, openAt(g.T, g.d.Server))
}

// alike requires that two servers find the same.
func (g *guesser) alike(s, other loci.Store) {
	g.Helper()
	for _, vector := range [][]float32{nil, {1, 0.5}} {
		if got, want := g.hits(s, vector), g.hits(other, vector); !reflect.DeepEqual(got, want) {
			g.Errorf("a search with the vector %v finds\n%v\nby another server\n%v", vector, got, want)
		}
	}
}

// How a search takes in what was written.
const (
	handed = "from the server's own commits"
	read   = "from the list of changes"
	loaded = "from all that there is" // of a namespace and kind
)

// takes says how a search takes in what was written.
func (g *guesser) takes(s loci.Store) string {
	g.Helper()
	seen.Delete(postgres.Followed)
	seen.Delete(postgres.OfShard[0])
	g.hits(s, []float32{1, 0})
	if _, reads := seen.Load(postgres.Followed); reads {
		return read
	}
	if _, loads := seen.Load(postgres.OfShard[0]); loads {
		return loaded
	}
	return handed
}

// TestOwnCommitsAreHandedToTheIndex: what a server commits its next search takes in without reading it, if
// nothing is between that the server does not know and all of it is at hand. Either way searches find what
// they find in a server that was just opened.
func TestOwnCommitsAreHandedToTheIndex(t *testing.T) {
	both := newGuesser(t)
	erasure := func(c loci.Change) loci.Change {
		e := c.Events[0]
		e.ID, e.Type = loci.NewID(), loci.EventErased
		r := c.Put[0].Record
		return loci.Change{Erase: []loci.Erase{{ID: r.ID, Version: r.Version}}, Events: []loci.Event{e}}
	}
	together := func(g *guesser, all ...loci.Change) {
		g.Helper()
		for _, err := range postgres.ApplyTogether(g.s, g.tn, all...) {
			if err != nil {
				g.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		want string
		do   func(g *guesser, old loci.Change) // old: a record with vectors that is there and was searched
	}{
		{"a save", handed, func(g *guesser, _ loci.Change) { g.apply(g.s, words("walrus harbour")) }},
		{"a save with vectors", handed, func(g *guesser, _ loci.Change) { g.apply(g.s, embedded(words("walrus"))) }},
		{"two saves", handed, func(g *guesser, _ loci.Change) {
			g.apply(g.s, words("walrus"))
			g.apply(g.s, embedded(words("telescope")))
		}},
		{"saves that wait together", handed, func(g *guesser, _ loci.Change) {
			together(g, words("walrus"), embedded(words("harbour")), words("telescope"))
		}},
		{"more than may wait", handed, func(g *guesser, _ loci.Change) {
			for range 5 {
				var c loci.Change
				for range 300 {
					one := words("walrus")
					c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
				}
				g.apply(g.s, c)
				g.s.(*postgres.Store).Idle()
			}
		}},
		{"a save in another namespace", loaded, func(g *guesser, _ loci.Change) { g.apply(g.s, in("bob", words("walrus"))) }},
		{"a save of another kind", loaded, func(g *guesser, _ loci.Change) {
			c := words("walrus")
			c.Put[0].Record.Kind = "sort"
			g.apply(g.s, c)
		}},
		{"a text that no search finds", handed, func(g *guesser, _ loci.Change) {
			c := words("walrus")
			c.Put[0].Record.Passages = nil
			g.apply(g.s, c)
		}},
		{"another text", handed, func(g *guesser, old loci.Change) {
			c := next(old)
			c.Put[0].Record.Text, c.Put[0].Record.Passages = "harbour", []loci.Span{{Start: 0, End: 7}}
			g.apply(g.s, c)
		}},
		{"another text without vectors", handed, func(g *guesser, old loci.Change) {
			c := next(old)
			c.Put[0].Vectors = nil
			g.apply(g.s, c)
		}},
		{"a record that ends", handed, func(g *guesser, old loci.Change) {
			c := next(old)
			c.Put[0].SameText, c.Put[0].Record.Live = true, false
			g.apply(g.s, c)
		}},
		{"an erase", handed, func(g *guesser, old loci.Change) { g.apply(g.s, erasure(old)) }},
		{"a record that comes again with an erase", handed, func(g *guesser, old loci.Change) {
			c := embedded(words("telescope"))
			c.Put[0].Record.ID, c.Events[0].Entity = old.Put[0].Record.ID, old.Put[0].Record.ID
			together(g, erasure(old), c)
		}},
		{"other attributes of the same text", read, func(g *guesser, old loci.Change) {
			c := next(old)
			c.Put[0].SameText, c.Put[0].Record.Attributes = true, json.RawMessage(`{"n":1}`)
			g.apply(g.s, c)
		}},
		{"another text, and then attributes of that", read, func(g *guesser, old loci.Change) {
			first := next(old)
			second := next(first)
			second.Put[0].SameText = true
			together(g, first, second)
		}},
		{"vectors that come later", read, func(g *guesser, old loci.Change) {
			r := old.Put[0].Record
			v := loci.Vectors{Space: modelSpace, Rows: [][]float32{{0, 1}}}
			late := []loci.RecordVectors{{ID: r.ID, Version: 1, Vectors: v}}
			if err := g.s.PutVectors(g.Context(), g.tn, late); err != nil {
				g.Error(err)
			}
		}},
		{"an expiry that moves", read, func(g *guesser, old loci.Change) { g.move(g.s, old) }},
		{"a save after that", read, func(g *guesser, old loci.Change) {
			g.move(g.s, old)
			g.apply(g.s, words("walrus"))
		}},
		{"a change without an event", read, func(g *guesser, _ loci.Change) {
			c := words("walrus")
			c.Events = nil
			g.apply(g.s, c)
		}},
		{"another server's save between", read, func(g *guesser, _ loci.Change) {
			g.apply(g.s, words("walrus"))
			g.apply(g.other, words("harbour"))
			g.apply(g.s, words("telescope"))
		}},
		{"another server's save behind", read, func(g *guesser, _ loci.Change) {
			g.apply(g.s, words("walrus"))
			g.apply(g.other, words("harbour"))
		}},
		{"another server's erase between", read, func(g *guesser, old loci.Change) {
			g.apply(g.other, erasure(old))
			g.apply(g.s, words("telescope"))
		}},
		{"a tenant that another server erased", loaded, func(g *guesser, _ loci.Change) {
			if err := g.other.EraseTenant(g.Context(), g.tn); err != nil {
				g.Error(err)
			}
			g.apply(g.s, words("walrus"))
			g.apply(g.s, words("harbour"))
		}},
		{"a large change", read, func(g *guesser, _ loci.Change) {
			var all loci.Change
			for range 1001 {
				c := words("walrus")
				all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
			}
			g.apply(g.s, all)
		}},
		{"a database that went back", loaded, func(g *guesser, _ loci.Change) {
			g.apply(g.s, words("walrus"))
			g.goBack(3)
			g.apply(g.s, words("harbour"))
		}},
		{"a database that went back, and as many others have saved", loaded, func(g *guesser, _ loci.Change) {
			g.goBack(2)
			g.apply(g.other, words("telescope"))
			g.apply(g.s, words("harbour"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := both.of(t, c.name)
			old := embedded(words("walrus telescope harbour"))
			g.apply(g.s, old)
			g.hits(g.s, []float32{1, 0})
			g.hits(g.other, []float32{1, 0})
			c.do(g, old)
			if how := g.takes(g.s); how != c.want {
				t.Errorf("the search takes in what was written %s, not %s", how, c.want)
			}
			g.alike(g.s, g.other)
			g.apply(g.s, words("harbour walrus")) // and the next one follows again
			if how := g.takes(g.s); how != handed {
				t.Errorf("the search behind the next save takes it in %s, not %s", how, handed)
			}
			g.fresh(g.s)
		})
	}
}

// Vectors that go in the same transaction are not in what is handed over.
func TestVectorsThatGoBesideASave(t *testing.T) {
	g := newGuesser(t).of(t, "dropped")
	first := embedded(words("walrus"))
	first.Put[0].Vectors[0].Space.Model = "active"
	g.apply(g.s, first)
	g.apply(g.s, embedded(words("walrus harbour")))
	g.hits(g.s, []float32{1, 0})
	if err := postgres.ApplyAndDrop(g.s, g.tn, words("telescope"), modelSpace); err != nil {
		t.Fatal(err)
	}
	g.fresh(g.s)
}

// A server that may be stale takes in no commit of its own that follows what came when the database went back.
func TestStaleServersNoticeADatabaseThatWentBack(t *testing.T) {
	both := newGuesser(t)
	both.s = openWith(t, both.d.Server, (&postgres.Options{}).Stale(time.Hour, nil))
	g := both.of(t, "stale")
	g.apply(g.s, words("walrus"))
	g.hits(g.s, nil)
	g.goBack(2)
	g.apply(g.other, words("telescope"))
	g.apply(g.s, words("harbour"))
	g.alike(g.s, g.other)
}

// TestWhatIsHandedIsWhatIsRead: the index takes the same record, whether it is handed over or read back.
func TestWhatIsHandedIsWhatIsRead(t *testing.T) {
	g := newGuesser(t).of(t, "alike")
	at := time.Date(2026, 11, 27, 1, 2, 3, 456_789_123, time.FixedZone("X", 3600))
	for name, change := range map[string]func(p *loci.Put){
		"plain":        func(*loci.Put) {},
		"finer times":  func(p *loci.Put) { p.Record.CreatedAt, p.Record.UpdatedAt, p.Record.ExpiresAt = at, at, at },
		"ends and due": func(p *loci.Put) { p.Record.EndsAt, p.Record.DueAt = at, at },
		"decay":        func(p *loci.Put) { p.Record.Decay = loci.Decay{Confidence: 0.5, Rate: 0.1, From: at} },
		"tags":         func(p *loci.Put) { p.Record.Tags = []string{"<a>", "é"} },
		"empty lists":  func(p *loci.Put) { p.Record.Tags, p.Record.Attributes = []string{}, json.RawMessage{} },
		"attributes":   func(p *loci.Put) { p.Record.Attributes = json.RawMessage(`{"a":[1,"<"]}`) },
		"a sequence":   func(p *loci.Put) { p.Record.Sequence, p.Record.Position = "s", 3 },
		"a heading":    func(p *loci.Put) { p.Record.Heading, p.Record.Scope, p.Record.Status = "h", "c", "d" },
		"a body":       func(p *loci.Put) { p.Record.Body = []byte("body") },
		"uses":         func(p *loci.Put) { p.Record.Uses, p.Record.UsedAt = 3, at },
		"vectors": func(p *loci.Put) {
			p.Vectors = []loci.Vectors{{Space: modelSpace, Rows: [][]float32{{0.3, -0.7}}}}
		},
	} {
		c := words("the " + name)
		change(&c.Put[0])
		n := batch.NeedsOf(&c)
		b := batch.New(g.tn, func(*batch.Ops) {})
		b.Handing = true
		if err := b.Apply(&c); err != nil {
			t.Fatal(err)
		}
		b.Finish()
		h := b.Handed(&n, 0)
		c.Put[0].Record.Namespace = slices.Clone(c.Put[0].Record.Namespace)
		g.apply(g.s, c)
		back, vectors, err := postgres.ReadBack(g.s, g.tn, modelSpace, c.Put[0].Record.ID)
		if err != nil || h == nil || back == nil {
			t.Fatal(err, h, back)
		}
		back.Namespace, back.Body = c.Put[0].Record.Namespace, nil // no index takes a body
		if got := h.Came[0]; !reflect.DeepEqual(got.Record, back) || !slices.Equal(got.In(modelSpace), vectors) {
			t.Errorf("%s: handed over is\n%+v %v\nread is\n%+v %v", name, *got.Record, got.In(modelSpace), *back, vectors)
		}
		for _, harm := range []func(){ // what is handed over is nobody else's
			func() { c.Put[0].Record.Namespace[1] = "eve" },
			func() { c.Put[0].Record.Passages[0].End = 1 },
			func() { clear(c.Put[0].Record.Tags) },
			func() { clear(c.Put[0].Record.Attributes) },
		} {
			harm()
		}
		back.Namespace = loci.Namespace{"user", "ada"}
		if got := h.Came[0]; !reflect.DeepEqual(got.Record, back) {
			t.Errorf("%s: what its caller changes changes what is handed over: %+v", name, *got.Record)
		}
	}
}

// TestServersThatFollowTheirOwnCommits: after random changes by two servers, each finds what one finds that
// was just opened.
func TestServersThatFollowTheirOwnCommits(t *testing.T) {
	g := newGuesser(t).of(t, "random")
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	texts := []string{"walrus", "harbour walrus", "telescope", "walrus walrus telescope"}
	var there []loci.Change
	servers := []loci.Store{g.s, g.other}
	var writer loci.Store // since the search before
	followed := 0
	const most = 3000 // steps until a search has taken in what was handed over: about 40 are enough
	for step := 0; step < locitest.Long(120, 2000) || followed == 0 && step < most; step++ {
		s := servers[random.IntN(8)/7] // mostly the same
		do := random.IntN(12)
		if do < 10 || len(there) == 0 {
			writer = s
		}
		at := 0
		if len(there) > 0 {
			at = random.IntN(len(there))
		}
		switch {
		case do < 5 || len(there) == 0:
			c := words(texts[random.IntN(len(texts))])
			if random.IntN(2) == 0 {
				c = embedded(c)
			}
			if random.IntN(3) == 0 {
				c = in(fmt.Sprint(random.IntN(3)), c)
			}
			g.apply(s, c)
			there = append(there, c)
		case do == 5:
			there[at] = next(there[at])
			there[at].Put[0].SameText = true
			there[at].Put[0].Record.Attributes = json.RawMessage(fmt.Sprintf(`{"n":%d}`, random.IntN(9)))
			g.apply(s, there[at])
			there[at].Put[0].SameText = false
		case do == 6:
			there[at] = next(there[at])
			text := texts[random.IntN(len(texts))]
			there[at].Put[0].Record.Text = text
			there[at].Put[0].Record.Passages = []loci.Span{{Start: 0, End: len(text)}}
			g.apply(s, there[at])
		case do == 7:
			r, e := there[at].Put[0].Record, there[at].Events[0]
			e.ID, e.Type = loci.NewID(), loci.EventErased
			g.apply(s, loci.Change{Erase: []loci.Erase{{ID: r.ID, Version: r.Version}}, Events: []loci.Event{e}})
			there = slices.Delete(there, at, at+1)
		case do == 8:
			g.move(s, there[at])
		case do == 9:
			first, second := words("harbour"), embedded(in("bob", words("telescope harbour")))
			if err := postgres.ApplyTogether(s, g.tn, first, second); err[0] != nil || err[1] != nil {
				t.Fatal(err)
			}
			there = append(there, first, second)
		default:
			if g.takes(s) == handed && writer == s {
				followed++
			}
			writer = nil
			before := g.hits(s, nil)
			if after := g.hits(servers[random.IntN(2)], nil); !reflect.DeepEqual(before, after) {
				t.Fatalf("one server finds\n%v\nand another one\n%v", before, after)
			}
		}
	}
	for _, s := range servers {
		g.fresh(s)
	}
	if followed == 0 {
		t.Error("no search took in what was handed over")
	}
}
