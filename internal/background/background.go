// Package background makes a program run without a terminal: as a service of systemd, or a
// job of launchd. It writes their files and asks them to take notice.
package background

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// A Service is what is to run.
type Service struct {
	Program string   // an absolute path
	Args    []string // "serve" and its flags

	// Machine: for the machine and all of its users, not for the caller alone.
	Machine bool

	// Address, when not empty, is where systemd listens until the first caller comes; the
	// program takes the socket over, which Args must say.
	Address string
}

// A System is where a service is installed.
type System struct {
	OS  string                   // as in GOOS
	Get func(name string) string // of a variable of the environment
	UID int                      // of the user

	// Root is put before the path of each file of the machine; "": nothing.
	Root string
}

// A File is one that a service consists of.
type File struct {
	Path string
	Text []byte
	Stop []string // the command that ends what it describes, before it goes
}

// A Plan is what it takes to install a service, or to take it away.
type Plan struct {
	Files []File     // that are written, or deleted
	Apart string     // a file of the other form of the service, which must not be there; "": none
	Clear [][]string // commands that end one of before; they fail where there is none
	Start [][]string // commands that start it, in order
	After [][]string // commands after its files have gone
	State []string   // the command whose exit code is 0 if it runs
}

// mark begins every file that was made here, so that no other is overwritten or deleted.
const mark = `Made by "loci service install"; "loci service remove" takes it away.`

// For makes the plan for a service. Invalid: the system has no such services, or a part of it
// cannot be written into its files.
func (sys System) For(s *Service) (*Plan, error) {
	if !filepath.IsAbs(s.Program) && sys.OS != "windows" {
		return nil, loci.Errorf(loci.Internal, "the program of a service is %q, which is not an absolute path", s.Program)
	}
	for _, part := range append([]string{s.Program, s.Address}, s.Args...) {
		if strings.ContainsAny(part, "\x00\n\r") {
			return nil, loci.Errorf(loci.Invalid, "%q has a line break or a zero byte, which the file of a service cannot say", part)
		}
	}
	switch sys.OS {
	case "linux":
		return sys.systemd(s)
	case "darwin":
		return sys.launchd(s)
	}
	command := "loci serve"
	if len(s.Args) > 0 { // of the service to be, not of one that is looked for
		command = s.Program + " " + strings.Join(s.Args, " ")
	}
	return nil, &loci.Error{Code: loci.Invalid, Msg: "services are installed for systemd and launchd, and " + sys.OS + " has neither",
		Recovery: "Let the system's own scheduler run this at each logon: " + command}
}

// place is a directory of the machine's own or of the user's.
func (sys System) place(machine bool, machines string, users ...string) (string, error) {
	if machine {
		return filepath.Join(sys.Root, machines), nil
	}
	home := sys.Get("HOME")
	if !filepath.IsAbs(home) {
		return "", &loci.Error{Code: loci.Invalid, Msg: "no home directory is set, so there is no place for a service of the user's own",
			Recovery: "Set HOME, or install it for the machine with --machine."}
	}
	return filepath.Join(append([]string{home}, users...)...), nil
}

// Install writes the files and starts the service. changed is false if everything was there
// already, as it should be. With wait the service is only written. When it cannot be started,
// what stood there before stands there again.
func (p *Plan) Install(ctx context.Context, replace, wait bool) (changed bool, err error) {
	if p.Apart != "" {
		if there, err := p.present(p.Apart); err != nil {
			return false, err
		} else if there != nil {
			return false, &loci.Error{Code: loci.Conflict, Msg: p.Apart + " is there, and would hold the service's address",
				Recovery: "\"loci service remove\" takes it away; then install the service again."}
		}
	}
	before := make([][]byte, len(p.Files))
	for i, f := range p.Files {
		if before[i], err = p.present(f.Path); err != nil {
			return false, err
		}
		switch ours := bytes.Contains(before[i], []byte(mark)); {
		case before[i] != nil && !ours && !replace:
			return false, &loci.Error{Code: loci.Conflict, Msg: f.Path + " is there, and not made by this command",
				Recovery: "Look at it. --replace overwrites it."}
		case !bytes.Equal(before[i], f.Text):
			changed = true
		}
	}
	undo := func(cause error) error {
		for i, f := range p.Files {
			if before[i] == nil {
				cause = errors.Join(cause, gone(os.Remove(f.Path)))
			} else {
				cause = errors.Join(cause, write(f.Path, before[i]))
			}
		}
		return cause
	}
	for _, f := range p.Files {
		if err := write(f.Path, f.Text); err != nil {
			return false, undo(err)
		}
	}
	if wait {
		return changed, nil
	}
	for _, command := range p.Clear {
		_ = run(ctx, command)
	}
	for _, command := range p.Start {
		if err := run(ctx, command); err != nil {
			return false, undo(err)
		}
	}
	return changed, nil
}

// Remove ends the service and deletes its files. found is false if there were none.
func (p *Plan) Remove(ctx context.Context) (found bool, err error) {
	var stop [][]string
	for _, f := range p.Files {
		text, err := p.present(f.Path)
		if err != nil {
			return false, err
		}
		if text != nil && !bytes.Contains(text, []byte(mark)) {
			return false, &loci.Error{Code: loci.Conflict, Msg: f.Path + " was not made by this command",
				Recovery: "Look at it, and delete it yourself."}
		}
		if text != nil {
			stop = append(stop, f.Stop)
		}
	}
	if stop == nil {
		return false, nil
	}
	var failed error // a service that cannot be ended, since nothing runs here, must still be removable
	for _, command := range stop {
		failed = errors.Join(failed, run(ctx, command))
	}
	for _, f := range p.Files {
		if err := gone(os.Remove(f.Path)); err != nil {
			return true, errors.Join(failed, err)
		}
	}
	for _, command := range p.After {
		failed = errors.Join(failed, run(ctx, command))
	}
	return true, failed
}

// Status says which of the files are there, and whether the service runs.
func (p *Plan) Status(ctx context.Context) (files []string, runs bool, err error) {
	for _, f := range p.Files {
		text, err := p.present(f.Path)
		if err != nil {
			return nil, false, err
		}
		if text != nil {
			files = append(files, f.Path)
		}
	}
	if len(files) == 0 {
		return nil, false, nil
	}
	err = exec.CommandContext(ctx, p.State[0], p.State[1:]...).Run()
	var said *exec.ExitError
	if errors.As(err, &said) {
		return files, false, nil
	}
	if err != nil {
		return files, false, &loci.Error{Code: loci.Unavailable, Msg: p.State[0] + " cannot say whether it runs: " + err.Error(), Err: err}
	}
	return files, true, nil
}

// present reads a file; nil: there is none. It follows no link: what a link names is not ours.
func (p *Plan) present(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, &loci.Error{Code: loci.Conflict, Msg: path + " is no file", Recovery: "Look at it, and remove it yourself."}
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, oserror.Of("read "+path, err)
	}
	return text, nil
}

// write writes a file beside its place and renames it, so that nobody reads half of it.
func write(path string, text []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return errors.Join(oserror.Of("write "+path, err), gone(os.Remove(path+".new")))
	}
	return nil
}

// gone passes over that a file was not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func run(ctx context.Context, command []string) error {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	return &loci.Error{Code: loci.Unavailable, Err: err, Msg: fmt.Sprintf("%s: %s", strings.Join(command, " "), said),
		Recovery: "Where services do not run, as in most containers, start \"loci serve\" yourself."}
}
