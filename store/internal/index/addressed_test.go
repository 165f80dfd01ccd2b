package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// hearPlainly tells who says hits as the rule is written: it reads all texts of their talks, in order.
func (s *search) hearPlainly(hits map[place]*loci.Hit) map[place]string {
	out := map[place]string{}
	inOrder := map[sequenceOf][]neighbour{}
	for i := range s.parts {
		sh := &s.parts[i]
		for n := range uint32(sh.allEntries()) {
			if e := sh.seen(n); e.alive && e.sequence != 0 {
				of := sequenceOf{int32(sh.first), e.sequence}
				inOrder[of] = append(inOrder[of], neighbour{member{e.position, e.id, n}, place{int32(i), n}})
			}
		}
	}
	for _, name := range s.named {
		for _, all := range inOrder {
			slices.SortFunc(all, func(a, b neighbour) int { return a.compare(b.member) })
			talking, addressed := 0, 0
			speaks := make([]bool, len(all))
			for i, m := range all {
				sh := &s.parts[m.part]
				e := sh.seen(m.place.entry)
				if e.speaker == loci.SpeakerAssistant || e.speaker == loci.SpeakerLikelyAssistant {
					talking--
				} else if e.traits&(retrieval.Asks|retrieval.AsksYou|retrieval.ToOthers) != 0 {
					talking++
				}
				if t, ok := sh.findTerm(name); ok && unsigned(e) && sh.opensWith(e.first, t) &&
					s.filter.SelectsHeader(sh.headerOf(m.place.entry, &s.room)) {
					speaks[i] = true
					addressed++
				}
			}
			if talking*talkPart < len(all) || addressed < leastAddress || len(all) > longestTalk {
				continue
			}
			for i, m := range all {
				if hits[m.place] == nil || !unsigned(s.parts[m.part].seen(m.place.entry)) {
					continue
				}
				var by [2]int
				for j := max(0, i-farAddress); j <= min(len(all)-1, i+farAddress); j++ {
					if speaks[j] {
						by[(i-j)&1]++
					}
				}
				switch {
				case by[1] >= leastAddress && by[1] >= clearAddress*by[0]:
					out[m.place] = name
				case by[0] >= leastAddress && by[0] >= clearAddress*by[1]:
					out[m.place] = cmp.Or(out[m.place], loci.SomebodyElse)
				}
			}
		}
	}
	return out
}

// Who speaks is what the plain rule says, in talks that lie in one part or in several, one after another or mixed, of
// which some texts are removed, and after each change.
func TestWhoSpeaksAsTheRuleSays(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	signed := map[string]int{}
	for round := range 40 {
		x := New(space)
		x.AddShard(key)
		asking := random.IntN(3)
		sizes := []int{30, 120, 400}
		for i := range sizes[round%3] {
			talk := random.IntN(3)
			text := fmt.Sprint("walrus w", random.IntN(20))
			if random.IntN(5) == 0 || i == 7 {
				text = "Hey " + []string{"Ann", "Bo"}[i/3%2] + ", the " + text
			}
			if random.IntN(3) < asking {
				text += ". Do you see it?"
			}
			r := record(i, here, text)
			r.Sequence, r.Position = fmt.Sprint("talk ", talk), int64(i)
			if round%4 == 1 {
				r.Position = int64(random.IntN(50)) // parts are mixed
			}
			if random.IntN(9) == 0 {
				r.Tags = []string{"x"}
			}
			x.Upsert(r, codes(r, uint64(i)))
			if random.IntN(60) == 0 {
				shelve(t, x, key)
			}
			if random.IntN(6) == 0 {
				x.Remove(here.Key(), record(random.IntN(i+1), here, "").ID)
			}
			if i%25 != 24 {
				continue
			}
			f := loci.Filter{Within: []loci.Namespace{here}}
			if i%2 == 0 {
				f.Tags = []string{"x"}
			}
			s := search{filter: &f, skipFrom: x.skipFrom, readCost: x.readCost,
				guessFrom: x.guessFrom, unguessed: &x.unguessed}
			p := conversation(loci.Probe{Text: "What does Ann say to Bo of the walrus"})
			s.choose(x, &p)
			if err := s.scoreWords(p); err != nil {
				t.Fatal(err)
			}
			hits, err := s.gather(&p, 12)
			if err != nil {
				t.Fatal(err)
			}
			want := s.hearPlainly(hits)
			for at, h := range hits {
				if h.Signer != want[at] {
					t.Fatalf("round %d, %d texts: %v is said by %q; want %q", round, i+1, at, h.Signer, want[at])
				}
				signed[h.Signer]++
			}
			s.release()
			s.leave()
		}
	}
	for _, name := range []string{"", "ann", "bo", loci.SomebodyElse} {
		if signed[name] < 20 {
			t.Errorf("%q says %d hits: the test says little", name, signed[name])
		}
	}
}

