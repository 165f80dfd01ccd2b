package loci

import "time"

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

// A Link joins two records of a tenant. The same link put twice is there once.
type Link struct {
	From ID        `json:"from"`
	Type LinkType  `json:"type"`
	To   ID        `json:"to"`
	At   time.Time `json:"created_at"`
}
