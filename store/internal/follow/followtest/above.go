package followtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// openJoined opens a store in which 4 small shards and more share an image, of 20 records and more together.
func (b *bench) openJoined() node { return b.openJoinedIn(b.TempDir()) }

func (b *bench) openJoinedIn(dir string) node {
	b.Helper()
	return node{b.Open(b.T, Options{Dir: dir, Size: 1 << 30, From: 20, Book: 16, Part: 16, Join: 4}), b, dir}
}

// say saves a version of a note in a namespace.
func say(c *loci.Change, n int, version int64, text string, at ...string) {
	add(c, n, version, text)
	c.Put[len(c.Put)-1].Record.Namespace, c.Events[len(c.Events)-1].Namespace = at, at
}

func (n node) say(number int, version int64, text string, at ...string) {
	n.Helper()
	var c loci.Change
	say(&c, number, version, text, at...)
	n.apply(c)
}

// spread saves a note in each of some namespaces below u.
func (n node) spread(from, to int) {
	n.Helper()
	var c loci.Change
	for i := from; i < to; i++ {
		say(&c, i, 1, fmt.Sprintf("walrus number%d of %d", i, i%7), "u", fmt.Sprint("n", i))
	}
	n.apply(c)
}

func above(at ...string) loci.Filter { return loci.Filter{Within: []loci.Namespace{at}} }

func (n node) in(text string, f loci.Filter) []loci.Hit {
	n.Helper()
	return n.probe(loci.Probe{Text: text, Vector: []float32{0.5, 0.5, 0.5, 0.5}, Space: space, Sequences: true}, f)
}

func (n node) probe(p loci.Probe, f loci.Filter) []loci.Hit {
	n.Helper()
	hits, err := n.Match(n.Context(), n.tenant(), p, f, 1000)
	if err != nil {
		n.Fatal(err)
	}
	return hits
}

// scopes are the filters that the cases compare: all, some and one of the namespaces.
func scopes() []loci.Filter {
	return []loci.Filter{
		above(), above("u"), above("u", "n3"), above("v"), {Within: []loci.Namespace{{"u"}, {"u", "n1"}}},
		{Within: []loci.Namespace{{"u", "n3"}, {"u", "n5"}}, Exact: true},
		{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{loci.KindFact}}, {Within: []loci.Namespace{{"u"}}, Exact: true},
	}
}

func (n node) everywhere() (all [][]loci.Hit) {
	n.Helper()
	for _, f := range scopes() {
		for _, text := range []string{"walrus", "number3 of"} {
			all = append(all, n.in(text, f))
		}
		all = append(all, n.probe(loci.Probe{Text: "walrus", Quick: true}, f)) // which groups are of no use to
	}
	return all
}

// equal compares what stores find with what is found without images.
func (b *bench) equal(what string, nodes ...node) {
	b.Helper()
	var got [][][]loci.Hit
	for _, n := range nodes {
		got = append(got, n.everywhere())
	}
	none := node{b.Open(b.T, Options{From: 1 << 30, Book: 1 << 30, Join: 1 << 30}), b, ""}
	show := b.HideImages(b.T)
	want := none.everywhere()
	show(b.T)
	for i := range nodes {
		for at := range want {
			if !reflect.DeepEqual(got[i][at], want[at]) {
				b.Fatalf("%s: store %d, search %d finds\n%s\nwant\n%s", what, i, at, brief(got[i][at]), brief(want[at]))
			}
		}
	}
}

func brief(hits []loci.Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%v %s %q %v %v", h.ID[1:3], h.Namespace, h.Sequence, h.Keyword, h.Similarity))
	}
	return strings.Join(out, "\n")
}

// learns is how many names of namespaces searches learn meanwhile.
func (n node) learns(do func()) int64 {
	before := n.Shelf().Names.Load()
	do()
	return n.Shelf().Names.Load() - before
}

