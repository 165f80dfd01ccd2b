package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/terminal"
)

// issuersKey is the setting whose entries are mappings, written as such wherever it is.
const issuersKey = "auth.issuers"

// issuerKeys are the names an entry of the setting auth.issuers may have, with what they mean.
var issuerKeys = []struct{ key, help string }{
	{"name", "what the audit log calls it: lower-case letters, digits, - and _"},
	{"issuer", "its URL, as its tokens have it in the claim iss, to the letter"},
	{"audience", "what it calls this server, as its tokens have it in the claim aud: a text or a list of them"},
	{"keys_url", "where its public keys are (JWKS), if its metadata (OpenID Connect Discovery) do not say so"},
	{"keys_file", "a file with its public keys, in place of asking it"},
	{"algorithms", "the signatures that count; default: all of " + strings.Join(auth.Algorithms, ", ")},
	{"leeway", "by how much its clock may differ, up to 1m, which is the default; 0s: not at all"},
	{"tenant", "the tenant of its callers: a name, or {claim: …, pattern: …}"},
	{"user", "the user, likewise; default: {claim: sub}, unless org is set"},
	{"org", "the organisation, likewise"},
	{"agent", "the agent, likewise"},
	{"scopes", "the scopes: a list of them, or {claim: …, pattern: …, allow: […]}; default: the claim scope, of which read, write and delete count"},
}

// claimKeys are the names of a mapping that says what becomes of a claim.
var claimKeys = []struct{ key, help string }{
	{"claim", "the name of a claim, or the list of names that lead to one, such as [realm_access, roles]; a text, or a list of texts of which one may match"},
	{"pattern", "a regular expression (RE2) that all of the text must match; what its group has is the value, or all of it without a group"},
	{"unverified", "of the claim email: true takes any address; by default a token that says email_verified: false beside it is refused"},
	{"allow", "of scopes: those that a token may have; default: [read, write, delete]"},
}

// scopeKeys are those of a mapping of scopes.
var scopeKeys = slices.Delete(slices.Clone(claimKeys), 2, 3)

// setIssuers reads the entries from a text in YAML, of which JSON is a part.
func setIssuers(c *Config, v string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(v), &document); err != nil || len(document.Content) != 1 {
		return errors.New(`must be a list of mappings, as JSON: [{"name": "corp", …}]`)
	}
	var bad faults
	r := &fileReader{c: c, path: "in it", last: 1 + strings.Count(v, "\n"), bad: &bad}
	r.issuers(document.Content[0])
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}

// issuers reads the list of authorization servers.
func (r *fileReader) issuers(n *yaml.Node) {
	if r.empty(n, issuersKey) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list of mappings, not %s", issuersKey, describe(n))
		return
	}
	if len(n.Content) == 0 {
		r.fault(n, "%s must name at least one: add an entry, or remove the line", issuersKey)
		return
	}
	before := len(*r.bad)
	var all []auth.Issuer
	for _, e := range n.Content {
		i := auth.Issuer{Vars: map[string]auth.Source{}}
		r.issuer(e, &i)
		all = append(all, i)
	}
	if len(*r.bad) > before {
		return
	}
	if at, err := auth.CheckIssuers(all); err != nil {
		at = min(at, len(n.Content)-1)
		var field *auth.FieldError
		place := n.Content[at]
		if errors.As(err, &field) {
			name, _, _ := strings.Cut(field.Field, ".")
			for k := 0; k+1 < len(place.Content); k += 2 {
				if place.Content[k].Value == name {
					place = place.Content[k+1]
					break
				}
			}
		}
		r.fault(place, "%s.%w", issuersKey, err)
		return
	}
	r.c.Auth.Issuers = all
}

// issuer reads one mapping of the list.
func (r *fileReader) issuer(n *yaml.Node, i *auth.Issuer) {
	r.fields(n, "an entry of "+issuersKey, func(key string, k, v *yaml.Node) {
		name := issuersKey + "." + key
		switch key {
		case "name":
			r.text(v, name, &i.Name)
		case "issuer":
			r.text(v, name, &i.URL)
		case "audience":
			i.Audiences = r.textOrTexts(v, name)
		case "keys_url":
			r.text(v, name, &i.KeysURL)
		case "keys_file":
			r.text(v, name, &i.KeysFile)
		case "algorithms":
			i.Algorithms, _ = r.texts(v, name)
		case "leeway":
			r.leeway(v, name, &i.Leeway)
		case "tenant":
			i.Tenant = r.source(v, name)
		case "user", "org", "agent":
			i.Vars[key+"_id"] = r.source(v, name)
		case "scopes":
			i.Scopes = r.scopeSource(v, name)
		default:
			r.unknownKey(k, key, name, issuerKeys)
		}
	})
}

