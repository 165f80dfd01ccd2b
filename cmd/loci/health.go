package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
)

// healthTime is how long a server may take to say that it is well.
const healthTime = 3 * time.Second

type healthCmd struct{}

// Help is shown below the usage.
func (*healthCmd) Help() string {
	return `Asks the server at the address of --listen. The exit code is 0 if it is well, and 6 if not: for the health checks of containers.

    loci health --listen 127.0.0.1:7437`
}

// Run asks once.
func (*healthCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, healthTime)
	defer cancel()
	client, address, err := cfg.HTTP.Binding.Client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	address += "/healthz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return loci.Errorf(loci.Invalid, "--listen gives no usable address: %v", err)
	}
	reply, err := client.Do(request)
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Msg: "no server answers: " + err.Error(), Err: err,
			Recovery: "Start it with \"loci serve\", or give the address of another one with --listen."}
	}
	_, err = io.Copy(io.Discard, io.LimitReader(reply.Body, 1<<20))
	if err = errors.Join(err, reply.Body.Close()); err != nil {
		return loci.Errorf(loci.Unavailable, "%s ended early: %v", address, err)
	}
	if reply.StatusCode != http.StatusOK {
		return loci.Errorf(loci.Unavailable, "%s says %s", address, reply.Status)
	}
	if a.json {
		return a.printJSON(map[string]string{"status": "ok", "address": address})
	}
	a.printf("well: %s\n", address)
	return nil
}
