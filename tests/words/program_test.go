// Package words reads what the program says: on every surface its errors are for
// people who do not know Go, and its times have one form.
package words

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "loci-words-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "loci")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/loci").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// A place is a directory with a memory of its own.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return &place{t, t.TempDir()}
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(
		p.t.Context(),
		program,
		append([]string{"--store=sqlite:" + filepath.Join(p.dir, "loci.db")}, args...)...)
	c.Dir = p.dir
	c.Env = append(
		slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCI_") }),
		"HOME="+p.dir,
	)
	return c
}

// run runs a command and returns everything it says.
func (p *place) run(stdin string, args ...string) (said string, ok bool) {
	p.t.Helper()
	c := p.command(args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// must runs a command that has to succeed.
func (p *place) must(stdin string, args ...string) string {
	p.t.Helper()
	said, ok := p.run(stdin, args...)
	if !ok {
		p.t.Fatalf("loci %q: %s", args, said)
	}
	return said
}

// serve starts a server on the memory and returns its address.
func (p *place) serve(args ...string) string {
	p.t.Helper()
	c := p.command(append(args, "--listen=127.0.0.1:0", "--auth=none", "serve")...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.Wait()
		p.t.Fatalf("%v: %s", err, &stderr)
	}
	return strings.TrimSpace(line)
}

// send makes a request and returns status and body.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// An api is what the OpenAPI document says of the server.
type api struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	RequestBody struct {
		Content map[string]struct{ Schema *schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]*schema
	Items      *schema
	Required   []string
}

func describe(t *testing.T, url string) *api {
	t.Helper()
	_, text := send(t, "GET", url+"/v1/openapi.json", "")
	var out api
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Paths) < 30 {
		t.Fatalf("%d paths: %v", len(out.Paths), err)
	}
	return &out
}

func (a *api) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = a.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}
