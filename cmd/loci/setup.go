package main

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/mcpclient"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/server"
)

type setupCmd struct {
	Client []string `arg:"" optional:"" help:"Which clients, such as claude-code, cursor or codex. Without any, setup lists those it found."`

	All     bool   `help:"Connect every client found on this machine."`
	Project bool   `help:"Write to the client's file in this directory, which everyone who works there shares, not to your own."`
	HTTP    bool   `name:"http" help:"Connect to \"loci serve\" at the address of --listen, instead of starting a program for each client."`
	URL     string `name:"url" placeholder:"URL" help:"Connect to a Loci at this address."`
	Replace bool   `help:"Replace a different entry that is already named loci."`
	Remove  bool   `help:"Remove the entry again. Your memories stay."`
	DryRun  bool   `help:"Show what would change, and change nothing."`
	Print   bool   `help:"Print the entry for clients that setup does not know, or for the named ones."`
}

// Help is shown below the usage.
func (*setupCmd) Help() string {
	return `Finds the programs on this machine that can use a memory over MCP, and adds Loci to their configuration. The rest of each file stays
as it is, comments and order included. The old file is kept beside it as FILE.before-loci. Flags such as --user, --tools and
--store become part of the entry.

    loci setup
    loci setup claude-code cursor --user alice
    loci setup --all --dry-run
    loci setup --remove codex`
}

// Run connects clients.
func (c *setupCmd) Run(a *app) error {
	sys := a.system()
	if !sys.HasHome() && (!c.Print || len(c.Client) > 0) {
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
		if err := mcpclient.Try(a.ctx, sys, buildVersion().Version, to); err != nil {
			return err
		}
	}
	s := c.setup()
	results := make([]mcpclient.Result, len(chosen))
	for i, client := range chosen {
		here := sys.Has(client) // before its file makes it look so
		results[i] = s.Connect(a.ctx, sys, client, to)
		if !c.Remove && !here && results[i].Err == nil {
			a.note("%s was not found on this machine; when it comes, it finds Loci.", client.Name)
		}
	}
	return c.report(a, results)
}

// setup is what package mcpclient is asked to do.
func (c *setupCmd) setup() *mcpclient.Setup {
	return &mcpclient.Setup{Project: c.Project, Replace: c.Replace, Remove: c.Remove, DryRun: c.DryRun}
}

// system is this machine, with the environment of the run.
func (a *app) system() mcpclient.System {
	return mcpclient.System{OS: runtime.GOOS, Get: a.env.Get, Environ: a.env}
}

// server is what the entry says: the address, or this program with the flags that were given.
func (c *setupCmd) server(a *app) (mcpclient.Target, error) {
	switch {
	case c.URL != "" && c.HTTP:
		return mcpclient.Target{}, loci.Errorf(loci.Invalid, "--url and --http exclude each other: give one")
	case c.URL != "":
		return mcpclient.At(c.URL)
	case c.HTTP:
		cfg, err := a.configure()
		if err != nil {
			return mcpclient.Target{}, err
		}
		scheme := "http://"
		if cfg.HTTP.Binding.TLS == server.TLSFiles {
			scheme = "https://"
		}
		to := mcpclient.Target{URL: scheme + cfg.Listen + "/mcp", Chosen: true}
		if cfg.Auth.Mode == config.AuthToken {
			to.Token = auth.Token(cfg.Auth.TokenFile)
		}
		if to.Token != "" && c.Project && !c.Remove {
			return to, &loci.Error{Code: loci.Invalid, Msg: "--project writes a file that others read, and the entry has the token of your server",
				Recovery: "Leave out --project, or leave out --http: then each who opens the project starts a Loci of their own."}
		}
		return to, nil
	}
	command, args, err := mcpclient.Self(a.system())
	if err != nil {
		return mcpclient.Target{}, err
	}
	flags, err := a.entryFlags()
	return mcpclient.Target{Command: command, Args: append(append(args, "mcp"), flags...), Chosen: len(flags) > 0}, err
}

// choose returns the clients to work on; nil if there is nothing to do but what was shown.
func (c *setupCmd) choose(a *app, sys mcpclient.System, to mcpclient.Target) ([]mcpclient.Client, error) {
	if len(c.Client) > 0 && c.All {
		return nil, loci.Errorf(loci.Invalid, "--all takes no names of clients: leave them out")
	}
	if len(c.Client) > 0 {
		return mcpclient.Named(c.Client)
	}
	found := c.found(sys, to)
	if c.All && len(found) > 0 {
		return found, nil
	}
	all := c.list(a, sys, found, to)
	if len(found) == 0 || c.All || !isTerminal(a.stdin) || !isTerminal(a.rawOut) || a.json {
		return nil, nil
	}
	if all && !c.Remove {
		a.note("All of them are connected. \"loci setup NAME\" looks at one again, \"loci setup --remove\" takes it out.")
		return nil, nil
	}
	if c.DryRun {
		a.note("With --dry-run nothing is changed: you see what would be.")
	}
	chosen, err := c.ask(a, found)
	if err == nil && chosen == nil {
		a.note("Nothing was changed.")
	}
	return chosen, err
}

