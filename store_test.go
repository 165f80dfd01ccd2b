package loci_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A change makes room if it erases and adds no record, no text and no version; an event of
// an elevated principal alone takes none worth refusing.
func TestWhatMakesRoom(t *testing.T) {
	erase := []loci.Erase{{ID: loci.ID{1}}}
	elevated, other := loci.Event{Type: loci.EventElevated}, loci.Event{Type: loci.EventErased}
	emptied := loci.Put{Record: loci.Record{Version: 2}}
	same := loci.Put{Record: loci.Record{Version: 2, Text: "text"}, SameText: true}
	put := func(p ...loci.Put) loci.Change { return loci.Change{Put: p} }
	grown := loci.Put{Record: same.Record}
	kept := loci.Put{Record: same.Record, SameText: true, History: make([]loci.Revision, 1)}
	link := loci.Change{Links: make([]loci.Link, 1)}
	both := loci.Change{Links: make([]loci.Link, 1), Put: []loci.Put{emptied}}
	for name, c := range map[string]struct {
		change loci.Change
		erase  []loci.Erase
		events []loci.Event
		want   bool
	}{
		"an erase":                          {loci.Change{}, erase, []loci.Event{other}, true},
		"an erase and a text emptied":       {put(emptied), erase, nil, true},
		"an erase and a text as it was":     {put(emptied, same), erase, nil, true},
		"an erase and a new record":         {put(loci.Put{Record: loci.Record{Version: 1}}), erase, nil, false},
		"an erase and another text":         {put(grown), erase, nil, false},
		"an erase and a version to keep":    {put(kept), erase, nil, false},
		"a text emptied":                    {put(emptied), nil, nil, false},
		"a link":                            {link, nil, nil, false},
		"an event":                          {loci.Change{}, nil, []loci.Event{other}, false},
		"an elevated event":                 {loci.Change{}, nil, []loci.Event{elevated}, true},
		"an elevated event and another":     {loci.Change{}, nil, []loci.Event{elevated, other}, false},
		"an elevated event and a link":      {link, nil, []loci.Event{elevated}, false},
		"an elevated event, and both":       {both, nil, []loci.Event{elevated}, false},
		"an elevated event and a text gone": {put(emptied), nil, []loci.Event{elevated}, false},
	} {
		c.change.Erase, c.change.Events = c.erase, c.events
		if got := c.change.MakesRoom(); got != c.want {
			t.Errorf("%s makes room: %v", name, got)
		}
	}
}

// A change with vectors fits the space its engine took for active, and any that each of
// its new texts has vectors of.
func TestWhatFitsASpace(t *testing.T) {
	one, two := loci.Space{Model: "one", Dims: 1}, loci.Space{Model: "two", Dims: 1}
	with := func(spaces ...loci.Space) (p loci.Put) {
		for _, s := range spaces {
			p.Vectors = append(p.Vectors, loci.Vectors{Space: s})
		}
		return p
	}
	kept := with(one)
	kept.SameText = true
	for name, c := range map[string]struct {
		change loci.Change
		want   bool
	}{
		"nothing assumed":        {loci.Change{Put: []loci.Put{with(one)}}, true},
		"assumed rightly":        {loci.Change{Active: &two, Put: []loci.Put{with(one)}}, true},
		"assumed wrongly":        {loci.Change{Active: &one, Put: []loci.Put{with(one)}}, false},
		"of both":                {loci.Change{Active: &one, Put: []loci.Put{with(one, two)}}, true},
		"one of both, one not":   {loci.Change{Active: &one, Put: []loci.Put{with(one, two), with(one)}}, false},
		"without vectors":        {loci.Change{Active: &one, Put: []loci.Put{with()}}, true},
		"a text as it was":       {loci.Change{Active: &one, Put: []loci.Put{kept}}, true},
		"no texts at all":        {loci.Change{Active: &one}, true},
		"none taken for active":  {loci.Change{Active: &loci.Space{}, Put: []loci.Put{with(one)}}, false},
		"none, and of the right": {loci.Change{Active: &loci.Space{}, Put: []loci.Put{with(two)}}, true},
	} {
		if got := c.change.FitsSpace(two); got != c.want {
			t.Errorf("%s fits: %v", name, got)
		}
	}
}

// In JSON an id has its canonical form, whatever case it was written in, and no text stands for
// none. Anything else is refused.
func TestIDsAsText(t *testing.T) {
	const one = "01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"
	for text, want := range map[string]string{
		one: one, strings.ToUpper(one): one, "": loci.ID{}.String(),
		"0": "refused", one[1:]: "refused", "{" + one + "}": "refused", "urn:uuid:" + one: "refused",
	} {
		id, got := loci.ID{1}, "refused" // what was there before is replaced
		if err := id.UnmarshalText([]byte(text)); err == nil {
			got = id.String()
		}
		if got != want {
			t.Errorf("%q is read as %s; want %s", text, got, want)
		}
	}
}
