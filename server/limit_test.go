package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

// byHeader takes the tenant from a header, as these tests name it.
func byHeader(r *http.Request) string { return r.Header.Get("X-Tenant") }

// held answers below /held when it may, and at once elsewhere.
type held struct {
	running chan string // the tenant of each that runs
	proceed chan struct{}
}

func newHeld() *held {
	return &held{running: make(chan string, 100), proceed: make(chan struct{})}
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/held") {
		h.running <- byHeader(r)
		<-h.proceed
	}
}

// TestRefusalsSayWhy: a refusal names the limit, what is used of it, what to do and when to
// come again. It comes before the body is taken in.
func TestRefusalsSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		s, _ := newServer(t, Options{REST: h, Tenant: byHeader, Limits: Limits{
			InFlight: 1, Queue: 1, Wait: 100 * time.Millisecond, Concurrent: 2, PerSecond: 2, Burst: 8,
		}})
		var all sync.WaitGroup
		all.Go(func() { ask(s, "GET", "/v1/held", "", "X-Tenant: a") })
		<-h.running
		all.Go(func() {
			w := ask(s, "GET", "/v1/x", "", "X-Tenant: a")
			if w.Code != 503 || !strings.Contains(w.Body.String(), "waited for 100ms") ||
				!strings.Contains(w.Body.String(), "http.max_wait") || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		})
		synctest.Wait()
		w := ask(s, "POST", "/v1/x", "body", "X-Tenant: a")
		if w.Code != 429 || !strings.Contains(w.Body.String(), "2 requests of this tenant are under way; the limit is 2") ||
			!strings.Contains(w.Body.String(), "limits.concurrent_requests") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w = ask(s, "POST", "/v1/x", "body", "X-Tenant: b")
		if w.Code != 503 || !strings.Contains(w.Body.String(), "1 wait, and 1 may") ||
			!strings.Contains(w.Body.String(), "http.max_queue") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		close(h.proceed)
		all.Wait()
	})
}

// TestRefusalsComeBeforeTheBody: no byte is taken in of a request that gets no slot.
func TestRefusalsComeBeforeTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		s, _ := newServer(t, Options{REST: h, Tenant: byHeader, Limits: Limits{
			InFlight: 1, Queue: 1, Wait: time.Minute, Concurrent: 2,
		}})
		var all sync.WaitGroup
		for range 2 { // one runs, and one waits
			all.Go(func() { ask(s, "GET", "/v1/held", "", "X-Tenant: a") })
		}
		synctest.Wait()
		for tenant, status := range map[string]int{"a": 429, "b": 503} {
			body := &untouched{}
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/x", body)
			r.Header.Set("X-Tenant", tenant)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != status || body.read {
				t.Errorf("tenant %s: %d, the body was read: %v", tenant, w.Code, body.read)
			}
		}
		close(h.proceed)
		all.Wait()
	})
}

// TestStrangersUseNoRate: callers without a good credential use nothing of what a tenant may
// send.
func TestStrangersUseNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant, err := loci.NewTenant("a")
		if err != nil {
			t.Fatal(err)
		}
		known, err := loci.NewPrincipal(tenant, "key", nil)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := newServer(t, Options{
			Limits: Limits{PerSecond: 0.1, Burst: 1},
			Authenticate: func(r *http.Request) (Caller, error) {
				if r.Header.Get("Authorization") == "" {
					return Caller{}, &loci.Error{Code: loci.Unauthenticated, Msg: "who are you"}
				}
				return Caller{Principal: known}, nil
			},
		})
		for range 3 {
			if w := ask(s, "GET", "/v1/x", ""); w.Code != 401 || w.Header().Get("RateLimit") != "" {
				t.Errorf("a stranger: %d %v", w.Code, w.Header())
			}
		}
		for _, want := range []int{200, 429} {
			if w := ask(s, "GET", "/v1/x", "", "Authorization: good"); w.Code != want {
				t.Errorf("%d %s; want %d", w.Code, w.Body, want)
			}
		}
	})
}

// untouched is a body that knows whether somebody has read of it.
type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

// TestRate: a tenant that sends too fast is told its limit and when it may go on. Other tenants
// are not affected.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, Options{Tenant: byHeader, Limits: Limits{PerSecond: 0.5, Burst: 3}})
		for left := range 3 {
			w := ask(s, "POST", "/mcp", "{}", "X-Tenant: a")
			if want := fmt.Sprintf(`"tenant";r=%d;t=%d`, 2-left, 2+2*left); w.Code != 200 ||
				w.Header().Get("RateLimit") != want || w.Header().Get("RateLimit-Policy") != `"tenant";q=3;w=6` {
				t.Errorf("%d %v, want %s", w.Code, w.Header(), want)
			}
		}
		w := ask(s, "POST", "/mcp", "{}", "X-Tenant: a")
		if w.Code != 429 || w.Header().Get("Retry-After") != "2" || w.Header().Get("RateLimit") != `"tenant";r=0;t=6` ||
			!strings.Contains(w.Body.String(), "limits.requests_per_second") ||
			!strings.Contains(w.Body.String(), "3 requests at once; the limit is 0.5 a second") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if w := ask(s, "POST", "/mcp", "{}", "X-Tenant: b"); w.Code != 200 {
			t.Errorf("another: %d %s", w.Code, w.Body)
		}
		if w := ask(s, "GET", "/healthz", "", "X-Tenant: a"); w.Code != 200 || w.Header().Get("RateLimit") != "" {
			t.Errorf("health: %d %v", w.Code, w.Header())
		}
		time.Sleep(2 * time.Second)
		if w := ask(s, "GET", "/v1/x", "", "X-Tenant: a"); w.Code != 200 {
			t.Errorf("two seconds later: %d %s", w.Code, w.Body)
		}
		if err := s.SetLimits(Limits{}); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if w := ask(s, "GET", "/v1/x", "", "X-Tenant: a"); w.Code != 200 || w.Header().Get("RateLimit") != "" {
				t.Errorf("without a limit: %d %v", w.Code, w.Header())
			}
		}
		if err := s.SetLimits(Limits{Queue: -1}); err == nil {
			t.Error("a limit below zero is taken")
		}
	})
}