// unknownKey says what may have been meant.
func (r *fileReader) unknownKey(n *yaml.Node, key, name string, known []struct{ key, help string }) {
	var names []string
	for _, k := range known {
		names = append(names, k.key)
	}
	if near := spelling.Nearest(key, names); near != "" {
		r.fault(n, "%s is not a setting: did you mean %s?", terminal.Word(name), near)
		return
	}
	r.fault(n, "%s is not a setting: it must be one of %s", terminal.Word(name), strings.Join(names, ", "))
}

// textOrTexts reads a text, or a list of them.
func (r *fileReader) textOrTexts(n *yaml.Node, name string) []string {
	if n.Kind == yaml.SequenceNode {
		list, _ := r.texts(n, name)
		return list
	}
	var text string
	if r.text(n, name, &text); text == "" {
		return nil
	}
	return []string{text}
}

// leeway reads a duration; 0s is none, which an issuer writes as less than nothing.
func (r *fileReader) leeway(n *yaml.Node, name string, field *time.Duration) {
	var text string
	if r.text(n, name, &text); text == "" {
		return
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d < 0 || d > auth.MaxLeeway:
		r.fault(n, "%s is %q; it must be 0s to %s", name, text, auth.MaxLeeway)
	case d == 0:
		*field = -1
	default:
		*field = d
	}
}

// truth reads true or false.
func (r *fileReader) truth(n *yaml.Node, name string, field *bool) {
	switch {
	case r.empty(n, name):
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(field) != nil:
		r.fault(n, "%s must be true or false, not %s", name, describe(n))
	}
}

// source reads a fixed value, or a mapping that names a claim.
func (r *fileReader) source(n *yaml.Node, name string) (s auth.Source) {
	if n.Kind != yaml.MappingNode {
		r.text(n, name, &s.Fixed)
		return s
	}
	r.fields(n, name, func(key string, k, v *yaml.Node) {
		switch key {
		case "claim":
			s.Claim = r.textOrTexts(v, name+".claim")
		case "pattern":
			r.text(v, name+".pattern", &s.Pattern)
		case "unverified":
			r.truth(v, name+".unverified", &s.Unverified)
		default:
			r.unknownKey(k, key, name+"."+key, claimKeys[:3])
		}
	})
	if len(s.Claim) == 0 {
		r.fault(n, "%s names no claim: write {claim: sub}, or a fixed value", name)
	}
	return s
}

// scopeSource reads fixed scopes, or a mapping that names a claim.
func (r *fileReader) scopeSource(n *yaml.Node, name string) (s auth.ScopeSource) {
	if n.Kind != yaml.MappingNode {
		s.Fixed = r.scopes(n, name)
		return s
	}
	r.fields(n, name, func(key string, k, v *yaml.Node) {
		switch key {
		case "claim":
			s.Claim = r.textOrTexts(v, name+".claim")
		case "pattern":
			r.text(v, name+".pattern", &s.Pattern)
		case "allow":
			s.Allow = r.scopes(v, name+".allow")
		default:
			r.unknownKey(k, key, name+"."+key, scopeKeys)
		}
	})
	return s
}

// scopes reads a list of scopes, of which there must be one.
func (r *fileReader) scopes(n *yaml.Node, name string) (scopes []loci.Scope) {
	list, ok := r.texts(n, name)
	if ok && len(list) == 0 {
		r.fault(n, "%s must not be empty: name a scope, or remove the line", name)
	}
	for i, text := range list {
		if _, err := spelling.OneOf(text, scopeNames()...); err != nil {
			r.fault(n.Content[min(i, len(n.Content)-1)], "%s: %w", name, err)
			continue
		}
		scopes = append(scopes, loci.Scope(text))
	}
	return scopes
}

// checkAuth checks what holds between the settings of auth.
func (c *Config) checkAuth(bad *faults) {
	if !c.sound("auth.mode") {
		return
	}
	where := c.origin["auth.mode"]
	if where == "" {
		where = "auth.mode"
	}
	switch tokens := c.Auth.Tokens(); {
	case tokens && c.written[issuersKey] == "": // else what is wrong with them was told
		bad.add(where, fmt.Errorf("auth.mode is %s, and auth.issuers names nobody whose tokens are good: add an entry", c.Auth.Mode))
	case !tokens && len(c.Auth.Issuers) > 0:
		bad.add(c.origin[issuersKey], fmt.Errorf("auth.issuers is set, and auth.mode is %s: set it to %s or %s",
			c.Auth.Mode, AuthJWT, AuthBoth))
	}
}
