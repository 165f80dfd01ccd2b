package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged is a log that several goroutines may write.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// surface answers with the header that names the request, or does what its path says.
func surface(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/panic") {
			panic("a secret")
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, name)
	})
}

func newServer(t *testing.T, o Options) (*Server, *logged) {
	t.Helper()
	log := &logged{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	if o.REST == nil {
		o.REST = surface("rest")
	}
	if o.MCP == nil {
		o.MCP = surface("mcp")
	}
	o.Agents = map[string]http.Handler{"bot": surface("bot"), "a b": surface("a b")}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// ask sends a request to the handler itself.
func ask(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost:7437"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func TestRoutes(t *testing.T) {
	s, _ := newServer(t, Options{})
	for _, c := range []struct {
		method, target string
		status         int
		body           string
	}{
		{"GET", "/healthz", 200, `{"status":"ok"}`},
		{"HEAD", "/healthz", 200, ""},
		{"POST", "/healthz", 405, `"code":"unsupported"`},
		{"GET", "/v1/anything/below", 200, "rest"},
		{"POST", "/mcp", 200, "mcp"},
		{"POST", "/mcp/bot", 200, "bot"},
		{"POST", "/mcp/a%20b", 200, "a b"},
		{"POST", "/mcp/nobody", 404, "no such agent"},
		{"POST", "/mcp/bot/x", 404, "not_found"},
		{"GET", "/", 404, "not_found"},
		{"GET", "/v2", 404, "/v2"},
		{"GET", "/v1/panic", 500, `"detail":"internal error"`},
	} {
		w := ask(s, c.method, c.target, "")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s %s: %d %s", c.method, c.target, w.Code, w.Body)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get(headerRequestID) == "" {
			t.Errorf("%s %s: %v", c.method, c.target, w.Header())
		}
	}
}

// TestHosts: a name that is not ours is refused, since that is how a web page reaches a server
// on its reader's machine.
func TestHosts(t *testing.T) {
	s, _ := newServer(t, Options{Hosts: []string{"Memory.example.com", "fd00::1"}})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:7437": 200, "LOCALHOST.": 200, "x.localhost:1": 200, "127.0.0.1:7437": 200, "127.9.9.9": 200,
		"[::1]:7437": 200, "[::1]": 200, "memory.example.com": 200, "MEMORY.example.com:443": 200, "memory.example.com.": 200, "[fd00::1]:80": 200,
		"": 421, "evil.example": 421, "evil.example:7437": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
		"notlocalhost": 421, "10.0.0.1": 421, "0.0.0.0:7437": 421, "[::]": 421, "memory.example.com.evil": 421, "localhost:x:y": 421, "2130706433": 421,
	} {
		if w := ask(s, "GET", "/v1/x", "", "Host: "+host); w.Code != want {
			t.Errorf("host %q: %d, want %d: %s", host, w.Code, want, w.Body)
		}
	}
}

