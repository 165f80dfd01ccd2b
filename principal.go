package loci

import (
	"maps"
	"slices"
	"strings"
)

// The variables of a principal that Loci knows. An operator may add others for
// use in namespace templates.
const (
	VarUser    = "user_id"
	VarOrg     = "org_id"
	VarAgent   = "agent_id"
	VarButler  = "butler"
	VarThread  = "thread_id"
	VarSession = "session_id"
)

// Vars names who and where the caller is. Empty values count as not set.
type Vars map[string]string

// Get returns the value of a variable, or "".
func (v Vars) Get(name string) string { return v[name] }

// Names lists the variables that are set, sorted.
func (v Vars) Names() []string {
	var names []string
	for name, value := range v {
		if value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A Scope is a permission of a principal.
type Scope string

// The scopes there are.
const (
	ScopeRead     Scope = "read"     // search, get, list
	ScopeWrite    Scope = "write"    // save, update
	ScopeDelete   Scope = "delete"   // delete, erase
	ScopeAdmin    Scope = "admin"    // operate on a tenant as a whole
	ScopeDelegate Scope = "delegate" // act for other users of the tenant, chosen per request
	ScopeElevate  Scope = "elevate"  // with admin: act in another tenant, chosen per request
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeDelete, ScopeAdmin, ScopeDelegate, ScopeElevate}

// ParseScope checks the name of a scope.
func ParseScope(name string) (Scope, error) {
	if slices.Contains(Scopes, Scope(name)) {
		return Scope(name), nil
	}
	names := make([]string, len(Scopes))
	for i, s := range Scopes {
		names[i] = string(s)
	}
	return "", Errorf(Invalid, "unknown scope %q: must be one of %s", name, strings.Join(names, ", "))
}

// A Principal is an authenticated caller: which tenant, who, as whom, and what
// they may do. Only authentication and the operator's configuration make one. It
// is immutable: there is no shared "current user" anywhere.
type Principal struct {
	tenant  Tenant
	subject string
	vars    Vars
	scopes  []Scope
	from    Tenant // where an elevated principal comes from; zero otherwise
}

// NewPrincipal makes a principal; vars and scopes are copied. subject names the
// credential in audit events.
func NewPrincipal(tenant Tenant, subject string, vars Vars, scopes ...Scope) (Principal, error) {
	if tenant.IsZero() {
		return Principal{}, Errorf(Invalid, "a principal needs a tenant")
	}
	if err := checkLabel("subject", subject); err != nil {
		return Principal{}, err
	}
	own := Vars{}
	for name, value := range vars {
		if value == "" {
			continue
		}
		if err := checkLabel(name, value); err != nil {
			return Principal{}, err
		}
		own[name] = value
	}
	return Principal{tenant: tenant, subject: subject, vars: own, scopes: slices.Clone(scopes)}, nil
}

// Tenant returns the principal's tenant.
func (p Principal) Tenant() Tenant { return p.tenant }

// Subject returns the name of the credential.
func (p Principal) Subject() string { return p.subject }

// Vars returns a copy of the principal's variables.
func (p Principal) Vars() Vars { return maps.Clone(p.vars) }

// Var returns one variable, or "".
func (p Principal) Var(name string) string { return p.vars[name] }

// May reports whether the principal has a scope.
func (p Principal) May(s Scope) bool { return slices.Contains(p.scopes, s) }

// ElevatedFrom returns the tenant an elevated principal comes from, or the zero
// Tenant.
func (p Principal) ElevatedFrom() Tenant { return p.from }

// Require returns a Forbidden error unless the principal has the scope.
func (p Principal) Require(s Scope) error {
	if p.May(s) {
		return nil
	}
	return Errorf(Forbidden, "this credential lacks the scope %q", s)
}

// With returns the principal for one request that chooses some variables itself.
// A thread and a session may always be chosen: they only select inside what the
// principal owns already. Any other variable needs the scope delegate unless the
// request repeats the credential's own value. An empty value is ignored.
func (p Principal) With(chosen Vars) (Principal, error) {
	vars := Vars{}
	maps.Copy(vars, p.vars)
	for _, name := range chosen.Names() {
		value := chosen[name]
		if err := checkLabel(name, value); err != nil {
			return Principal{}, err
		}
		if name != VarThread && name != VarSession && value != p.vars[name] && !p.May(ScopeDelegate) {
			return Principal{}, &Error{Code: Forbidden, Msg: name + " of this credential cannot be changed by a request",
				Recovery: "Leave " + name + " out, or use a credential with the scope delegate."}
		}
		vars[name] = value
	}
	p.vars = vars
	return p, nil
}

// Elevate returns the principal for one request in another tenant. It needs the
// scopes admin and elevate. Whoever uses it records the fact in both tenants:
// see [Engine.RecordElevation].
func (p Principal) Elevate(to Tenant) (Principal, error) {
	if !p.May(ScopeAdmin) || !p.May(ScopeElevate) {
		return Principal{}, &Error{Code: Forbidden, Msg: "a request cannot choose its tenant",
			Recovery: "Leave the tenant out: it follows from the credential."}
	}
	if to.IsZero() {
		return Principal{}, Errorf(Invalid, "tenant must not be empty")
	}
	if p.from.IsZero() {
		p.from = p.tenant
	}
	p.tenant = to
	return p, nil
}
