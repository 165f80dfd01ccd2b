package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A writer saves notes at whatever server is the current one, and remembers those that
// were acknowledged.
type writer struct {
	name   int
	client http.Client
	kept   []string // ids
}

// save saves a note. Any failure except a refusal is an error.
func (w *writer) save(url string, n int) error {
	body := fmt.Sprintf(`{"content":"note %d of writer %d"}`, n, w.name)
	reply, err := w.client.Post(url+"/v1/notes", "application/json", strings.NewReader(body))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil // nobody took it
	}
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	var note struct{ ID string }
	switch {
	case reply.StatusCode == http.StatusServiceUnavailable:
		return nil // was refused
	case reply.StatusCode != http.StatusCreated:
		return fmt.Errorf("%s %s", reply.Status, data)
	}
	if err := json.Unmarshal(data, &note); err != nil || note.ID == "" {
		return fmt.Errorf("%s: %w", data, err)
	}
	w.kept = append(w.kept, note.ID)
	return nil
}

// TestRollingRestart replaces servers on one store under eight clients, killed and drained
// in turn. A drained one fails no request that it took; no acknowledged note is lost.
// LOCI_LONG=1 does it a hundred times.
func TestRollingRestart(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no signals to send
	}
	cycles := 2
	if os.Getenv("LOCI_LONG") != "" {
		cycles = 100
	}
	store := "--store=sqlite:" + t.TempDir() + "/loci.db"
	env := []string{"LOCI_HTTP_SHUTDOWN_DELAY=1s"}
	var current atomic.Pointer[node]
	current.Store(startNode(t, env, store))
	var killed sync.Map // nodes that clients may see fail
	stop := make(chan struct{})
	writers := make([]*writer, 8)
	var all sync.WaitGroup
	for i := range writers {
		w := &writer{name: i, client: http.Client{Transport: &http.Transport{}}}
		writers[i] = w
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				at := current.Load()
				if err := w.save(at.url, n); err != nil {
					if _, expected := killed.Load(at); !expected {
						t.Errorf("writer %d: %v", w.name, err)
					}
				}
			}
		})
	}
	for cycle := range cycles {
		old, next := current.Load(), startNode(t, env, store)
		await(t, "a server that is ready", func() bool {
			reply, err := http.Get(next.url + "/readyz")
			return err == nil && reply.Body.Close() == nil && reply.StatusCode == http.StatusOK
		})
		if cycle%2 == 0 {
			current.Store(next)
			old.signal(t, syscall.SIGTERM)
			if err := <-old.ended; err != nil {
				t.Errorf("the drained server: %v: %s", err, old.errors)
			}
			continue
		}
		killed.Store(old, true)
		old.signal(t, syscall.SIGKILL)
		<-old.ended
		current.Store(next)
	}
	close(stop)
	all.Wait()
	total := 0
	for _, w := range writers {
		for _, id := range w.kept {
			if status, reply := request(t, "GET", current.Load().url+"/v1/memories/"+id, ""); status != http.StatusOK {
				t.Errorf("the acknowledged note %s: %d %s", id, status, reply)
			}
			total++
		}
	}
	if total < 8*cycles {
		t.Errorf("only %d notes were acknowledged", total)
	}
}
