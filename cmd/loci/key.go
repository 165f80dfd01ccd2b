package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/tool"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key, and show it this one time."`
	List   keyListCmd   `cmd:"" help:"List the keys, newest first."`
	Show   keyShowCmd   `cmd:"" help:"Show a key, and who changed it."`
	Rotate keyRotateCmd `cmd:"" help:"Give a key a new secret."`
	Limit  keyLimitCmd  `cmd:"" help:"Limit the requests that a key may make."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key for good."`
}

type keyCreateCmd struct {
	Scope      []string `sep:"none" placeholder:"SCOPE" values:"read,write,delete,admin,delegate,elevate,operate,metrics" help:"What its callers may do; may be repeated. Default: read, write and delete."`
	ToolFamily []string `sep:"none" placeholder:"FAMILY" values:"facts,notes,memory,files,claude,sessions" help:"Its callers may call tools of this family, and do nothing else; may be repeated. Default: everything that the scopes permit."`
	Expires    string   `placeholder:"TIME" help:"When it ends: a date, a time, or in how long (90d, 12h). Default: never."`
	Note       string   `placeholder:"TEXT" help:"What it is for."`
	keyLimits
}

// keyLimits are the flags that bound the requests with a key.
type keyLimits struct {
	RequestsPerSecond  float64 `placeholder:"N" help:"The most requests a second that one server takes. 0 or nothing: only the limit of its tenant counts."`
	Burst              int     `placeholder:"N" help:"Requests at once that --requests-per-second lets through. 0 or nothing: twice as many as it says."`
	ConcurrentRequests int     `placeholder:"N" help:"The most requests under way at once at one server. 0 or nothing: no limit."`
}

// Help is shown below the usage.
func (*keyCreateCmd) Help() string {
	return `The key is for the tenant of --tenant and for the user, organisation and agent that the flags name; those in the configuration do
not count. A key with the scope delegate may name none: then each request says whose memory it means. The tenant must exist: make it
with "loci tenant create". The commands for keys need the scope admin or operate.

    LOCI_SCOPES=admin loci key create --tenant acme --user alice --note "her laptop"
    LOCI_SCOPES=admin loci key create --tenant acme --scope read --scope write --scope delegate --expires 90d`
}

// openKeys opens the keys of the store, for who may operate on it as a whole.
func (a *app) openKeys() (*auth.Keys, error) {
	if _, err := a.configure(); err != nil {
		return nil, err
	}
	needed := loci.ScopeAdmin
	if a.principal.May(loci.ScopeOperate) {
		needed = loci.ScopeOperate
	}
	if err := a.open(needed); err != nil {
		return nil, err
	}
	return a.keys()
}

// operator is who changes keys at the command line.
var operator = auth.By{Actor: actor}

// Run makes a key.
func (c *keyCreateCmd) Run(a *app) error {
	n := auth.NewKey{Vars: loci.Vars{}, Note: c.Note, Limits: auth.Limits(c.keyLimits)}
	for name, flag := range map[string]*string{
		loci.VarUser: a.flags.User, loci.VarOrg: a.flags.Org, loci.VarAgent: a.flags.Agent,
	} {
		if flag != nil {
			n.Vars[name] = *flag
		}
	}
	if len(c.Scope) == 0 {
		n.Scopes = []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}
	}
	for _, name := range c.Scope {
		s, err := loci.ParseScope(name)
		if err != nil {
			return loci.Errorf(loci.Invalid, "--scope: %v", err)
		}
		n.Scopes = append(n.Scopes, s)
	}
	for _, name := range c.ToolFamily {
		family, err := spelling.OneOf(name, tool.Families()...)
		if err != nil {
			return loci.Errorf(loci.Invalid, "--tool-family: %v", err)
		}
		n.Tools = append(n.Tools, family)
	}
	var err error
	if n.ExpiresAt, err = parseEnd("--expires", c.Expires, time.Now()); err != nil {
		return err
	}
	keys, err := a.openKeys()
	if err != nil {
		return err
	}
	defer keys.Close()
	n.Tenant = a.cfg.Tenant
	key, token, err := keys.Create(a.ctx, operator, n)
	if err != nil {
		return err
	}
	return a.showToken(key, token)
}

// showToken writes a token, and nothing else, to standard output.
func (a *app) showToken(key auth.Key, token string) error {
	if a.json {
		return a.printJSON(struct {
			Key   auth.Key `json:"key"`
			Token string   `json:"token"`
		}{key, token})
	}
	a.printf("%s\n", token)
	a.note("This is the key %s. It is not shown again.", key.ID)
	return nil
}

// parseEnd reads a moment that is yet to come; "" is none.
func parseEnd(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := parseTime(flag, text, now)
	if err != nil {
		return at, loci.Errorf(loci.Invalid, "%s %q: write a date such as 2027-01-31, a time such as 2027-01-31T08:00:00Z, or in how long: 90m, 24h, 90d", flag, text)
	}
	if !at.After(now) && !strings.ContainsAny(text, "-:") { // how long ago, as parseTime reads it
		at = now.Add(now.Sub(at))
	}
	return at, nil
}

type keyListCmd struct {
	Limit  int    `short:"n" default:"100" placeholder:"N" help:"The most to show, 1 to 1000. Default: 100."`
	Cursor string `placeholder:"CURSOR" help:"Continue an earlier list: the cursor is what it printed at its end."`
}

