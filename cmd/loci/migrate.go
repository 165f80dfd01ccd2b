package main

import (
	"strings"

	"github.com/loci-memory/loci/store"
)

type migrateCmd struct {
	Role   string `placeholder:"NAME" help:"The role that servers connect as: it gets the rights they need."`
	DryRun bool   `help:"Say what there is to do, and do nothing."`
}

// Help is shown below the usage.
func (*migrateCmd) Help() string {
	return `Makes the tables of a PostgreSQL database, or brings them to the version of this program, as the role that owns them. Servers
connect as another role, which owns nothing: they refuse one that could turn the wall between tenants off.

    loci migrate --store postgres://owner@host/loci --role loci_server --dry-run
    loci migrate --store postgres://owner@host/loci --role loci_server`
}

// Run migrates the configured database.
func (c *migrateCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	report, err := store.Migrate(a.ctx, cfg.Store, store.Migration{Role: c.Role, DryRun: c.DryRun})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			store.MigrationReport
			DryRun bool `json:"dry_run"`
		}{report, c.DryRun})
	}
	done, gets := "made", "has"
	if c.DryRun {
		done, gets = "to make", "would get"
	}
	if len(report.Steps) == 0 {
		a.printf("the tables are of version %d; there is nothing to do for them\n", report.To)
	} else {
		a.printf("version %d to %d, steps %s: %s\n", report.From, report.To, done, strings.Join(report.Steps, ", "))
	}
	if report.Role != "" {
		a.printf("the role %s %s the rights of a server\n", report.Role, gets)
	}
	return nil
}