// found are the clients that are here or, to take Loci out, that name it.
func (c *setupCmd) found(sys mcpclient.System, to mcpclient.Target) (found []mcpclient.Client) {
	for _, client := range mcpclient.All() {
		if (sys.Has(client) || c.Remove && c.entered(sys, client, to)) && (!c.Project || client.HasProject()) {
			found = append(found, client)
		}
	}
	return found
}

// connected are the names of the clients on this machine whose files name Loci.
func (a *app) connected() (names []string) {
	c, sys := &setupCmd{}, a.system()
	to, err := c.server(a)
	if err != nil || !sys.HasHome() {
		return nil // setup says what is wrong
	}
	for _, client := range mcpclient.All() {
		if c.entered(sys, client, to) {
			names = append(names, client.Name)
		}
	}
	return names
}

// entered reports whether a client's file names Loci: also that of a client which is not here,
// or no longer.
func (c *setupCmd) entered(sys mcpclient.System, client mcpclient.Client, to mcpclient.Target) bool {
	outcome := c.setup().State(sys, client, to).Outcome
	return outcome == mcpclient.Connected || outcome == mcpclient.Differs
}

// list shows the clients that were found, and which of them know Loci already; all: each of them does.
func (c *setupCmd) list(a *app, sys mcpclient.System, found []mcpclient.Client, to mcpclient.Target) (all bool) {
	s, results := c.setup(), make([]mcpclient.Result, len(found))
	all = true
	rows := table{head: []string{"", "CLIENT", "STATE", "FILE"}}
	for i, client := range found {
		results[i] = s.State(sys, client, to)
		all = all && results[i].Outcome == mcpclient.Connected
		rows.add(strconv.Itoa(i+1), client.ID, results[i].InWords(), results[i].File)
	}
	if a.json {
		_ = a.printJSON(map[string]any{"clients": results})
		return all
	}
	rows.print(a)
	_ = a.out.Flush() // the remarks are about the list; what ends the run shows that it failed
	for _, r := range results {
		if r.Err != nil {
			a.note("%s: %s", r.Name, r.Error)
		}
	}
	switch {
	case len(found) == 0 && c.Remove:
		a.note("No client on this machine has Loci: there is nothing to take out.")
	case len(found) == 0:
		a.note("No client that setup knows was found on this machine. It knows %s. Start yours once and run this again, "+
			"or name it: \"loci setup NAME\" connects one that comes later. "+
			"\"loci setup --print\" shows what to enter in another.", strings.Join(mcpclient.IDs(), ", "))
	case !isTerminal(a.stdin) || !isTerminal(a.rawOut):
		a.note("\"loci setup NAME\" connects one of them, \"loci setup --all\" all.")
	}
	return all
}

// ask lets a person choose on the terminal.
func (c *setupCmd) ask(a *app, found []mcpclient.Client) ([]mcpclient.Client, error) {
	verb := "Connect"
	if c.Remove {
		verb = "Disconnect"
	}
	in := bufio.NewReader(a.input())
	for range mostAnswers {
		question := verb + " which? Type numbers or names; Enter means all of them, \"none\" means none:"
		a.printf("%s ", terminal.Wrap(question, terminalWidth(a.rawOut)-1, 0))
		if err := a.out.Flush(); err != nil {
			return nil, fileError("standard output", err)
		}
		line, err := in.ReadString('\n')
		switch {
		case a.ctx.Err() != nil:
			return nil, a.ctx.Err()
		case err != nil && line == "": // the end of input is a no, and no new line
			a.printf("\n")
			return nil, a.out.Flush()
		}
		chosen, err := chosen(line, found)
		if err == nil {
			return chosen, nil
		}
		a.note("loci: %s", loci.AsError(err).Msg)
	}
	return nil, &loci.Error{Code: loci.Invalid, Msg: "no answer was understood, so nothing was changed",
		Recovery: "Run it again, or name the clients: \"loci setup NAME\"."}
}

// mostAnswers is how often a question is put.
const mostAnswers = 3

