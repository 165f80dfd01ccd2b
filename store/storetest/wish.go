package storetest

import "github.com/loci-memory/loci"

var wishCases = []testCase{
	{"a request finds what says how somebody wants things, and no other query does", func(b *bench) {
		puts := []loci.Put{embedded(record(1, "I can't stand crowds."), -0.5), embedded(record(2, "Always name the price."), -0.6)}
		for i := range 8 { // all nearer to the query
			puts = append(puts, embedded(record(10+i, "Seville has "+string(rune('a'+i))+" walrus"), 0.5))
		}
		b.apply(changeOf(puts...))
		ask := func(text string) map[loci.ID]loci.Hit {
			p := both(text, spaceA)
			p.Sequences = true
			return b.byID(p, 2)
		}
		hits := ask("Recommend something in Seville")
		for _, n := range []int{1, 2} {
			h, found := hits[id(n)]
			if want := 1 - 2*0.1; !found || h.Wish < want-1e-9 || h.Wish > want+1e-9 || !h.Wanted || h.VectorRank != 0 {
				b.Errorf("%d: found %v, %+v; want a wish of %v", n, found, h, want)
			}
		}
		for _, h := range hits {
			if h.ID != id(1) && h.ID != id(2) && (h.Wish != 0 || h.Wanted) {
				b.Errorf("%+v says no wish", h)
			}
		}
		for _, query := range []string{"What is in Seville?", "What did I suggest for Seville?"} {
			if hits := ask(query); hits[id(1)].ID == id(1) || hits[id(2)].ID == id(2) {
				b.Errorf("%s: found a wish that is not near", query)
			}
		}
		p := both("Recommend something in Seville", spaceA) // by one signal alone there are no wishes
		for id, h := range b.byID(p, 10) {
			if h.Wish != 0 || h.Wanted {
				b.Errorf("%v: %+v", id, h)
			}
		}
	}},
	{"an order bears on a question, a wish only on a request, and neither on what was said", func(b *bench) {
		reply := record(3, "assistant: Always walrus.")
		reply.Sequence = "chat"
		b.apply(changeOf(
			embedded(record(1, "I hate crowds, walrus."), 0.5), embedded(record(2, "Never walrus on Fridays."), 0.5),
			embedded(reply, 0.5),
		))
		for i := range 9 {
			b.put(record(10+i, "harbour "+string(rune('a'+i))))
		}
		for query, want := range map[string][3]bool{
			"Suggest a walrus": {true, true, false}, "What is the walrus?": {false, true, false}, "What was said of the walrus?": {},
		} {
			p := both(query, spaceA)
			p.Sequences = true
			hits := b.byID(p, 10)
			for i, wish := range want {
				if h := hits[id(i+1)]; h.ID != id(i+1) || h.Wish > 0 != wish || h.Wanted != (wish && want[0]) {
					b.Errorf("%s: %d is %+v; want a wish: %v", query, i+1, h, wish)
				}
			}
		}
	}},
	{"where half of all say how they want things it means nothing", func(b *bench) {
		b.apply(changeOf(
			embedded(record(1, "I hate walruses."), 0.5), embedded(record(2, "I love walruses."), 0.5),
			embedded(record(3, "walrus"), 0.5), embedded(record(4, "walruses"), 0.5),
		))
		p := both("Suggest a walrus", spaceA)
		p.Sequences = true
		for id, h := range b.byID(p, 10) {
			if h.Wish != 0 || h.Wanted {
				b.Errorf("%v: %+v", id, h)
			}
		}
		b.apply(erasure(record(1, "I hate walruses.")))
		if h := b.byID(p, 10)[id(2)]; h.Wish < 1.0/3-1e-9 || h.Wish > 1.0/3+1e-9 {
			b.Errorf("one of three: %+v", h)
		}
	}},
}
