package main

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/jsonform"
)

type tenantCmd struct {
	List    tenantListCmd    `cmd:"" help:"List the tenants that hold data."`
	Show    tenantShowCmd    `cmd:"" help:"Show what the callers of a tenant may do, and who changed it."`
	Suspend tenantSuspendCmd `cmd:"" help:"Let the callers of a tenant read alone, or nothing."`
	Resume  tenantResumeCmd  `cmd:"" help:"Let the callers of a tenant do everything again."`
}

type tenantListCmd struct{}

// Help is shown below the usage.
func (*tenantListCmd) Help() string {
	return `The commands for tenants need the scope admin. To export one use loci export, to erase one loci erase --tenant-data.

    LOCI_SCOPES=admin loci tenant list`
}

// Run lists tenants.
func (*tenantListCmd) Run(a *app) error {
	keys, err := a.openKeys()
	if err != nil {
		return err
	}
	defer keys.Close()
	list := []auth.TenantState{}
	for t, err := range a.store.Tenants(a.ctx) {
		if err != nil {
			return err
		}
		state, _, err := keys.Tenant(a.ctx, t)
		if err != nil {
			return err
		}
		list = append(list, state)
	}
	if a.json {
		return a.printJSON(map[string]any{"tenants": list})
	}
	t := table{head: []string{"TENANT", "STATE", "SINCE", "REASON"}}
	for _, s := range list {
		since := ""
		if !s.ChangedAt.IsZero() {
			since = jsonform.Time(s.ChangedAt)
		}
		t.add(s.Tenant, string(s.State), since, s.Reason)
	}
	t.print(a)
	return nil
}

// oneTenant is what the commands for one tenant have in common.
type oneTenant struct {
	Name string `arg:"" help:"The name of the tenant."`
}

// open returns the tenant, and the keys to close in the end.
func (c *oneTenant) open(a *app) (*auth.Keys, loci.Tenant, error) {
	t, err := loci.NewTenant(c.Name)
	if err != nil {
		return nil, t, err
	}
	keys, err := a.openKeys()
	return keys, t, err
}

// set changes the state of the tenant and shows it.
func (c *oneTenant) set(a *app, s auth.State, reason string) error {
	keys, t, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	state, err := keys.SetTenant(a.ctx, operator, t, s, reason)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(state)
	}
	out := table{head: []string{"TENANT", "STATE"}}
	out.add(state.Tenant, string(state.State))
	out.print(a)
	return nil
}

type tenantShowCmd struct{ oneTenant }

// Run shows a tenant.
func (c *tenantShowCmd) Run(a *app) error {
	keys, t, err := c.open(a)
	if err != nil {
		return err
	}
	defer keys.Close()
	state, events, err := keys.Tenant(a.ctx, t)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"tenant": state, "events": append([]loci.Event{}, events...)})
	}
	out := table{head: []string{"FIELD", "VALUE"}}
	out.add("tenant", state.Tenant)
	out.add("state", string(state.State))
	out.add("reason", state.Reason)
	out.print(a)
	showChanges(a, events)
	return nil
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
	Closed bool   `help:"Its callers may do nothing; otherwise they may read."`
	Reason string `placeholder:"TEXT" help:"Why, for whoever looks later."`
}

// Help is shown below the usage.
func (*tenantSuspendCmd) Help() string {
	return `Every server of the store that asks for keys follows within 5 seconds. The command line itself does not ask.

    LOCI_SCOPES=admin loci tenant suspend acme --reason "the contract has ended"`
}

// Run suspends a tenant.
func (c *tenantSuspendCmd) Run(a *app) error {
	if c.Closed {
		return c.set(a, auth.StateClosed, c.Reason)
	}
	return c.set(a, auth.StateReadOnly, c.Reason)
}

type tenantResumeCmd struct{ oneTenant }

// Run ends the suspension of a tenant.
func (c *tenantResumeCmd) Run(a *app) error { return c.set(a, auth.StateActive, "") }