// TestHostIsTheAddressAtWhichARequestArrived: monitors and probes call a server by its address. A
// page cannot lead a browser there by a name, and another origin at the same address is one.
func TestHostIsTheAddressAtWhichARequestArrived(t *testing.T) {
	s, _ := newServer(t, Options{})
	for _, c := range []struct {
		at, host, origin string
		want             int
	}{
		{"10.1.2.3", "10.1.2.3:7437", "", 200}, {"10.1.2.3", "10.1.2.3", "", 200},
		{"fd00::2", "[fd00::2]:7437", "", 200}, {"fd00::2", "[fd00::2]", "", 200},
		{"10.1.2.3", "10.1.2.4:7437", "", 421}, {"10.1.2.3", "pod.example", "", 421},
		{"10.1.2.3", "10.1.2.3.evil.example", "", 421}, {"10.1.2.3", "", "", 421}, {"", "", "", 421}, {"", "evil.example", "", 421},
		{"10.1.2.3", "10.1.2.3:7437", "http://10.1.2.3:8080", 403}, {"10.1.2.3", "10.1.2.3:7437", "http://evil.example", 403},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/x", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		at := &net.TCPAddr{IP: net.ParseIP(c.at), Port: 7437}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at)))
		if w.Code != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
}

// TestOrigins: a browser may ask for our own pages and those that are allowed.
func TestOrigins(t *testing.T) {
	s, _ := newServer(t, Options{Origins: []string{"https://app.example.com", "http://localhost:3000"}})
	for _, c := range []struct {
		headers []string
		status  int
		allowed bool
	}{
		{nil, 200, false},
		{[]string{"Origin: http://localhost:7437"}, 200, false},
		{[]string{"Origin: https://localhost:7437"}, 200, false}, // TLS ends before us
		{[]string{"Origin: https://app.example.com"}, 200, true},
		{[]string{"Origin: http://localhost:3000"}, 200, true},
		{[]string{"Origin: https://app.example.com", "Sec-Fetch-Site: cross-site"}, 200, true},
		{[]string{"Sec-Fetch-Site: same-origin"}, 200, false},
		{[]string{"Sec-Fetch-Site: none"}, 200, false},
		{[]string{"Origin: http://localhost"}, 403, false},
		{[]string{"Origin: http://localhost:1"}, 403, false},
		{[]string{"Origin: https://evil.example"}, 403, false},
		{[]string{"Origin: https://app.example.com.evil"}, 403, false},
		{[]string{"Origin: http://app.example.com"}, 403, false},
		{[]string{"Origin: null"}, 403, false},
		{[]string{"Origin: "}, 403, false},
		{[]string{"Origin: file://"}, 403, false},
		{[]string{"Origin: https://app.example.com", "Origin: https://evil.example"}, 403, false},
		{[]string{"Sec-Fetch-Site: cross-site"}, 403, false},
		{[]string{"Sec-Fetch-Site: same-site"}, 403, false},
	} {
		w := ask(s, "POST", "/v1/x", "", c.headers...)
		if given := w.Header().Get("Access-Control-Allow-Origin"); w.Code != c.status || (given != "") != c.allowed || given == "*" {
			t.Errorf("%v: %d, allows %q: %s", c.headers, w.Code, given, w.Body)
		}
		if w.Header().Get("Vary") != "Origin" {
			t.Errorf("%v: %v", c.headers, w.Header())
		}
	}
	asked := []string{"Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: loci-user"}
	w := ask(s, "OPTIONS", "/v1/items", "", append(asked, "Origin: https://app.example.com")...)
	if w.Code != 204 || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "PUT") || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Loci-User") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w := ask(s, "OPTIONS", "/v1/items", "", append(asked, "Origin: https://evil.example")...); w.Code != 403 {
		t.Errorf("preflight of a stranger: %d", w.Code)
	}
}

// TestRequestIDAndLog: a request has a name that a client may choose. The log tells the size of
// a request and nothing of its content.
func TestRequestIDAndLog(t *testing.T) {
	s, log := newServer(t, Options{})
	w := ask(s, "POST", "/v1/canary-path?canary=query", "canary body", "X-Request-Id: req-1.x_Y", "User-Agent: canary", "Loci-User: canary")
	if w.Header().Get(headerRequestID) != "req-1.x_Y" {
		t.Errorf("%v", w.Header())
	}
	for _, want := range []string{"request_id=req-1.x_Y", "method=POST", "route=/v1/", "status=200", "bytes_in=11", "bytes_out=4"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("the log shows content: %s", log)
	}
	someone, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	known, log := newServer(t, Options{Authenticate: func(*http.Request) (Caller, error) {
		p, err := loci.NewPrincipal(someone, "key", nil)
		return Caller{Principal: p}, err
	}})
	if ask(known, "GET", "/v1/x", ""); !strings.Contains(log.String(), "route=/v1/") {
		t.Errorf("of a known caller the log lacks the route: %s", log)
	}
	for _, id := range []string{"", " ", "a b", "x\ty", "é", strings.Repeat("x", 65), `a"`} {
		w := ask(s, "GET", "/healthz", "", "X-Request-Id: "+id)
		if got := w.Header().Get(headerRequestID); got == id || !validRequestID.MatchString(got) {
			t.Errorf("id %q became %q", id, got)
		}
	}
}

// TestWhoIsGoneIsNoFault: a credential that nobody can check is an error in the log, for operators to hear of. A
// caller who hangs up meanwhile made it one himself, and could write thousands of them.
func TestWhoIsGoneIsNoFault(t *testing.T) {
	s, log := newServer(t, Options{Authenticate: func(*http.Request) (Caller, error) {
		return Caller{}, &loci.Error{Code: loci.Unavailable, Op: "look up", Msg: "not now", Err: errors.New("no store")}
	}})
	for _, gone := range []bool{false, true} {
		log.buf.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		if gone {
			cancel()
		}
		r := httptest.NewRequest(http.MethodGet, "/v1/notes", nil).WithContext(ctx)
		r.Host = "localhost:7437"
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		cancel()
		said := log.String()
		isError := strings.Contains(said, "level=ERROR")
		if w.Code != http.StatusServiceUnavailable || isError == gone || !strings.Contains(said, "no store") {
			t.Errorf("gone %v: %d %s", gone, w.Code, said)
		}
	}
}

