// Serve starts a throwaway PostgreSQL, runs a command with LOCI_TEST_POSTGRES set to its
// URL, and stops it: for many packages of tests that share one.
//
//	go run ./internal/pgtest/serve go test ./item ./session
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/loci-memory/loci/internal/pgtest"
)

func main() {
	err := run(os.Args[1:])
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("a command is missing: go run ./internal/pgtest/serve COMMAND ARGUMENT")
	}
	ctx := context.Background()
	s, err := pgtest.Start(ctx, pgtest.Options{})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.Variable+"="+s.URL)
	return errors.Join(cmd.Run(), s.Stop())
}
