package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/server"
)

// hangups returns the signals that ask for the configuration to be read again. From now
// on such a signal does not end the process.
func hangups() (asked <-chan os.Signal, stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup, func() { signal.Stop(hup) }
}

// reloads reads the configuration again whenever that is asked for, until ctx ends.
func (a *app) reloads(ctx context.Context, s *server.Server, asked <-chan os.Signal) {
	now := a.cfg
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			now = a.reload(s, now)
		}
	}
}

// reload reads the configuration again, and returns the one that counts from now on. One
// that is not valid changes nothing. Of what cannot change while a server runs it says so:
// beside the configuration that the server started with.
func (a *app) reload(s *server.Server, now *config.Config) *config.Config {
	next, err := config.Load(a.env, a.flags.Config, a.flags.given())
	if err == nil {
		err = s.SetLimits(next.HTTP.Limits)
	}
	if err != nil {
		a.logger().Error("the configuration stays as it is", "error", err)
		return now
	}
	a.level.Set(next.LogLevel)
	a.tokens.Store(next.HTTP.Tokens)
	live, _ := now.Changed(next)
	_, fixed := a.cfg.Changed(next)
	a.logger().Info("the configuration was read again", "changed", live)
	if len(fixed) > 0 {
		a.logger().Warn("settings have changed that count when loci serve starts again", "settings", fixed)
	}
	return next
}
