package storetest

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

var nameCases = []testCase{
	{"the name of a namespace goes with its last record, and comes back with the next", func(b *bench) {
		ada := loci.Namespace{"customers", "ada@example.com"}
		one, two := placed(record(1, "walrus"), ada...), placed(record(2, "walrus"), ada...)
		below := placed(record(3, "walrus"), "customers", "ada@example.com", "orders")
		b.put(one, two, below)
		b.apply(erasure(one, below))
		b.named("with a record left", 3, ada)
		b.apply(erasure(two))
		b.named("without records", 0, ada)
		for name, want := range map[string]struct {
			within []loci.Namespace
			events int
			shown  string
		}{
			"who names it":                {[]loci.Namespace{ada}, 6, "customers/ada@example.com"},
			"who names what contains it":  {[]loci.Namespace{{"customers"}}, 6, "customers"},
			"who names both":              {[]loci.Namespace{{"customers"}, ada, {"x"}}, 6, "customers/ada@example.com"},
			"who names what is below":     {[]loci.Namespace{append(slices.Clone(ada), "orders")}, 2, "customers/ada@example.com/orders"},
			"who names another":           {[]loci.Namespace{{"customers", "ada"}, {"customers", "ada@example.com", "order"}, {"cust"}}, 0, ""},
			"who names it in other words": {[]loci.Namespace{{"ada@example.com"}, {"customers", "ada@example.com", ""}}, 0, ""},
		} {
			got := b.events(loci.EventFilter{Within: want.within})
			if len(got) != want.events {
				b.Errorf("%s finds %d events; want %d", name, len(got), want.events)
			}
			for _, e := range got {
				if !e.Unnamed || !strings.HasPrefix(e.Namespace.String(), want.shown) {
					b.Errorf("%s is shown %s", name, e.Namespace)
				}
			}
		}
		b.chained()
		b.put(placed(record(4, "walrus"), ada...))
		b.named("with a new record", 5, ada)
		b.same("hits", hitIDs(b.match(words("walrus"), loci.Filter{Within: []loci.Namespace{ada}}, 10)), ids(4))
		b.chained()
	}},
	{"an event alone brings no name", func(b *bench) {
		b.apply(
			loci.Change{
				Events: []loci.Event{event(loci.EventUpdated, placed(record(1, ""), "customers", "ada@example.com"))},
			},
		)
		b.named("without records", 0, loci.Namespace{"customers", "ada@example.com"})
		got := b.events(loci.EventFilter{Within: []loci.Namespace{{"customers", "ada@example.com"}}})
		if len(got) != 1 {
			b.Errorf("%d events; want 1", len(got))
		}
		b.chained()
	}},
	{"a change may empty a namespace and fill it again", func(b *bench) {
		old := record(1, "walrus")
		b.put(old)
		c, gone := creation(record(2, "walrus")), erasure(old)
		c.Erase, c.Events = gone.Erase, append(c.Events, gone.Events...)
		b.apply(c)
		b.named("with the new record", 3, home)
		b.same("hits", b.found(words("walrus")), ids(2))
	}},
	{"a refused erase takes no name", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		c := erasure(r)
		c.Links = []loci.Link{{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(1)}}
		b.conflict("a link from what goes", c)
		b.put(placed(record(2, "walrus"), home...))
		b.named("after the refusal", 2, home)
		b.same("hits", b.found(words("walrus")), ids(2, 1))
	}},
	{"names that go and come through one handle are known to the other", func(b *bench) {
		handles := b.handles()
		first, second := handles[0], handles[len(handles)-1]
		place := loci.Namespace{"customers", "ada@example.com"}
		filter := loci.Filter{Within: []loci.Namespace{place}}
		for n := 1; n < 12; n += 3 {
			a, c, d := placed(
				record(n, "walrus"),
				place...), placed(
				record(n+1, "walrus"),
				place...), placed(
				record(n+2, "walrus"),
				place...)
			b.store = second
			b.put(a)
			b.same("hits of the first", hitIDs(b.match(words("walrus"), filter, 10)), ids(n))
			b.store = first
			b.apply(erasure(a))
			b.store = second // remembers the namespace
			b.put(c)
			for _, b.store = range handles {
				b.same("hits of the second", hitIDs(b.match(words("walrus"), filter, 10)), ids(n+1))
				b.same(
					"namespaces",
					sure(b.store.Namespaces(b.Context(), b.tenant, loci.Filter{Within: everywhere})),
					[]loci.Namespace{place},
				)
			}
			b.store = second
			b.apply(erasure(c))
			b.same("hits of none", hitIDs(b.match(words("walrus"), filter, 10)), nil)
			b.store = first
			b.put(d)
			for _, b.store = range handles {
				b.same("hits of the third", hitIDs(b.match(words("walrus"), filter, 10)), ids(n+2))
			}
			b.apply(erasure(d))
		}
		b.store = first
		b.chained()
	}},
	{"who learns of a namespace while it has no name finds what comes later", func(b *bench) {
		handles := b.handles()
		place := loci.Namespace{"customers", "ada@example.com"}
		old := placed(record(1, "walrus"), place...)
		b.store = handles[0]
		b.put(old, record(2, "walrus"))
		b.apply(erasure(old))
		b.store = handles[len(handles)-1]
		b.same("hits without the name", b.found(words("walrus")), ids(2))
		b.store = handles[0]
		b.put(placed(record(3, "walrus"), place...))
		for _, b.store = range handles {
			in := loci.Filter{Within: []loci.Namespace{place}}
			b.same("hits of what came", hitIDs(b.match(words("walrus"), in, 10)), ids(3))
		}
		b.store = handles[0]
	}},
	{"what features keep lies below its owner, and where no caller reaches", func(b *bench) {
		owner := loci.Namespace{"org", "acme"}
		inner := placed(record(1, "walrus"), "org", "acme", "", "sessions")
		agent := placed(record(2, "walrus"), "org", "acme", "sessions")
		top := placed(record(3, "walrus"), "", "sessions")
		b.put(inner, agent, top)
		for place, want := range map[string][]loci.ID{"org/acme": ids(2, 1), "org/acme/sessions": ids(2), "org/acme//sessions": ids(1), "sessions": nil} {
			within := loci.Namespace(strings.Split(place, "/"))
			f := loci.Filter{Within: []loci.Namespace{within}}
			b.same("records in "+place, recordIDs(b.all(f)), want)
			b.same("hits in "+place, hitIDs(b.match(words("walrus"), f, 10)), want)
			if n := len(b.events(loci.EventFilter{Within: []loci.Namespace{within}})); n != len(want) {
				b.Errorf("%d events in %s; want %d", n, place, len(want))
			}
		}
		b.apply(erasure(inner))
		b.named("without the record", 0, inner.Namespace)
		if n := len(b.events(loci.EventFilter{Within: []loci.Namespace{owner}})); n != 3 {
			b.Errorf("%d events of the owner; want 3", n)
		}
	}},
}

// named requires that this many events say that they are in or below a namespace.
func (b *bench) named(when string, want int, n loci.Namespace) {
	b.Helper()
	have := 0
	for _, e := range b.events(loci.EventFilter{}) {
		if n.Contains(e.Namespace) {
			have++
		}
		if e.Unnamed && strings.Contains(e.Namespace.String(), n[len(n)-1]) {
			b.Errorf("%s: a name that is gone is shown: %s", when, e.Namespace)
		}
	}
	if have != want {
		b.Errorf("%s %d events name %s; want %d", when, have, n, want)
	}
}

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
