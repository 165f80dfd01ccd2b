package server

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// byTenant takes a header that names a tenant for a good credential of it.
func byTenant(r *http.Request) (Caller, error) {
	name := r.Header.Get("Authorization")
	if name == "" {
		return Caller{}, &loci.Error{Code: loci.Unauthenticated, Msg: "who are you"}
	}
	tenant, err := loci.NewTenant(name)
	if err != nil {
		return Caller{}, err
	}
	p, err := loci.NewPrincipal(tenant, "key", nil)
	return Caller{Principal: p}, err
}

// A peer is a connection that a test holds open.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, address string) *peer {
	t.Helper()
	c := raw(t, address, "")
	return &peer{c, bufio.NewReader(c)}
}

// asks sends a request for a path, as a tenant unless that is "", and returns the status; 0: the
// connection has ended.
func (p *peer) asks(t *testing.T, path, tenant string) int {
	t.Helper()
	sent := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n"
	if tenant != "" {
		sent += "Authorization: " + tenant + "\r\n"
	}
	_, _ = io.WriteString(p, sent+"\r\n") // where it fails, nothing comes back
	response, err := http.ReadResponse(p.in, nil)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("no answer")
		}
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// dialFor opens a connection and sends a request by it, again where the connection was given up before
// that came, and wants a status.
func dialFor(t *testing.T, address, path, tenant string, want int) *peer {
	t.Helper()
	status := 0
	for end := time.Now().Add(patience); status == 0 && time.Now().Before(end); {
		p := dial(t, address)
		if status = p.asks(t, path, tenant); status == want {
			return p
		}
	}
	t.Fatalf("%s: status %d, want %d", path, status, want)
	return nil
}

// ended waits for the end of a connection.
func (p *peer) ended(t *testing.T) {
	t.Helper()
	if n, err := p.in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection goes on: %q, %v", n, err)
	}
}

// connected waits until so many connections are open, so many of them strangers'.
func connected(t *testing.T, s *Server, open, strangers int) {
	t.Helper()
	var l Load
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if l = s.Load(); l.Connections == open && l.Strangers == strangers {
			return
		}
	}
	t.Fatalf("%d connections, %d without a credential; want %d and %d", l.Connections, l.Strangers, open, strangers)
}

// TestStrangersGiveWayToNewcomers: whoever holds connections and shows no credential keeps nobody
// out, and those who have shown one stay.
func TestStrangersGiveWayToNewcomers(t *testing.T) {
	s, address := listening(t, Options{Authenticate: byTenant, Limits: Limits{Connections: 8}})
	known := dial(t, address)
	if status := known.asks(t, "/v1/x", "a"); status != 200 {
		t.Fatalf("status %d", status)
	}
	connected(t, s, 1, 0)
	var held []*peer
	for i := range 30 {
		held = append(held, dial(t, address))
		connected(t, s, min(i+2, 8), min(i+1, 7))
	}
	for _, p := range held[:23] {
		p.ended(t)
	}
	if status := held[29].asks(t, "/v1/x", ""); status != 401 {
		t.Errorf("the youngest: status %d", status)
	}
	for range 20 { // the next ones, each of which asks at once
		if p := dial(t, address); p.asks(t, "/v1/x", "b") != 200 {
			t.Fatal("a newcomer was not answered")
		} else {
			p.Close()
		}
	}
	if status := known.asks(t, "/v1/x", "a"); status != 200 {
		t.Errorf("who had shown a credential: status %d", status)
	}
	if l := s.Load(); l.Displaced < 23 || l.MostConnections != 8 {
		t.Errorf("%+v", l)
	}
}

// TestTheTenantWithMostConnectionsGivesWay: with the one that has had nothing to do for longest, and
// newcomers do not push one another out.
func TestTheTenantWithMostConnectionsGivesWay(t *testing.T) {
	s, address := listening(t, Options{Authenticate: byTenant, Limits: Limits{Connections: 16}})
	asked := func(tenant string) *peer {
		p := dial(t, address)
		if status := p.asks(t, "/v1/x", tenant); status != 200 {
			t.Fatalf("status %d", status)
		}
		return p
	}
	few := asked("few")
	var many []*peer
	for range 15 {
		many = append(many, asked("many"))
	}
	if status := many[0].asks(t, "/v1/x", "many"); status != 200 { // which makes many[1] the oldest
		t.Fatalf("status %d", status)
	}
	connected(t, s, 16, 0)
	first, second := dial(t, address), dial(t, address)
	connected(t, s, 16, 2)
	many[1].ended(t)
	many[2].ended(t)
	for name, p := range map[string]*peer{"first": first, "second": second, "few": few, "many": many[0]} {
		if status := p.asks(t, "/v1/x", name); status != 200 {
			t.Errorf("%s: status %d", name, status)
		}
	}
}

