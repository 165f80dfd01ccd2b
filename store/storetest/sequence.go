package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// said is a record at a place of a sequence.
func said(n int, sequence string, position int64, text string) loci.Record {
	r := record(n, text)
	r.Sequence, r.Position = sequence, position
	return r
}

// inSequence asks with what sequences say.
func inSequence(text string) loci.Probe { return loci.Probe{Text: text, Sequences: true} }

// exactly requires a number, up to rounding.
func (b *bench) exactly(what string, got, want float64) {
	b.Helper()
	if !(math.Abs(got-want) < 1e-9) {
		b.Errorf("%s is %v; want %v", what, got, want)
	}
}

var sequenceCases = []testCase{
	{"hits say how many passages are searched", func(b *bench) {
		const few, rootOf5 = 1000, 2236 // times 1,000
		b.put(record(1, "walrus"), inPassages(2, few-1))
		b.exactly("of a few", b.byID(words("walrus"), 10)[id(1)].Many, 0)
		b.put(inPassages(3, rootOf5-few))
		want := math.Log(rootOf5/1000.0) / math.Log(5)
		if got := b.byID(words("walrus"), 10)[id(1)].Many; math.Abs(got-want) > 1e-9 {
			b.Errorf("of more: %v, want %v", got, want)
		}
		b.put(inPassages(4, 4*few))
		b.exactly("of many", b.byID(words("walrus"), 10)[id(1)].Many, 1)
	}},
	{"a hit says how much of the query it holds", func(b *bench) {
		b.put(record(1, "walrus harbour"), record(2, "walrus"))
		held, unheard := math.Log(1+0.5/2.5), math.Log(1+2.5/0.5) // of two records both, or none
		for _, h := range b.match(words("walrus zebra"), loci.Filter{}, 10) {
			b.exactly("what is covered", h.Covered, held/(held+unheard))
			b.exactly("the share", h.KeywordShare, h.Keyword/(held+unheard))
		}
		h := b.byID(words("walrus harbour"), 10)
		b.exactly("what is covered of all words", h[id(1)].Covered, 1)
		rare := math.Log(2) // 1 + (2 - 1 + 0.5) / (1 + 0.5)
		b.exactly("what is covered of one", h[id(2)].Covered, held/(held+rare))
	}},
	{"pairs of characters between two words are not missed", func(b *bench) {
		b.put(record(1, "女儿"), record(2, "过敏"), record(3, "过敏 女儿"), record(4, "女儿过敏"))
		few := math.Log(1 + 1.5/3.5) // three of four records have each of the two words, one what is between them
		b.exactly("what is covered of one word", b.byID(words("女儿过敏"), 10)[id(1)].Covered, 0.5)
		h := b.byID(words("女儿过敏"), 10)
		b.exactly("what is covered of both", h[id(3)].Covered, 1)
		b.exactly("what is covered of all", h[id(4)].Covered, 1) // and no more
		b.exactly("the share", h[id(3)].KeywordShare, h[id(3)].Keyword/(2*few))
		if h[id(4)].Keyword <= h[id(3)].Keyword {
			b.Errorf("the words as they were asked for get %v, and apart %v", h[id(4)].Keyword, h[id(3)].Keyword)
		}
	}},
	{"what stands beside a hit in its sequence is a hit", func(b *bench) {
		for i, text := range []string{"one", "two", "walrus", "four", "five", "six", "seven", "eight"} {
			b.put(said(i+1, "talk", int64(10*i), text)) // places may be apart
		}
		elsewhere := said(9, "talk", 21, "of another namespace")
		elsewhere.Namespace = loci.Namespace{"elsewhere"}
		b.put(elsewhere, said(10, "walk", 22, "of another sequence"))
		b.same("hits", b.found(words("walrus")), ids(3))
		h := map[loci.ID]loci.Hit{}
		for _, hit := range b.match(inSequence("walrus"), loci.Filter{}, 1) {
			h[hit.ID] = hit
		}
		if len(h) != 7 || h[id(3)].KeywordRank != 1 || h[id(4)].KeywordRank != 0 || h[id(8)].ID == id(8) {
			b.Errorf("hits %+v", h)
		}
		for n, lifts := range []bool{false, false, false, false, false, true, true} {
			if h[id(n+1)].Lifter != lifts {
				b.Errorf("%d counts for its neighbours alone: %v", n+1, !lifts)
			}
		}
		b.same("neighbours", h[id(3)].Neighbours, [4]loci.ID{id(1), id(2), id(4), id(5)})
		b.same("neighbours of a neighbour", h[id(5)].Neighbours, [4]loci.ID{id(3), id(4), id(6), id(7)})
		b.apply(erasure(said(4, "talk", 30, "four")))
		h = map[loci.ID]loci.Hit{}
		for _, hit := range b.match(inSequence("walrus"), loci.Filter{}, 1) {
			h[hit.ID] = hit
		}
		b.same("neighbours after an erase", h[id(3)].Neighbours, [4]loci.ID{id(1), id(2), id(5), id(6)})
	}},
	{"a neighbour that the filter does not select is none", func(b *bench) {
		hidden := said(1, "talk", 1, "before")
		hidden.Scope = "hidden"
		b.put(hidden, said(2, "talk", 2, "walrus"), said(3, "talk", 3, "after"))
		hits := b.match(inSequence("walrus"), loci.Filter{Scopes: []string{""}}, 5)
		for _, h := range hits {
			if h.ID == id(2) {
				b.same("neighbours", h.Neighbours, [4]loci.ID{{}, {}, id(3), {}})
			}
		}
		b.same("hits", hitIDs(hits), ids(3, 2))
	}},
	{"a record without a place stands in the conversation that its attributes name", func(b *bench) {
		at := func(i int, attributes string) loci.Record {
			r := said(i, "", 0, fmt.Sprint("walrus ", i))
			r.Attributes, r.CreatedAt = json.RawMessage(attributes), r.CreatedAt.Add(-time.Duration(i)*time.Hour)
			return r
		}
		placed := said(4, "talk", 5, "harbour") // at a number, before all times
		episode := said(5, "", 0, "walrus 5")
		episode.Kind, episode.Body = loci.KindEpisode, json.RawMessage(`{"session_id":"talk"}`)
		b.put(at(1, `{"session_id":"talk"}`), at(2, `{"thread_id":"talk","speaker":"Ann"}`), at(3, `{"a":"talk"}`))
		b.put(placed, episode)
		h := map[loci.ID]loci.Hit{}
		for _, hit := range b.match(inSequence("walrus harbour"), loci.Filter{}, 10) {
			h[hit.ID] = hit
		}
		b.same("the neighbours of the earliest", h[id(2)].Neighbours, [4]loci.ID{{}, id(4), id(1), {}})
		b.same("its sequence", h[id(2)].Sequence, "talk")
		b.same("without a name", h[id(3)].Sequence, "")
		b.same("an episode", h[id(5)].Sequence, "talk")
		f := loci.Filter{Sequences: []string{"talk"}} // a filter asks for what is said alone
		b.same("selected", hitIDs(b.match(inSequence("walrus harbour"), f, 10)), ids(4))
	}},
	{"at one place the lower id comes first", func(b *bench) {
		for _, i := range []int{3, 1, 4, 2} { // in another order than that of the ids
			b.put(said(i, "talk", 7, fmt.Sprint("walrus ", i)))
		}
		for _, hit := range b.match(inSequence("walrus"), loci.Filter{}, 10) {
			if hit.ID == id(2) {
				b.same("neighbours", hit.Neighbours, [4]loci.ID{{}, id(1), id(3), id(4)})
			}
		}
	}},
	{"a sequence is searched as one document", func(b *bench) {
		b.put(said(1, "talk", 1, "walrus"), said(2, "talk", 2, "harbour"), said(3, "walk", 1, "telescope"), record(4, "alone"))
		h := map[loci.ID]loci.Hit{}
		for _, hit := range b.match(inSequence("walrus harbour"), loci.Filter{}, 5) {
			h[hit.ID] = hit
		}
		// One of the two sequences holds each word, once in two words; both have three.
		norm := 0.9 * (1 - 0.4 + 0.4*2/1.5)
		b.exactly("the sequence's share", h[id(1)].Context, 1.9/(1+norm))
		b.exactly("what its best passage covers", h[id(1)].ContextCovered, 0.5)
		b.exactly("the share of its other record", h[id(2)].Context, h[id(1)].Context)
		b.exactly("what is covered for it", h[id(2)].ContextCovered, 0.5)
		for _, hit := range b.match(words("walrus harbour"), loci.Filter{}, 5) {
			if hit.Context != 0 || hit.Neighbours != [4]loci.ID{} {
				b.Errorf("not asked for, and yet %+v", hit)
			}
		}
		b.apply(erasure(said(1, "talk", 1, "walrus")))
		b.put(said(5, "talk", 3, "walrus"))
		again := b.match(inSequence("walrus harbour"), loci.Filter{}, 5)[0]
		b.exactly("the share after a change", again.Context, h[id(1)].Context)
	}},
	{"who speaks is told by an attribute or by the text", func(b *bench) {
		const likely = "Great idea! You will find your walrus by the harbour. Would you like to know more?"
		for i, c := range []struct {
			attributes, text string
			want             loci.Speaker
		}{
			{`{"role":"user"}`, "walrus", loci.SpeakerPerson}, {`{"role":"Assistant"}`, "walrus", loci.SpeakerAssistant},
			{`{"type":"ai"}`, "walrus", loci.SpeakerAssistant}, {"", "user: walrus", loci.SpeakerPerson},
			{"", "assistant: walrus", loci.SpeakerAssistant}, {"", "Ann: walrus", loci.SpeakerUnknown},
			{`{"a":1,"Role": "AI"}`, "walrus", loci.SpeakerAssistant}, {`{"kind":"ai"}`, "walrus", loci.SpeakerUnknown},
			{`{"role":7}`, "walrus", loci.SpeakerUnknown}, {"", "walrus", loci.SpeakerUnknown},
			{"", "The user said: walrus", loci.SpeakerPerson}, {"", likely, loci.SpeakerLikelyAssistant},
			{`{"role":"user"}`, likely, loci.SpeakerPerson}, {"", "Ann: " + likely, loci.SpeakerUnknown},
		} {
			r := said(i+1, fmt.Sprint("talk ", i), 0, c.text)
			if c.attributes != "" {
				r.Attributes = json.RawMessage(c.attributes)
			}
			b.put(r)
			if h := b.byID(words("walrus"), 20)[r.ID]; h.Speaker != c.want {
				b.Errorf("%s %q: speaker %d, want %d", c.attributes, c.text, h.Speaker, c.want)
			}
		}
	}},
	{"what a text looks like is told of its one passage", func(b *bench) {
		for i, c := range []struct {
			text string
			want string // the bits of its traits
		}{
			{"walrus", "0"}, {"Two walruses", "1"}, {"The walrus came last week", "10"}, {"Is it a walrus?", "100"},
			{"My walrus is ill. How is yours?", "11100"}, {"You saw a walrus in 1987", "100011"},
		} {
			b.put(record(i+1, c.text))
			if h := b.byID(words("walrus"), 20)[id(i+1)]; fmt.Sprintf("%b", h.Traits) != c.want {
				b.Errorf("%q has the traits %b, want %s", c.text, h.Traits, c.want)
			}
		}
		long := record(20, "You saw a walrus in 1987")
		long.Passages = []loci.Span{{Start: 0, End: 16}, {Start: 8, End: len(long.Text)}}
		b.put(long)
		if h := b.byID(words("walrus"), 20)[id(20)]; h.ID != id(20) || h.Traits != 0 {
			b.Errorf("of two passages: %+v", h)
		}
	}},
	{"the name that a text begins with is that of who says it", func(b *bench) {
		for i, c := range []struct{ text, want string }{
			{"Ann: walrus", "ann"}, {"**Ann Lee:** walrus", "ann lee"}, {"[2024-03-15 10:30] Ann (by phone): walrus", "ann"},
			{"Jean-Luc: walrus", "jean luc"}, {"Олег: walrus", "олег"}, {"user: walrus", ""}, {"ann: walrus", ""},
			{"Ann saw it: walrus", ""}, {"walrus", ""},
		} {
			r := said(i+1, fmt.Sprint("talk ", i), 0, c.text)
			b.put(r)
			if h := b.byID(words("walrus"), 20)[r.ID]; h.Signer != c.want {
				b.Errorf("%q is said by %q; want %q", c.text, h.Signer, c.want)
			}
		}
		headed := said(20, "headed", 0, "Ann: walrus")
		headed.Heading = "harbour"
		b.put(headed, record(21, "Ann: walrus"))
		for _, n := range []int{20, 21} { // what is searched begins with something else; in no sequence
			if h := b.byID(words("walrus"), 20)[id(n)]; h.Signer != "" {
				b.Errorf("%d is said by %q", n, h.Signer)
			}
		}
	}},
	{"whom a talk of two speaks to by name says the other texts", func(b *bench) {
		n := 0
		talk := func(name, attributes string, texts ...string) {
			for i, text := range texts {
				n++
				r := said(n, name, int64(7*i), text)
				r.Attributes = json.RawMessage(attributes)
				b.put(r)
			}
		}
		signers := func(query, talk string) (out string) {
			hits := b.match(inSequence(query), loci.Filter{}, 100)
			slices.SortFunc(hits, func(x, y loci.Hit) int { return cmp.Compare(x.Position, y.Position) })
			for _, h := range hits {
				if h.Sequence == talk {
					out += cmp.Or(h.Signer, "-") + " "
				}
			}
			return strings.TrimSpace(out)
		}
		turns := []string{"Hey Ann, how is your walrus?", "It sleeps, Bo. My walrus is old", "Thanks Ann! Do you feed the walrus?", "The walrus eats",
			"You have a good walrus", "Hi Bo, you should meet the walrus", "The walrus, and Ann?", "Well Bo, the walrus swims"}
		talk("talk", "", turns...)
		talk("roles", `{"role":"user"}`, turns...)
		talk("chat", `{"role":"assistant"}`, turns...)
		talk("once", "", "Hey Ann, how is your walrus?", "It sleeps, my walrus", "Do you feed the walrus?", "The walrus eats")
		talk("both", "", "Hey Ann, your walrus?", "Hey Ann, my walrus?", "Hey Ann, your walrus?", "Hey Ann, the walrus?")
		talk("notes", "", "Ann called about the walrus", "The walrus eats", "Ann fed the walrus", "The walrus swims", "Ann saw the walrus",
			"The walrus sleeps", "Ann left the walrus", "A walrus", "The walrus", "Old walrus")
		talk("inside", "", "Do you know if Ann has a walrus?", "The walrus eats", "Is the walrus, you know, of Ann?", "The walrus swims")
		talk("signed", "", "Cy: Ann, your walrus?", "Dee: my walrus", "Cy: Ann, your walrus?", "the walrus")
		n++
		guest := said(n, "roles", 22, "The walrus swims in summer")
		guest.Attributes = json.RawMessage(`{"role":"assistant"}`)
		b.put(guest) // between the fourth and the fifth
		n++
		b.put(said(n, "roles", 23, "Walrus")) // so that all others stand where they stood
		for _, c := range []struct{ query, talk, want string }{
			{"Does Ann have a walrus", "talk", "? ann ? ann ? ann ? ann"}, {"Does Ann have a walrus", "roles", "? ann ? ann - ann ? ann ? ann"},
			{"What did Bo and Ann say of the walrus", "talk", "bo ann bo ann bo ann bo ann"}, {"does ann have a walrus", "talk", "- - - - - - - -"},
			{"Does Zoe have a walrus", "talk", "- - - - - - - -"}, {"Does Ann have a walrus", "chat", "- - - - - - - -"},
			{"Does Ann have a walrus", "once", "- - - -"}, {"Does Ann have a walrus", "both", "- - - -"},
			{"Does Ann have a walrus", "notes", "- - - - - - - - - -"}, {"Does Ann have a walrus", "inside", "- - - -"},
			{"Does Ann have a walrus", "signed", "cy dee cy -"},
		} {
			if got := signers(c.query, c.talk); got != c.want {
				b.Errorf("%q of %s: said by %s; want %s", c.query, c.talk, got, c.want)
			}
		}
		p := inSequence("Does Ann have a walrus")
		p.Sequences = false
		for _, h := range b.match(p, loci.Filter{}, 100) {
			if h.Sequence == "talk" && h.Signer != "" {
				b.Errorf("not asked for sequences: said by %q", h.Signer)
			}
		}
		tagged := said(n+1, "tagged", 3, "Hey Ann, the walrus? Did you see")
		tagged.Tags = []string{"x"}
		b.put(said(n+2, "tagged", 1, "Hey Ann, the walrus? Did you see"), said(n+3, "tagged", 2, "the walrus"), tagged, said(n+4, "tagged", 4, "walrus"))
		if got := signers("Does Ann have a walrus", "tagged"); got != "? ann ? ann" {
			b.Errorf("all: said by %s", got)
		}
		for _, h := range b.match(inSequence("Does Ann have a walrus"), loci.Filter{Tags: []string{"x"}}, 100) {
			if h.Signer != "" {
				b.Errorf("what the filter leaves out says that %q says a text", h.Signer)
			}
		}
	}},
	{"what somebody says is compared together with what stands beside it", func(b *bench) {
		for i, c := range []struct {
			text    string
			leaning float64
		}{{"Bo: one", 0.9}, {"Ann: two", 0.8}, {"Bo: three", 0.1}, {"Ann: walrus", 0.2}, {"Bo: five", 0.7}, {"six", 0.6}, {"walrus", 0.3}} {
			b.apply(changeOf(embedded(said(i+1, "talk", int64(i), c.text), c.leaning)))
		}
		b.put(said(8, "walk", 1, "Bo: telescope"), said(9, "walk", 2, "Ann: harbour"))
		b.apply(changeOf(embedded(said(10, "walk", 3, "Bo: walrus"), 0.4)))
		b.apply(changeOf(embedded(said(11, "alone", 1, "Ann: walrus"), 0.4)))
		p := both("walrus", spaceA)
		p.Sequences = true
		sum := func(leanings ...float64) float64 {
			var along, across float64
			for _, l := range leanings {
				along, across = along+l, across+math.Sqrt(1-l*l)
			}
			return along / math.Hypot(along, across)
		}
		h := b.byID(p, 20)
		b.near("the five of a talk", h[id(4)].Together, sum(0.8, 0.1, 0.2, 0.7, 0.6))
		b.near("its first", h[id(1)].Together, sum(0.9, 0.8, 0.1))
		for what, n := range map[string]int{"nobody's": 7, "what stands beside texts without vectors": 10, "what stands alone": 11} {
			b.exactly(what, h[id(n)].Together, 0)
		}
		b.apply(erasure(said(5, "talk", 4, "Bo: five")))
		b.near("without the next", b.byID(p, 20)[id(4)].Together, sum(0.8, 0.1, 0.2, 0.6, 0.3))
		p.Sequences = false
		b.exactly("not asked for", b.byID(p, 20)[id(4)].Together, 0)
	}},
	{"a hit says how much of it was said right before", func(b *bench) {
		chat := func(n int, position int64, role string, leanings ...float64) {
			r := inPassages(n, len(leanings))
			r.Sequence, r.Position = "chat", position
			if role != "" {
				r.Attributes = json.RawMessage(`{"role":"` + role + `"}`)
			}
			var each [][]float32
			for _, l := range leanings {
				each = append(each, leaning(spaceA, l))
			}
			b.apply(changeOf(loci.Put{Record: r, Vectors: vectors(spaceA, each...)}))
		}
		between := func(one, other float64) float64 {
			return one*other + math.Sqrt(1-one*one)*math.Sqrt(1-other*other)
		}
		long := slices.Repeat([]float64{0.2}, 32)
		chat(1, 1, "", 0.9)
		chat(2, 2, "assistant", append(long, slices.Repeat([]float64{-0.9}, 32)...)...) // only the first 32 are compared
		chat(3, 3, "user", 0.8, 0.5)
		chat(4, 4, "", append(slices.Repeat([]float64{0.6}, 8), 1)...) // … and after its own first eight
		b.put(said(5, "chat", 5, "walrus"))
		chat(6, 6, "", 0.3)
		b.apply(changeOf(embedded(said(7, "alone", 1, "walrus"), 0.3), embedded(record(8, "walrus"), 0.3)))
		p := both("walrus", spaceA)
		p.Sequences = true
		h := b.byID(p, 20)
		b.near("of a reply to a long answer", h[id(3)].Echo, (between(0.8, 0.2)+between(0.5, 0.2))/2)
		b.near("of a long reply", h[id(4)].Echo, (between(0.6, 0.8)+between(0.6, 0.5))/2)
		for what, n := range map[string]int{"the first": 1, "an assistant's": 2, "one without vectors": 5, "behind one without": 6, "alone": 7, "in no sequence": 8} {
			b.exactly(what, h[id(n)].Echo, 0)
		}
		if alone := b.match(p, loci.Filter{IDs: []loci.ID{id(3)}}, 20); len(alone) != 1 || alone[0].Echo != 0 {
			b.Errorf("behind what the filter leaves out: %+v", alone)
		}
		p.Sequences = false
		b.exactly("not asked for", b.byID(p, 20)[id(3)].Echo, 0)
	}},
	{"a probe is weighed by how rare words are", func(b *bench) {
		for i := 1; i <= 9; i++ {
			b.apply(changeOf(embedded(record(i, "walrus "+strings.Repeat("x", i)), float64(i)/10)))
		}
		b.apply(changeOf(embedded(record(10, "harbour"), 0.05)))
		var common, rare, unheard float64
		p := direction(spaceA)
		p.Reweigh = func(weight func(word string) float64) []float32 {
			common, rare, unheard = weight("walrus"), weight("harbour"), weight("zebra")
			return leaning(spaceA, 0) // across the axis that the records lean to
		}
		hits := b.match(p, loci.Filter{}, 10)
		rareness := func(holders float64) float64 { return math.Log(1 + (10-holders+0.5)/(holders+0.5)) }
		b.same("weights", [3]float64{common, rare, unheard}, [3]float64{rareness(9), rareness(1), rareness(0)})
		if len(hits) != 10 || hits[0].Similarity < hits[9].Similarity { // newest first: 10 leans least
			b.Errorf("the vector that was made again is not searched: %+v", hits)
		}
		p.Reweigh = func(func(string) float64) []float32 { return nil }
		b.same("hits without it", b.match(p, loci.Filter{}, 10), b.match(direction(spaceA), loci.Filter{}, 10))
		b.put(record(11, strings.Repeat("telescope ", 600)))
		p.Reweigh = func(weight func(word string) float64) []float32 { common = weight("walrus"); return nil }
		b.match(p, loci.Filter{}, 10)
		b.same("weight in long texts", common, 1.0)
	}}, {"a small word counts as rather rare", func(b *bench) {
		for i := 1; i <= 9; i++ {
			b.put(record(i, "my "+strings.Repeat("x", i)))
		}
		b.apply(changeOf(embedded(record(10, "walrus from Oslo"), 0.1)))
		var common, rare, unheard float64
		p := direction(spaceA)
		p.Reweigh = func(weight func(word string) float64) []float32 {
			common, rare, unheard = weight("my"), weight("from"), weight("what")
			return nil
		}
		b.match(p, loci.Filter{}, 10)
		rareness := func(holders float64) float64 { return math.Log(1 + (10-holders+0.5)/(holders+0.5)) }
		b.exactly("one that many say", common, 0.75*rareness(9)+0.25*rareness(0))
		b.exactly("one that one says", rare, 0.75*rareness(1)+0.25*rareness(0))
		b.exactly("one that nobody says", unheard, rareness(0))
	}}, {"a word is as rare as in the sequences that have it", func(b *bench) {
		long := inPassages(5, 996)
		long.Sequence, long.Position = "walk", 1
		b.put(said(1, "talk", 1, "caroline one"), said(2, "talk", 2, "caroline two"), said(3, "talk", 3, "caroline three"),
			said(4, "walk", 2, "lantern"), long)
		weigh := func(text string, sequences bool, word string) (weight float64) {
			p := direction(spaceA)
			p.Text, p.Sequences = text, sequences
			p.Reweigh = func(weigh func(string) float64) []float32 {
				weight = weigh(word)
				return nil
			}
			b.match(p, loci.Filter{}, 10)
			return weight
		}
		rareness := func(passages, holders float64) float64 {
			return math.Log(1 + (passages-holders+0.5)/(holders+0.5))
		}
		const all, talk, walk = 1000.0, 6.0, 997.0 // passages, and words of each sequence
		const perWord = all / (talk + walk)
		b.exactly("a name of a short talk", weigh("caroline", true, "caroline"), rareness(400, 3))
		b.exactly("what is not asked for", weigh("harbour", true, "caroline"), rareness(400, 3))
		b.exactly("… in a long one", weigh("caroline", true, "lantern"), rareness(walk*perWord, 1))
		b.exactly("without sequences", weigh("caroline", false, "caroline"), rareness(all, 3))
		b.exactly("what one says in a long one", weigh("lantern", true, "lantern"), rareness(walk*perWord, 1))
		b.exactly("a word of both", weigh("caroline lantern", true, "lantern"), rareness(walk*perWord, 1))
		b.exactly("what most say", weigh("harbour", true, "harbour"), rareness(996, 996))
		b.exactly("a small word", weigh("caroline", true, "the"), rareness(all, 0))
		b.exactly("what nobody says", weigh("zebra", true, "zebra"), rareness(all, 0))
		b.put(inPassages(6, 600))
		average := (talk + walk + 600) / (all + 600)
		b.exactly("beside what is in no sequence", weigh("caroline", true, "caroline"), rareness((talk+600)/average, 3))
		b.apply(erasure(long))
		b.exactly("where less is left", weigh("lantern", true, "lantern"), rareness(601/(607.0/604), 1))
	}},
}

// inPassages is a record of so many passages.
func inPassages(n, passages int) loci.Record {
	r := record(n, "")
	r.Text, r.Passages = cut(slices.Repeat([]string{"harbour "}, passages)...)
	return r
}
