// Serve starts a throwaway server that speaks as MongoDB does, prints its URL and runs until
// it is interrupted.
//
//	go run ./internal/mongotest/serve
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/loci-memory/loci/internal/mongotest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := mongotest.Start(ctx, mongotest.Options{})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, "loci migrate --store", "'"+s.At("loci")+"'"); err != nil {
		return errors.Join(err, s.Stop())
	}
	<-ctx.Done()
	return errors.Join(s.Stop())
}
