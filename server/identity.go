package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/loci-memory/loci"
)

// The headers of ours that a request may carry. Any other that begins like them is
// refused: a misspelt Loci-User must not end in another memory.
const (
	headerTenant = "Loci-Tenant"

	// headerEncoding says how the values of the others are written: not at all, which
	// is UTF-8 as it is, or encodingPercent. Browsers send no characters beyond Latin-1.
	headerEncoding  = "Loci-Encoding"
	encodingPercent = "percent"
)

var varHeaders = map[string]string{
	"Loci-Thread":  loci.VarThread,
	"Loci-Session": loci.VarSession,
	"Loci-User":    loci.VarUser,
	"Loci-Org":     loci.VarOrg,
	"Loci-Agent":   loci.VarAgent,
	"Loci-Butler":  loci.VarButler,
}

var ownHeaders = []string{"Loci-Thread", "Loci-Session", "Loci-User", "Loci-Org", "Loci-Agent", "Loci-Butler", headerTenant, headerEncoding}

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
		case name == headerEncoding && values[0] != encodingPercent:
			return loci.Errorf(loci.Invalid, "the header %s is %.64q: leave it out, or say %s", name, values[0], encodingPercent)
		}
	}
	return nil
}

// value reads one of our headers; "" if it is missing.
func value(h http.Header, name string) (string, error) {
	written := h.Get(name)
	if written == "" || h.Get(headerEncoding) == "" {
		return written, nil
	}
	// A character beyond ASCII comes from a client that forgot to encode. A % beside it
	// may then be just a %.
	decoded, err := url.PathUnescape(written)
	if err != nil || strings.ContainsFunc(written, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", loci.Errorf(loci.Invalid, "the header %s is not percent-encoded, as %s says: write each byte of UTF-8 that is no letter or digit as %%XX", name, headerEncoding)
	}
	return decoded, nil
}

// Identify returns the principal of one request: what its headers choose, as far as p may
// choose it ([loci.Principal.With]). A surface that acts for an elevated principal
// records it first.
func Identify(p loci.Principal, h http.Header) (loci.Principal, error) {
	if err := checkHeaders(h); err != nil {
		return loci.Principal{}, err
	}
	name, err := value(h, headerTenant)
	if err != nil {
		return loci.Principal{}, err
	}
	if name != "" {
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
		if h.Get(name) == "" {
			continue
		}
		if vars[variable], err = value(h, name); err != nil {
			return loci.Principal{}, err
		}
	}
	return p.With(vars)
}