// chosen are the clients that an answer means.
func chosen(line string, found []mcpclient.Client) ([]mcpclient.Client, error) {
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	switch strings.Join(words, " ") {
	case "", "all", "y", "yes":
		return found, nil
	case "none", "n", "no":
		return nil, nil
	}
	for i, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			if n < 1 || n > len(found) {
				return nil, loci.Errorf(loci.Invalid, "there is no number %d in the list", n)
			}
			words[i] = found[n-1].ID
		}
	}
	return mcpclient.Named(words)
}

// report shows what became of the clients.
func (c *setupCmd) report(a *app, results []mcpclient.Result) error {
	var failed error // the first; the caller shows it
	for _, r := range results {
		switch {
		case failed == nil:
			failed = r.Err
		case r.Err != nil:
			a.note("%s: %s", r.Name, r.Error)
		}
	}
	if a.json {
		return errors.Join(a.printJSON(map[string]any{"clients": results}), failed)
	}
	var changed []string
	for _, r := range results {
		switch r.Outcome {
		case mcpclient.Connected:
			a.printf("%s: connected, in %s\n", r.Name, r.File)
		case mcpclient.Removed:
			if r.Restored {
				a.printf("%s: no longer connected; %s has the entry again that was there before\n", r.Name, r.File)
				break
			}
			a.printf("%s: no longer connected; %s is without the entry\n", r.Name, r.File)
		case mcpclient.Unchanged:
			if c.Remove {
				a.printf("%s: was not connected\n", r.Name)
			} else {
				a.printf("%s: nothing to do, %s is right\n", r.Name, r.File)
			}
		case mcpclient.Planned:
			if a.printf("%s would be changed:\n%s", r.Name, r.Diff); r.Command != "" {
				a.printf("by its own command, which may lay the file out in another way: %s\n", r.Command)
			}
		}
		if r.Outcome == mcpclient.Connected || r.Outcome == mcpclient.Removed {
			changed = append(changed, r.Name)
		}
	}
	if len(changed) > 0 {
		if err := a.out.Flush(); err != nil { // what these are comes first
			return fileError("standard output", err)
		}
		which := "these programs"
		if len(changed) == 1 {
			which = changed[0]
		}
		a.note("Restart %s to apply this.", which)
		if cfg, err := a.configure(); c.Remove && err == nil {
			a.note("Memories stay. Yours are in %s.", cfg.Store)
		}
	}
	return failed
}

// print shows the entry: in the common form, or as the named clients write it.
func (c *setupCmd) print(a *app, to mcpclient.Target) error {
	chosen, err := mcpclient.Named(c.Client)
	if err != nil {
		return err
	}
	where := "For a client that setup does not know: put this where it keeps its MCP servers, beside what is there, and restart it."
	if len(chosen) == 0 {
		chosen = []mcpclient.Client{mcpclient.Common()}
	}
	for _, client := range chosen {
		text, err := client.Text(to)
		if err != nil {
			return err
		}
		if client.ID != "" {
			if where, err = c.whereTo(a, client); err != nil {
				return err
			}
		}
		if err := a.out.Flush(); err != nil { // each text below its own remark
			return fileError("standard output", err)
		}
		a.note("%s", where)
		a.printf("%s", text)
	}
	return nil
}

// whereTo says which file a printed entry belongs in, on this system and on others, and what
// makes the client read it.
func (c *setupCmd) whereTo(a *app, client mcpclient.Client) (string, error) {
	file, err := c.setup().File(a.system(), client)
	where := fmt.Sprintf("%s: put this into %s, beside what is there, and restart %s.", client.Name, file, client.Name)
	if elsewhere := client.Elsewhere(a.system()); !c.Project && len(elsewhere) > 0 {
		where += " The file is " + strings.Join(elsewhere, ", and ") + "."
	}
	return where, err
}

// entryFlags are the flags that were given and that belong to the entry, and those of more
// settings. A client starts its servers somewhere else, so that paths become absolute.
func (a *app) entryFlags(more ...string) ([]string, error) {
	given := a.flags.given()
	if a.flags.Config != nil {
		given["config"] = *a.flags.Config
	}
	var args []string
	keys := []string{"config", "store", "tenant", "user", "org", "agent", "thread", "session", "tools", "graph", "embedder", "log.level"}
	for _, key := range append(keys, more...) {
		value, ok := given[key]
		if !ok {
			continue
		}
		if path, isFile := strings.CutPrefix(value, "sqlite:"); key == "store" && isFile || key == "config" ||
			key == "graph" {
			if key != "store" {
				path = value
			}
			whole, err := filepath.Abs(path)
			if err != nil {
				return nil, fileError(path, err)
			}
			value = strings.TrimSuffix(value, path) + whole
		}
		args = append(args, "--"+strings.ReplaceAll(strings.TrimSuffix(key, ".mode"), ".", "-"), value)
	}
	return slices.Clip(args), nil
}
