package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/terminal"
)

type tenantCmd struct {
	Create  tenantCreateCmd  `cmd:"" help:"Make a tenant."`
	List    tenantListCmd    `cmd:"" help:"List the tenants."`
	Show    tenantShowCmd    `cmd:"" help:"Show what a tenant holds, what its callers may do, and who changed it."`
	Suspend tenantSuspendCmd `cmd:"" help:"Let the callers of a tenant only read, or do nothing."`
	Resume  tenantResumeCmd  `cmd:"" help:"Let the callers of a tenant do everything again."`
	Limit   tenantLimitCmd   `cmd:"" help:"Say how much a tenant may hold."`

	RateLimit tenantRateLimitCmd `cmd:"" help:"Limit the requests of a tenant, and what language models do for it."`

	Export tenantExportCmd `cmd:"" help:"Write everything that a tenant holds to a file."`
	Erase  tenantEraseCmd  `cmd:"" help:"Erase a tenant with everything it holds, and its keys."`
}

// openAdmin opens what operators call, for who may operate on the store as a whole. The
// caller ends it with end.
func (a *app) openAdmin() (api *admin.API, end func(), err error) {
	keys, err := a.openKeys()
	if err != nil {
		return nil, nil, err
	}
	api, err = admin.New(admin.Options{Store: a.store, Engine: a.engine, Keys: keys})
	if err != nil {
		keys.Close()
		return nil, nil, err
	}
	return api, keys.Close, nil
}

type tenantListCmd struct {
	Limit int    `short:"n" default:"100" placeholder:"N" help:"The most to show, 1 to 1000. Default: 100."`
	After string `placeholder:"NAME" help:"Only tenants whose names come after this one."`
}

// Help is shown below the usage.
func (*tenantListCmd) Help() string {
	return `The commands for tenants need the scope admin or operate.

    LOCI_SCOPES=admin loci tenant list`
}

// Run lists tenants.
func (c *tenantListCmd) Run(a *app) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --after", c.Limit)
	}
	api, end, err := a.openAdmin()
	if err != nil {
		return err
	}
	defer end()
	list, next, err := api.List(a.ctx, c.After, c.Limit)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Tenants []admin.Tenant `json:"tenants"`
			Next    string         `json:"next,omitempty"`
		}{list, next})
	}
	t := table{head: []string{"TENANT", "STATE", "SINCE", "REASON"}}
	for _, s := range list {
		since := ""
		if !s.ChangedAt.IsZero() {
			since = jsonform.Time(s.ChangedAt)
		}
		t.add(s.Name, string(s.State), since, s.Reason)
	}
	t.print(a)
	if next != "" {
		a.note("there are more: --after %s", terminal.Word(next))
	}
	return nil
}

// oneTenant is what the commands for one tenant have in common.
type oneTenant struct {
	Name string `arg:"" help:"The name of the tenant."`
}

// change does something to a tenant and shows what has become of it.
func (a *app) change(do func(*admin.API) (admin.Tenant, error)) error {
	api, end, err := a.openAdmin()
	if err != nil {
		return err
	}
	defer end()
	tenant, err := do(api)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(tenant)
	}
	out := table{head: []string{"TENANT", "STATE"}}
	out.add(tenant.Name, string(tenant.State))
	out.print(a)
	return nil
}

type tenantCreateCmd struct{ oneTenant }

// Help is shown below the usage.
func (*tenantCreateCmd) Help() string {
	return `You can make keys only for tenants that exist. The tenant default always exists, and so does every tenant that already has
memories or keys.

    LOCI_SCOPES=admin loci tenant create acme`
}

// Run makes a tenant.
func (c *tenantCreateCmd) Run(a *app) error {
	return a.change(func(api *admin.API) (admin.Tenant, error) { return api.Create(a.ctx, operator, c.Name) })
}

type tenantShowCmd struct{ oneTenant }

// Run shows a tenant.
func (c *tenantShowCmd) Run(a *app) error {
	api, end, err := a.openAdmin()
	if err != nil {
		return err
	}
	defer end()
	tenant, events, err := api.Show(a.ctx, c.Name)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"tenant": tenant, "events": events})
	}
	out := table{head: []string{"FIELD", "VALUE"}}
	out.add("tenant", tenant.Name)
	out.add("state", string(tenant.State))
	out.add("reason", tenant.Reason)
	if !tenant.CreatedAt.IsZero() {
		out.add("created", jsonform.Time(tenant.CreatedAt))
	}
	out.add("records", ofLimit(tenant.Use.Records, tenant.Quota.Records))
	out.add("bytes", ofLimit(tenant.Use.Bytes, tenant.Quota.Bytes))
	out.add("model tokens today", ofLimit(tenant.Use.ModelTokens, tenant.Limits.ModelTokensPerDay))
	own := "none of its own"
	if l := tenant.Limits.Requests(); l != (auth.Limits{}) {
		own = limits(l)
	}
	out.add("limits", own)
	out.print(a)
	showChanges(a, events)
	return nil
}

// ofLimit shows use beside its limit, if there is one.
func ofLimit(used, limit int64) string {
	text := strconv.FormatInt(used, 10)
	if limit > 0 {
		text += " of " + strconv.FormatInt(limit, 10)
	}
	return text
}

type tenantLimitCmd struct {
	oneTenant
	Records int64 `placeholder:"N" help:"Memories, and the parts of files, conversations and checkpoints. 0 or nothing: no limit."`
	Bytes   int64 `placeholder:"N" help:"Of texts, metadata and values. 0 or nothing: no limit."`
}

// Help is shown below the usage.
func (*tenantLimitCmd) Help() string {
	return `A server that asks for keys refuses what goes beyond the limits; the command line does not. What is stored already stays.

    LOCI_SCOPES=admin loci tenant limit acme --records 100000 --bytes 1000000000`
}