// Help is shown below the usage.
func (*keyListCmd) Help() string {
	return `Lists the keys of all tenants, or of the one that --tenant names.

    LOCI_SCOPES=admin loci key list --tenant acme`
}

// Run lists keys.
func (c *keyListCmd) Run(a *app) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --cursor", c.Limit)
	}
	keys, err := a.openKeys()
	if err != nil {
		return err
	}
	defer keys.Close()
	var of loci.Tenant
	if a.flags.Tenant != nil {
		of = a.cfg.Tenant
	}
	list, next, err := keys.List(a.ctx, of, loci.Page{Limit: c.Limit, Cursor: c.Cursor})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Keys       []auth.Key `json:"keys"`
			NextCursor string     `json:"next_cursor,omitempty"`
		}{append([]auth.Key{}, list...), next})
	}
	now := time.Now()
	t := table{head: []string{"KEY", "STATE", "TENANT", "FOR", "SCOPES", "LAST USED", "NOTE"}}
	for _, k := range list {
		t.add(k.ID.String(), k.State(now), k.Tenant, whom(k), what(k), shownTime(k.UsedAt), k.Note)
	}
	t.print(a)
	if next != "" {
		a.note("there are more: --cursor %s", next)
	}
	return nil
}

// whom is whose memory a key is for.
func whom(k auth.Key) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(k.Vars)) {
		parts = append(parts, strings.TrimSuffix(name, "_id")+" "+k.Vars[name])
	}
	return strings.Join(parts, ", ")
}

// what is what a key may be used for.
func what(k auth.Key) string {
	parts := make([]string, len(k.Scopes))
	for i, s := range k.Scopes {
		parts[i] = string(s)
	}
	for _, family := range k.Tools {
		parts = append(parts, "tools:"+family)
	}
	return strings.Join(parts, ", ")
}

func shownTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return jsonform.Time(at)
}

// oneKey is what the commands for one key have in common.
type oneKey struct {
	ID string `arg:"" help:"The id of the key, as key list shows it."`
}

// open reads the id and opens the keys, which the caller closes.
func (c *oneKey) open(a *app) (*auth.Keys, loci.ID, error) {
	id, err := auth.ParseKeyID(c.ID)
	if err != nil {
		return nil, id, err
	}
	keys, err := a.openKeys()
	return keys, id, err
}

type keyShowCmd struct{ oneKey }

// Run shows a key.
func (c *keyShowCmd) Run(a *app) error {
	keys, id, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	k, events, err := keys.Get(a.ctx, loci.Tenant{}, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Key    auth.Key     `json:"key"`
			Events []loci.Event `json:"events"`
		}{k, append([]loci.Event{}, events...)})
	}
	t := table{head: []string{"FIELD", "VALUE"}}
	t.add("key", k.ID.String())
	t.add("state", k.State(time.Now()))
	t.add("tenant", k.Tenant)
	t.add("for", whom(k))
	t.add("scopes", what(k))
	if !k.ElevatedUntil.IsZero() {
		t.add("in other tenants until", shownTime(k.ElevatedUntil))
	}
	t.add("limits", limits(k.Limits))
	t.add("note", k.Note)
	t.add("created", shownTime(k.CreatedAt)+" by "+k.CreatedBy)
	t.add("expires", shownTime(k.ExpiresAt))
	t.add("last used", shownTime(k.UsedAt))
	t.print(a)
	showChanges(a, events)
	return nil
}

type keyRotateCmd struct {
	oneKey
	Overlap time.Duration `default:"24h" placeholder:"DURATION" help:"How long the old secret is good beside the new one; 0s: not at all. Default: 24h."`
}

// Run gives a key a new secret.
func (c *keyRotateCmd) Run(a *app) error {
	keys, id, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	key, token, err := keys.Rotate(a.ctx, operator, loci.Tenant{}, id, c.Overlap)
	if err != nil {
		return err
	}
	return a.showToken(key, token)
}

type keyLimitCmd struct {
	oneKey
	keyLimits
}

// Help is shown below the usage.
func (*keyLimitCmd) Help() string {
	return `The new limits replace the old ones. Without a flag, only the limits of the tenant are left.

    LOCI_SCOPES=admin loci key limit 01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --requests-per-second 5 --concurrent-requests 2`
}

// Run bounds a key.
func (c *keyLimitCmd) Run(a *app) error {
	keys, id, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	key, err := keys.Limit(a.ctx, operator, loci.Tenant{}, id, auth.Limits(c.keyLimits))
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(key)
	}
	a.printf("%s\t%s\n", key.ID, limits(key.Limits))
	return nil
}

// limits are those of a key, for people.
func limits(l auth.Limits) string {
	var parts []string
	if l.RequestsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%g requests a second", l.RequestsPerSecond))
	}
	if l.Burst > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.Burst))
	}
	if l.ConcurrentRequests > 0 {
		parts = append(parts, fmt.Sprintf("%d under way", l.ConcurrentRequests))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

type keyRevokeCmd struct{ oneKey }

// Help is shown below the usage.
func (*keyRevokeCmd) Help() string {
	return fmt.Sprintf("Every server of the store refuses it within %s.\n\n    LOCI_SCOPES=admin loci key revoke 01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77",
		5*time.Second)
}

// Run ends a key.
func (c *keyRevokeCmd) Run(a *app) error {
	keys, id, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	key, err := keys.Revoke(a.ctx, operator, loci.Tenant{}, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(key)
	}
	a.printf("%s\n", key.ID)
	return nil
}
