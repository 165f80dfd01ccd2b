package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// The headers of ours that a request may carry. Any other that begins like them is
// refused: a misspelt Loci-User must not end in another memory.
const headerTenant = "Loci-Tenant"

var varHeaders = map[string]string{
	"Loci-Thread":  loci.VarThread,
	"Loci-Session": loci.VarSession,
	"Loci-User":    loci.VarUser,
	"Loci-Org":     loci.VarOrg,
	"Loci-Agent":   loci.VarAgent,
	"Loci-Butler":  loci.VarButler,
}

var ownHeaders = []string{"Loci-Thread", "Loci-Session", "Loci-User", "Loci-Org", "Loci-Agent", "Loci-Butler", headerTenant}

// checkHeaders refuses headers of ours that are unknown, empty or there twice.
func checkHeaders(h http.Header) error {
	for name, values := range h {
		if !strings.HasPrefix(name, "Loci-") {
			continue
		}
		switch {
		case !slices.Contains(ownHeaders, name):
			return loci.Errorf(loci.Invalid, "the header %.64q is unknown: there are %s", name, strings.Join(ownHeaders, ", "))
		case len(values) > 1:
			return loci.Errorf(loci.Invalid, "the header %s comes %d times: send one", name, len(values))
		case values[0] == "":
			return loci.Errorf(loci.Invalid, "the header %s must not be empty: leave it out, or say whom it is about", name)
		}
	}
	return nil
}

// Identify returns the principal of one request: what its headers choose, as far
// as p may choose it. Whoever acts for an elevated principal records it first.
func Identify(p loci.Principal, h http.Header) (loci.Principal, error) {
	if err := checkHeaders(h); err != nil {
		return loci.Principal{}, err
	}
	if name := h.Get(headerTenant); name != "" {
		// Forbidden comes before a name that is not valid.
		if !p.May(loci.ScopeAdmin) || !p.May(loci.ScopeElevate) {
			_, err := p.Elevate(loci.Tenant{})
			return loci.Principal{}, err
		}
		to, err := loci.NewTenant(name)
		if err != nil {
			return loci.Principal{}, err
		}
		if p, err = p.Elevate(to); err != nil {
			return loci.Principal{}, err
		}
	}
	vars := loci.Vars{}
	for name, variable := range varHeaders {
		vars[variable] = h.Get(name)
	}
	return p.With(vars)
}
