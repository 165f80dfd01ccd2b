package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// said is what a process writes while a test reads it.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// A node is a server that is a process of its own.
type node struct {
	url     string
	process *exec.Cmd
	errors  *said
	ended   chan error // gets how it ended
}

// startNode starts one that ends with the test.
func startNode(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	n := &node{process: exec.Command("loci", append(args, "--listen=127.0.0.1:0", "serve")...), errors: &said{},
		ended: make(chan error, 1)}
	n.process.Env = append(append(os.Environ(), "HOME="+t.TempDir(), "LOCI_EMBEDDER=none"), append(env, openTo(t, args)...)...)
	n.process.Stderr = n.errors
	out, err := n.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { n.ended <- n.process.Wait() }()
	t.Cleanup(func() {
		_ = n.process.Process.Kill() // it may be gone
	})
	if err != nil {
		t.Fatalf("%v: %s", err, n.errors)
	}
	n.url = strings.TrimSpace(line)
	return n
}

// signal sends one.
func (n *node) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.process.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// await waits until what must come has come.
func await(t *testing.T, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// TestReload: a signal makes a server read its limits again. The server says which settings
// count only at the next start. A configuration that is not valid changes nothing.
func TestReload(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no signals to send
	}
	path := t.TempDir() + "/loci.yaml"
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("http: {max_queue: 9}\n")
	n := startNode(t, nil, "--store=memory:", "--config="+path)
	policy := func() string {
		reply, err := http.Get(n.url + "/v1/info")
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		return reply.Header.Get("RateLimit-Policy")
	}
	if p := policy(); p != "" {
		t.Errorf("before: %s", p)
	}
	write("limits: {requests_per_second: 1000, burst: 4000}\ntimeouts: {read: 7s}\n")
	n.signal(t, syscall.SIGHUP)
	const limit = `"tenant";q=4000;w=4`
	await(t, "the limit", func() bool { return policy() == limit })
	await(t, "what counts later", func() bool { return strings.Contains(n.errors.String(), "timeouts.read") })
	if said := n.errors.String(); strings.Contains(said, "limits.burst") || strings.Contains(said, "read again") {
		t.Errorf("it says %s", said) // the level of the log is warn
	}
	write("limits: {requests_per_second: 5, burst: -1}\nlog: {level: info}\n")
	n.signal(t, syscall.SIGHUP)
	await(t, "the fault", func() bool { return strings.Contains(n.errors.String(), "stays as it is") })
	if p := policy(); p != limit {
		t.Errorf("after a bad file: %s", p)
	}
	write("log: {level: info}\n")
	n.signal(t, syscall.SIGHUP)
	await(t, "the level of the log", func() bool { return strings.Contains(n.errors.String(), "read again") })
	if p := policy(); p != "" {
		t.Errorf("afterwards: %s", p)
	}
	n.signal(t, syscall.SIGTERM)
	if err := <-n.ended; err != nil {
		t.Errorf("%v: %s", err, n.errors)
	}
}
