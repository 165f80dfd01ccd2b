package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/view"
)

type eraseCmd struct {
	All    bool     `help:"Everything in the namespace."`
	Tag    []string `sep:"none" short:"t" placeholder:"TAG" help:"Memories with this tag; may be repeated."`
	Filter string   `placeholder:"JSON" help:"Memories whose metadata match."`
	Kind   []string `sep:"none" placeholder:"KIND" values:"fact,item,rule,episode,session" help:"Memories of this kind: fact (notes are facts, too), item, rule, episode or session, which goes with its messages."`
	Expect *int64   `placeholder:"N" help:"How many memories you expect to erase. If the number is different, nothing is erased."`

	TenantData   bool   `help:"Everything of the tenant, its audit log included. Needs the scope admin."`
	ExpectTenant string `placeholder:"NAME" help:"With --tenant-data: the name of the tenant, again."`
	place
}

// Help is shown below the usage.
func (*eraseCmd) Help() string {
	return `Erases the memories in the namespace of the user or organisation that meet all conditions. Without --expect it asks you on a
terminal; elsewhere it says how many memories are selected and erases nothing.

    loci erase --tag trip --expect 12
    loci erase --user alice --all
    LOCI_SCOPES=delete,admin loci erase --tenant acme --tenant-data --expect-tenant acme`
}

// Run erases many memories.
func (c *eraseCmd) Run(a *app) error {
	if c.TenantData {
		return c.eraseTenant(a)
	}
	if c.ExpectTenant != "" {
		return loci.Errorf(loci.Invalid, "--expect-tenant needs --tenant-data")
	}
	q := loci.EraseQuery{All: c.All, Tags: c.Tag}
	if slices.Contains(c.Kind, string(view.KindNote)) {
		return &loci.Error{Code: loci.Invalid, Msg: "--kind note: notes are erased with the facts that have a subject, as --kind fact",
			Recovery: "Use --kind fact, with --tag or --filter for some of them, or \"loci list --kind note\" and \"loci delete ID\"."}
	}
	err := checkNames("--kind", c.Kind, string(loci.KindFact), string(item.Kind), string(loci.KindRule),
		string(loci.KindEpisode), string(session.Kind))
	if err != nil {
		return err
	}
	q.Kinds = namesOf[loci.Kind](c.Kind)
	if q.Where, err = parseFilter(c.Filter); err != nil {
		return err
	}
	if !q.All && len(q.Kinds) == 0 && len(q.Tags) == 0 && q.Where.IsZero() {
		return &loci.Error{Code: loci.Invalid, Msg: "say what to erase: --all, or --kind, --tag or --filter",
			Recovery: "To erase one memory, use \"loci delete ID\"."}
	}
	m, err := a.memory(c.place, "", loci.ScopeDelete)
	if err != nil {
		return err
	}
	if q.Expect, err = c.expected(a, m, q); err != nil {
		return err
	}
	show, end := a.progress("erasing")
	erased, err := m.EraseAll(a.ctx, q, show)
	end()
	if err != nil {
		if erased > 0 {
			a.note("%s erased before it stopped", number(erased, "memory was", "memories were"))
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]int64{"erased": erased})
	}
	a.printf("%s erased\n", memories(erased))
	return nil
}

// expected returns the number that --expect gives or that is typed in.
func (c *eraseCmd) expected(a *app, m *loci.Memory, q loci.EraseQuery) (int64, error) {
	count, err := m.CountErase(a.ctx, q)
	if err != nil {
		return 0, err
	}
	if c.Expect != nil {
		if *c.Expect != count {
			return 0, &loci.Error{Code: loci.Conflict, Msg: fmt.Sprintf("nothing was erased: %s, not %d", selected(count), *c.Expect),
				Recovery: "Look at them with \"loci list\" and repeat the command with the number you mean."}
		}
		return count, nil
	}
	if count == 0 {
		return 0, nil
	}
	if a.json || !isTerminal(a.stdin) || !isTerminal(a.err) {
		return 0, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("nothing was erased: %s", selected(count)),
			Recovery: fmt.Sprintf("To erase them, repeat the command with --expect %d.", count)}
	}
	_, _ = fmt.Fprintf(a.err, "This erases %s of %s for good. Type the number to go on: ", memories(count), terminal.Clean(m.View().Namespace.String(), false))
	line, err := bufio.NewReader(a.input()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fileError("standard input", err)
	}
	if err != nil {
		_, _ = fmt.Fprintln(a.err) // nobody pressed Enter, so the error would follow the question
	}
	switch strings.TrimSpace(line) {
	case strconv.FormatInt(count, 10):
		return count, nil
	case "":
		line = "nothing was erased: you typed nothing"
	default:
		line = "nothing was erased: you typed something else"
	}
	return 0, &loci.Error{Code: loci.Conflict, Msg: line,
		Recovery: fmt.Sprintf("Run it again, and type %d if you mean all of them.", count)}
}

func (c *eraseCmd) eraseTenant(a *app) error {
	if c.All || len(c.Tag)+len(c.Kind) > 0 || c.Filter != "" || c.Namespace != nil || c.Expect != nil {
		return loci.Errorf(loci.Invalid, "--tenant-data erases everything of the tenant: it goes with no other condition")
	}
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	if name := cfg.Tenant.String(); c.ExpectTenant != name {
		return &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("nothing was erased: the tenant is %q", name),
			Recovery: "To erase everything of it, repeat the command with --expect-tenant and this name."}
	}
	if err := a.open(loci.ScopeDelete, loci.ScopeAdmin); err != nil {
		return err
	}
	if err := a.engine.EraseTenant(a.ctx, a.principal); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"erased_tenant": cfg.Tenant.String()})
	}
	a.printf("everything of tenant %s erased\n", terminal.Clean(cfg.Tenant.String(), false))
	return nil
}

func selected(n int64) string { return number(n, "memory is selected", "memories are selected") }
