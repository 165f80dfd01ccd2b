package torture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
)

// buildLoci builds the program, with further arguments of go build.
func buildLoci(t *testing.T, args ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "loci")
	cmd := exec.Command(
		"go",
		append(append([]string{"build", "-o", binary}, args...), "github.com/loci-memory/loci/cmd/loci")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return binary
}

// keptIndex makes a build keep the index of every shard in files, not only of large ones.
const keptIndex = "-ldflags=-X github.com/loci-memory/loci/store/sqlite.keptFrom=1"

// A served is a running loci serve.
type served struct {
	cmd *exec.Cmd
	url string
}

// serve starts a command that ends in loci serve, and waits for its address.
func serve(t *testing.T, home string, command ...string) *served {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.Stderr = &bytes.Buffer{}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%v did not start: %v\n%s", command, err, cmd.Stderr)
	}
	return &served{cmd, strings.TrimSpace(line)}
}

// serveArgs are those of loci serve on a file.
func serveArgs(file string) []string {
	return []string{"--store=sqlite:" + file, "--user=u", "--embedder=none", "--listen=127.0.0.1:0", "--auth=none", "serve"}
}

// writers are workers that write to one server, and what they did.
type writers struct {
	sync.Mutex
	url     string
	workers []*worker
	ops     []*op // by number
	most    int   // ends after so many; 0: when the server does
	begun   func(o *op)
	acked   func(o *op)
	failed  error
}

// write runs the workers until there are enough writes or the server is gone.
func (w *writers) write() error {
	var wg sync.WaitGroup
	for _, one := range w.workers {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute}
			defer client.CloseIdleConnections()
			for w.step(client, one) {
			}
		})
	}
	wg.Wait()
	return w.failed
}

// step makes one write; false: no more.
func (w *writers) step(client *http.Client, one *worker) bool {
	w.Lock()
	if w.failed != nil || w.most > 0 && len(w.ops) >= w.most {
		w.Unlock()
		return false
	}
	o := one.next(len(w.ops))
	w.ops = append(w.ops, o)
	w.begun(o)
	w.Unlock()
	status, reply, err := send(client, w.url, o)
	w.Lock()
	defer w.Unlock()
	switch {
	case err != nil && w.most == 0:
		return false // the server is gone
	case err == nil && status >= 300:
		err = fmt.Errorf("%s %s: %d %s", o.method, o.path, status, reply)
	}
	if err == nil {
		err = one.acknowledged(o, reply)
	}
	if err != nil {
		w.failed = err
		return false
	}
	w.acked(o)
	return true
}

func send(client *http.Client, url string, o *op) (status int, reply []byte, err error) {
	var body []byte
	if o.body != nil {
		if body, err = json.Marshal(o.body); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequest(o.method, url+o.path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("User-Agent", fmt.Sprintf("op-%d.", o.n))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	reply, err = io.ReadAll(response.Body)
	return response.StatusCode, reply, err
}

// reopen opens the file that a server left, in the place where the server wrote it.
func reopen(file string) (loci.Store, *loci.Engine, *loci.Memory, error) {
	s, err := store.Open(context.Background(), "sqlite:"+file, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	e, err := loci.New(s, &loci.Options{Features: locitest.Features()})
	if err != nil {
		return nil, nil, nil, err
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "torture"})
	return s, e, m, err
}

// check opens a file, compares it with what is expected and examines it as loci
// doctor does.
func (x expected) check(file string) (wrong []string, err error) {
	s, e, m, err := reopen(file)
	if err != nil {
		return []string{"the file does not open: " + err.Error()}, nil //nolint:nilerr // it is the finding
	}
	if wrong, err = x.verify(context.Background(), e, m); err != nil {
		return wrong, err
	}
	findings, err := s.Check(context.Background(), m.View().Tenant)
	if err != nil {
		return wrong, err
	}
	for _, f := range findings {
		wrong = append(wrong, fmt.Sprintf("doctor: %v", f))
	}
	return wrong, s.Close()
}

// TestKillOfTheServerOverAllNouns kills loci serve while it writes notes, items, files,
// sessions and checkpoints. The writes it answered are there, and the audit log accuses nobody.
func TestKillOfTheServerOverAllNouns(t *testing.T) {
	binary, home := buildLoci(t, keptIndex), t.TempDir()
	acknowledged := 0
	for cycle := range max(20, *cycles/10) {
		file := filepath.Join(home, fmt.Sprintf("%d.db", cycle/50)) // one that grew makes each cycle slower
		s := serve(t, home, append([]string{binary}, serveArgs(file)...)...)
		x := expected{}
		w := &writers{url: s.url, begun: x.begin}
		for n := range 4 {
			w.workers = append(w.workers, newWorker(fmt.Sprintf("c%d-w%d", cycle, n), rand.Uint64()))
		}
		var once sync.Once
		w.acked = func(o *op) {
			x.done(o)
			acknowledged++
			once.Do(func() { // from now on, any moment
				time.AfterFunc(rand.N(150*time.Millisecond), func() { _ = s.cmd.Process.Kill() })
			})
		}
		if err := w.write(); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the server was not killed: %v\n%s", err, s.cmd.Stderr)
		}
		wrong, err := x.check(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range wrong {
			t.Errorf("cycle %d: %s", cycle, line)
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged")
	}
	t.Logf("%d writes were acknowledged", acknowledged)
}
