package auth_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// A refusalLog keeps what is written of refusals.
type refusalLog struct {
	mu    sync.Mutex
	lines []string
	fail  error
	shut  bool
}

func (l *refusalLog) write(
	_ context.Context, t loci.Tenant, actor, requestID string, details map[string]any,
) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	details = maps.Clone(details)
	l.lines = append(l.lines, fmt.Sprintf("%v %s %s %v", t, actor, requestID, details))
	return l.fail
}

func (l *refusalLog) open(context.Context, loci.Tenant) (bool, error) { return !l.shut, nil }

func (l *refusalLog) taken() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func newRefusals(t *testing.T) (*refusalLog, *auth.Refusals, func()) {
	t.Helper()
	log := &refusalLog{}
	r := auth.NewRefusals(auth.RefusalOptions{Write: log.write, Open: log.open})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(done)
	}()
	return log, r, func() {
		cancel()
		<-done
	}
}

// TestRefusalsAreToldAndCounted: the first of its kind at once, those that follow as a number, also when
// the server ends; another caller, operation or tenant is another kind.
func TestRefusalsAreToldAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, refusals, end := newRefusals(t)
		acme := locitest.Tenant(t, "acme")
		one := auth.Refused{Tenant: acme, Subject: "key:1", Operation: "save_note", RequestID: "r1", From: "10.0.0.7"}
		for range 1000 {
			refusals.Add(one)
		}
		got := log.taken()
		if len(got) != 1 || got[0] != "acme key:1 r1 map[from:10.0.0.7 operation:save_note times:1]" {
			t.Errorf("%v", got)
		}
		for _, other := range []auth.Refused{
			{Tenant: locitest.Tenant(t, "globex"), Subject: "key:1", Operation: "save_note"},
			{Tenant: acme, Subject: "key:2", Operation: "save_note"},
			{Tenant: acme, Subject: "key:1", Operation: "search"},
		} {
			refusals.Add(other)
			want := fmt.Sprintf("%v %s  map[operation:%s times:1]", other.Tenant, other.Subject, other.Operation)
			if got := log.taken(); len(got) != 1 || got[0] != want {
				t.Errorf("%v, want %s", got, want)
			}
		}
		time.Sleep(auth.RefusalsEvery + time.Minute)
		if got := log.taken(); len(got) != 1 || !strings.Contains(got[0], "times:999") || !strings.Contains(got[0], "since:2000-01-01T") {
			t.Errorf("%v", got)
		}
		time.Sleep(time.Hour)
		if got := log.taken(); len(got) != 0 {
			t.Errorf("nobody was refused: %v", got)
		}
		refusals.Add(one)
		refusals.Add(one)
		if got := log.taken(); len(got) != 1 {
			t.Errorf("again: %v", got)
		}
		end()
		if got := log.taken(); len(got) != 1 || !strings.Contains(got[0], "times:1]") {
			t.Errorf("at the end: %v", got)
		}
	})
}

// TestRefusalsAreBounded: whoever tries everything fills no log, and nothing is written of more
// tenants than are counted.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, refusals, end := newRefusals(t)
		acme := locitest.Tenant(t, "acme")
		for i := range 10_000 {
			refusals.Add(auth.Refused{Tenant: acme, Subject: "key:1", Operation: fmt.Sprint(i)})
		}
		time.Sleep(2 * auth.RefusalsEvery)
		got := log.taken()
		if len(got) > 34 || !strings.Contains(strings.Join(got, "\n"), "operation:other") {
			t.Errorf("%d lines: %v", len(got), got)
		}
		for i := range 100 { // what is told as one is nobody's alone
			refusals.Add(auth.Refused{Tenant: acme, Subject: fmt.Sprint("key:", i), Operation: "search", From: "10.0.0.7"})
		}
		time.Sleep(auth.RefusalsEvery)
		if got := strings.Join(log.taken(), "\n"); !strings.Contains(got, "acme several callers  map[operation:other ") ||
			strings.Count(got, "10.0.0.7") > 32 {
			t.Errorf("of many callers: %s", got)
		}
		time.Sleep(3 * auth.RefusalsEvery)
		log.taken()
		for i := range 3000 {
			refusals.Add(auth.Refused{Tenant: locitest.Tenant(t, fmt.Sprint("t", i)), Subject: "key:1", Operation: "search"})
		}
		end()
		if got := log.taken(); len(got) != 1000 {
			t.Errorf("%d lines of 3000 tenants", len(got))
		}
	})
}

// TestRefusalsOfAClosedTenant are not written: it may be about to be erased. A log that cannot be
// written stops nothing.
func TestRefusalsOfAClosedTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, refusals, end := newRefusals(t)
		defer end()
		log.shut = true
		refusals.Add(auth.Refused{Tenant: locitest.Tenant(t, "acme"), Subject: "key:1", Operation: "search"})
		if got := log.taken(); len(got) != 0 {
			t.Errorf("%v", got)
		}
		log.shut, log.fail = false, errors.New("the disk is full")
		for i := range 10 {
			refusals.Add(auth.Refused{Tenant: locitest.Tenant(t, "globex"), Subject: "key:1", Operation: fmt.Sprint(i)})
			if got := log.taken(); len(got) != 1 {
				t.Errorf("%v", got)
			}
		}
	})
}

// TestLastRefusalsAreWrittenBeforeTheEnd: the store may be closed when Run has returned, so
// that the writes which it begins at the end have ended by then.
func TestLastRefusalsAreWrittenBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{})
		log := &refusalLog{}
		r := auth.NewRefusals(auth.RefusalOptions{Open: log.open, Write: func(
			ctx context.Context, tenant loci.Tenant, actor, id string, details map[string]any,
		) error {
			<-turn
			return log.write(ctx, tenant, actor, id, details)
		}})
		for n := range 5 { // one more than are written at once
			r.Add(auth.Refused{Tenant: locitest.Tenant(t, "acme"), Subject: "key:1", Operation: fmt.Sprint(n)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		returned := false
		go func() {
			r.Run(ctx)
			returned = true
		}()
		for n := range 5 {
			synctest.Wait()
			if returned {
				t.Fatalf("Run returned after %d of 5 writes", n)
			}
			turn <- struct{}{}
		}
		synctest.Wait()
		if lines := log.taken(); !returned || len(lines) != 5 {
			t.Errorf("returned: %v, written: %q", returned, lines)
		}
	})
}
