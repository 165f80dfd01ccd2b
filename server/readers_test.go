package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// ofCaller is the tenant of the credential.
func ofCaller(r *http.Request) string {
	p, _ := PrincipalOf(r.Context())
	return p.Tenant().String()
}

// sized answers with so many bytes, in one piece, below /v1/large, and with one elsewhere.
func sized(large int) http.Handler {
	all := bytes.Repeat([]byte("x"), large)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/large" {
			_, _ = w.Write(all)
			return
		}
		_, _ = w.Write(all[:1])
	})
}

// waiting waits until so many answers wait for their readers.
func waiting(t *testing.T, s *Server, want int) {
	t.Helper()
	got := -1
	for end := time.Now().Add(patience); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = s.Load().Unread
	}
	if got != want {
		t.Fatalf("%d answers wait for their readers, want %d", got, want)
	}
}

// givenUp waits until so many answers gave way.
func givenUp(t *testing.T, s *Server, want int) {
	t.Helper()
	got := -1
	for end := time.Now().Add(patience); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = int(s.Load().GivenUp)
	}
	if got != want {
		t.Fatalf("%d answers gave way, want %d", got, want)
	}
}

// unread is more than lies between a server and a client that takes nothing.
const unread = 64 << 20

// stuck asks for a long answer, and takes nothing of it.
func stuck(t *testing.T, address, tenant string) *peer {
	t.Helper()
	return &peer{Conn: raw(t, address, "GET /v1/large HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+tenant+"\r\n\r\n")}
}

// TestReadersHoldNoSlot: callers with a credential that take nothing of long answers keep nobody
// of another tenant from an answer, however many there are.
func TestReadersHoldNoSlot(t *testing.T) {
	s, address := listening(t, Options{
		Authenticate: byTenant, Tenant: ofCaller, REST: sized(unread), Grace: time.Hour, Send: time.Hour,
		AnswerBytes: 16 * unread, Limits: Limits{InFlight: 4, Aside: 1, Wait: time.Second},
	})
	for range 8 {
		stuck(t, address, "many")
	}
	waiting(t, s, 8)
	if status := dial(t, address).asks(t, "/v1/x", "few"); status != 200 {
		t.Errorf("status %d", status)
	}
	if l := s.Load(); l.Running != 0 || l.Aside != 0 {
		t.Errorf("%d requests run, %d wait aside", l.Running, l.Aside)
	}
}

// TestWhoReadsSlowlyGetsAll: an answer that was not taken at once is whole, and its request counts
// towards the limit of its tenant meanwhile.
func TestWhoReadsSlowlyGetsAll(t *testing.T) {
	s, address := listening(t, Options{
		Authenticate: byTenant, Tenant: ofCaller, REST: sized(unread), Limits: Limits{Concurrent: 1},
	})
	slow := stuck(t, address, "a")
	waiting(t, s, 1)
	if status := dial(t, address).asks(t, "/v1/x", "a"); status != 429 {
		t.Errorf("beside it: status %d", status)
	}
	if n, err := io.CopyN(io.Discard, slow, unread); err != nil {
		t.Errorf("%d bytes: %v", n, err)
	}
	waiting(t, s, 0)
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		status := dial(t, address).asks(t, "/v1/x", "a")
		if status == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after it: status %d", status)
		}
	}
}

// TestUnreadAnswersGiveWay: of the answers that nobody takes there are so many, and of more the
// tenant with the most gives up its own, the oldest first.
func TestUnreadAnswersGiveWay(t *testing.T) {
	s, address := listening(t, Options{
		Authenticate: byTenant, Tenant: ofCaller, REST: sized(unread), Grace: time.Hour, Send: time.Hour,
		Answers: 4, AnswerBytes: 16 * unread,
	})
	few := stuck(t, address, "few")
	waiting(t, s, 1)
	var many []*peer
	for i := range 6 {
		many = append(many, stuck(t, address, "many"))
		waiting(t, s, min(i+2, 4))
		givenUp(t, s, max(0, i-2)) // before the next one comes
	}
	for i, p := range append(many, few) {
		n, err := io.Copy(io.Discard, io.LimitReader(p, unread))
		if whole := n == unread; whole != (i >= 3) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d: %d bytes, %v", i, n, err)
		}
	}
}

