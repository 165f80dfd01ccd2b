package main

import (
	"io"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/terminal"
)

type backupCmd struct {
	Create  backupCreateCmd  `cmd:"" help:"Write a backup of the store, while others use it."`
	Check   backupCheckCmd   `cmd:"" help:"Read a whole backup, and say what it holds."`
	Restore backupRestoreCmd `cmd:"" help:"Restore the tenants of a backup into a store."`
	Erased  backupErasedCmd  `cmd:"" help:"List what was erased since a backup, to erase it again after a restore."`
}

// backups are the configuration and the options of the commands for backups, for who may
// operate on the store as a whole.
func (a *app) backups() (*config.Config, backup.Options, error) {
	cfg, err := a.configure()
	if err != nil {
		return nil, backup.Options{}, err
	}
	needed := loci.ScopeAdmin
	if a.principal.May(loci.ScopeOperate) {
		needed = loci.ScopeOperate
	}
	if err := a.principal.Require(needed); err != nil {
		return nil, backup.Options{}, err
	}
	opts := backup.Options{
		Store: cfg.StoreOptions, Engine: cfg.Engine(a.logger()), Keys: cfg.Backup, MadeBy: buildVersion().Version,
	}
	opts.Store.Logger = a.logger()
	return cfg, opts, nil
}

// some are the tenants of some names.
type some struct {
	Only []string `sep:"none" placeholder:"TENANT" help:"Only this tenant; may be repeated. Otherwise all, with the keys of callers."`
}

