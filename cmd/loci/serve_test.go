package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
)

// openTo lets a server answer whoever asks, unless its arguments or its configuration say whom.
func openTo(t *testing.T, args []string) []string {
	t.Helper()
	for _, arg := range args {
		if strings.HasPrefix(arg, "--auth") {
			return nil
		}
		if path, is := strings.CutPrefix(arg, "--config="); is {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("auth:")) {
				return nil
			}
		}
	}
	return []string{"LOCI_AUTH_MODE=none"}
}

// serveHere runs loci serve in this process until the test ends or stop is called.
func serveHere(t *testing.T, args ...string) (url string, stop func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, feed := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append(args, "--listen=127.0.0.1:0", "--log-level=info", "serve"), strings.NewReader(""), feed, &stderr,
			append(config.Environ{"HOME=" + t.TempDir()}, openTo(t, args)...))
		feed.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("exit code %d: %s", <-ended, &stderr)
	}
	done := false
	stop = func() (int, string) {
		if done {
			return 0, ""
		}
		done = true
		cancel()
		return <-ended, stderr.String()
	}
	t.Cleanup(func() { stop() })
	return strings.TrimSpace(line), stop
}

// TestServeWhereAnotherServes: who finds the address taken hears by whom, and with which store.
func TestServeWhereAnotherServes(t *testing.T) {
	home := "HOME=" + t.TempDir()
	serve := func(ctx context.Context, out io.Writer, args ...string) (code int, stderr string) {
		var errors bytes.Buffer
		code = run(ctx, append(args, "serve"), strings.NewReader(""), out, &errors, config.Environ{home})
		return code, errors.String()
	}
	for _, auth := range []string{"none", "keys"} {
		store := "sqlite:" + t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		out, feed := io.Pipe()
		ended := make(chan string, 1)
		go func() {
			_, stderr := serve(ctx, feed, "--store="+store, "--listen=127.0.0.1:0", "--auth="+auth)
			feed.Close()
			ended <- stderr
		}()
		url, err := bufio.NewReader(out).ReadString('\n')
		if url = strings.TrimSpace(url); err != nil {
			stop()
			t.Fatal(<-ended)
		}
		address := "--listen=" + strings.TrimPrefix(url, "http://")
		code, stderr := serve(t.Context(), io.Discard, "--store=memory:", address)
		if want := "another Loci answers at " + url + ", with the memory in " + store + "\n"; code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q; want %q", auth, code, stderr, want)
		}
		stop()
		<-ended
		ctx, stop = context.WithTimeout(t.Context(), 10*time.Second)
		// The address is free again; who takes it now is no Loci, and what was said of the one before is gone.
		stranger, err := (&net.ListenConfig{}).Listen(ctx, "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		other := &http.Server{Handler: http.NotFoundHandler()}
		go func() { _ = other.Serve(stranger) }()
		code, stderr = serve(ctx, io.Discard, "--store=memory:", address)
		if code == 0 || strings.Contains(stderr, "Loci answers") || !strings.Contains(stderr, "cannot listen on") {
			t.Errorf("a stranger's: exit code %d, %q", code, stderr)
		}
		stop()
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadFile(filepath.Join(strings.TrimPrefix(home, "HOME="), ".local", "state", "loci", "serving.json")); err != nil ||
			string(left) != "{}" {
			t.Errorf("left behind: %q, %v", left, err)
		}
	}
}

// TestServeWhereAnotherServesOnASocket: it is called as whoever started it called it.
func TestServeWhereAnotherServesOnASocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // sockets have other paths there
	}
	dir := t.TempDir()
	address, env := "unix:"+filepath.Join(dir, "s"), config.Environ{"HOME=" + dir}
	ctx, stop := context.WithCancel(t.Context())
	out, feed := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := []string{"--store=sqlite:" + dir + "/l.db", "--listen=" + address, "--auth=none", "serve"}
		ended <- run(ctx, args, strings.NewReader(""), feed, io.Discard, env)
		feed.Close()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != address+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	var stderr bytes.Buffer
	run(t.Context(), []string{"--store=memory:", "--listen=" + address, "serve"}, strings.NewReader(""), io.Discard, &stderr, env)
	if want := "another Loci answers at " + address + ", with the memory in sqlite:" + dir; !strings.Contains(stderr.String(), want) {
		t.Errorf("%s\nwant %s", &stderr, want)
	}
	stop()
	<-ended
}

