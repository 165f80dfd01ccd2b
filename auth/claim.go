package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/label"
)

// A mapping makes callers of claims, as an [Issuer] says.
type mapping struct {
	issuer   *Issuer
	patterns map[string]*regexp.Regexp // by the field
	claim    []string                  // of scopes
	allow    []loci.Scope
}

// newMapping is for an issuer that was checked.
func newMapping(i *Issuer) (*mapping, error) {
	m := &mapping{issuer: i, patterns: map[string]*regexp.Regexp{}, claim: i.Scopes.Claim, allow: i.Scopes.Allow}
	all := map[string]string{"tenant": i.Tenant.Pattern, "scopes": i.Scopes.Pattern}
	for name, s := range i.Vars {
		all[name] = s.Pattern
	}
	for field, pattern := range all {
		re, err := compile(pattern)
		if err != nil {
			return nil, err
		}
		m.patterns[field] = re
	}
	if len(m.claim) == 0 {
		m.claim = []string{"scope"}
	}
	if len(m.allow) == 0 {
		m.allow = DefaultAllow
	}
	return m, nil
}

// principal says who a token stands for. An error: what it has to say, it does not.
func (m *mapping) principal(subject string, claims map[string]any) (p loci.Principal, err error) {
	name, err := m.value("tenant", m.issuer.Tenant, claims)
	if err != nil {
		return p, err
	}
	tenant, err := loci.NewTenant(name)
	if err != nil {
		return p, unmapped("tenant")
	}
	vars := loci.Vars{}
	for name, source := range m.sources() {
		if vars[name], err = m.value(name, source, claims); err != nil {
			return p, err
		}
	}
	return loci.NewPrincipal(tenant, m.subject(subject), vars, m.scopes(claims)...)
}

// unmapped says which claim a token lacks, without a word of what it has.
func unmapped(field string) error {
	return &loci.Error{
		Code: loci.Unauthenticated, Msg: "the token does not say the " + field + " of its caller, as this server needs it",
		Recovery: "Ask the operator which claims a token needs: the setting auth.issuers says so.",
	}
}

// unverified refuses an address that its issuer has not seen its user get mail at: anybody could have
// typed it, and would be taken for the one whose it is.
func unverified(field string) error {
	return &loci.Error{
		Code: loci.Unauthenticated, Msg: "the address that says the " + field + " of the caller is not verified, as email_verified of the token says",
		Recovery: "Verify the address at the authorization server, then get a new token. Or the operator takes any address: unverified in the setting auth.issuers.",
	}
}

// hidden refuses a name that looks like another one.
func hidden(field string) error {
	return &loci.Error{
		Code: loci.Unauthenticated, Msg: "the " + field + " that the token says has a character that cannot be seen, such as U+200B",
		Recovery: "Ask the operator of the authorization server to take it out, then get a new token.",
	}
}

// sources are those of the variables.
func (m *mapping) sources() map[string]Source {
	_, user := m.issuer.Vars[loci.VarUser]
	_, org := m.issuer.Vars[loci.VarOrg]
	if user || org {
		return m.issuer.Vars
	}
	all := map[string]Source{loci.VarUser: {Claim: []string{"sub"}}}
	maps.Copy(all, m.issuer.Vars)
	return all
}

// value reads what becomes the tenant or a variable. Of a list one text alone may match: which of
// two is meant nobody knows.
func (m *mapping) value(name string, s Source, claims map[string]any) (value string, err error) {
	if s.Fixed != "" {
		return s.Fixed, nil
	}
	field := strings.TrimSuffix(name, "_id")
	texts, verified := textsAt(claims, s.Claim)
	var found []string
	for _, text := range texts {
		if v, fits := match1(m.patterns[name], text); fits && v != "" && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	switch {
	case len(found) != 1 || loci.CheckLabel(field, found[0]) != nil:
		return "", unmapped(field)
	case !verified && !s.Unverified:
		return "", unverified(field)
	case label.Hidden(found[0]):
		return "", hidden(field)
	}
	return found[0], nil
}

// match1 returns what an expression takes of a text.
func match1(re *regexp.Regexp, text string) (value string, ok bool) {
	if re == nil {
		return text, true
	}
	parts := re.FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	return parts[len(parts)-1], true
}

// claimEmail is the claim of OpenID Connect beside which email_verified may stand.
const claimEmail = "email"

// textsAt follows a path of names to a text or a list of texts; none: there is no such thing.
// verified is false where it is an address of which the token says that nobody verified it.
func textsAt(claims map[string]any, path []string) (texts []string, verified bool) {
	var at any = claims
	verified = true
	for _, name := range path {
		object, is := at.(map[string]any)
		if !is {
			return nil, verified
		}
		if at, is = object[name]; !is {
			return nil, verified
		}
		verified = name != claimEmail || isVerified(object["email_verified"])
	}
	switch v := at.(type) {
	case string:
		return []string{v}, verified
	case []any:
		for _, e := range v {
			text, is := e.(string)
			if !is {
				return nil, verified
			}
			texts = append(texts, text)
		}
	}
	return texts, verified
}

// isVerified reads email_verified. Some issuers write it as a text, and many leave it out where all
// addresses are of their own making.
func isVerified(said any) bool {
	text, _ := said.(string)
	return said == nil || said == true || strings.EqualFold(text, "true")
}

// scopes are those of a token that its issuer may give. What is not known here is for
// somebody else. A family of tools only takes away, so that every token may name one.
func (m *mapping) scopes(claims map[string]any) (scopes []loci.Scope) {
	if len(m.issuer.Scopes.Fixed) > 0 {
		return m.issuer.Scopes.Fixed
	}
	texts, verified := textsAt(claims, m.claim)
	if !verified {
		return nil
	}
	for _, text := range texts {
		for _, word := range strings.Fields(text) {
			name, fits := match1(m.patterns["scopes"], word)
			s := loci.Scope(name)
			family, limits := strings.CutPrefix(name, string(loci.ScopeTools))
			known := slices.Contains(m.allow, s) || limits && loci.CheckLabel("tools", family) == nil
			if fits && known && !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes
}

// names are what a client asks the issuer for to get scopes: the text of which the pattern
// takes each.
func (m *mapping) names(scopes []loci.Scope) (names []string) {
	if len(m.issuer.Scopes.Fixed) > 0 {
		return nil // there is nothing to ask for
	}
	before := ""
	if re, err := regexp.Compile(m.issuer.Scopes.Pattern); err == nil {
		before, _ = re.LiteralPrefix()
	}
	for _, s := range scopes {
		if !slices.Contains(m.allow, s) {
			continue
		}
		for _, name := range []string{before + string(s), string(s)} {
			if v, fits := match1(m.patterns["scopes"], name); fits && v == string(s) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// subject is what the audit log calls a caller. It is a digest, since a claim sub may be a
// person's name, and what is in the audit log no erase takes out.
func (m *mapping) subject(sub string) string { return SubjectOf(m.issuer.Name, m.issuer.URL, sub) }

// SubjectOf is what the audit log calls the callers with a claim sub, so that an operator
// who knows somebody finds what they did.
func SubjectOf(name, issuer, sub string) string {
	sum := sha256.Sum256([]byte(issuer + "\n" + sub))
	return "jwt:" + name + ":" + hex.EncodeToString(sum[:16])
}