func (s *some) tenants() (out []loci.Tenant, err error) {
	for _, name := range s.Only {
		t, err := loci.NewTenant(name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// ofBackup is what the commands that read a backup have in common.
type ofBackup struct {
	Dir string `arg:"" help:"The directory of the backup."`
}

type backupCreateCmd struct {
	Dir string `arg:"" help:"The directory to write, which must not be there yet."`
	some
}

// Help is shown below the usage.
func (*backupCreateCmd) Help() string {
	return `Writes a file for each tenant, as the tenant is at one moment; others may go on writing. It works for every store. The directory
appears once every file has been read back, its audit log proven and its digest noted. backup.recipients or backup.passphrase_file
encrypt it. Decide how long you keep backups: what you erase from the store stays in them.

    LOCI_SCOPES=admin loci backup create /backups/2026-11-23
    LOCI_SCOPES=admin loci backup create acme-2026-11-23 --only acme`
}

// Run writes a backup.
func (c *backupCreateCmd) Run(a *app) error {
	cfg, opts, err := a.backups()
	if err != nil {
		return err
	}
	only, err := c.tenants()
	if err != nil {
		return err
	}
	m, err := backup.Create(a.ctx, cfg.Store, c.Dir, only, opts)
	if err != nil {
		return err
	}
	return a.printBackup(m, "written to "+terminal.Clean(c.Dir, false))
}

func records(n int64) string { return number(n, "record", "records") }

func events(n int64) string { return number(n, "event", "events") }

// printBackup prints what a backup holds.
func (a *app) printBackup(m backup.Manifest, done string) error {
	if a.json {
		return a.printJSON(m)
	}
	for i := range m.Tenants {
		t := &m.Tenants[i]
		a.printf("%s\t%s, %s, head %s\n", terminal.Clean(t.Label(), false), records(t.Rows["record"]), events(t.Events), t.Head)
	}
	a.printf("%s: %s\n", done, number(len(m.Tenants), "tenant", "tenants"))
	return nil
}

type backupCheckCmd struct{ ofBackup }

// Help is shown below the usage.
func (*backupCheckCmd) Help() string {
	return `Compares each file with its digest, looks for damage in a copy of each tenant, proves its audit log and counts its rows. The
backup itself is only read.

    LOCI_SCOPES=admin loci backup check /backups/2026-11-23`
}

// Run checks a backup.
func (c *backupCheckCmd) Run(a *app) error {
	_, opts, err := a.backups()
	if err != nil {
		return err
	}
	m, err := backup.Check(a.ctx, c.Dir, opts)
	if err != nil {
		return err
	}
	return a.printBackup(m, terminal.Clean(c.Dir, false)+" is whole")
}

type backupRestoreCmd struct {
	ofBackup
	To      string   `placeholder:"URL" help:"The store to restore into; the configured one if not given."`
	Replace bool     `help:"Replace tenants that the store already holds by those of the backup. What the store holds of them is lost."`
	Erased  []string `sep:"none" placeholder:"FILE|URL" help:"Erase again what was erased since: a list of loci backup erased or of the audit log, or a store that went on; may be repeated."`
	DryRun  bool     `help:"Do everything except change the store."`
	some
}

// Help is shown below the usage.
func (*backupRestoreCmd) Help() string {
	return `Checks the backup as "loci backup check" does, erases from a copy of it what was erased since, and restores the rest. The store may
be files, PostgreSQL or MongoDB, whatever the backup was made from. A store that is not empty is refused. Let nobody write to it meanwhile.

    LOCI_SCOPES=admin loci backup restore /backups/2026-11-23 --to sqlite:/var/lib/loci --erased erased.jsonl
    LOCI_SCOPES=admin loci backup restore /backups/2026-11-23 --only acme --replace --dry-run`
}

// Run restores a backup.
func (c *backupRestoreCmd) Run(a *app) error {
	cfg, opts, err := a.backups()
	if err != nil {
		return err
	}
	only, err := c.tenants()
	if err != nil {
		return err
	}
	if c.To == "" {
		c.To = cfg.Store
	}
	report, err := backup.Restore(a.ctx, c.Dir, c.To,
		backup.Restoration{Only: only, Replace: c.Replace, Erased: c.Erased, DryRun: c.DryRun}, opts)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	done := "restored"
	if c.DryRun {
		done = "would be restored"
	}
	for i := range report.Tenants {
		t := &report.Tenants[i]
		name := terminal.Clean(t.Label(), false)
		if t.Gone {
			a.printf("%s\tnot restored: it was erased since, with %s\n", name, records(t.Erased))
			continue
		}
		a.printf("%s\t%s: %s, %s, head %s; %d erased again\n", name, done, records(t.Rows), events(t.Events), t.Head, t.Erased)
		if t.Note != "" {
			a.note("%s: %s", name, t.Note)
		}
	}
	if len(c.Erased) == 0 {
		a.note("what was erased since the backup is back, unless --erased says what it was")
	}
	return nil
}

type backupErasedCmd struct {
	ofBackup
	File string `arg:"" optional:"" default:"-" help:"The file to write; - or nothing is standard output."`
}

// Help is shown below the usage.
func (*backupErasedCmd) Help() string {
	return `Compares a backup with the store it was made from, and lists the ids of the records that the store no longer holds. Keep the list
away from the store. If the store is lost, give the list to "loci backup restore --erased".

    LOCI_SCOPES=admin loci backup erased /backups/2026-11-23 erased.jsonl`
}

// listOfErased is what a list may take the place of.
var listOfErased = exported{"list of what was erased", `"format":"loci.erased"`}

// Run lists what was erased.
func (c *backupErasedCmd) Run(a *app) error {
	cfg, opts, err := a.backups()
	if err != nil {
		return err
	}
	if c.File == "-" {
		_, err := backup.WriteErased(a.ctx, c.Dir, cfg.Store, a.out, opts)
		return err
	}
	var n int64
	if err := writeFile(c.File, listOfErased, func(w io.Writer) error {
		n, err = backup.WriteErased(a.ctx, c.Dir, cfg.Store, w, opts)
		return err
	}); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"records": n, "file": c.File})
	}
	a.printf("%s erased since, listed in %s\n", records(n), terminal.Clean(c.File, false))
	return nil
}