// Run limits a tenant.
func (c *tenantLimitCmd) Run(a *app) error {
	return a.change(func(api *admin.API) (admin.Tenant, error) {
		return api.Limit(a.ctx, operator, c.Name, admin.Quota{Records: c.Records, Bytes: c.Bytes})
	})
}

type tenantRateLimitCmd struct {
	oneTenant
	RequestsPerSecond  float64 `placeholder:"N" help:"Requests a second to each server. 0 or nothing: as limits.requests_per_second says."`
	Burst              int     `placeholder:"N" help:"Requests at once that --requests-per-second lets through. 0 or nothing: twice as many."`
	ConcurrentRequests int     `placeholder:"N" help:"Requests to each server that are under way at once. 0 or nothing: as limits.concurrent_requests says."`
	ModelTokensPerDay  int64   `placeholder:"N" help:"Tokens of language models on a day (UTC), on all servers together. 0 or nothing: as limits.model_tokens_per_day says."`
}

// Help is shown below the usage.
func (*tenantRateLimitCmd) Help() string {
	return `Replaces the tenant's earlier limits. Every server of the store that asks for keys follows within 5 seconds, and answers requests
beyond the limits with 429. The limits of a key hold as well; the command line has none.

    LOCI_SCOPES=admin loci tenant rate-limit acme --requests-per-second 20 --concurrent-requests 8
    LOCI_SCOPES=admin loci tenant rate-limit acme --model-tokens-per-day 100000`
}

// Run limits the requests of a tenant.
func (c *tenantRateLimitCmd) Run(a *app) error {
	return a.change(func(api *admin.API) (admin.Tenant, error) {
		return api.RateLimit(a.ctx, operator, c.Name, admin.TenantLimits{
			RequestsPerSecond: c.RequestsPerSecond, Burst: c.Burst, ConcurrentRequests: c.ConcurrentRequests,
			ModelTokensPerDay: c.ModelTokensPerDay,
		})
	})
}

// showChanges lists who changed what is the system's own.
func showChanges(a *app, events []loci.Event) {
	log := table{head: []string{"TIME", "CHANGE", "BY", "DETAILS"}}
	for _, e := range events {
		log.add(jsonform.Time(e.At), string(e.Type), e.Actor, string(e.Payload))
	}
	log.print(a)
}

type tenantSuspendCmd struct {
	oneTenant
	Closed bool   `help:"Its callers may do nothing. Without this flag they may read."`
	Reason string `placeholder:"TEXT" help:"Why, for whoever looks later."`
}

// Help is shown below the usage.
func (*tenantSuspendCmd) Help() string {
	return `Every server of the store that asks for keys follows within 5 seconds. The command line is not suspended.

    LOCI_SCOPES=admin loci tenant suspend acme --reason "the contract has ended"`
}

// Run suspends a tenant.
func (c *tenantSuspendCmd) Run(a *app) error {
	state := admin.StateReadOnly
	if c.Closed {
		state = admin.StateClosed
	}
	return a.change(func(api *admin.API) (admin.Tenant, error) {
		return api.Suspend(a.ctx, operator, c.Name, state, c.Reason)
	})
}

type tenantResumeCmd struct{ oneTenant }

// Run ends the suspension of a tenant.
func (c *tenantResumeCmd) Run(a *app) error {
	return a.change(func(api *admin.API) (admin.Tenant, error) { return api.Resume(a.ctx, operator, c.Name) })
}

type tenantExportCmd struct {
	oneTenant
	File string `arg:"" optional:"" default:"-" help:"The file to write; - or nothing is standard output."`
}

// Help is shown below the usage.
func (*tenantExportCmd) Help() string {
	return `Writes what "loci export" writes, but for all users and organisations at once. The audit logs of the tenant and of the server record
it.

    LOCI_SCOPES=admin loci tenant export acme acme.jsonl
    LOCI_SCOPES=admin loci --tenant other import --namespace "" acme.jsonl`
}

// Run exports a tenant.
func (c *tenantExportCmd) Run(a *app) error {
	api, end, err := a.openAdmin()
	if err != nil {
		return err
	}
	defer end()
	show, shown := a.progress("exporting")
	defer shown()
	if c.File == "-" {
		_, err := api.Export(a.ctx, operator, c.Name, a.out, show)
		return err
	}
	var n int64
	err = writeFile(c.File, storeExport, func(w io.Writer) (err error) {
		n, err = api.Export(a.ctx, operator, c.Name, w, show)
		return err
	})
	shown()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"records": n, "file": c.File})
	}
	a.printf("exported %s to %s\n", memories(n), terminal.Clean(c.File, false))
	return nil
}

type tenantEraseCmd struct {
	oneTenant
	Expect string `placeholder:"NAME" help:"The name of the tenant, again."`
}

// Help is shown below the usage.
func (*tenantEraseCmd) Help() string {
	return `Closes the tenant, waits until every server has noticed, and erases all its memories, its audit log and its keys. The log of the
server keeps who did it.

    LOCI_SCOPES=admin loci tenant erase acme --expect acme`
}

// Run erases a tenant.
func (c *tenantEraseCmd) Run(a *app) error {
	api, end, err := a.openAdmin()
	if err != nil {
		return err
	}
	defer end()
	err = api.Erase(a.ctx, operator, c.Name, c.Expect)
	if e, ok := errors.AsType[*loci.Error](err); ok && e.Code == loci.Invalid && c.Expect != c.Name {
		e.Recovery = fmt.Sprintf("To erase everything of it: loci tenant erase %s --expect %s", c.Name, c.Name)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"erased_tenant": c.Name})
	}
	a.printf("tenant %s erased\n", terminal.Clean(c.Name, false))
	return nil
}
