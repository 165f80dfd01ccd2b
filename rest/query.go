package rest

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
)

// guardQuery refuses a query of the address that does not say what its sender means: huma takes
// an empty value for one that was left out, the first of several, and nothing of what it cannot
// split. A caller who asks for ?as_of= with a time that is missing would be told of the present.
func guardQuery(op *huma.Operation, raw string) error {
	if raw == "" {
		return nil
	}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return loci.Errorf(loci.Invalid, "the query of the address cannot be read: "+
			"put & between its parameters, and write other signs in percent-encoding, such as %%3B for a semicolon")
	}
	var known []string
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		known = append(known, p.Name)
		values := given[p.Name]
		switch {
		case slices.Contains(values, "") && p.Required:
			return loci.Errorf(loci.Invalid, "query.%s is empty: give it a value", p.Name)
		case slices.Contains(values, ""):
			return loci.Errorf(loci.Invalid, "query.%s is empty: leave it out, or give it a value", p.Name)
		case len(values) > 1 && p.Schema.Type != huma.TypeArray:
			return loci.Errorf(loci.Invalid, "query.%s comes %d times: send it once", p.Name, len(values))
		}
		delete(given, p.Name)
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 && len(known) == 0 {
		return loci.Errorf(loci.Invalid, "query.%.64s is unknown: leave it out, this address takes no parameters", unknown[0])
	} else if len(unknown) > 0 {
		return loci.Errorf(loci.Invalid, "query.%.64s is unknown: this address takes %s", unknown[0], strings.Join(known, ", "))
	}
	return nil
}

// describeQuery says of parameters of the query that they are not empty, as guardQuery demands.
func describeQuery(p *huma.Param) {
	s := p.Schema
	if p.In != "query" || s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s = s.Items
	}
	if s.Type == huma.TypeString && s.Enum == nil && s.MinLength == nil {
		least := 1
		s.MinLength = &least
	}
}
