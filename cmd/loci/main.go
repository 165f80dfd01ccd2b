// Command loci is the memory of AI agents: an MCP server, and the same memory at
// the command line.
package main

//go:generate sh -c "go run . config reference > ../../docs/configuration.md"

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// run is the whole program but for the process around it; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env config.Environ) (code int) {
	a := &app{ctx: ctx, stdin: stdin, rawOut: stdout, out: bufio.NewWriter(stdout), err: stderr, env: env}
	defer func() {
		if p := recover(); p != nil {
			_, _ = fmt.Fprintf(stderr, "loci: a defect stopped the command: %v\n%s", p, debug.Stack())
			code = exitInternal
		}
	}()
	err := a.command(args)
	if errors.Is(err, errHelp) {
		err = nil
	}
	// What was written goes out also when the command failed later. A pipe that
	// cannot take it is a failure, or a full disk would look like success.
	if flushed := a.out.Flush(); flushed != nil && err == nil {
		err = fileError("standard output", flushed)
	}
	if closed := a.close(); closed != nil && err == nil {
		err = closed
	}
	return a.report(err)
}

// command parses the arguments and runs the command they name.
func (a *app) command(args []string) error {
	// Known before parsing, so that a mistake in the arguments is told in JSON, too.
	a.json = slices.Contains(args[:endOfFlags(args)], "--json")
	var c cli
	parser, err := newParser(&c, a)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usageError(err)
	}
	a.flags, a.json = &c.flags, c.JSON
	return parsed.Run(a)
}

func endOfFlags(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

// newParser builds the command line; its help goes to the app's standard output.
func newParser(c *cli, a *app) (*kong.Kong, error) {
	help := kong.Vars{}
	for _, s := range config.Settings() {
		text := s.Help
		if s.Default != "" {
			text += " Default: " + s.Default + "."
		}
		if s.Flag != "" {
			text += " [$" + s.Env() + "]"
		}
		help[strings.ReplaceAll(s.Key, ".", "_")] = text
	}
	return kong.New(c, kong.Name("loci"), kong.Description(description), help,
		kong.NoDefaultHelp(), kong.Writers(a.out, a.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "memory", Title: "Memory:"},
			{Key: "life", Title: "Life of a memory:"},
			{Key: "upkeep", Title: "Upkeep:"},
			{Key: "agent", Title: "Agents:"},
			{Key: "about", Title: "About loci:"},
			{Key: "global", Title: "Flags of every command:"},
		}))
}

// errHelp says that help was asked for and shown.
var errHelp = errors.New("help was shown")

// A helpFlag shows help in place of running a command.
type helpFlag bool

// BeforeReset runs before arguments are checked, so that help needs none.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelp
}

// usageError is Invalid for arguments that do not fit the command line.
func usageError(err error) error {
	if errors.Is(err, errHelp) {
		return err
	}
	where := "loci"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			where = node.FullPath()
		}
	}
	return &loci.Error{Code: loci.Invalid, Msg: err.Error(), Err: err, Recovery: "See \"" + where + " --help\"."}
}
