package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/server"
)

// healthTime is how long a server may take to say that it is well.
const healthTime = 3 * time.Second

type healthCmd struct {
	Ready bool `help:"Check that the server can take requests: it reaches its store and is not about to end."`
}

// Help is shown below the usage.
func (*healthCmd) Help() string {
	return `Asks the server at the address of --listen. The exit code is 0 if the server is well, else 6, as container health checks want it.

    loci health --listen 127.0.0.1:7437`
}

// Run asks once.
func (c *healthCmd) Run(a *app) error {
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
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	address += path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return loci.Errorf(loci.Invalid, "--listen gives no usable address: %v", err)
	}
	reply, err := client.Do(request)
	if err != nil {
		msg := "no server answers: " + err.Error()
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" && dial.Addr != nil {
			msg = "no server answers at " + dial.Addr.String() + ": " + dial.Err.Error()
			if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
				msg = "no server answers: nothing listens at " + dial.Addr.String()
			}
		}
		return &loci.Error{Code: loci.Unavailable, Msg: msg, Err: err,
			Recovery: "Start it with \"loci serve\", or give the address of another one with --listen."}
	}
	said, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	if err = errors.Join(err, reply.Body.Close()); err != nil {
		return loci.Errorf(loci.Unavailable, "%s ended early: %v", address, err)
	}
	if reply.StatusCode != http.StatusOK {
		var why struct {
			Detail string `json:"detail"`
		}
		if json.Unmarshal(said, &why) == nil && why.Detail != "" { // another program may answer anything
			return loci.Errorf(loci.Unavailable, "%s says %s: %s", address, reply.Status, why.Detail)
		}
		return loci.Errorf(loci.Unavailable, "%s says %s", address, reply.Status)
	}
	if a.json {
		return a.printJSON(map[string]string{"status": "ok", "address": address})
	}
	a.printf("well: %s\n", address)
	return nil
}

// servings is the file in which servers leave word where they are and which store they have.
func (a *app) servings() string {
	return filepath.Join(config.StateDir(a.env), "loci", "serving.json")
}

// leaveWord says for whoever finds an address taken what is served there, until the function
// it returns is called. Nothing depends on it, so a failure is none of the server's.
func (a *app) leaveWord(urls []string) func() {
	change := func(what func(stores map[string]string)) {
		if !filepath.IsAbs(a.servings()) { // there is no home
			return
		}
		stores := a.served()
		what(stores)
		if data, err := json.Marshal(stores); err == nil {
			_ = replaceFile(a.servings(), data)
		}
	}
	store := shownURL(a.cfg.Store)
	change(func(stores map[string]string) {
		for _, url := range urls {
			stores[url] = store
		}
	})
	return func() {
		if _, err := os.Stat(a.servings()); err != nil { // nobody's word is left to take back
			return
		}
		change(func(stores map[string]string) {
			for _, url := range urls {
				delete(stores, url)
			}
		})
	}
}

// served are the stores of the servers that left word, by address.
func (a *app) served() map[string]string {
	stores := map[string]string{}
	if data, err := os.ReadFile(a.servings()); err == nil {
		_ = json.Unmarshal(data, &stores)
	}
	return stores
}

// takenBy adds to an address that is taken that another Loci has it, and with which store.
func (a *app) takenBy(b *server.Binding, err error) error {
	e := *loci.AsError(err)
	if e.Code != loci.Unavailable {
		return err
	}
	url, ok := another(a.ctx, b)
	if !ok {
		return err
	}
	e.Msg += "; another Loci answers at " + url
	if store := a.served()[url]; store != "" {
		e.Msg += ", with the memory in " + store
	}
	e.Recovery = "Use that one, end it, or choose another address with --listen."
	return &e
}

// another asks whether a Loci answers where this one was to listen.
func another(ctx context.Context, b *server.Binding) (url string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	client, url, err := b.Client()
	if err != nil {
		return "", false
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/info", nil)
	if err != nil {
		return "", false
	}
	reply, err := client.Do(request)
	if err != nil {
		return "", false
	}
	defer reply.Body.Close() //nolint:errcheck // it is only read
	var info struct{ Name string }
	for _, address := range slices.Backward(b.Addresses) { // the first socket is the one that was asked
		if strings.HasPrefix(address, "unix:") {
			url = address
		}
	}
	named := json.NewDecoder(io.LimitReader(reply.Body, 1<<16)).Decode(&info) == nil && info.Name == "loci"
	return url, named || strings.Contains(reply.Header.Get("WWW-Authenticate"), `realm="loci"`)
}
