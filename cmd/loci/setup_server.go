package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
)

// tryTime is how long setup waits for the server that it is about to enter.
const tryTime = 20 * time.Second

// tryServer starts the server as a client would and asks for its tools: an entry that
// cannot work is not written.
func (a *app) tryServer(to target) error {
	ctx, cancel := context.WithTimeout(a.ctx, tryTime)
	defer cancel()
	var said strings.Builder
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: to.url, MaxRetries: -1}
	what := to.url
	if to.url == "" {
		run := exec.CommandContext(ctx, to.command, to.args...)
		run.Env, run.Stderr = a.env, &said
		transport, what = &mcp.CommandTransport{
			Command: run,
		}, strings.Join(
			append([]string{to.command}, to.args...),
			" ",
		)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "loci setup", Version: buildVersion().Version}, nil).
		Connect(ctx, transport, nil)
	if err == nil {
		_, err = session.ListTools(ctx, nil)
		_ = session.Close()
	}
	if err == nil {
		return nil
	}
	msg := fmt.Sprintf("%s does not answer as a client expects: %v", what, err)
	if text := strings.TrimSpace(said.String()); text != "" {
		msg += ": " + text
	}
	recovery := "\"loci doctor\" with the same flags says what is wrong. Nothing was changed."
	if to.url != "" {
		recovery = "Start \"loci serve\" first, or give the address of one that runs. Nothing was changed."
	}
	return &loci.Error{Code: loci.Unavailable, Msg: msg, Err: err, Recovery: recovery}
}

// webServer is a Loci at an address.
func webServer(address string) (target, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return target{}, loci.Errorf(
			loci.Invalid,
			"--url is no address such as http://127.0.0.1:7437/mcp: %q",
			address,
		)
	}
	return target{url: address, chosen: true}, nil
}

// fetched matches a program in the cache of npx or uvx, which may be gone tomorrow: the
// entry says what fetches it again.
var (
	fetchedByNpx = regexp.MustCompile(`[/\\]_npx[/\\]`)
	fetchedByUvx = regexp.MustCompile(`[/\\]uv[/\\](archive-v\d+|environments-v\d+)[/\\]`)
)

// self is the command that starts this program from anywhere.
func self(env interface{ Get(string) string }) (command string, args []string, err error) {
	path, err := os.Executable()
	if err != nil {
		return "", nil, &loci.Error{
			Code: loci.Unavailable,
			Msg:  "this program cannot find its own file: " + err.Error(),
			Err:  err,
		}
	}
	switch {
	case fetchedByNpx.MatchString(path):
		return "npx", []string{"-y", "@loci-memory/cli"}, nil
	case fetchedByUvx.MatchString(path):
		return "uvx", []string{"loci-memory-cli"}, nil
	}
	// A package manager's link stays when the version behind it goes.
	own, err := os.Stat(path)
	for _, dir := range filepath.SplitList(env.Get("PATH")) {
		on := filepath.Join(dir, filepath.Base(path))
		if info, bad := os.Stat(on); err == nil && bad == nil && filepath.IsAbs(on) && os.SameFile(own, info) {
			return on, nil, nil
		}
	}
	return path, nil, nil
}

// entryFlags are the flags that were given and that belong to the entry. A client starts
// its servers somewhere else, so that paths become absolute.
func (a *app) entryFlags() ([]string, error) {
	given := a.flags.given()
	if a.flags.Config != nil {
		given["config"] = *a.flags.Config
	}
	var args []string
	for _, key := range []string{"config", "store", "tenant", "user", "org", "agent", "thread", "session", "tools", "graph", "embedder", "log.level"} {
		value, ok := given[key]
		if !ok {
			continue
		}
		if path, isFile := strings.CutPrefix(value, "sqlite:"); key == "store" && isFile || key == "config" ||
			key == "graph" {
			if key != "store" {
				path = value
			}
			whole, err := filepath.Abs(path)
			if err != nil {
				return nil, fileError(path, err)
			}
			value = strings.TrimSuffix(value, path) + whole
		}
		args = append(args, "--"+strings.ReplaceAll(key, ".", "-"), value)
	}
	return slices.Clip(args), nil
}
