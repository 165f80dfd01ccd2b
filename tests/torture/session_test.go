package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// sessionEnv makes the child append to a session and go on where its predecessor was killed: it
// repeats its last append under the same key.
const sessionEnv = "LOCI_TORTURE_SESSION"

// sessionChild appends with four workers to one session. The messages of a worker are "worker/n
// part", two in each append; from holds the first n of each.
func sessionChild(url, from string) error {
	s, m, err := openMemory(url)
	if err != nil {
		return err
	}
	e, err := loci.New(s, &loci.Options{Features: locitest.Features()})
	if err != nil {
		return err
	}
	var out sync.Mutex
	failed := make(chan error, 4)
	for worker, text := range strings.Split(from, ",") {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			return err
		}
		go func() {
			for ; ; n++ {
				view := m.View()
				view.IdempotencyKey = fmt.Sprintf("%d/%d", worker, n)
				keyed, err := e.Memory(view)
				var messages []session.Message
				if err == nil {
					messages, err = session.ParseMessages(fmt.Appendf(nil, `[{"role":"user","content":"%d/%d a"},{"role":"user","content":"%d/%d b"}]`, worker, n, worker, n))
				}
				if err == nil {
					_, err = session.Of(keyed).Append(context.Background(), "s", messages)
				}
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Printf("! %d %d\n", worker, n)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

// TestKilledAppendsAreThereOnce kills a process that appends, again and again, and lets the
// next one repeat what was not acknowledged. Each message is there once, in whole appends, in
// order, with consecutive numbers.
func TestKilledAppendsAreThereOnce(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "loci.db")
	next := make([]int, 4) // of each worker: what was not acknowledged
	for range max(10, *cycles/10) {
		appendAndKill(t, url, next)
		after, _, err := openMemory(url)
		if err != nil {
			t.Fatal(err)
		}
		logIsWhole(t, after)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, m, err := openMemory(url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var seq int64
	seen := make([]int, 4) // messages of each worker
	for more := true; more; {
		h, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{After: seq, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range h.Messages {
			var worker, n int
			var part string
			if _, err := fmt.Sscanf(stored.Text(), "%d/%d %s", &worker, &n, &part); err != nil {
				t.Fatal(err)
			}
			if seq++; stored.Seq != seq || n != seen[worker]/2 || part != string("ab"[seen[worker]%2]) {
				t.Fatalf("message %d is %q; worker %d had said %d", stored.Seq, stored.Text(), worker, seen[worker])
			}
			seen[worker]++
		}
		more = h.More
	}
	for worker, n := range next {
		if have := seen[worker]; have != 2*n && have != 2*n+2 { // the last append may be there without an answer
			t.Errorf("worker %d: %d messages are there, %d appends were acknowledged", worker, have, n)
		}
	}
	if got, err := session.Of(m).Session(t.Context(), "s"); err != nil || got.Messages != seq || got.LastSeq != seq {
		t.Errorf("%d messages, session %+v, %v", seq, got, err)
	}
}

func appendAndKill(t *testing.T, url string, next []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+url, sessionEnv+"="+strings.Trim(strings.ReplaceAll(fmt.Sprint(next), " ", ","), "[]"))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	var timer *time.Timer
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if timer == nil {
			timer = time.AfterFunc(rand.N(60*time.Millisecond), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		}
		var worker, n int
		if _, err := fmt.Sscanf(line, "! %d %d", &worker, &n); err != nil || n != next[worker] {
			t.Fatalf("child said %q, expected %v", line, next)
		}
		next[worker]++
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
}