// joined: a search above small namespaces makes one image of them, which the next server takes up, without a record or
// a name.
func joined(b *bench) {
	s := b.openJoined()
	s.spread(0, 50)
	if hits := s.in("walrus", above()); len(hits) != 50 {
		b.Errorf("%d hits; want 50", len(hits))
	}
	if names := b.segments(); len(names) < 2 || len(names) > 4 {
		b.Fatalf("segments %q", names)
	}
	s.say(60, 1, "walrus of 4", "u", "n60") // namespaces that are new, one in the group
	s.say(61, 1, "walrus of 4", "v")
	b.equal("made", s)
	next := b.openJoined()
	var read int64
	names := next.learns(func() {
		read = next.reads(func() {
			if hits := next.in("walrus", above("u")); len(hits) != 51 {
				b.Errorf("%d hits; want 51", len(hits))
			}
		})
	})
	if hits := next.in("walrus", above()); len(hits) != 52 {
		b.Errorf("%d hits; want 52", len(hits))
	}
	if read > 1 || names > 2 {
		b.Errorf("the first search read %d records and %d names; want what is new", read, names)
	}
	b.equal("taken up", next, s)
	var c loci.Change
	for n := 500; n < 530; n++ {
		say(&c, n, 1, "walrus walrus of 4", "u", fmt.Sprint("n", n%40))
		c.Put[len(c.Put)-1].Record.Kind = loci.KindRule
	}
	next.apply(c)
	b.equal("of two kinds", next, s, b.openJoined())
}

// joinedCanaries: a search reaches no namespace that it does not cover, wherever the notes lie: in segments that are
// shared, on the heap, or in shards of their own.
func joinedCanaries(b *bench) {
	s := b.openJoined()
	words := map[string][]string{}
	fill := func(from, to int) {
		var c loci.Change
		for n := from; n < to; n++ {
			for v, at := range []string{"u", "v"} {
				word := fmt.Sprintf("canary%cx%dx", 'a'+v, n)
				words[word] = []string{at, fmt.Sprint("n", n)}
				say(&c, 2*n+v, 1, "walrus "+word, words[word]...)
			}
		}
		s.apply(c)
	}
	look := func(what string, s node) {
		b.Helper()
		few := 0
		for word, at := range words {
			for _, text := range []string{word, "walrus"} {
				for _, f := range []loci.Filter{above(at...), above(at[0]), above()} {
					found := false
					for _, h := range s.in(text, f) {
						if !f.Covers(h.Namespace) {
							b.Errorf("%s: a search in %v finds what lies in %v", what, f.Within, h.Namespace)
						}
						if text == word && h.Keyword > 0 {
							found = true
							if h.Namespace.Key() != loci.Namespace(at).Key() {
								b.Errorf("%s: what was said in %v is found in %v", what, at, h.Namespace)
							}
						}
					}
					if text == word && !found {
						b.Errorf("%s: %s is not found in %v", what, word, f.Within)
					}
				}
			}
			if few++; few == 5 { // as the order of a map has them
				break
			}
		}
	}
	fill(0, 30)
	look("made", s)
	next := b.openJoined()
	look("taken up", next)
	fill(30, 34)
	look("with new namespaces", next)
	look("of the other", s)
	b.equal("in the end", s, next, b.openJoined())
}

// joinedErased: what is erased leaves the segments that namespaces share, earlier versions and all, though another
// server has them mapped. No segment has names of namespaces.
func joinedErased(b *bench) {
	s := b.openJoined()
	var c loci.Change
	for n := range 50 {
		say(&c, n, 1, fmt.Sprintf("walrus number%d ", n), "user", fmt.Sprint("secretive", n))
	}
	s.apply(c)
	s.say(3, 2, "hidden walrus", "user", "secretive3")
	s.in("walrus", above())
	other := b.openJoined()
	other.in("walrus", above())
	s.say(3, 3, "edited walrus", "user", "secretive3")
	for _, text := range []string{"hidden", "number9"} {
		if pieces, files := s.holds(text); pieces == 0 || files == 0 {
			b.Fatalf("%q is in %d pieces and %d files: nothing is shown", text, pieces, files)
		}
	}
	if pieces, files := s.holds("secretive"); pieces+files > 0 {
		b.Errorf("names of namespaces are in %d pieces and %d files", pieces, files)
	}
	s.erase(3, 3)
	s.erase(9, 1)
	if next := b.openJoined(); len(next.in("walrus hidden number9", above())) != 48 {
		b.Error("a server that begins takes up what was erased")
	}
	s.tidy()
	other.tidy()
	for _, s := range []node{s, other} {
		for _, text := range []string{"hidden", "number9"} {
			if pieces, files := s.holds(text); pieces+files > 0 {
				b.Errorf("%q is still in %d pieces and %d files", text, pieces, files)
			}
		}
		if hits := s.in("walrus hidden number9", above()); len(hits) != 48 {
			b.Errorf("%d hits; want 48", len(hits))
		}
	}
	if told, err := s.Pending(b.Context()); err != nil || len(told) > 0 {
		b.Errorf("pending %q, %v", told, err)
	}
	b.equal("erased", s, other, b.openJoined())
}