func request(t *testing.T, method, url, body string, headers ...string) (status int, reply string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// TestServe: both surfaces work on one memory, as the configured principal with what
// headers choose, and an interrupt is a clean end.
func TestServe(t *testing.T) {
	store := "--store=sqlite:" + t.TempDir()
	configFile := t.TempDir() + "/loci.yaml"
	if err := os.WriteFile(configFile, []byte("scopes: [read, write, delete, delegate, admin, elevate]\nagents: [planner]\ntools: [notes, {tool: search_memory, namespace: [agent, \"{agent_id}\"]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, stop := serveHere(t, store, "--user=alice", "--config="+configFile)
	call := func(tool, arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	}
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want, not          string
	}{
		{"GET", "/healthz", "", nil, 200, "ok", ""},
		{"GET", "/livez", "", nil, 200, "ok", ""},
		{"GET", "/readyz", "", nil, 200, "ok", ""},
		{"GET", "/v1/info", "", nil, 200, `"families":["notes","facts"]`, ""},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, nil, 201, "note-", ""},
		{"POST", "/mcp", call("memory_search", `{"query":"tea"}`), nil, 200, "Likes tea.", "isError"},
		{"POST", "/mcp", call("memory_save", `{"content":"Likes oranges."}`), nil, 200, "note-", "isError"},
		{"POST", "/v1/search", `{"query":"oranges"}`, nil, 200, "Likes oranges.", ""},
		{"POST", "/mcp", call("memory_search", `{"query":"tea"}`), []string{"Loci-User: bob"}, 200, `"results":[]`, "tea."},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{"Loci-User: bob"}, 200, `"matches":[]`, ""},
		{"POST", "/mcp", call("memory_search", `{"query":"tea"}`), []string{"Loci-Usr: bob"}, 400, "Loci-Usr", ""},
		{"POST", "/mcp", call("memory_search", `{"query":"tea"}`), []string{"Loci-Tenant: away"}, 200, `"results":[]`, "isError"},
		{"POST", "/v1/notes", `{"content":"Elsewhere."}`, []string{"Loci-Tenant: away", "Idempotency-Key: k"}, 201, "note-", ""},
		{"POST", "/mcp", call("search_memory", `{"query":"x"}`), nil, 200, "agent_id", ""}, // no agent: a configuration error
		{"POST", "/mcp/planner", call("search_memory", `{"query":"x"}`), nil, 200, `"text":"[]"`, "isError"},
		{"POST", "/mcp/other", call("search_memory", `{"query":"x"}`), nil, 404, "no such agent", ""},
		{"POST", "/mcp", call("memory_save", `{"content":"Once."}`), []string{"Idempotency-Key: once"}, 200, "note-", "isError"},
		{"POST", "/mcp", call("memory_save", `{"content":"Twice."}`), []string{"Idempotency-Key: once"}, 200, `"conflict"`, ""},
		{"GET", "/v1/info", "", []string{"Origin: https://evil.example"}, 403, "evil.example", ""},
	} {
		status, reply := request(t, c.method, url+c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(reply, c.want) || c.not != "" && strings.Contains(reply, c.not) {
			t.Errorf("%s %s %s %v: %d %s", c.method, c.path, c.body, c.headers, status, reply)
		}
	}
	_, reply := request(t, "GET", url+"/v1/openapi.json", "")
	if !strings.Contains(reply, `"/v1/items/batch"`) {
		t.Errorf("no description: %.200s", reply)
	}
	code, stderr := stop()
	if code != exitOK || strings.Contains(stderr, "Likes") || !strings.Contains(stderr, "route=/mcp") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for tenant, want := range map[string]string{"default": `"from":"default"`, "away": `"to":"away"`} {
		var stdout, stderr bytes.Buffer
		run(
			t.Context(),
			[]string{store, "--tenant=" + tenant, "--json", "events", "--namespace=", "--type=elevated"},
			strings.NewReader(""),
			&stdout,
			&stderr,
			config.Environ{"HOME=" + t.TempDir(), "LOCI_SCOPES=read,admin"},
		)
		if strings.Count(stdout.String(), want) != 2 || !strings.Contains(stdout.String(), "save_note") ||
			!strings.Contains(stdout.String(), "memory_search") {
			t.Errorf("the log of %s: %s%s", tenant, &stdout, &stderr)
		}
	}
}

// TestServeRefuses an address that others could reach, and one that is taken already.
func TestServeRefuses(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir()}
	url, _ := serveHere(t, "--store=memory:")
	for address, want := range map[string]struct {
		code int
		text string
	}{
		"0.0.0.0:0":                        {exitInvalid, "authentication: listen on 127.0.0.1"},
		":7437":                            {exitInvalid, "authentication"},
		"localhost":                        {exitInvalid, "127.0.0.1:7437"},
		strings.TrimPrefix(url, "http://"): {exitUnavailable, "in use"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"--store=memory:", "--listen=" + address, "serve"}, strings.NewReader(""), &stdout, &stderr, env)
		if code != want.code || stdout.Len() > 0 || !strings.Contains(stderr.String(), want.text) {
			t.Errorf("%s: exit code %d, output %q, errors %q", address, code, &stdout, &stderr)
		}
	}
}

