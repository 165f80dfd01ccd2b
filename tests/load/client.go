package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A server is the process that is measured.
type server struct {
	binary, cores string
	dir, url      string
	keys          map[string]string // of each tenant: what callers of a server have
	process       *exec.Cmd
	client        *http.Client
	blamed        atomic.Int64
}

// blame tells of the first failures: no figure says what they are.
func (s *server) blame(what string) {
	if s.blamed.Add(1) <= 5 {
		fmt.Fprintln(os.Stderr, "failed:", what[:min(len(what), 400)])
	}
}

func start(ctx context.Context, binary, cores string) (*server, error) {
	dir, err := os.MkdirTemp("", "loci-load-")
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096}
	s := &server{binary: binary, cores: cores, dir: dir, keys: map[string]string{}}
	s.client = &http.Client{Transport: transport, Timeout: time.Minute}
	for _, tenant := range append([]string{everybody}, tenants...) {
		if s.keys[tenant], err = s.key(ctx, tenant); err != nil {
			return nil, err
		}
	}
	return s, s.again(ctx, 2<<30)
}

// key makes a tenant, and a key of it whose requests say which user they are for.
func (s *server) key(ctx context.Context, tenant string) (string, error) {
	run := func(args ...string) ([]byte, error) {
		args = append([]string{"--store=sqlite:" + s.dir + "/store", "--json"}, args...)
		c := exec.CommandContext(ctx, s.binary, args...) //nolint:gosec // the program that is measured
		c.Env, c.Stderr = append(os.Environ(), "HOME="+s.dir, "LOCI_SCOPES=admin"), os.Stderr
		return c.Output()
	}
	if _, err := run("tenant", "create", tenant); err != nil {
		return "", err
	}
	said, err := run("key", "create", "--tenant="+tenant, "--scope=read", "--scope=write", "--scope=delegate")
	if err != nil {
		return "", err
	}
	var made struct{ Token string }
	if err := json.Unmarshal(said, &made); err != nil {
		return "", err
	}
	return made.Token, nil
}

// again starts the process on what is stored.
func (s *server) again(ctx context.Context, indexMemory int64) error {
	command := []string{s.binary, "--store=sqlite:" + s.dir + "/store", "--listen=127.0.0.1:0", "serve"}
	if s.cores != "" {
		command = append([]string{"taskset", "-c", s.cores}, command...)
	}
	s.process = exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the program that is measured
	s.process.Env = append(os.Environ(), "HOME="+s.dir, "LOCI_AUTH_MODE=keys", fmt.Sprint("LOCI_INDEX_MEMORY=", indexMemory))
	s.process.Stderr = os.Stderr
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.url = strings.TrimSpace(line)
	return err
}

func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	s.process = nil
}

// words are few enough that searches find something.
func text() string {
	words := make([]string, 12)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", int(rand.ExpFloat64()*200))
	}
	return strings.Join(words, " ")
}

// send sends one request; the status is 0 if no answer came.
func (s *server) send(ctx context.Context, tenant, user, path, body string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys[tenant])
	r.Header.Set("Loci-User", user)
	reply, err := s.client.Do(r)
	if err != nil {
		s.blame(err.Error())
		return 0
	}
	defer func() { _ = reply.Body.Close() }()
	content, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0
	}
	if path == "/mcp" && bytes.Contains(content, []byte(`"isError":true`)) {
		s.blame(string(content))
		return http.StatusInternalServerError
	}
	return reply.StatusCode
}

// fill stores notes for a user of a tenant.
func (s *server) fill(ctx context.Context, tenant, user string, n int) error {
	var made, failed atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for made.Add(1) <= int64(n) && failed.Load() == 0 {
				for s.send(ctx, tenant, user, "/v1/notes", `{"content":"`+text()+fmt.Sprint(" ", rand.Int64())+`"}`) != 201 {
					if time.Sleep(10 * time.Millisecond); ctx.Err() != nil {
						failed.Add(1)
						return
					}
				}
			}
		})
	}
	all.Wait()
	if failed.Load() > 0 {
		return errors.New("the store could not be filled")
	}
	return nil
}

// bring imports memories for a user, as many at once as one request takes: a million come in minutes.
func (s *server) bring(ctx context.Context, tenant, user string, n int) error {
	const most = 3000
	for from := 0; from < n; from += most {
		lines := make([]string, min(most, n-from))
		for i := range lines {
			line, err := json.Marshal(map[string]any{"type": "entity", "entityType": "note", "name": fmt.Sprint("note ", from+i),
				"observations": []string{text() + fmt.Sprint(" ", rand.Int64())}})
			if err != nil {
				return err
			}
			lines[i] = string(line)
		}
		body, err := json.Marshal(map[string]any{"lines": lines})
		if err != nil {
			return err
		}
		if status := s.send(ctx, tenant, user, "/v1/import", string(body)); status != http.StatusOK {
			return fmt.Errorf("an import is answered by status %d", status)
		}
	}
	return nil
}

