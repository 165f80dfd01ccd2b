package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/terminal"
)

// errHelp says that help was asked for and shown.
var errHelp = errors.New("help was shown")

// helpColumns is where lines of help end.
const helpColumns = 80

// A helpFlag shows help in place of running a command. It lists the flags of every command by
// their names alone; otherwise the commands, or a command's own flags, would be lost among
// them.
type helpFlag bool

// BeforeReset runs before arguments are checked, so that help needs none.
func (helpFlag) BeforeReset(ctx *kong.Context, a *app) error {
	asked := ctx.Model.Name
	if command := ctx.Selected(); command != nil {
		asked += " " + pathOf(command)
	}
	var common []string
	for _, flag := range ctx.Model.Flags {
		if flag.Group != nil && flag.Group.Key == "global" {
			flag.Hidden = true
			common = append(common, "--"+flag.Name)
		}
	}
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	width, room := 0, min(helpColumns, terminalWidth(a.rawOut))
	lines := "\n"
	if ctx.Selected() == nil {
		lines += terminal.Wrap(`"loci COMMAND --help" explains a command, or lists the commands below it.`, room, 0) + "\n\n"
	}
	lines += terminal.Wrap("Flags of every command, explained by "+asked+" --help-all:", room, 0)
	for _, name := range common {
		if width -= len(name) + 1; width < 0 {
			lines += "\n "
			width = room - len(name) - 2
		}
		lines += " " + name
	}
	if _, err := fmt.Fprintln(ctx.Stdout, lines); err != nil {
		return err
	}
	return endHelp(ctx)
}

// endHelp writes what stands below the help of the whole program: the exit codes come last,
// since who asks for help looks for a command.
func endHelp(ctx *kong.Context) error {
	if ctx.Selected() == nil {
		if _, err := fmt.Fprintf(ctx.Stdout, "\n%s\n", exitCodesHelp); err != nil {
			return err
		}
	}
	return errHelp
}

// A helpAllFlag shows help with the flags of every command.
type helpAllFlag bool

// BeforeReset runs before arguments are checked.
func (helpAllFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return endHelp(ctx)
}

// asksHelp reports whether arguments ask for help: it is shown instead of what they name.
func asksHelp(args []string) bool {
	return slices.ContainsFunc(args[:endOfFlags(args)], func(arg string) bool {
		return arg == "--help" || arg == "--help-all" || arg == "-h"
	})
}

// asFlags are the arguments with the words that other programs take for help and
// version in place of the flags: "loci help save", "loci --version".
func asFlags(args []string) []string {
	switch {
	case len(args) == 0:
		return args
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}
