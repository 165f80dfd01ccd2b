package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/entry"
	"github.com/loci-memory/loci/server"
)

type setupCmd struct {
	Client []string `arg:"" optional:"" help:"Which clients, such as claude-code, cursor or codex. Without any, setup lists those it found."`

	All     bool   `help:"Every client that is found on this machine."`
	Project bool   `help:"Write to the client's file in this directory, for everybody who works on it, instead of to your own."`
	HTTP    bool   `name:"http" help:"Connect to \"loci serve\" at the address of --listen, instead of starting a program for each client."`
	URL     string `name:"url" placeholder:"URL" help:"Connect to a Loci at this address."`
	Replace bool   `help:"Replace an entry named loci that says something else."`
	Remove  bool   `help:"Take the entry out again. Memories stay."`
	DryRun  bool   `help:"Show what would be changed, and change nothing."`
	Print   bool   `help:"Print the entry for clients that setup does not know, or for the named ones."`
}

// Help is shown below the usage.
func (*setupCmd) Help() string {
	return `Finds the programs on this machine that can use a memory over MCP, and enters Loci in their configuration. The rest of their
files stays as it is, comments and order included; the old file is kept beside it as FILE.before-loci. Flags such as --user,
--tools and --store become part of the entry.

    loci setup
    loci setup claude-code cursor --user alice
    loci setup --all --dry-run
    loci setup --remove codex`
}

// A setupResult is what became of one client.
type setupResult struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Outcome string `json:"outcome"` // of the outcomes below
	Command string `json:"command,omitempty"`
	Diff    string `json:"diff,omitempty"`
	Error   string `json:"error,omitempty"`

	err error
}

// The outcomes; "would be" ones are of a dry run.
const (
	setupFound     = "found"     // listed: not connected yet
	setupConnected = "connected" // the entry was written, or was there in a list
	setupUnchanged = "unchanged"
	setupDiffers   = "differs" // an entry of the name says something else
	setupRemoved   = "removed"
	setupPlanned   = "planned"
	setupFailed    = "failed"
)

// Run connects clients.
func (c *setupCmd) Run(a *app) error {
	sys := system{os: runtime.GOOS, env: a.env}
	if sys.home() == "" {
		return &loci.Error{
			Code:     loci.Invalid,
			Msg:      "no home directory is set, so no client's configuration can be found",
			Recovery: "Set HOME, or use --print.",
		}
	}
	to, err := c.server(a)
	if err != nil {
		return err
	}
	if c.Print {
		return c.print(a, to)
	}
	chosen, err := c.choose(a, sys, to)
	if err != nil || chosen == nil {
		return err
	}
	if !c.Remove && !c.DryRun {
		if err := a.tryServer(to); err != nil {
			return err
		}
	}
	results := make([]setupResult, len(chosen))
	for i, client := range chosen {
		results[i] = c.connect(a, sys, client, to)
	}
	return c.report(a, results)
}

// server is what the entry says: the address, or this program with the flags that were given.
func (c *setupCmd) server(a *app) (target, error) {
	switch {
	case c.URL != "" && c.HTTP:
		return target{}, loci.Errorf(loci.Invalid, "--url and --http exclude one another")
	case c.URL != "":
		return webServer(c.URL)
	case c.HTTP:
		cfg, err := a.configure()
		if err != nil {
			return target{}, err
		}
		scheme := "http://"
		if cfg.HTTP.Binding.TLS == server.TLSFiles {
			scheme = "https://"
		}
		return target{url: scheme + cfg.Listen + "/mcp", chosen: true}, nil
	}
	command, args, err := self(a.env)
	if err != nil {
		return target{}, err
	}
	flags, err := a.entryFlags()
	return target{command: command, args: append(append(args, "mcp"), flags...), chosen: len(flags) > 0}, err
}

// state says whether a client knows Loci.
func (c *setupCmd) state(sys system, client client, to target) setupResult {
	r := setupResult{Client: client.id, Name: client.name, Outcome: setupFound, File: c.path(sys, client)}
	file, err := readClientFile(r.File)
	if err == nil {
		var value any
		var found bool
		if value, found, err = client.format.Get(file.text, client.at()...); found && err == nil {
			switch r.Outcome = setupDiffers; {
			case says(value, client.entry(to)):
				r.Outcome = setupConnected
			case !to.chosen && starts(value, to):
				r.Outcome = setupConnected // with flags of its own, and none were asked for now
			}
		}
	}
	return r.failed(err)
}

