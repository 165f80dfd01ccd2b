package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/background"
	"github.com/loci-memory/loci/internal/mcpclient"
)

// machineStore is where the service of a machine may write.
const machineStore = "/var/lib/loci"

type serviceCmd struct {
	Install serviceInstallCmd `cmd:"" help:"Write the service, start it now and at each logon or start of the machine."`
	Remove  serviceRemoveCmd  `cmd:"" help:"End the service and delete its files. Memories stay."`
	Status  serviceStatusCmd  `cmd:"" help:"Say where the service is, and whether it runs. The exit code is 0 if it does, else 6."`
}

// whichService is what the commands of a service have in common.
type whichService struct {
	Machine bool `help:"For the machine, in a sandbox, with its memory in /var/lib/loci. Otherwise for you."`
	Socket  bool `help:"Let systemd listen, and start the server with the first caller."`
}

type serviceInstallCmd struct {
	whichService

	Replace bool `help:"Overwrite files of this name that something else made."`
	NoStart bool `help:"Write the files and start nothing."`
	DryRun  bool `help:"Show the files and the commands, and do nothing."`
}

// Help is shown below the usage.
func (*serviceInstallCmd) Help() string {
	return `Runs "loci serve" in the background, with the flags given here: a unit of systemd on Linux, a job of launchd on macOS. Without
--machine it is yours alone and uses your memory. To change the flags, install it again with new ones.

    loci service install
    loci service install --listen 127.0.0.1:8000 --tools all
    sudo loci service install --machine --config /etc/loci/loci.yaml`
}

// plan says what the service consists of, with the flags of this call.
func (w *whichService) plan(a *app) (*background.Plan, error) {
	path, err := serviceProgram(a)
	if err != nil {
		return nil, err
	}
	service := &background.Service{Program: path, Machine: w.Machine}
	keys := []string{"auth.mode"}
	if !w.Socket {
		keys = append(keys, "listen")
	}
	flags, err := a.entryFlags(keys...)
	if err != nil {
		return nil, err
	}
	if service.Args = append([]string{"serve"}, flags...); w.Socket {
		cfg, err := a.configure()
		if err != nil {
			return nil, err
		}
		if listen := cfg.HTTP.Binding.Addresses; len(listen) != 1 || listen[0] == "systemd" {
			return nil, loci.Errorf(loci.Invalid, "--socket takes one address; --listen is %s", strings.Join(listen, ", "))
		}
		service.Address = strings.TrimPrefix(cfg.Listen, "unix:")
		service.Args = append(service.Args, "--listen", "systemd")
	}
	if w.Machine {
		if err := shutIn(a, service); err != nil {
			return nil, err
		}
	}
	sys := background.System{OS: runtime.GOOS, Get: a.env.Get, UID: os.Getuid()}
	return sys.For(service)
}

// serviceProgram is the path of this program that a service can start at any time.
func serviceProgram(a *app) (string, error) {
	path, fetcher, err := mcpclient.Self(a.system())
	if err == nil && len(fetcher) > 0 {
		err = &loci.Error{Code: loci.Invalid, Msg: "this program lies in the cache of " + path + ", which may be emptied at any time",
			Recovery: "Install Loci for good (npm install -g, pipx install, or a package), then install the service."}
	}
	return path, err
}

// shutIn gives the service of a machine its store, and refuses what its sandbox keeps from it.
func shutIn(a *app, s *background.Service) error {
	given := a.flags.given()["store"]
	if given == "" && a.flags.Config == nil {
		s.Args = append(s.Args, "--store", "sqlite:"+machineStore+"/loci.db")
	}
	path, isFile := strings.CutPrefix(given, "sqlite:")
	if rest, err := filepath.Rel(machineStore, path); isFile && (err != nil || !filepath.IsLocal(rest)) {
		return loci.Errorf(loci.Invalid, "the service of a machine writes only below %s; --store is %s", machineStore, given)
	}
	for _, dir := range []string{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"} {
		if strings.HasPrefix(s.Program, dir) {
			return &loci.Error{Code: loci.Invalid, Msg: "the service of a machine sees nothing of " + dir + ", and this program is " + s.Program,
				Recovery: "Copy it to /usr/local/bin and install the service with that one."}
		}
	}
	return nil
}

