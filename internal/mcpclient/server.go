package mcpclient

import (
	"context"
	"fmt"
	"net/http"
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

// Try starts the server as a client would and asks for its tools, so that an entry that
// cannot work is not written. version is that of this program.
func Try(ctx context.Context, sys System, version string, to Target) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	var said strings.Builder
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: to.URL, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer(to.Token)}}
	what := to.URL
	if to.URL == "" {
		run := exec.CommandContext(ctx, to.Command, to.Args...)
		run.Env, run.Stderr = sys.Environ, &said
		transport, what = &mcp.CommandTransport{
			Command: run,
		}, strings.Join(append([]string{to.Command}, to.Args...), " ")
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "loci setup", Version: version}, nil).
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
	if to.URL != "" {
		recovery = "Start \"loci serve\" first, or give the address of one that runs. Nothing was changed."
	}
	return &loci.Error{Code: loci.Unavailable, Msg: msg, Err: err, Recovery: recovery}
}

// A bearer sends requests with a token; "": without.
type bearer string

// RoundTrip sends one.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// At is a Loci at an address.
func At(address string) (Target, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return Target{}, loci.Errorf(
			loci.Invalid,
			"--url is no address such as http://127.0.0.1:7437/mcp: %q",
			address,
		)
	}
	return Target{URL: address, Chosen: true}, nil
}

// fetchers start the package of a version again each time. What they have fetched lies in a
// cache of theirs, which may be gone tomorrow: the entry says what fetches it again.
var fetchers = []struct {
	cache   *regexp.Regexp
	command string
	args    []string
}{
	{regexp.MustCompile(`[/\\]_npx[/\\]`), "npx", []string{"-y", npmPackage}},
	{regexp.MustCompile(`[/\\]pnpm(-cache)?[/\\]dlx[/\\]`), "pnpm", []string{"dlx", npmPackage}},
	{regexp.MustCompile(`[/\\]bunx-\d+-`), "bunx", []string{npmPackage}},
	// Its cache is named uv, unless UV_CACHE_DIR names another one.
	{regexp.MustCompile(`[/\\](archive|environments)-v\d+[/\\]`), "uvx", []string{"loci-memory-cli"}},
}

const npmPackage = "@loci-memory/cli"

// fetchedBy is what has fetched the program at a path, and fetches it again.
func fetchedBy(path string) (command string, args []string, ok bool) {
	for _, f := range fetchers {
		if f.cache.MatchString(path) {
			return f.command, slices.Clone(f.args), true
		}
	}
	return "", nil, false
}

// Self is the command that starts this program from anywhere.
func Self(sys System) (command string, args []string, err error) {
	path, err := os.Executable()
	if err != nil {
		return "", nil, &loci.Error{
			Code: loci.Unavailable,
			Msg:  "this program cannot find its own file: " + err.Error(),
			Err:  err,
		}
	}
	if command, args, ok := fetchedBy(path); ok {
		return command, args, nil
	}
	// A package manager's link stays when the version behind it goes.
	own, err := os.Stat(path)
	for _, dir := range filepath.SplitList(sys.Get("PATH")) {
		on := filepath.Join(dir, filepath.Base(path))
		if info, bad := os.Stat(on); err == nil && bad == nil && filepath.IsAbs(on) && os.SameFile(own, info) {
			return on, nil, nil
		}
	}
	return path, nil, nil
}