func (r setupResult) failed(err error) setupResult {
	if err != nil {
		r.Outcome, r.Error, r.err = setupFailed, err.Error(), err
	}
	return r
}

// path is the file that an entry goes to.
func (c *setupCmd) path(sys system, client client) string {
	if c.Project {
		return client.project
	}
	return client.file(sys)
}

func (c client) at() []string { return append(slices.Clone(c.path), entryName) }

// says reports whether an entry holds our fields; a client may have added some of its own.
func says(value any, ours entry.Fields) bool {
	fields, ok := value.(map[string]any)
	for name, want := range ours.Plain().(map[string]any) {
		ok = ok && reflect.DeepEqual(fields[name], want)
	}
	return ok && len(ours) > 0
}

// connect does what is to be done for one client.
func (c *setupCmd) connect(a *app, sys system, client client, to target) setupResult {
	r := c.state(sys, client, to)
	switch {
	case r.File == "":
		return r.failed(loci.Errorf(loci.Invalid, "%s has no file for a project", client.name))
	case r.err != nil:
		return r.failed(fmt.Errorf("%s: %w; nothing was changed", r.File, r.err))
	case !c.Remove && client.entry(to) == nil:
		return r.failed(
			&loci.Error{
				Code:     loci.Unsupported,
				Msg:      client.name + " cannot be connected to an address by its file",
				Recovery: "Leave out --http and --url.",
			},
		)
	case c.Remove && r.Outcome == setupFound, !c.Remove && r.Outcome == setupConnected:
		r.Outcome = setupUnchanged
		return r
	case !c.Remove && r.Outcome == setupDiffers && !c.Replace:
		return r.failed(
			&loci.Error{
				Code:     loci.Conflict,
				Msg:      fmt.Sprintf("%s has an entry named %q that says something else", r.File, entryName),
				Recovery: "Look at it, and give --replace to replace it or --remove to take it out.",
			},
		)
	}
	command := client.remove
	if !c.Remove && client.add != nil {
		command = client.add(to)
	}
	if len(command) > 0 && !c.Project && (c.Remove || r.Outcome != setupDiffers) {
		if path, err := sys.lookPath(command[0]); err == nil {
			return c.run(a, sys, client, to, r, append([]string{path}, command[1:]...))
		}
	}
	return c.edit(client, to, r)
}

// run lets the client's own command change its file.
func (c *setupCmd) run(
	a *app,
	sys system,
	client client,
	to target,
	r setupResult,
	command []string,
) setupResult {
	r.Command = strings.Join(command, " ")
	if c.DryRun {
		r.Outcome = setupPlanned
		return r
	}
	run := exec.CommandContext(a.ctx, command[0], command[1:]...)
	run.Env = a.env
	if out, err := run.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out))
		return r.failed(
			&loci.Error{
				Code:     loci.Unavailable,
				Msg:      fmt.Sprintf("%q failed: %v: %s", r.Command, err, said),
				Err:      err,
				Recovery: "Update " + client.name + ", or enter it by hand: \"loci setup --print " + client.id + "\" shows how.",
			},
		)
	}
	after := c.state(sys, client, to)
	switch {
	case after.err != nil:
		return r.failed(after.err)
	case c.Remove && after.Outcome == setupFound:
		r.Outcome = setupRemoved
	case !c.Remove && after.Outcome == setupConnected:
		r.Outcome = setupConnected
	default:
		return r.failed(
			loci.Errorf(loci.Unavailable, "%q succeeded, but %s does not show the entry", r.Command, r.File),
		)
	}
	return r
}