// TestATenantThatWorksEverywhereKeepsNobodyOut: where the tenant with the most connections works with
// all of them, an idle one of another tenant makes room for a newcomer.
func TestATenantThatWorksEverywhereKeepsNobodyOut(t *testing.T) {
	all := newConnections(4, time.Hour, slog.New(slog.DiscardHandler))
	opened := func() *connection {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		return all.add(ours)
	}
	for range 3 {
		c := opened()
		c.know("many")
		t.Cleanup(c.begin(t.Context(), false))
	}
	few := opened()
	few.know("few")
	if newcomer := opened(); newcomer.isGone() || !few.isGone() {
		t.Errorf("the newcomer is gone: %v; the idle one: %v", newcomer.isGone(), few.isGone())
	}
}

// TestWhoWorksIsNotCutOff: while every connection has a request under way, a newcomer is turned away.
// One that only listens has none.
func TestWhoWorksIsNotCutOff(t *testing.T) {
	release, running := make(chan struct{}), make(chan string, 3)
	blocks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running <- r.Method
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s, address := listening(t, Options{
		Authenticate: byTenant, REST: blocks, MCP: blocks, Limits: Limits{Connections: 3, InFlight: 8},
	})
	worked := make(chan int, 2)
	for range 2 {
		p := dial(t, address)
		go func() { worked <- p.asks(t, "/v1/x", "a") }()
		wait(t, running)
	}
	third := dial(t, address)
	sent := make(chan int, 1)
	go func() { sent <- third.asks(t, "/mcp", "a") }()
	wait(t, running)
	connected(t, s, 3, 0)
	fourth := dial(t, address)
	if status := wait(t, sent); status != 0 {
		t.Errorf("who listens: status %d", status)
	}
	connected(t, s, 3, 1)
	go func() { sent <- fourth.asks(t, "/v1/x", "b") }()
	wait(t, running)
	dial(t, address).ended(t)
	close(release)
	for range 2 {
		if status := wait(t, worked); status != 200 {
			t.Errorf("who worked: status %d", status)
		}
	}
	if status := wait(t, sent); status != 200 {
		t.Errorf("who came fourth: status %d", status)
	}
}

// TestStrangersAreNotWaitedForLong: a connection without a good credential that has nothing to do ends
// sooner than others.
func TestStrangersAreNotWaitedForLong(t *testing.T) {
	const alone = 300 * time.Millisecond
	s, address := listening(t, Options{Stranger: alone, Authenticate: func(r *http.Request) (Caller, error) {
		if r.URL.Path == "/v1/late" {
			time.Sleep(2 * alone)
		}
		return byTenant(r)
	}})
	known, silent := dialFor(t, address, "/v1/x", "a", 200), dial(t, address)
	refused := dialFor(t, address, "/v1/x", "", 401)
	begun := time.Now()
	refused.ended(t)
	silent.ended(t)
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	dialFor(t, address, "/v1/late", "", 401).ended(t) // while it has something to do, it stays
	connected(t, s, 1, 0)
	if status := known.asks(t, "/v1/x", ""); status != 401 { // and it stays known
		t.Errorf("status %d", status)
	}
	time.Sleep(2 * alone)
	if status := known.asks(t, "/v1/x", "a"); status != 200 {
		t.Errorf("status %d", status)
	}
	// Where nobody is asked, nobody is a stranger.
	s, address = listening(t, Options{Stranger: alone})
	anybody := dialFor(t, address, "/v1/x", "", 200)
	connected(t, s, 1, 0)
	time.Sleep(2 * alone)
	if status := anybody.asks(t, "/v1/x", ""); status != 200 {
		t.Errorf("where nobody is asked: status %d", status)
	}
}

