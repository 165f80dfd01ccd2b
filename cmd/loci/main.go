// Command loci is the memory of AI agents: an MCP server, and the same memory at
// the command line.
package main

//go:generate sh -c "go run . config reference > ../../docs/configuration.md"

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
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

// run is the whole program without the process around it; it returns the exit code.
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
	// The output is written even if the command failed later. A pipe that cannot take it
	// is a failure: otherwise a full disk would look like success.
	// The command itself may have failed at it, too, in the middle of a long output.
	if flushed := a.out.Flush(); flushed != nil && (err == nil || errors.Is(err, flushed)) {
		err = fileError("standard output", flushed)
	}
	if a.closing != "" {
		a.note("%s", a.closing)
	}
	if closed := a.close(); closed != nil && err == nil {
		err = closed
	}
	return a.report(err)
}

// command parses the arguments and runs the command they name.
func (a *app) command(args []string) error {
	// This is known before parsing, so that a mistake in the arguments is reported as
	// JSON, too.
	a.json = slices.Contains(args[:endOfFlags(args)], "--json")
	if len(args) == 0 && isTerminal(a.rawOut) {
		a.flags = &flags{}
		return a.welcome()
	}
	if err := cmp.Or(areText(args), areFew(args)); err != nil {
		return err
	}
	args, err := a.withNext(asFlags(args))
	if err != nil {
		return err
	}
	a.args = args
	var parsed *kong.Context
	var global *flags
	parse := func() (err error) {
		parsed, global, err = a.parse(args)
		return err
	}
	if asksHelp(args) && !a.json && isTerminal(a.rawOut) {
		err = a.paged(parse) // which shows it
	} else {
		err = parse()
	}
	if err != nil {
		return err
	}
	a.flags, a.json = global, global.JSON
	if err := checkEmpty(parsed); err != nil {
		return err
	}
	if node := parsed.Selected(); node != nil {
		a.called = pathOf(node)
	}
	if a.json || !slices.Contains(paging, a.called) || !isTerminal(a.rawOut) {
		return parsed.Run(a)
	}
	return a.paged(func() error { return parsed.Run(a) })
}

// checkEmpty refuses flags that are empty, which comes of a variable that a script did not set:
// the command would not be safe to repeat, or look at more than is meant.
func checkEmpty(parsed *kong.Context) error {
	named := []string{"idempotency-key", "id", "in"}
	for _, part := range parsed.Path {
		if part.Flag != nil && slices.Contains(named, part.Flag.Name) && part.Flag.Target.String() == "" {
			return loci.Errorf(loci.Invalid, "--%s must not be empty: leave it out, or give it a value", part.Flag.Name)
		}
	}
	return nil
}

// parse reads the arguments. Building the whole command line takes longer than most
// commands do, so parse builds only the command that is called. Faults and help need the
// whole.
func (a *app) parse(args []string) (*kong.Context, *flags, error) {
	if grammar, global := calledAlone(args); grammar != nil {
		parser, err := newParser(grammar, a)
		if err != nil {
			return nil, nil, err
		}
		if parsed, err := parser.Parse(args); err == nil {
			return parsed, global, nil
		}
	}
	var c cli
	parser, err := newParser(&c, a)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return nil, nil, usageError(err)
	}
	return parsed, &c.flags, nil
}

// calledAlone is a command line with only the command that the arguments name, or nil if
// it takes all commands to tell.
func calledAlone(args []string) (grammar any, global *flags) {
	asks := func(arg string) bool { return arg == "--help" || strings.HasPrefix(arg, "-h") }
	name := calledName(args)
	if name == "" || slices.ContainsFunc(args, asks) {
		return nil, nil
	}
	for field := range reflect.TypeFor[cli]().Fields() {
		if field.Anonymous || field.Type == reflect.TypeFor[completeCmd]() || // which looks at all the others
			cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) != name {
			continue
		}
		alone := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "Flags", Type: reflect.TypeFor[flags](), Tag: `embed:""`},
			{Name: field.Name, Type: field.Type, Tag: field.Tag},
		}))
		return alone.Interface(), alone.Elem().Field(0).Addr().Interface().(*flags)
	}
	return nil, nil
}

// calledName is the first argument that is no flag and no value of a flag of every command.
func calledName(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--json" || strings.HasPrefix(args[i], "--") && strings.Contains(args[i], "="):
		case len(args[i]) > 2 && strings.HasPrefix(args[i], "--"):
			i++ // its value
		case strings.HasPrefix(args[i], "-"):
			return ""
		default:
			return args[i]
		}
	}
	return ""
}

func endOfFlags(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

// newParser builds a command line; its help goes to the app's standard output.
func newParser(grammar any, a *app) (*kong.Kong, error) {
	help := kong.Vars{}
	for _, s := range config.Settings() {
		if s.Flag == "" { // each flag of each command costs a copy of all of them
			continue
		}
		text := s.Help
		if s.Default != "" {
			text += " Default: " + s.Default + "."
		}
		text += " [$" + s.Env() + "]"
		help[strings.ReplaceAll(s.Key, ".", "_")] = text
	}
	return kong.New(grammar, kong.Name("loci"), kong.Description(description), help,
		kong.NoDefaultHelp(), kong.Writers(a.out, a.err), kong.Bind(a),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, NoExpandSubcommands: true, WrapUpperBound: min(100, terminalWidth(a.rawOut)),
		}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "memory", Title: "Memory:"},
			{Key: "life", Title: "Life of a memory:"},
			{Key: "upkeep", Title: "Upkeep:"},
			{Key: "agent", Title: "Agents:"},
			{Key: "server", Title: "A server for many:"},
			{Key: "about", Title: "About loci:"},
			{Key: "global", Title: "Flags of every command:"},
		}))
}
