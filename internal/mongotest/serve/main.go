// Serve starts a throwaway server that speaks as MongoDB does. It runs a command beside it, whose
// tests share the server; without one it prints its URL and runs until it is interrupted.
//
//	go run ./internal/mongotest/serve [COMMAND ARGUMENT…]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/loci-memory/loci/internal/mongotest"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := mongotest.Start(ctx, mongotest.Options{})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), mongotest.Variable+"="+s.URL)
		return errors.Join(cmd.Run(), s.Stop())
	}
	if _, err := fmt.Fprintln(os.Stdout, "loci migrate --store", "'"+s.At("loci")+"'"); err != nil {
		return errors.Join(err, s.Stop())
	}
	<-ctx.Done()
	return errors.Join(s.Stop())
}