// TestBytesOfUnreadAnswersAreBounded: where they hold as many bytes as they may, the largest holder gives
// way. One that is larger than all may be is held alone.
func TestBytesOfUnreadAnswersAreBounded(t *testing.T) {
	s, address := listening(t, Options{
		Authenticate: byTenant, Tenant: ofCaller, REST: sized(unread), Grace: time.Hour, Send: time.Hour,
		AnswerBytes: unread / 2,
	})
	first := stuck(t, address, "a")
	waiting(t, s, 1)
	second := stuck(t, address, "b")
	givenUp(t, s, 1) // before the first is read on
	n, err := io.Copy(io.Discard, io.LimitReader(first, unread))
	if n == unread || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first: %d bytes, %v", n, err)
	}
	if n, err := io.CopyN(io.Discard, second, unread); err != nil {
		t.Errorf("the second: %d bytes, %v", n, err)
	}
}

// TestStreamsWithACredentialAreBounded: the answers that wait in the windows of HTTP/2 count, too,
// however short they are. Those of another tenant stay, and so does the connection.
func TestStreamsWithACredentialAreBounded(t *testing.T) {
	s, address := listeningTLS(t, Options{
		Authenticate: byTenant, Tenant: ofCaller, Grace: time.Hour, Send: time.Hour, Answers: 10,
	})
	few := stalls(t, address, "few", 3)
	waiting(t, s, 3)
	stalls(t, address, "many", 50)
	givenUp(t, s, 43)
	waiting(t, s, 10)
	time.Sleep(1500 * time.Millisecond) // longer than whoever cannot be told has
	connected(t, s, 2, 0)
	if _, err := io.WriteString(few, frame(4, 0, 0, "\x00\x04\x00\x00\x10\x00")); err != nil { // its windows open
		t.Fatal(err)
	}
	waiting(t, s, 7)
}

// TestAStreamThatACallerDoesNotTakeEndsAlone: other requests of the connection may be somebody else's.
func TestAStreamThatACallerDoesNotTakeEndsAlone(t *testing.T) {
	s, address := listeningTLS(t, Options{Authenticate: byTenant, Grace: 300 * time.Millisecond, Idle: time.Hour})
	stalls(t, address, "a", 3)
	waiting(t, s, 3)
	waiting(t, s, 0)
	connected(t, s, 1, 0)
}

// TestConnectionThatTakesNothingEnds: where nothing at all can be written, one of HTTP/2 ends with
// all that waits behind it, and does not wait for the next request.
func TestConnectionThatTakesNothingEnds(t *testing.T) {
	s, address := listeningTLS(t, Options{
		Authenticate: byTenant, REST: sized(unread), Grace: 200 * time.Millisecond, Rate: 1, Send: time.Hour,
		Idle: time.Hour,
	})
	stuckTLS(t, address, "a")
	waiting(t, s, 1)
	connected(t, s, 0, 0)
}

// A stand is a listener whose connections take little, and then nothing.
type stand struct {
	net.Listener
	stands chan struct{} // gets one for each connection that takes nothing any more
}

type standing struct {
	net.Conn
	of    *stand
	takes int
	ended chan struct{}
	once  sync.Once
}

func (s *stand) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	return &standing{Conn: c, of: s, takes: 64 << 10, ended: make(chan struct{})}, err
}

func (c *standing) Write(p []byte) (int, error) {
	if c.takes -= len(p); c.takes < 0 {
		select {
		case c.of.stands <- struct{}{}:
			<-c.ended
		case <-c.ended: // TLS says goodbye to a connection that nobody waits for any more
		}
	}
	return c.Conn.Write(p)
}

func (c *standing) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

// TestWhoCannotBeToldEnds: an answer gives way on a connection that takes nothing, not even that.
func TestWhoCannotBeToldEnds(t *testing.T) {
	s, _ := newServer(t, Options{
		Authenticate: byTenant, REST: sized(unread), Grace: time.Hour, Send: time.Hour, Answers: 1,
	})
	dir := t.TempDir()
	certificate(t, dir, "memory.example.com", 1, nil)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stands := make(chan struct{}, 2)
	serves(t, s, tls.NewListener(&stand{l, stands}, &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"},
	}))
	for range 2 {
		stuckTLS(t, l.Addr().String(), "a")
		wait(t, stands)
	}
	connected(t, s, 1, 0)
}

// stuckTLS is stuck over HTTP/2, with windows that are wide open.
func stuckTLS(t *testing.T, address, tenant string) {
	t.Helper()
	const most = "\x7f\xff\xff\xff"
	c := tls.Client(raw(t, address, ""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(c, preface+frame(4, 0, 0, "\x00\x04"+most)+frame(4, 1, 0, "")+
		frame(8, 0, 0, "\x7f\xff\x00\x00")+asking(1, "/v1/large", tenant)); err != nil {
		t.Fatal(err)
	}
}
