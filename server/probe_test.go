package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
)

// TestReadiness asks the store at most once a second, whoever asks, and says what is
// wrong with it. Life goes on.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, fault := 0, error(nil)
		s, _ := newServer(t, Options{Ready: func(context.Context) error {
			asked++
			return fault
		}})
		probe := func(path string, want int) {
			t.Helper()
			if w := ask(s, "GET", path, ""); w.Code != want {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		for range 1000 {
			probe(readyPath, 200)
		}
		fault = loci.Errorf(loci.Unavailable, "the store is locked")
		time.Sleep(999 * time.Millisecond)
		probe(readyPath, 200)
		time.Sleep(time.Millisecond)
		probe(readyPath, 503)
		if w := ask(s, "GET", readyPath, ""); !strings.Contains(w.Body.String(), "the store is locked") {
			t.Errorf("%s", w.Body)
		}
		probe(livePath, 200)
		probe(healthPath, 200)
		if asked != 2 {
			t.Errorf("the store was asked %d times", asked)
		}
		if w := ask(s, "POST", readyPath, ""); w.Code != 405 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// TestReadinessEnds: a store that does not answer makes the server not ready, in time.
func TestReadinessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, Options{Ready: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		since := time.Now()
		if w := ask(s, "GET", readyPath, ""); w.Code != 503 || time.Since(since) != readyTime {
			t.Errorf("after %v: %d %s", time.Since(since), w.Code, w.Body)
		}
	})
}

// TestLeaving: a server that is about to end says that it is not ready, but serves on for a
// while. It asks clients to come back over another connection.
func TestLeaving(t *testing.T) {
	s, _ := newServer(t, Options{Delay: 500 * time.Millisecond})
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	get := func(path string) (status int, closes bool) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		return reply.StatusCode, reply.Close
	}
	if status, closes := get(readyPath); status != 200 || closes {
		t.Errorf("before: %d, closes: %v", status, closes)
	}
	stop()
	wait(t, s.left)
	if status, _ := get(readyPath); status != 503 {
		t.Errorf("ready: %d", status)
	}
	if status, closes := get("/v1/x"); status != 200 || !closes {
		t.Errorf("a request: %d, closes: %v", status, closes)
	}
	if status, _ := get(livePath); status != 200 {
		t.Errorf("alive: %d", status)
	}
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
}