// Run installs the service.
func (c *serviceInstallCmd) Run(a *app) error {
	plan, err := c.plan(a)
	if err != nil {
		return err
	}
	if c.DryRun {
		return showPlan(a, plan, c.NoStart)
	}
	changed, err := plan.Install(a.ctx, c.Replace, c.NoStart)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"files": pathsOf(plan), "changed": changed, "started": !c.NoStart})
	}
	for _, path := range pathsOf(plan) {
		a.printf("%s\n", path)
	}
	switch {
	case c.NoStart:
		a.note("written, not started")
	case !changed:
		a.note("it was there already, and runs")
	default:
		a.note("it runs; \"loci service status\" asks it, \"loci service remove\" takes it away")
	}
	if runtime.GOOS == "linux" && !c.Machine {
		a.note("it ends when you log out, unless \"loginctl enable-linger\" says otherwise")
	}
	return nil
}

func pathsOf(p *background.Plan) (paths []string) {
	for _, f := range p.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// showPlan prints what an installation would write and run.
func showPlan(a *app, p *background.Plan, wait bool) error {
	commands := [][]string{}
	if !wait {
		commands = append(commands, p.Start...)
	}
	if a.json {
		files := map[string]string{}
		for _, f := range p.Files {
			files[f.Path] = string(f.Text)
		}
		return a.printJSON(map[string]any{"files": files, "commands": commands})
	}
	for _, f := range p.Files {
		a.printf("%s:\n%s\n", f.Path, f.Text)
	}
	for _, command := range commands {
		a.printf("%s\n", strings.Join(command, " "))
	}
	return nil
}

type serviceRemoveCmd struct {
	Machine bool `help:"The service of the machine, not your own."`
}

// installed is the plan of the service that may be there, whatever flags it was given.
func installed(a *app, machine bool) (*background.Plan, error) {
	s := &background.Service{Program: "/loci", Machine: machine}
	if runtime.GOOS == "linux" {
		s.Address = "127.0.0.1:7437"
	}
	sys := background.System{OS: runtime.GOOS, Get: a.env.Get, UID: os.Getuid()}
	return sys.For(s)
}

// Run removes the service.
func (c *serviceRemoveCmd) Run(a *app) error {
	plan, err := installed(a, c.Machine)
	if err != nil {
		return err
	}
	found, err := plan.Remove(a.ctx)
	if err != nil {
		if found {
			a.note("its files are deleted, but the system's manager of services did not answer")
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"removed": found})
	}
	if !found {
		a.note("there is no service")
		return nil
	}
	a.note("removed; its memories stay, and \"loci doctor\" with its flags says where")
	return nil
}

type serviceStatusCmd struct {
	Machine bool `help:"The service of the machine, not your own."`
}

// Run says whether the service runs.
func (c *serviceStatusCmd) Run(a *app) error {
	plan, err := installed(a, c.Machine)
	if err != nil {
		return err
	}
	files, runs, err := plan.Status(a.ctx)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"files": append([]string{}, files...), "runs": runs}); err != nil {
			return err
		}
	}
	switch {
	case len(files) == 0:
		return &loci.Error{Code: loci.Unavailable, Msg: "no service is installed", Recovery: "loci service install makes one."}
	case !runs:
		return &loci.Error{Code: loci.Unavailable, Msg: "the service does not run: " + strings.Join(files, ", "),
			Recovery: "Its log says why: journalctl --user -u loci, or ~/Library/Logs/loci.log."}
	case !a.json:
		a.printf("runs: %s\n", strings.Join(files, ", "))
	}
	return nil
}
