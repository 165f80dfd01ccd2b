package storm

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// most is how many changes one search looks for at most.
const most = 32

// A change is one that a server acknowledged.
type change struct {
	tenant loci.Tenant
	ids    []loci.ID // of the records that it put
}

// look looks on a node for what it is told of. It begins at once, and takes along what it is
// told of while it is about the search before: each search is the next one after each write
// that it looks for.
func (w *Storm) look(node loci.Store, told <-chan change) {
	for next := range told {
		pending := map[loci.Tenant][]loci.ID{}
		for n, more := 1, true; more; n++ {
			pending[next.tenant] = append(pending[next.tenant], next.ids...)
			if more = n < most; more {
				select {
				case next, more = <-told:
				default:
					more = false
				}
			}
		}
		for tn, ids := range pending {
			w.find(node, tn, ids)
		}
	}
}

// find makes one search, which must find each of some records and nothing else.
func (w *Storm) find(node loci.Store, tn loci.Tenant, ids []loci.ID) {
	words := make([]string, len(ids))
	missing := map[loci.ID]bool{}
	for i, id := range ids {
		words[i] = WordOf(id)
		missing[id] = true
	}
	probe, everywhere := loci.Probe{Text: strings.Join(words, " ")}, loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := node.Match(context.Background(), tn, probe, everywhere, len(ids)+2)
	for _, hit := range hits {
		delete(missing, hit.ID)
	}
	if err != nil || len(missing) > 0 || len(hits) != len(ids) {
		w.problem("the next search on another server finds %d of %d in %s, not %v: %v", len(hits), len(ids), tn, missing, err)
	}
	w.searches.Add(1)
	w.looks.Add(int64(len(ids)))
}