// joinedNameless: a server that has taken up an image knows the names of the namespaces alone that its hits lie in. What
// another server does in the others it finds all the same.
func joinedNameless(b *bench) {
	s := b.openJoined()
	s.spread(0, 50)
	s.in("walrus", above())
	other := b.openJoined()
	best := func(text string) (found []loci.ID) {
		b.Helper()
		hits, err := other.Match(b.Context(), other.tenant(), loci.Probe{Text: text}, above("u"), 1)
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range hits {
			found = append(found, h.ID)
		}
		return found
	}
	for _, n := range []int{5, 6} {
		if found := best(fmt.Sprint("number", n)); !slices.Contains(found, id(n)) {
			b.Fatalf("note %d is not found: %v", n, found)
		}
	}
	s.erase(9, 1)
	s.say(10, 2, "a lobster", "u", "n10")
	if found := best("number9"); slices.Contains(found, id(9)) {
		b.Error("what another server has erased is found")
	}
	if found := best("number10"); slices.Contains(found, id(10)) {
		b.Error("what another server has changed is found by what it said before")
	}
	if found := best("lobster"); !slices.Contains(found, id(10)) {
		b.Errorf("what another server has changed is not found: %v", found)
	}
	b.equal("with names", other, s)
}

// stillHeld has stores tidy, and counts which words are still in a piece or a file of each.
func stillHeld(nodes []node, gone [][]byte) (held int) {
	for _, n := range nodes {
		n.tidy()
		pieces, files := n.kept()
		for _, data := range append(pieces, files...) {
			for _, word := range gone {
				if bytes.Contains(data, word) {
					held++
				}
			}
		}
	}
	return held
}

// joinedFollows: whatever changes in between, on this server and on another one, a search finds what it finds without
// images: in namespaces that are new, that are empty for a while, and that grow. What was erased is in no piece and no
// file.
func joinedFollows(b *bench) {
	random := rand.New(rand.NewPCG(3, 4))
	nodes := []node{b.openJoined(), b.openJoined()}
	type saved struct {
		at      []string
		version int64
		said    []string
	}
	live, order, gone := map[int]*saved{}, []int(nil), [][]byte(nil)
	word := func() string { return fmt.Sprintf("canary%016x", random.Uint64()) }
	for step := range 3 * b.suite.Steps {
		by := nodes[random.IntN(2)]
		switch n := random.IntN(20); {
		case n < 10 || len(live) < 20:
			var c loci.Change
			for i := range 3 {
				o := &saved{at: []string{"u", fmt.Sprint("n", random.IntN(12+step/8))}}
				if n == 0 {
					o.at = []string{"v", "w", fmt.Sprint("n", random.IntN(9))}
				}
				o.version, o.said = 1, append(o.said, word())
				live[3*step+i], order = o, append(order, 3*step+i)
				say(&c, 3*step+i, 1, "walrus of "+o.said[0], o.at...)
			}
			by.apply(c)
		case n < 13:
			at := order[random.IntN(len(order))]
			o := live[at]
			o.version, o.said = o.version+1, append(o.said, word())
			by.say(at, o.version, "walrus number3 of "+o.said[o.version-1], o.at...)
		case n < 17:
			i := random.IntN(len(order))
			o := live[order[i]]
			by.erase(order[i], o.version)
			for _, word := range o.said {
				gone = append(gone, []byte(word))
			}
			delete(live, order[i])
			order = append(order[:i], order[i+1:]...)
		case n < 19:
			by.in("walrus", scopes()[random.IntN(len(scopes()))])
		default:
			b.equal(fmt.Sprint("step ", step), nodes...)
			if err := nodes[1].Close(); err != nil {
				b.Fatal(err)
			}
			nodes[1] = b.openJoinedIn(nodes[1].dir)
		}
	}
	b.equal("in the end", nodes...)
	if len(gone) < 20 || len(b.segments()) == 0 {
		b.Fatalf("%d words are gone, and there are %d segments: nothing is shown", len(gone), len(b.segments()))
	}
	for end := time.Now().Add(longest); ; time.Sleep(50 * time.Millisecond) { // who ended left what it was writing
		b.Age(b.T, "")
		held := stillHeld(nodes, gone)
		if held == 0 {
			break
		}
		if time.Now().After(end) {
			b.Fatalf("of %d erased words %d are left", len(gone), held)
		}
	}
	b.equal("tidied", append(nodes, b.openJoined())...)
}