// TestOperatorsHaveConnectionsOfTheirOwn: those for callers may be full.
func TestOperatorsHaveConnectionsOfTheirOwn(t *testing.T) {
	s, _ := newServer(t, Options{Authenticate: byTenant, Limits: Limits{Connections: 2}, OperatorsApart: true})
	var listeners []net.Listener
	for range 2 {
		l, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	serves(t, s, listeners[0], listeners[1])
	operator := dial(t, listeners[1].Addr().String())
	if status := operator.asks(t, "/livez", ""); status != 200 {
		t.Fatalf("status %d", status)
	}
	for range 5 {
		dial(t, listeners[0].Addr().String())
	}
	connected(t, s, 3, 3)
	if status := operator.asks(t, "/livez", ""); status != 200 {
		t.Errorf("status %d", status)
	}
}

// A stall is a client of HTTP/2 that takes nothing of any answer.
type stall struct{ *peer }

// preface is what a client of HTTP/2 sends first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// asking asks https://localhost for a path, as a tenant unless that is "".
func asking(stream uint32, path, tenant string) string {
	asks := "\x82\x87\x01\x09localhost\x04" + string(rune(len(path))) + path
	if tenant != "" {
		asks += "\x0f\x08" + string(rune(len(tenant))) + tenant
	}
	return frame(1, 5, stream, asks)
}

// stalls opens a connection with so many requests, as a tenant unless that is "".
func stalls(t *testing.T, address, tenant string, requests int) stall {
	t.Helper()
	c := tls.Client(raw(t, address, ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	p := stall{&peer{c, bufio.NewReader(c)}}
	sent := preface +
		frame(4, 0, 0, "\x00\x04\x00\x00\x00\x00") + // SETTINGS_INITIAL_WINDOW_SIZE is 0
		frame(4, 1, 0, "")
	for i := range uint32(requests) {
		sent += asking(2*i+1, "/v1/x", tenant)
	}
	if _, err := io.WriteString(c, sent); err != nil {
		t.Fatal(err)
	}
	return p
}

// hangs reads what comes until the connection ends.
func (p stall) hangs(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, p.in); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection goes on")
	}
}

// listeningTLS is listening over TLS.
func listeningTLS(t *testing.T, o Options) (s *Server, address string) {
	t.Helper()
	dir := t.TempDir()
	certificate(t, dir, "memory.example.com", 1, nil)
	l, _, err := (&Binding{Addresses: []string{"127.0.0.1:0"}, TLS: TLSFiles,
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, _ = newServer(t, o)
	serves(t, s, l)
	return s, l.Addr().String()
}

// TestStreamsOfStrangersAreBounded: over all connections, and the one with the most is given up, not
// one whose request has only just come.
func TestStreamsOfStrangersAreBounded(t *testing.T) {
	s, address := listeningTLS(t, Options{Authenticate: byTenant, Limits: Limits{Connections: 32}})
	asked := func(want int) {
		t.Helper()
		got := -1
		for end := time.Now().Add(patience); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
			s.connections.mu.Lock()
			got = s.connections.asked
			s.connections.mu.Unlock()
		}
		if got != want {
			t.Fatalf("%d requests of strangers are under way, want %d", got, want)
		}
	}
	stalls(t, address, "", 1)
	asked(1)
	most := stalls(t, address, "", 25)
	asked(26)
	stalls(t, address, "", 20)
	most.hangs(t)
	asked(21)
	connected(t, s, 2, 2)
}

// TestAnswersThatAStrangerDoesNotTake: the connection ends once one was not taken in time, whatever
// waits behind it, and no request behind it was begun.
func TestAnswersThatAStrangerDoesNotTake(t *testing.T) {
	asked := make(chan struct{}, 20)
	s, address := listeningTLS(t, Options{Grace: 100 * time.Millisecond, Stranger: time.Hour,
		Authenticate: func(r *http.Request) (Caller, error) {
			asked <- struct{}{}
			return byTenant(r)
		}})
	p := stalls(t, address, "", 20)
	p.hangs(t)
	connected(t, s, 0, 0)
	if len(asked) != 1 {
		t.Errorf("%d requests were begun", len(asked))
	}
}

// TestOneGoodCredentialFreesTheRequestsBehindIt: those of a connection that is known run side by side.
func TestOneGoodCredentialFreesTheRequestsBehindIt(t *testing.T) {
	both := make(chan struct{}, 2)
	waits := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		both <- struct{}{}
		for end := time.Now().Add(patience); len(both) < 2 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		_, _ = io.WriteString(w, strings.Repeat("x", len(both)))
	})
	s, address := listeningTLS(t, Options{Authenticate: byTenant, REST: waits, Limits: Limits{InFlight: 8}})
	client := &http.Client{Timeout: patience, Transport: &http.Transport{ForceAttemptHTTP2: true,
		MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	got := make(chan string, 2)
	for range 2 {
		go func() {
			r, err := http.NewRequest(http.MethodGet, "https://"+address+"/v1/x", nil)
			if err != nil {
				got <- err.Error()
				return
			}
			r.Host = "localhost"
			r.Header.Set("Authorization", "a")
			response, err := client.Do(r)
			if err != nil {
				got <- err.Error()
				return
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			got <- string(body)
		}()
	}
	for range 2 {
		if text := <-got; text != "xx" {
			t.Errorf("%q", text)
		}
	}
	connected(t, s, 1, 0)
}