// reading counts the texts that are looked at.
type reading struct {
	part
	words, entries *int
}

func (r reading) wordsIn(room *[]uint32, passage uint32) []uint32 {
	*r.words++
	return r.part.wordsIn(room, passage)
}

func (r reading) seen(entry uint32) seen {
	*r.entries++
	return r.part.seen(entry)
}

// What is read to tell who speaks depends on the hits, not on how long their talks are.
func TestWhoSpeaksIsTriedNearHits(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	read := func(texts int, again bool) (words, entries int) {
		x := New(space)
		x.AddShard(key)
		for i := range texts {
			text := fmt.Sprint("harbour ", i)
			if i%4 == 0 {
				text = "Hey Ann, how is your harbour?"
			}
			if i == 81 {
				text = "The walrus"
			}
			r := record(i, here, text)
			r.Sequence, r.Position = "talk", int64(i)
			x.Upsert(r, nil)
		}
		shelve(t, x, key)
		for range 2 {
			f := loci.Filter{Within: []loci.Namespace{here}}
			s := search{filter: &f, skipFrom: x.skipFrom, readCost: x.readCost, guessFrom: x.guessFrom,
				unguessed: &x.unguessed}
			p := conversation(loci.Probe{Text: "Does Ann have a walrus"})
			s.choose(x, &p)
			if err := s.scoreWords(p); err != nil {
				t.Fatal(err)
			}
			at := place{1, 81} // the heap is before the segment
			hits := map[place]*loci.Hit{at: {}}
			words, entries = 0, 0
			s.parts[1].part = reading{s.parts[1].part, &words, &entries}
			if s.hearNames(hits); hits[at].Signer != "ann" {
				t.Errorf("said by %q", hits[at].Signer)
			}
			s.release()
			s.leave()
			if !again {
				break
			}
		}
		return words, entries
	}
	for _, again := range []bool{false, true} {
		few, _ := read(200, again)
		many, _ := read(longestTalk, again)
		if few != many || many == 0 || many > 3*nearPart/4+1 {
			t.Errorf("of 200 texts %d are read, and of %d %d", few, longestTalk, many)
		}
	}
	_, few := read(200, true)
	if _, many := read(longestTalk, true); many != few {
		t.Errorf("asked again: of 200 texts %d are looked at, and of %d %d", few, longestTalk, many)
	}
}

// What somebody else says is not compared together with what stands beside it: nothing asks for that.
func TestNothingIsComparedForSomebodyElse(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	x := New(space)
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	for i := range 8 {
		r := record(i, here, []string{"Hey Ann, how is your walrus?", "The walrus sleeps"}[i%2])
		r.Sequence, r.Position = "talk", int64(i)
		x.Upsert(r, codes(r, uint64(i)))
	}
	v := make([]float32, space.Dims)
	v[0] = 1
	p := conversation(loci.Probe{Text: "Does Ann have a walrus", Vector: v, Space: space})
	hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for _, h := range hits {
		if said[h.Signer]++; (h.Together != 0) != (h.Signer == "ann") {
			t.Errorf("said by %q and compared with what stands beside it: %v", h.Signer, h.Together)
		}
	}
	if said["ann"] != 4 || said[loci.SomebodyElse] != 4 {
		t.Errorf("said by %v", said)
	}
}

// Texts that come make a list of notes a talk, and no talk again when they leave, on the heap and in a segment.
func TestWhoSpeaksAfterAChange(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	for _, shelved := range []bool{false, true} {
		x := New(space)
		x.AddShard(key)
		add := func(i int, text string) {
			r := record(i, here, text)
			r.Sequence, r.Position = "talk", int64(i)
			x.Upsert(r, nil)
		}
		check := func(when string, want bool) {
			t.Helper()
			p := conversation(loci.Probe{Text: "Does Ann have a walrus"})
			hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 20, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.ContainsFunc(hits, func(h loci.Hit) bool { return h.Signer == "ann" }); got != want {
				t.Errorf("%s, in a segment: %v; Ann speaks: %v", when, shelved, got)
			}
		}
		for i := range 8 {
			add(i, []string{"Ann fed the walrus", "The walrus sleeps"}[i%2])
		}
		check("notes", false)
		add(8, "Do you see the walrus?")
		add(9, "Is it your walrus?")
		check("a talk", true)
		if shelved {
			shelve(t, x, key)
			check("a talk", true)
		}
		x.Remove(here.Key(), record(8, here, "").ID)
		x.Remove(here.Key(), record(9, here, "").ID)
		check("notes again", false)
	}
}
