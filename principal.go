package loci

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/caller"
)

// The variables of a principal that Loci knows. An operator may add others for use in namespace templates.
const (
	VarUser    = caller.User
	VarOrg     = caller.Org
	VarAgent   = caller.Agent
	VarButler  = caller.Butler
	VarThread  = caller.Thread
	VarSession = caller.Session
)

// Vars names who and where the caller is. Leave an unknown variable out: an empty value
// is refused, and never taken for another one.
type Vars map[string]string

// Get returns the value of a variable, or "".
func (v Vars) Get(name string) string { return v[name] }

// Names lists the variables that are set, sorted.
func (v Vars) Names() []string {
	return caller.Names(v)
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
	ScopeMetrics  Scope = "metrics"  // read the metrics of the server
	ScopeOperate  Scope = "operate"  // make and end tenants and keys, of any tenant
	ScopeTools    Scope = "tools:"   // before the name of a family: call tools of the families so named, and nothing else
)

// Scopes lists every scope, except those that begin with [ScopeTools].
var Scopes = []Scope{
	ScopeRead, ScopeWrite, ScopeDelete, ScopeAdmin, ScopeDelegate, ScopeElevate, ScopeOperate, ScopeMetrics,
}

// ParseScope checks the name of a scope.
func ParseScope(name string) (Scope, error) {
	if slices.Contains(Scopes, Scope(name)) {
		return Scope(name), nil
	}
	return "", Errorf(Invalid, "unknown scope %q: must be one of %s", name, strings.Join(caller.Texts(Scopes), ", "))
}

// A Principal is an authenticated caller: which tenant, who, as whom, and what they may do. Only authentication and the
// operator's configuration make one. It is immutable: there is no shared "current user" anywhere.
type Principal struct {
	tenant  Tenant
	subject string
	vars    Vars
	scopes  []Scope
	held    []Scope   // while the tenant is suspended: those of the credential
	from    Tenant    // where an elevated principal comes from; zero otherwise
	until   time.Time // when it may act in other tenants no more; zero: no end
	named   []string  // the variables that the request named; of a credential those that its address names
}

// NewPrincipal makes a principal; vars and scopes are copied. subject names the
// credential in audit events. A variable with an empty value is Invalid.
func NewPrincipal(tenant Tenant, subject string, vars Vars, scopes ...Scope) (Principal, error) {
	if tenant.IsZero() {
		return Principal{}, Errorf(Invalid, "a principal needs a tenant")
	}
	if err := CheckLabel("subject", subject); err != nil {
		return Principal{}, err
	}
	if err := checkVars(vars); err != nil {
		return Principal{}, err
	}
	return Principal{tenant: tenant, subject: subject, vars: caller.Copy(vars), scopes: slices.Clone(scopes)}, nil
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

// Scopes returns a copy of what the principal may do.
func (p Principal) Scopes() []Scope { return slices.Clone(p.scopes) }

// ElevatedFrom returns the tenant an elevated principal comes from, or the zero Tenant.
func (p Principal) ElevatedFrom() Tenant { return p.from }

// WithElevationUntil returns a principal that may act in other tenants until end; zero: always.
func (p Principal) WithElevationUntil(end time.Time) Principal { p.until = end; return p }

// Suspended returns the principal without the taken scopes, while its tenant is suspended.
func (p Principal) Suspended(taken ...Scope) Principal {
	p.held, p.scopes = p.scopes, slices.DeleteFunc(p.Scopes(), func(s Scope) bool { return slices.Contains(taken, s) })
	return p
}

// Require returns a Forbidden error unless the principal has the scope.
func (p Principal) Require(s Scope) error {
	switch {
	case p.May(s):
		return nil
	case slices.Contains(p.held, s): // no other credential would do: there is no ScopeError
		return &Error{Code: Forbidden, Msg: "this tenant is suspended: its callers may only read", Recovery: "Ask the operator of the server."}
	}
	return &Error{Code: Forbidden, Msg: fmt.Sprintf("this credential lacks the scope %q", s), Err: &ScopeError{OneOf: []Scope{s}}}
}

// A ScopeError is the cause of a Forbidden error: scopes that the caller lacks, of which one would do.
type ScopeError struct{ OneOf []Scope }

// Error names the scopes.
func (e *ScopeError) Error() string { return "the caller lacks " + strings.Join(e.Names(), " or ") }

// Names are those of the scopes.
func (e *ScopeError) Names() []string { return caller.Texts(e.OneOf) }

// checkVars refuses what no namespace can hold, the first by name.
func checkVars(vars Vars) error {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if vars[name] == "" {
			return Errorf(Invalid, "%s must not be empty: leave it out, or say who is meant", name)
		}
		if err := CheckLabel(name, vars[name]); err != nil {
			return err
		}
	}
	return nil
}