// work is what is asked for.
type work struct {
	surface string
	tenants []string
}

// one sends one request of a work, and reports whether it was answered and whether it
// was refused.
func (s *server) one(ctx context.Context, w work, n int64) (ok, refused bool) {
	tenant, save := w.tenants[int(n)%len(w.tenants)], n/int64(len(w.tenants))%4 == 0
	path, body := "/v1/search", `{"query":"`+text()+`"}`
	switch {
	case save && w.surface == "REST":
		path, body = "/v1/notes", `{"content":"`+text()+fmt.Sprint(" ", n)+`"}`
	case w.surface == "MCP":
		name, arguments := "memory_search", map[string]string{"query": text()}
		if save {
			name, arguments = "memory_save", map[string]string{"content": text() + fmt.Sprint(" ", n)}
		}
		call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": "tools/call",
			"params": map[string]any{"name": name, "arguments": arguments}})
		if err != nil {
			return false, false
		}
		path, body = "/mcp", string(call)
	}
	status := s.send(ctx, tenant, "somebody", path, body)
	return status == 200 || status == 201, status == 429 || status == 503
}

// A result is what became of the requests of one figure.
type result struct {
	took          []time.Duration // from when a request was to be sent, of what was answered, sorted
	count, turned int
	inTime        int // answers that came before the time was over
	failed        int // neither answered nor refused
	over          time.Duration
	processor     time.Duration // that the server used
}

func (r result) asked() float64   { return float64(r.count) / r.over.Seconds() }
func (r result) goodput() float64 { return float64(r.inTime) / max(1e-9, r.over.Seconds()) }
func (r result) refused() float64 { return float64(r.turned) / float64(max(1, r.count)) }

func (r result) at(part float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, int(part*float64(len(r.took))))].Round(100 * time.Microsecond)
}

// cost is the processor time of the server for each answer, refusals included: what else
// the machine does moves it less than any other figure.
func (r result) cost() time.Duration {
	return (r.processor / time.Duration(max(1, len(r.took)))).Round(10 * time.Microsecond)
}

// used is how much processor time the server has used, in ticks of 10 ms; 0: nobody knows.
func (s *server) used() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the state on
	var user, kernel int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &kernel); err != nil {
		return 0
	}
	return time.Duration(user+kernel) * 10 * time.Millisecond
}

// settle is how long a load is sent before it is measured. The first requests of a crowd wait
// until the server knows that it is one, and would be the slowest hundredth of a few seconds.
const settle = time.Second

// open sends so many requests a second, whatever becomes of them.
func (s *server) open(ctx context.Context, w work, rate float64, over time.Duration) (r result) {
	ctx, cancel := context.WithTimeout(ctx, settle+over)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	measured := begun.Add(settle)
	before, counting := s.used(), false
	for n := int64(0); ; n++ {
		due := begun.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		if ctx.Err() != nil {
			break
		}
		if !counting && !due.Before(measured) {
			before, counting = s.used(), true
		}
		all.Go(func() {
			ok, refused := s.one(context.WithoutCancel(ctx), w, n)
			took := time.Since(due)
			if due.Before(measured) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			r.count++
			if ok {
				r.took = append(r.took, took)
				if time.Since(measured) <= over {
					r.inTime++
				}
			}
			if refused {
				r.turned++
			} else if !ok {
				r.failed++
			}
		})
	}
	r.over = time.Since(measured)
	all.Wait()
	r.processor = s.used() - before
	slices.Sort(r.took)
	return r
}

// closed returns how many requests a second a few clients get answered that wait for each.
func (s *server) closed(ctx context.Context, w work, over time.Duration) float64 {
	ctx, cancel := context.WithTimeout(ctx, over)
	defer cancel()
	var n, done atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				if ok, _ := s.one(context.WithoutCancel(ctx), w, n.Add(1)); ok {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / over.Seconds()
}

// cold searches what is in no index, one namespace after the other.
func (s *server) cold(ctx context.Context, tenant string, places int) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s.send(ctx, tenant, fmt.Sprint("cold", n%places), "/v1/search", `{"query":"`+text()+`"}`)
			}
		})
	}
	all.Wait()
}