// joinedGrows: a namespace of a group that grows large is not searched twice, and one that was large when groups were
// planned is in none.
func joinedGrows(b *bench) {
	s := b.openJoined()
	s.spread(0, 30)
	grow := func(from int, at string) {
		var c loci.Change
		for n := from; n < from+30; n++ {
			say(&c, n, 1, "walrus of 4", "u", at)
		}
		s.apply(c)
	}
	grow(100, "large")
	if hits := s.in("walrus", above("u")); len(hits) != 60 {
		b.Errorf("%d hits; want 60", len(hits))
	}
	grow(200, "n3")
	b.equal("grown", s, b.openJoined())
	s.keep()
	next := b.openJoined()
	b.equal("kept", s, next)
	if hits := next.in("walrus", above("u")); len(hits) != 90 {
		b.Errorf("%d hits; want 90", len(hits))
	}
	next.say(250, 1, "walrus of 6", "u", "n4")
	next.say(251, 1, "walrus of 6", "u", "large")
	if hits := s.in("walrus", above("u")); len(hits) != 92 {
		b.Errorf("%d hits; want 92", len(hits))
	}
	b.EditImage(b.T, func(string) string { return "x" }) // planned again, without what grew
	b.equal("planned again", s, next, b.openJoined())
}

// joinedBehind: what is written into small namespaces is planned and kept behind writes, so that the first search reads
// no record. What is damaged, or of another plan, is made again.
func joinedBehind(b *bench) {
	open := func() node { // nobody tidies what the next one is to make again: see [notTrusted]
		s := b.openJoined()
		s.Shelf().Pause = time.Hour
		return s
	}
	s := open()
	s.spread(0, 50)
	s.keep()
	if len(b.segments()) == 0 {
		b.Fatal("nothing is kept")
	}
	if n := s.reads(func() { s.in("walrus", above()) }); n != 0 {
		b.Errorf("the first search read %d records", n)
	}
	s = open()
	s.spread(50, 80)
	s.keep()
	next := open()
	if n := next.reads(func() { next.in("walrus", above()) }); n > 30 {
		b.Errorf("the first search of the next server read %d records", n)
	}
	for what, harm := range map[string]func(){
		"no JSON": func() { b.EditImage(b.T, func(string) string { return "x" }) },
		"of another tenant": func() {
			b.EditImage(b.T, func(v string) string { return strings.Replace(v, `"token":"`, `"token":"0`, 1) })
		},
		"another plan": func() {
			b.EditImage(b.T, func(v string) string { return strings.Replace(v, `"upto":`, `"upto":1`, 1) })
		},
		"of other namespaces": func() {
			b.EditImage(b.T, func(v string) string { return strings.Replace(v, `"above":"`, `"above":"00`, 1) })
		},
		"no pieces": func() { b.RemovePieces(b.T, "") },
		"a piece that is cut": func() {
			p := b.Pieces(b.T)[0]
			p.Data = p.Data[:900]
			b.SetData(b.T, &p)
		},
	} {
		harm()
		next := open()
		b.equal(what, next)
		last := open()
		if n := last.reads(func() { last.in("walrus", above()) }); n > 0 {
			b.Errorf("%s: the next server read %d records", what, n)
		}
	}
}
