package storetest

import (
	"fmt"

	"github.com/loci-memory/loci"
)

var linkCases = []testCase{
	{"links are found from both ends, oldest first", func(b *bench) {
		b.apply(creation(record(1, ""), record(2, ""), record(3, "")))
		first := loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(1)}
		second := loci.Link{From: id(3), Type: loci.LinkContradicts, To: id(1), At: at(2)}
		third := loci.Link{From: id(2), Type: loci.LinkRelatedTo, To: id(3), At: at(3)}
		own := loci.Link{From: id(2), Type: loci.LinkRelatedTo, To: id(2), At: at(4)}
		b.link(third, own, first, second)
		b.wantLinks(1, first, second)
		b.wantLinks(2, first, third, own)
		b.wantLinks(3, second, third)
		b.wantLinks(4)
		for _, c := range []struct {
			ids  []loci.ID
			want []loci.Link
		}{
			{nil, nil}, {ids(4, 9), nil}, {ids(1, 1), []loci.Link{first, second}},
			{ids(1, 2, 3, 9), []loci.Link{first, second, third, own}},
			{ids(3, 4, 1), []loci.Link{first, second, third}},
		} {
			got, err := b.store.Links(b.Context(), b.tenant, c.ids...)
			b.must("Links", err)
			b.same(fmt.Sprint("links of ", c.ids), got, c.want)
		}
	}},
	{"the same link put twice is there once", func(b *bench) {
		b.apply(creation(record(1, ""), record(2, "")))
		link := loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(5)}
		b.link(link, link)
		b.link(link)
		again := link
		again.At = at(9)
		b.link(again) // since when it holds is not changed by saying it again
		b.wantLinks(1, link)
		b.wantLinks(2, link)
		back := loci.Link{From: id(2), Type: loci.LinkSupports, To: id(1), At: at(6)}
		other := loci.Link{From: id(1), Type: loci.LinkContradicts, To: id(2), At: at(7)}
		b.link(back, other)
		b.wantLinks(1, link, back, other)
	}},
	{"a link is there by both ends and its type", func(b *bench) {
		b.apply(creation(record(1, ""), record(2, ""), record(3, "")))
		link := loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(5)}
		b.link(link, loci.Link{From: id(3), Type: loci.LinkContradicts, To: id(3), At: at(6)})
		for name, c := range map[string]struct {
			link loci.Link
			want bool
		}{
			"itself":        {link, true},
			"at any time":   {loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2)}, true},
			"to itself":     {loci.Link{From: id(3), Type: loci.LinkContradicts, To: id(3)}, true},
			"another type":  {loci.Link{From: id(1), Type: loci.LinkContradicts, To: id(2)}, false},
			"the way back":  {loci.Link{From: id(2), Type: loci.LinkSupports, To: id(1)}, false},
			"another end":   {loci.Link{From: id(1), Type: loci.LinkSupports, To: id(3)}, false},
			"another start": {loci.Link{From: id(3), Type: loci.LinkSupports, To: id(2)}, false},
		} {
			b.wantLinked(name, c.link, c.want)
		}
		b.apply(erasure(record(2, "")))
		b.wantLinked("with an end that is erased", link, false)
	}},
	{"a change may link what it puts", func(b *bench) {
		c := creation(record(1, ""), record(2, ""))
		c.Links = []loci.Link{{From: id(2), Type: loci.LinkSupersedes, To: id(1), At: at(2)}}
		b.apply(c)
		b.put(next(record(1, ""))) // an edit keeps the links
		b.wantLinks(1, c.Links...)
	}},
	{"a record may have many links", func(b *bench) {
		b.apply(creation(record(1, ""), record(2, "")))
		var links []loci.Link
		for n := range 200 {
			links = append(links, loci.Link{From: id(1), Type: loci.LinkType(fmt.Sprint("type ", n)), To: id(2), At: at(n)})
		}
		b.link(links...)
		b.wantLinks(2, links...)
	}},
}

// link stores links in a change of their own.
func (b *bench) link(links ...loci.Link) {
	b.Helper()
	b.apply(loci.Change{Links: links})
}

// wantLinked requires that a link is there, or is not.
func (b *bench) wantLinked(name string, l loci.Link, want bool) {
	b.Helper()
	got, err := b.store.Linked(b.Context(), b.tenant, l)
	b.must("Linked", err)
	b.same("whether a link is there: "+name, got, want)
}

// wantLinks requires the links of a record.
func (b *bench) wantLinks(n int, want ...loci.Link) {
	b.Helper()
	got, err := b.store.Links(b.Context(), b.tenant, id(n))
	b.must("Links", err)
	b.same(fmt.Sprint("links of record ", n), orderedLinks(b, got), want)
}