// edit changes the file itself.
func (c *setupCmd) edit(client client, to target, r setupResult) setupResult {
	file, err := readClientFile(r.File)
	if err != nil {
		return r.failed(err)
	}
	var changed []byte
	if c.Remove {
		changed, err = client.format.Remove(file.text, client.at()...)
	} else {
		changed, err = client.format.Set(file.text, client.entry(to), client.at()...)
	}
	if errors.Is(err, entry.ErrUneditable) {
		err = &loci.Error{
			Code:     loci.Unsupported,
			Msg:      fmt.Sprintf("%s: %v", r.File, err),
			Err:      err,
			Recovery: "\"loci setup --print " + client.id + "\" shows what to enter.",
		}
	}
	if err != nil {
		return r.failed(err)
	}
	if r.Diff = udiff.Unified(r.File, r.File, string(file.text), string(changed)); c.DryRun {
		r.Outcome = setupPlanned
		return r
	}
	r.Diff = ""
	before := client.before(file)
	if c.Remove {
		r.Outcome = setupRemoved
		return r.failed(file.restore(before, changed))
	}
	r.Outcome = setupConnected
	return r.failed(file.replace(changed, before == nil))
}

// before returns what the file was before setup wrote its entry: its backup, or nothing;
// nil where something else has changed since.
func (c client) before(file *clientFile) *clientFile {
	value, _, err := c.format.Get(file.text, c.at()...)
	written := c.again(value)
	if err != nil || written == nil {
		return nil
	}
	backup, err := readClientFile(file.backup())
	if err != nil {
		return nil
	}
	if _, found, err := c.format.Get(backup.text, c.at()...); found || err != nil {
		return nil
	}
	if now, err := c.format.Set(backup.text, written, c.at()...); err != nil || !bytes.Equal(now, file.text) {
		return nil
	}
	return backup
}

// again returns the fields of an entry that setup wrote, in the order in which it wrote
// them; nil for an entry of another hand.
func (c client) again(value any) entry.Fields {
	there, _ := value.(map[string]any)
	for _, form := range []target{{command: "-"}, {url: "-"}} {
		fields := c.entry(form)
		same := len(fields) == len(there)
		for i := range fields {
			value, found := there[fields[i].Name]
			if list, ok := value.([]any); ok {
				value = texts(list)
			}
			fields[i].Value, same = value, same && found
		}
		if same && len(fields) > 0 {
			return fields
		}
	}
	return nil
}

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = fmt.Sprint(item)
	}
	return out
}

// starts reports whether an entry starts this program, with whatever flags.
func starts(value any, to target) bool {
	fields, _ := value.(map[string]any)
	for _, name := range []string{"command", "cmd"} {
		there := fields[name]
		if list, ok := there.([]any); ok && len(list) > 0 {
			there = list[0]
		}
		if there == to.command {
			return true
		}
	}
	return false
}

// report shows what became of the clients.
func (c *setupCmd) report(a *app, results []setupResult) error {
	var failed error // the first; the caller shows it
	for _, r := range results {
		switch {
		case failed == nil:
			failed = r.err
		case r.err != nil:
			a.note("%s: %s", r.Name, r.Error)
		}
	}
	if a.json {
		return errors.Join(a.printJSON(map[string]any{"clients": results}), failed)
	}
	changed := false
	for _, r := range results {
		switch r.Outcome {
		case setupConnected:
			a.printf("%s: connected, in %s\n", r.Name, r.File)
		case setupRemoved:
			a.printf("%s: no longer connected; %s is without the entry\n", r.Name, r.File)
		case setupUnchanged:
			a.printf("%s: nothing to do, %s is right\n", r.Name, r.File)
		case setupPlanned:
			if a.printf("%s would be changed:\n%s", r.Name, r.Diff); r.Command != "" {
				a.printf("  %s\n", r.Command)
			}
		}
		changed = changed || r.Outcome == setupConnected || r.Outcome == setupRemoved
	}
	if changed {
		a.note("Start these programs again, so that they read it.")
	}
	return failed
}

// print shows the entry: in the common form, or as the named clients write it.
func (c *setupCmd) print(a *app, to target) error {
	chosen, err := named(c.Client)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		chosen = []client{{name: "Most clients", path: []string{"mcpServers"}, entry: address("url")}}
	}
	for _, client := range chosen {
		fields := client.entry(to)
		if fields == nil {
			return &loci.Error{
				Code:     loci.Unsupported,
				Msg:      client.name + " cannot be connected to an address by its file",
				Recovery: "Leave out --http and --url.",
			}
		}
		text, err := client.format.Set(nil, fields, client.at()...)
		if err != nil {
			return err
		}
		if client.id != "" {
			a.note("%s: %s", client.name, client.file(system{os: runtime.GOOS, env: a.env}))
		}
		a.printf("%s", text)
	}
	return nil
}
