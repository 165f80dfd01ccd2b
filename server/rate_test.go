package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
)

// TestRatesAreBounded: however many callers ask, few have a bucket.
func TestRatesAreBounded(t *testing.T) {
	a := allowance{"tenant", 1, 1}
	r, now := newRates(), time.Now()
	for i := range 3 * maxRates {
		r.take(fmt.Sprint(i), a, now)
	}
	if len(r.of) != maxRates || r.recent.Len() != maxRates {
		t.Errorf("%d buckets, %d in order", len(r.of), r.recent.Len())
	}
	if r.take(fmt.Sprint(3*maxRates-1), a, now).ok {
		t.Error("who asked last was forgotten")
	}
	if !r.take(fmt.Sprint(3*maxRates-1), allowance{"tenant", 0, 0}, now).ok || len(r.of) != maxRates-1 {
		t.Errorf("%d buckets; one is not needed any more", len(r.of))
	}
}

// keyed makes a server whose callers name themselves, all of one tenant; those that limits
// has are bounded.
func keyed(t *testing.T, o Options, limits map[string]CallerLimits) *Server {
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	o.Authenticate = func(r *http.Request) (Caller, error) {
		name := r.Header.Get("Authorization")
		p, err := loci.NewPrincipal(tenant, "key:"+name, nil)
		return Caller{Principal: p, Limits: limits[name]}, err
	}
	s, _ := newServer(t, o)
	return s
}

// TestKeysHaveRatesOfTheirOwn: a key that sends more than it may is refused before it
// counts for its tenant; another key of that tenant goes on; each limit is shown.
func TestKeysHaveRatesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, Options{Limits: Limits{PerSecond: 1, Burst: 6}}, map[string]CallerLimits{
			"slow": {RequestsPerSecond: 0.5, Burst: 2}, "preset": {RequestsPerSecond: 1},
		})
		shown := func(h http.Header) string { return strings.Join(h["Ratelimit"], ", ") }
		for i, want := range []string{`"key";r=1;t=2, "tenant";r=5;t=1`, `"key";r=0;t=4, "tenant";r=4;t=2`} {
			w := ask(s, "GET", "/v1/x", "", "Authorization: slow")
			if w.Code != 200 || shown(w.Header()) != want || w.Header()["Ratelimit-Policy"][0] != `"key";q=2;w=4` {
				t.Errorf("request %d: %d %v", i, w.Code, w.Header())
			}
		}
		for range 5 {
			w := ask(s, "POST", "/mcp", "{}", "Authorization: slow")
			if w.Code != 429 || w.Header().Get("Retry-After") != "2" || shown(w.Header()) != `"key";r=0;t=4` ||
				!strings.Contains(w.Body.String(), "the key has used all of its 2 requests at once; the limit is 0.5 a second") ||
				!strings.Contains(w.Body.String(), "loci key limit") {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		w := ask(s, "GET", "/v1/x", "", "Authorization: free")
		if w.Code != 200 || shown(w.Header()) != `"tenant";r=3;t=3` {
			t.Errorf("another key: %d %v", w.Code, w.Header())
		}
		time.Sleep(2 * time.Second)
		if w := ask(s, "GET", "/v1/x", "", "Authorization: slow"); w.Code != 200 {
			t.Errorf("two seconds later: %d", w.Code)
		}
		for _, want := range []int{200, 200, 429} {
			if w := ask(s, "GET", "/v1/x", "", "Authorization: preset"); w.Code != want {
				t.Errorf("twice the rate at once: %d, want %d", w.Code, want)
			}
		}
		if w := ask(s, "GET", "/healthz", "", "Authorization: slow"); w.Code != 200 || shown(w.Header()) != "" {
			t.Errorf("health: %d %v", w.Code, w.Header())
		}
	})
}

// TestKeysHaveRequestsUnderWay: a key has no more requests under way than it may, also those
// that were refused or panicked count no longer; another key of its tenant is not bounded.
func TestKeysHaveRequestsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/held":
				<-proceed
			case "/v1/panic":
				panic("on purpose")
			}
		})
		two := map[string]CallerLimits{"two": {ConcurrentRequests: 2}}
		s := keyed(t, Options{REST: h, Limits: Limits{InFlight: 10}}, two)
		for range 3 {
			ask(s, "GET", "/v1/panic", "", "Authorization: two")
		}
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { ask(s, "GET", "/v1/held", "", "Authorization: two") })
		}
		synctest.Wait()
		for range 3 {
			w := ask(s, "GET", "/v1/x", "", "Authorization: two")
			if w.Code != 429 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(),
				"2 requests of this key are under way; the limit is 2") || !strings.Contains(w.Body.String(), "loci key limit") {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		if w := ask(s, "GET", "/v1/x", "", "Authorization: other"); w.Code != 200 {
			t.Errorf("another key: %d %s", w.Code, w.Body)
		}
		close(proceed)
		all.Wait()
		if w := ask(s, "GET", "/v1/x", "", "Authorization: two"); w.Code != 200 || len(s.under.of) != 0 {
			t.Errorf("when they have ended: %d, %v", w.Code, s.under.of)
		}
	})
}