// TestTenantsShareSlots: a tenant that sends without end leaves the others their share.
func TestTenantsShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		s, _ := newServer(t, Options{REST: h, Tenant: byHeader, Limits: Limits{InFlight: 4, Wait: time.Minute}})
		ask(s, "GET", "/v1/x", "", "X-Tenant: light")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { ask(s, "GET", "/v1/held", "", "X-Tenant: heavy") })
		}
		synctest.Wait()
		for range 2 {
			all.Go(func() { ask(s, "GET", "/v1/held", "", "X-Tenant: light") })
		}
		synctest.Wait()
		ran := map[string]int{}
		for range len(h.running) {
			ran[<-h.running]++
		}
		if ran["heavy"] != 2 || ran["light"] != 2 {
			t.Errorf("run: %v", ran)
		}
		close(h.proceed)
		all.Wait()
	})
}

// TestSlotsWhileWaiting: a request that waits for something else, or listens, has no slot.
func TestSlotsWhileWaiting(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	streams := make(chan error, 1)
	s, address := listening(t, Options{Limits: Limits{InFlight: 1}, REST: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/cold":
				back := admission.Aside(r.Context())
				close(entered)
				<-leave
				if err := back(r.Context()); err != nil {
					t.Error(err)
				}
			case "/v1/stream":
				ctx, done := admission.Stream(r.Context())
				defer done()
				entered <- struct{}{}
				<-ctx.Done()
				streams <- context.Cause(r.Context())
			}
		})})
	var cold sync.WaitGroup
	cold.Go(func() { answered(t, address, "GET", "/v1/cold", "") })
	wait(t, entered)
	answered(t, address, "GET", "/v1/x", "")
	close(leave)
	cold.Wait()
	entered = make(chan struct{})
	var stream sync.WaitGroup
	stream.Go(func() { answered(t, address, "GET", "/v1/stream", "") })
	wait(t, entered)
	answered(t, address, "POST", "/v1/x", "{}")
	s.end.Do(func() { close(s.ending) }) // as the end does, before it waits for what runs
	if err := wait(t, streams); err != nil {
		t.Errorf("the request itself ended: %v", err)
	}
	stream.Wait()
}

// TestTenantsHaveLimitsOfTheirOwn: what is said of a tenant counts in place of what the server
// says of all, field by field and from the next request on; a tenant of which nothing is said
// has the server's; whose limits cannot be known is refused.
func TestTenantsHaveLimitsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		own := map[string]CallerLimits{
			"rate": {RequestsPerSecond: 0.5, Burst: 1}, "preset": {RequestsPerSecond: 1.5}, "two": {ConcurrentRequests: 2},
		}
		s, _ := newServer(t, Options{REST: h, Tenant: byHeader, Limits: Limits{
			InFlight: 10, Concurrent: 1, PerSecond: 100, Burst: 100,
		}, Allowed: func(_ context.Context, tenant string) (CallerLimits, error) {
			if tenant == "unknown" {
				return CallerLimits{}, loci.Errorf(loci.Unavailable, "nobody can tell")
			}
			return own[tenant], nil
		}})
		policy := func(tenant string) (status int, policy string) {
			w := ask(s, "GET", "/v1/x", "", "X-Tenant: "+tenant)
			return w.Code, w.Header().Get("RateLimit-Policy")
		}
		for _, c := range []struct {
			tenant string
			status int
			policy string
		}{
			{"rate", 200, `"tenant";q=1;w=2`}, {"other", 200, `"tenant";q=100;w=1`}, {"two", 200, `"tenant";q=100;w=1`},
			{"preset", 200, `"tenant";q=3;w=2`}, {"unknown", 503, ""},
		} {
			if status, got := policy(c.tenant); status != c.status || got != c.policy {
				t.Errorf("%s: %d %s", c.tenant, status, got)
			}
		}
		w := ask(s, "POST", "/mcp", "{}", "X-Tenant: rate")
		if w.Code != 429 || w.Header().Get("Retry-After") != "2" || w.Header().Get("RateLimit") != `"tenant";r=0;t=2` ||
			!strings.Contains(w.Body.String(), "all of its 1 requests at once; the limit is 0.5 a second") ||
			!strings.Contains(w.Body.String(), "loci tenant rate-limit") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		own["rate"] = CallerLimits{RequestsPerSecond: 7, Burst: 7}
		if status, got := policy("rate"); status != 200 || got != `"tenant";q=7;w=1` {
			t.Errorf("after a change: %d %s", status, got)
		}
		var all sync.WaitGroup
		for _, tenant := range []string{"two", "two", "other"} {
			all.Go(func() { ask(s, "GET", "/v1/held", "", "X-Tenant: "+tenant) })
		}
		synctest.Wait()
		for tenant, said := range map[string]string{
			"two":   "2 requests of this tenant are under way; the limit is 2",
			"other": "1 requests of this tenant are under way; the limit is 1",
		} {
			w := ask(s, "GET", "/v1/x", "", "X-Tenant: "+tenant)
			if w.Code != 429 || !strings.Contains(w.Body.String(), said) || !strings.Contains(w.Body.String(), "loci tenant rate-limit") {
				t.Errorf("%s: %d %s", tenant, w.Code, w.Body)
			}
		}
		close(h.proceed)
		all.Wait()
	})
}