// TestOverload: beyond its limit a server says so at once, and still tells its health.
func TestOverload(t *testing.T) {
	running, proceed := make(chan struct{}), make(chan struct{})
	one := Limits{InFlight: 1}
	s, _ := newServer(t, Options{Limits: one, REST: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(running)
		<-proceed
	})})
	done := make(chan struct{})
	go func() { defer close(done); ask(s, "GET", "/v1/x", "") }()
	<-running
	if w := ask(s, "POST", "/mcp", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(s, "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
	close(proceed)
	<-done
	if w := ask(s, "POST", "/mcp", ""); w.Code != 200 {
		t.Errorf("after it: %d", w.Code)
	}
}

func TestOnlyTheLoopback(t *testing.T) {
	for _, address := range []string{":7437", "0.0.0.0:7437", "[::]:7437", "10.0.0.1:7437", "example.com:80", "192.168.1.1:0"} {
		if l, err := Listen(t.Context(), address); !errors.Is(err, loci.ErrForbidden) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	for _, address := range []string{"", "localhost", "7437", "127.0.0.1"} {
		if l, err := Listen(t.Context(), address); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	l, err := Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(t.Context(), l.Addr().String()); !errors.Is(err, loci.ErrUnavailable) ||
		!strings.Contains(err.Error(), "in use") {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"limit": {Limits: Limits{InFlight: -1}},
		"time":  {Drain: -1}, "host with port": {Hosts: []string{"a:1"}}, "host with path": {Hosts: []string{"a/b"}},
		"no host": {Hosts: []string{""}}, "origin with path": {Origins: []string{"https://a/"}}, "origin without scheme": {Origins: []string{"a.example"}},
		"any origin": {Origins: []string{"*"}}, "origin null": {Origins: []string{"null"}},
	} {
		if _, err := New(o); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShutdown: requests that run are finished, later ones are refused, and the log names those
// that take too long.
func TestShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		drain time.Duration
		clean bool
	}{"finished": {time.Minute, true}, "too long": {time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			running, proceed := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			s, _ := newServer(t, Options{
				Drain: c.drain,
				REST: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					close(running)
					select {
					case <-proceed:
						_, _ = io.WriteString(w, "done")
					case <-r.Context().Done():
					}
				}),
			})
			l, err := Listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			go func() { ended <- s.Serve(ctx, l) }()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			replied := make(chan string, 1)
			go func() {
				response, err := client.Get("http://" + l.Addr().String() + "/v1/slow")
				if err != nil {
					replied <- err.Error()
					return
				}
				defer response.Body.Close()
				body, _ := io.ReadAll(response.Body)
				replied <- string(body)
			}()
			<-running
			stop()
			for { // until it listens no longer
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					break
				}
				conn.Close()
			}
			if c.clean {
				close(proceed)
			}
			got := <-replied
			if err := <-ended; (err == nil) != c.clean || (got == "done") != c.clean {
				t.Errorf("reply %q, %v", got, err)
			}
		})
	}
}

// TestListenerFails: a listener that fails ends the server with an error.
func TestListenerFails(t *testing.T) {
	s, _ := newServer(t, Options{})
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := s.Serve(t.Context(), l); !errors.Is(err, loci.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// Headers that are too long are answered with a problem like any other, below the size at which
// package http answers by itself.
func TestLongHeadersAreAProblem(t *testing.T) {
	s, _ := newServer(t, Options{})
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	for _, c := range []struct {
		path, name, header string
		status             int
	}{
		{"/v1/x", "X-Long", strings.Repeat("h", 60<<10), 200},
		{"/v1/x", "X-Long", strings.Repeat("h", 65<<10), 431},
		{"/v1/x", "X-Long", strings.Repeat("h", 900<<10), 431},
		{"/v1/x", "X-Request-Id", strings.Repeat("h", 60<<10), 200}, // is replaced
		{"/v1/x", "X-Request-Id", strings.Repeat("h", 65<<10), 431},
		{"/v1/x?q=" + strings.Repeat("q", 70<<10), "X-Long", "", 431},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		r.Header.Set(c.name, c.header)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if err != nil || reply.StatusCode != c.status {
			t.Errorf(
				"%d bytes: %d %.200s, %v; want %d",
				len(c.header)+len(c.path),
				reply.StatusCode,
				body,
				err,
				c.status,
			)
		}
		if c.status == 431 &&
			(reply.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(body), "the limit is 65536")) {
			t.Errorf("%d bytes: %v %.200s", len(c.header)+len(c.path), reply.Header, body)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
