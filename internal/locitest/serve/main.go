// Serve starts a throwaway database server and runs a command beside it, whose tests share the server. Without a
// command it runs until it is interrupted, and prints how to make Loci's tables there: a MongoDB alone, as the user of
// a throwaway PostgreSQL may do what Loci refuses.
//
//	go run ./internal/locitest/serve postgres go test ./item ./session
//	go run ./internal/locitest/serve mongo [COMMAND ARGUMENT…]
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case len(args) > 1 && args[0] == "postgres":
		s, err := pgtest.Start(ctx, pgtest.Options{})
		if err != nil {
			return err
		}
		return errors.Join(beside(ctx, args[1:], pgtest.Variable+"="+s.URL), s.Stop())
	case len(args) > 0 && args[0] == "mongo":
		s, err := mongotest.Start(ctx, mongotest.Options{})
		if err != nil {
			return err
		}
		if len(args) > 1 {
			return errors.Join(beside(ctx, args[1:], mongotest.Variable+"="+s.URL), s.Stop())
		}
		_, err = fmt.Fprintln(os.Stdout, "loci migrate --store", "'"+s.At("loci")+"'")
		if err == nil {
			<-ctx.Done()
		}
		return errors.Join(err, s.Stop())
	}
	return errors.New("go run ./internal/locitest/serve postgres COMMAND ARGUMENT…, or mongo with a command or without")
}

// beside runs a command that finds the server by a variable.
func beside(ctx context.Context, command []string, variable string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variable)
	return cmd.Run()
}
