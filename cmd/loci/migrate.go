package main

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/store"
)

type migrateCmd struct {
	Role   string `placeholder:"NAME" help:"The role that servers connect as: it gets the rights they need."`
	DryRun bool   `help:"Say what would be done, and do nothing."`
	From   string `placeholder:"URL" help:"Copy all tenants of this store instead; goes on where it stopped."`
	To     string `placeholder:"URL" help:"The store that they are copied into, as the role that serves; the configured store if not given."`

	Distribute bool `help:"Spread the tables over the nodes of Citus by tenant, or the collections over the shards of MongoDB; --dry-run only says how. Not tried on a cluster yet."`
}

// Help is shown below the usage.
func (*migrateCmd) Help() string {
	return `Makes the tables of a PostgreSQL database, or brings them to the version of this program, as the role that owns them. Servers
connect as another role, which owns nothing: they refuse one that could turn the wall between tenants off. In MongoDB, which is
experimental, it makes the collections; one user owns them and serves.

    loci migrate --store postgres://owner@host/loci --role loci_server --dry-run
    loci migrate --store postgres://owner@host/loci --role loci_server
    loci migrate --store mongodb://user@host/loci?replicaSet=rs0

With --from it copies every tenant of a store, with its history and its audit log, into another one, and verifies each: the rows of
every table, their hashes, and the head of the log. Each may be in files, in PostgreSQL or in MongoDB; a database must have its tables.
Nobody may write to either meanwhile.

    loci migrate --from sqlite:/var/lib/loci --to postgres://server@host/loci
    loci migrate --from mongodb://user@host/loci --to sqlite:/var/lib/loci

With --distribute it spreads the tables of PostgreSQL over the nodes of the extension Citus, or the collections of MongoDB over the shards
of a cluster, each tenant whole, and prints the commands. Nobody has tried that on a real cluster yet.

    loci migrate --store postgres://owner@host/loci --distribute --dry-run
    loci migrate --store mongodb://user@host/loci --distribute --dry-run`
}

// Run migrates the configured database.
func (c *migrateCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	switch {
	case c.From != "" || c.To != "":
		return c.copy(a, cfg)
	case c.Distribute:
		return c.distribute(a, cfg)
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

// copy copies the tenants of one store into another.
func (c *migrateCmd) copy(a *app, cfg *config.Config) error {
	if c.To == "" {
		c.To = cfg.Store
	}
	switch {
	case c.From == "":
		return loci.Errorf(loci.Invalid, "--to is for a copy: give --from with the store to copy, too")
	case c.DryRun || c.Role != "" || c.Distribute:
		return loci.Errorf(loci.Invalid,
			"--dry-run, --role and --distribute are for the tables of a database: leave them out with --from")
	}
	tenants := []store.CopyReport{}
	err := store.Copy(a.ctx, c.From, c.To, &cfg.StoreOptions, func(r store.CopyReport) error {
		tenants = append(tenants, r)
		if a.json {
			return nil
		}
		how := "copied"
		if r.Resumed {
			how = "went on"
		}
		of := backup.Tenant{Name: r.Tenant, System: r.Tenant == loci.SystemTenant().String()}
		a.printf("%s\t%s and verified: %s, %s, head %s\n",
			terminal.Clean(of.Label(), false), how, records(r.Rows["record"]), events(r.Rows["event"]), r.Head)
		return nil
	})
	if err != nil || !a.json {
		return err
	}
	return a.printJSON(struct {
		Tenants []store.CopyReport `json:"tenants"`
	}{tenants})
}

// distribute spreads a database over several servers, or says how.
func (c *migrateCmd) distribute(a *app, cfg *config.Config) error {
	if c.Role != "" {
		return loci.Errorf(loci.Invalid, "--role is for the tables of a database: leave it out with --distribute")
	}
	d, err := store.Distribute(a.ctx, cfg.Store, c.DryRun)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Commands []string `json:"commands"`
			Left     []string `json:"left,omitempty"`
			Made     bool     `json:"made"`
			Tested   bool     `json:"tested"`
		}{d.Commands, d.Left, d.Made, false})
	}
	what, cluster := "tables are spread over the nodes", "a coordinator with the extension citus"
	if strings.HasPrefix(cfg.Store, "mongodb") {
		what, cluster = "collections are spread over the shards", "a sharded cluster"
	}
	how := "this is no sharded cluster; on one, as a user with the role clusterManager, in mongosh:"
	switch {
	case d.Made && len(d.Commands) == 0:
		how = "the " + what + " by tenant already"
	case d.Made:
		how = "the " + what + " by tenant, with:"
	case c.DryRun:
		how = "on " + cluster + " these would be run:"
	}
	a.printf("%s\n", how)
	for _, command := range d.Commands {
		a.printf("%s\n", command)
	}
	for _, command := range d.Left {
		a.printf("this role may not run it; as a superuser: %s\n", command)
	}
	a.printf("nobody has tried this on a real cluster yet: try it on a copy first\n")
	return nil
}