// TestServeSettings: a list in a file means what it seems to say.
func TestServeSettings(t *testing.T) {
	for content, want := range map[string]string{
		`agents: ["a,b"]`:                           "a comma",
		`agents: [""]`:                              "must not be empty",
		`agents: [".."]`:                            "cannot stand in an address",
		`http: {allowed_hosts: ["a:1"]}`:            "without a port",
		`http: {allowed_origins: ["*"]}`:            "origin of a web page",
		`http: {max_body: 10}`:                      "from 1024",
		`http: {max_requests: -1}`:                  "from 0",
		`http: {max_queue: 0}`:                      "from 1",
		`http: {max_wait: 0s}`:                      "from 1ms",
		`limits: {requests_per_second: -1}`:         "from 0",
		`listen: "example.com:80"`:                  "authentication",
		`http: {allowed_hosts: memory.example.com}`: "must be a list",
		`{listen: "0.0.0.0:0", auth: {mode: keys}}`: "in the clear",
		`{http: {tls: proxy}}`:                      "http.proxies",
		`{http: {tls: files}}`:                      "http.tls_cert",
		`{http: {tls: maybe}}`:                      "files",
		`{http: {tls: proxy, proxies: ["a"]}}`:      "10.0.0.0/24",
		`listen: "unix:x"`:                          "whole path",
	} {
		path := t.TempDir() + "/loci.yaml"
		if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"--store=memory:", "--config=" + path, "serve"}, strings.NewReader(""),
			&stdout, &stderr, config.Environ{"HOME=" + t.TempDir()})
		if code != exitInvalid || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "loci.yaml:1:") {
			t.Errorf("%s: exit code %d: %s", content, code, &stderr)
		}
	}
}

// TestServeIsTerminated: a real process ends well with the signal that service
// managers send.
func TestServeIsTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no signals to send
	}
	cmd := exec.Command("loci", "--store=sqlite:"+t.TempDir(), "--listen=127.0.0.1:0", "serve", "--insecure-loopback")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if status, reply := request(t, "POST", strings.TrimSpace(url)+"/v1/notes", `{"content":"Likes tea."}`); status != 201 {
		t.Errorf("%d %s", status, reply)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("it did not end")
	}
}

// A health check passes only for a Loci server that is up.
func TestHealth(t *testing.T) {
	check := func(url string) (int, string) {
		var out bytes.Buffer
		args := []string{"health", "--listen", strings.TrimPrefix(url, "http://")}
		code := run(t.Context(), args, strings.NewReader(""), &out, io.Discard, config.Environ{"HOME=" + t.TempDir()})
		return code, out.String()
	}
	url, stop := serveHere(t)
	if code, out := check(url); code != 0 || out != "well: "+url+"/healthz\n" {
		t.Errorf("exit code %d: %q", code, out)
	}
	stop()
	if code, _ := check(url); code != exitUnavailable {
		t.Errorf("of a server that ended: %d", code)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if code, _ := check(other.URL); code != exitUnavailable {
		t.Errorf("of another server: %d", code)
	}
}

// A server that answers and cannot do its work is well, but not ready, and the check says why.
func TestHealthOfServerThatIsNotReady(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"status":503,"detail":"the server is about to end"}`)
		}
	}))
	defer busy.Close()
	check := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		args = append([]string{"health", "--listen", strings.TrimPrefix(busy.URL, "http://")}, args...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs, config.Environ{"HOME=" + t.TempDir()})
		return code, errs.String()
	}
	if code, errs := check(); code != 0 {
		t.Errorf("it answers: exit code %d: %s", code, errs)
	}
	if code, errs := check("--ready"); code != exitUnavailable || !strings.Contains(errs, "503") ||
		!strings.Contains(errs, "the server is about to end") {
		t.Errorf("it is not ready: exit code %d: %s", code, errs)
	}
	url, stop := serveHere(t)
	defer stop()
	var out bytes.Buffer
	args := []string{"health", "--ready", "--listen", strings.TrimPrefix(url, "http://")}
	code := run(t.Context(), args, strings.NewReader(""), &out, io.Discard, config.Environ{"HOME=" + t.TempDir()})
	if code != 0 {
		t.Errorf("one that is ready: exit code %d", code)
	}
}
