package loci

import (
	"context"
	"time"
)

// A LinkType says how one record relates to another.
type LinkType string

// The link types there are.
const (
	LinkDerivedFrom LinkType = "derived_from"
	LinkSupports    LinkType = "supports"
	LinkContradicts LinkType = "contradicts"
	LinkSupersedes  LinkType = "supersedes"
	LinkRelatedTo   LinkType = "related_to"
)

// check refuses a type that is none of these.
func (t LinkType) check() error {
	switch t {
	case LinkDerivedFrom, LinkSupports, LinkContradicts, LinkSupersedes, LinkRelatedTo:
		return nil
	}
	return OneOf("link type", string(t), LinkDerivedFrom, LinkSupports, LinkContradicts, LinkSupersedes, LinkRelatedTo)
}

// A Link joins two records of a tenant. The same link put twice is there once.
type Link struct {
	From ID        `json:"from"`
	Type LinkType  `json:"type"`
	To   ID        `json:"to"`
	At   time.Time `json:"created_at"`
}

// Link joins two records: from one in the handle's namespace to one it may read. An
// existing link stays as it is. A link does not change any memory: a link "supersedes"
// does not supersede a fact; [Memory.StoreFact] does. NotFound: an end is not there.
func (m *Memory) Link(ctx context.Context, from ID, typ LinkType, to ID) error {
	if err := typ.check(); err != nil {
		return err
	}
	if from == to {
		return Errorf(Invalid, "a memory cannot be linked to itself: name another one")
	}
	request := map[string]any{"from": from, "type": typ, "to": to}
	_, err := Commit(ctx, m, "link", request, func(now time.Time) (d Decision[ID], err error) {
		d.Reply, d.Record = from, from
		r, err := m.one(ctx, m.writable(now), from)
		if err != nil {
			return d, err
		}
		reach := m.readable(now)
		reach.NotLive = true
		if _, err := m.one(ctx, reach, to); err != nil {
			return d, err
		}
		link := Link{From: from, Type: typ, To: to, At: now}
		there, err := m.engine.store.Linked(ctx, m.view.Tenant, link)
		if err != nil || there {
			return d, err
		}
		d.Change.Links = []Link{link}
		d.Change.Events = []Event{m.event(EventLinked, &r, now, map[string]any{"type": typ, "to": to})}
		return d, nil
	})
	return err
}