// With returns the principal for one request that chooses some variables itself.
//
// A request that names somebody is about that one, and not about anybody whom the credential adds. A choice replaces
// the variable's own value, and it drops every narrower variable of the credential that the request does not name. From
// broad to narrow these are the organisation, the agent, the butler, the user, the thread and session. So a request
// that names an organisation or an agent has a user only if it names one, and a request that names a user keeps the
// organisation and agent. A butler says who acts and not whose memory it is: naming one replaces no other variable.
// Several calls of With are one request.
//
// A thread and a session may always be chosen: they only select inside what the principal
// owns already. Any other choice needs the scope delegate, unless the request is still
// about exactly the same caller as the credential. An empty value is Invalid.
func (p Principal) With(chosen Vars) (Principal, error) {
	if err := checkVars(chosen); err != nil {
		return Principal{}, err
	}
	vars, refused := caller.Choose(p.vars, p.named, chosen, p.May(ScopeDelegate))
	switch {
	case refused != nil && refused.LeftOut:
		return Principal{}, &Error{
			Code:     Forbidden,
			Msg:      "a request of this credential is about its own " + refused.Name + ", which this one leaves out",
			Recovery: "Name " + refused.Name + " as well, or use a credential with the scope delegate.",
		}
	case refused != nil:
		return Principal{}, &Error{Code: Forbidden, Msg: refused.Name + " of this credential cannot be changed by a request",
			Recovery: "Leave " + refused.Name + " out, or use a credential with the scope delegate."}
	}
	p.vars, p.named = vars, slices.Concat(p.named, chosen.Names())
	return p, nil
}

// AtAgent returns the principal of an address that belongs to an agent: each request
// there names the agent by coming there, and nobody else.
func (p Principal) AtAgent(agent string) (Principal, error) {
	if err := CheckLabel(VarAgent, agent); err != nil {
		return Principal{}, err
	}
	p.vars = maps.Clone(p.vars)
	p.vars[VarAgent] = agent
	p.named = append(slices.Clip(p.named), VarAgent)
	return p, nil
}

// Elevate returns the principal for one request in another tenant. It needs the scopes admin and elevate. Whoever uses
// it records the fact in both tenants: see [Engine.RecordElevation].
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

// RecordElevation writes to the audit logs of both tenants that a principal of one acts in the other, for whom and
// until when it may. Call it before the act, which must not happen if it fails. Forbidden: that time is over.
func (e *Engine) RecordElevation(ctx context.Context, p Principal, requestID, operation string) error {
	if p.ElevatedFrom().IsZero() {
		return nil
	}
	if !p.until.IsZero() && !e.now().Before(p.until) {
		return &Error{Code: Forbidden, Msg: caller.Over(p.until), Recovery: "Use a credential that was made since then."}
	}
	for _, t := range []Tenant{p.ElevatedFrom(), p.Tenant()} {
		m := &Memory{engine: e, view: View{Tenant: t, Actor: p.Subject(), RequestID: requestID}}
		ev := m.event(EventElevated, &Record{}, e.now(), caller.Elevation{
			From: p.from.name, To: p.tenant.name, Vars: p.vars, Until: p.until, Operation: operation}.Told())
		if err := e.store.Apply(ctx, t, Change{Events: []Event{ev}}); err != nil {
			return err
		}
	}
	return nil
}
