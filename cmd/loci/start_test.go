package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/locitest"
)

// To run one command, the program builds the grammar of that command alone, wherever the global
// flags stand. Otherwise every start would pay for all commands.
func TestCommandsAreBuiltAlone(t *testing.T) {
	t.Parallel()
	var all cli
	whole, err := newParser(&all, &app{})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range whole.Model.Children {
		args := []string{"--json", "--store", "list", "--user=x", command.Name, "--tag", "y"}
		grammar, global := calledAlone(args)
		if command.Name == "__complete" {
			if grammar != nil {
				t.Errorf("%s is alone: it completes the names of the others", command.Name)
			}
			continue
		}
		if grammar == nil || global == nil {
			t.Errorf("%s is not built alone", command.Name)
			continue
		}
		alone, err := newParser(grammar, &app{})
		if err != nil {
			t.Fatal(err)
		}
		if len(alone.Model.Children) != 1 || len(alone.Model.Flags) != len(whole.Model.Flags) {
			t.Errorf("%s comes with %d commands and %d flags, want 1 and %d",
				command.Name, len(alone.Model.Children), len(alone.Model.Flags), len(whole.Model.Flags))
			continue
		}
		sameNode(t, alone.Model.Children[0], command)
	}
	for _, args := range [][]string{
		nil, {"--help"}, {"save", "--help"}, {"save", "-h"}, {"sav"}, {"--"}, {"--store", "save"}, {"__complete", "save"},
	} {
		if grammar, _ := calledAlone(args); grammar != nil {
			t.Errorf("%q is told by one command alone", args)
		}
	}
}

func sameNode(t *testing.T, have, want *kong.Node) {
	t.Helper()
	if have.Name != want.Name || have.Help != want.Help || len(have.Flags) != len(want.Flags) ||
		len(have.Children) != len(want.Children) || len(have.Positional) != len(want.Positional) {
		t.Errorf("alone %s has another form than among the others", have.FullPath())
		return
	}
	for i := range want.Children {
		sameNode(t, have.Children[i], want.Children[i])
	}
}

// Starting costs only what the one command needs, less than a thirtieth of building them all.
func TestVersionStartsAtLittleCost(t *testing.T) {
	allocs := locitest.Allocations(func() {
		var out, problems bytes.Buffer
		code := run(context.Background(), []string{"version"}, os.Stdin, &out, &problems, config.Environ{})
		if code != 0 || out.Len() == 0 {
			t.Errorf("exit code %d: %s", code, problems.String())
		}
	})
	if limit := 4100.0; allocs > limit {
		t.Errorf("loci version allocates %.0f times, more than %.0f", allocs, limit)
	}
}
