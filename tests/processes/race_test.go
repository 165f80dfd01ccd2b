package processes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestServeUnderTheRaceDetector builds loci with the race detector and lets clients of
// both surfaces and a second process write to one file. The detector finds nothing,
// every write is there, and the audit log is as it was written.
func TestServeUnderTheRaceDetector(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "loci")
	build := exec.Command(
		"go",
		"build",
		"-race",
		"-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0", // as tests/race.sh has it
		"-gcflags=modernc.org/libc=-d=checkptr=0",
		"-gcflags=golang.org/x/crypto/scrypt=-race=false",
		"-o",
		binary,
		"github.com/loci-memory/loci/cmd/loci",
	)
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("a build with the race detector needs a C compiler (apt-get install gcc): %v\n%s", err, out)
	}
	base := []string{"--store=sqlite:" + filepath.Join(dir, "loci.db"), "--user=u", "--embedder=none"}
	env := append(os.Environ(), "HOME="+dir, "LOCI_AUTH_MODE=none", "GORACE=halt_on_error=0 exitcode=66")
	server := exec.Command(binary, append(base, "--listen=127.0.0.1:0", "serve")...)
	server.Env = env
	var stderr bytes.Buffer
	server.Stderr = &stderr
	pipe, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = server.Process.Kill()
		}
	})
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	url := strings.TrimSpace(line)

	const clients, rounds = 3, 6
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("rest%d-%d", n, i)
				post(t, "POST", url+"/v1/notes", map[string]any{"content": name + " likes tea"})
				post(
					t,
					"PUT",
					url+"/v1/items",
					map[string]any{"namespace": []string{"n"}, "key": name, "value": map[string]string{"text": name}},
				)
				post(
					t,
					"POST",
					url+"/v1/sessions/shared/messages",
					map[string]any{"messages": []any{map[string]string{"role": "user", "content": name}}},
				)
				post(t, "POST", url+"/v1/files/append", map[string]any{"path": "/shared.md", "content": name})
				post(t, "POST", url+"/v1/search", map[string]any{"query": "tea " + name})
			}
		})
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("mcp%d-%d", n, i)
				call := func(tool string, arguments any) {
					post(t, "POST", url+"/mcp", map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call",
						"params": map[string]any{"name": tool, "arguments": arguments}})
				}
				call("memory_save", map[string]any{"content": name + " likes tea"})
				call("memory_search", map[string]any{"query": name})
			}
		})
	}
	run := func(args ...string) string {
		cmd := exec.Command(binary, append(base, args...)...)
		cmd.Env = env
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		if err := cmd.Run(); err != nil {
			t.Errorf("loci %s: %v\n%s", strings.Join(args, " "), err, &problems)
		}
		return out.String()
	}
	wg.Go(func() {
		for i := range rounds {
			run("save", fmt.Sprintf("cli-%d likes tea", i))
		}
	})
	wg.Wait()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended = true
	stop := time.AfterFunc(time.Minute, func() { _ = server.Process.Kill() })
	if err := server.Wait(); err != nil || !stop.Stop() || strings.Contains(stderr.String(), "DATA RACE") {
		t.Fatalf("loci serve: %v\n%s", err, &stderr)
	}
	if got, want := strings.Count(run("list", "--limit=1000"), "likes tea"), clients*rounds*2+rounds; got != want {
		t.Errorf("%d notes are there, %d were saved", got, want)
	}
	if got, want := strings.Count(run("file", "read", "/shared.md"), "rest"), clients*rounds; got != want {
		t.Errorf("%d lines are in the file, %d were appended", got, want)
	}
	run("events", "--verify")
	run("doctor")
}

// post sends a request, and fails the test unless it succeeds; a tool's refusal is a
// failure, too.
func post(t *testing.T, method, url string, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return
	}
	r, err := http.NewRequest(method, url, bytes.NewReader(data))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 || bytes.Contains(reply, []byte(`"isError":true`)) ||
		bytes.Contains(reply, []byte(`"error":`)) {
		t.Errorf("%s %s: %v %d %s", method, url, err, response.StatusCode, reply)
	}
}
