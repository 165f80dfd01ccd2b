package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/problem"
)

// patience is how long a test waits for what must come; what does not come fails it.
const patience = 30 * time.Second

// listening serves s on a socket.
func listening(t *testing.T, o Options) (s *Server, address string) {
	t.Helper()
	s, _ = newServer(t, o)
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, l)
	return s, l.Addr().String()
}

// serves lets s serve until the test ends.
func serves(t *testing.T, s *Server, l net.Listener, operators ...net.Listener) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, operators...) }()
	t.Cleanup(func() {
		stop()
		<-ended // those that still wait for something are cut off
	})
}

// raw opens a connection that sends what it is told and no more.
func raw(t *testing.T, address, sent string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, sent); err != nil {
		t.Fatal(err)
	}
	return c
}

func head(length int64) string {
	return fmt.Sprintf(
		"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		length,
	)
}

// answer reads a reply; closed says that nothing can follow it.
func answer(t *testing.T, c net.Conn) (status int, body string, header http.Header, closed bool) {
	t.Helper()
	in := bufio.NewReader(c)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Close {
		_, err = in.ReadByte() // the end, or a reset for what was sent and not read
		closed = err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	}
	return response.StatusCode, string(data), response.Header, closed
}

// tooSlow wants the reply that a slow sender gets, and the end of its connection.
func tooSlow(t *testing.T, c net.Conn) {
	t.Helper()
	status, body, header, closed := answer(t, c)
	if status != 408 || header.Get("Content-Type") != problem.ContentType ||
		!strings.Contains(body, "did not come in time") ||
		!closed {
		t.Errorf("%d %s (closed: %v): %s", status, header.Get("Content-Type"), closed, body)
	}
}

// answered sends a request as an ordinary client does, and wants a good reply.
func answered(t *testing.T, address, method, path, body string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if data, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, data, err)
	}
}

// coming waits until n bodies are coming in.
func (s *Server) coming(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.bodies.mu.Lock()
		n := len(s.bodies.coming)
		s.bodies.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bodies come in, want %d", n, want)
		}
	}
}

// wait receives what must come.
func wait[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal("what must come did not come")
	}
	return v
}

// TestSlowBodiesTakeNoSlot: a client that sends the beginning of a body and then waits does not
// keep others from an answer, however many such clients there are.
func TestSlowBodiesTakeNoSlot(t *testing.T) {
	s, address := listening(t, Options{Limits: Limits{InFlight: 1}})
	for range 64 {
		raw(t, address, head(100)+"{")
	}
	s.coming(t, 64)
	for range 20 {
		answered(t, address, "POST", "/v1/x", `{"a":1}`)
		answered(t, address, "POST", "/mcp", `{"a":1}`)
	}
}

// TestSlowBodyIsCutOff: a body that stops or comes too slowly, with a length or in chunks, gets
// a problem as its answer, and its connection ends.
func TestSlowBodyIsCutOff(t *testing.T) {
	_, address := listening(
		t,
		Options{Grace: 50 * time.Millisecond, Rate: 1 << 20, Receive: time.Hour, Send: time.Hour},
	)
	tooSlow(t, raw(t, address, head(100)+"{"))
	tooSlow(t, raw(t, address, "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"))
	trickle := raw(t, address, head(1<<20))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := trickle.Write([]byte{' '}); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	tooSlow(t, trickle)
	trickle.Close()
	<-done
}

// TestBodyMayPause: a body that is ahead of the least rate may pause, but never beyond the time
// of a whole request.
func TestBodyMayPause(t *testing.T) {
	_, address := listening(t, Options{Grace: time.Second, Rate: 10})
	ahead := raw(t, address, head(1001)+strings.Repeat(" ", 1000)) // 100 s ahead
	time.Sleep(1500 * time.Millisecond)
	if _, err := ahead.Write([]byte{'1'}); err != nil {
		t.Fatal(err)
	}
	if status, body, _, _ := answer(t, ahead); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	_, address = listening(t, Options{Grace: time.Hour, Receive: 50 * time.Millisecond})
	tooSlow(t, raw(t, address, head(100)+"{"))
}

// TestOldestBodyGivesWay: when as many bodies come in as may, the one that has been coming for
// longest is given up, not the newcomer.
func TestOldestBodyGivesWay(t *testing.T) {
	s, address := listening(t, Options{Bodies: 2, Receive: time.Hour, Grace: time.Hour, Send: time.Hour})
	first := raw(t, address, head(100)+"{")
	s.coming(t, 1)
	second := raw(t, address, head(3)+"{")
	s.coming(t, 2)
	answered(t, address, "POST", "/v1/x", "{}")
	tooSlow(t, first)
	if _, err := second.Write([]byte("} ")); err != nil {
		t.Fatal(err)
	}
	if status, body, _, _ := answer(t, second); status != 200 {
		t.Errorf("the second: %d %s", status, body)
	}
	s.coming(t, 0)
	if s.bodies.held != 0 {
		t.Errorf("%d bytes are held", s.bodies.held)
	}
}

// TestBodiesAreBounded in their bytes: the oldest that holds some gives way. Small
// bodies hold none. A body that can never find room is refused.
func TestBodiesAreBounded(t *testing.T) {
	s, address := listening(t, Options{BodyBytes: 256 << 10, Receive: time.Hour, Grace: time.Hour, Send: time.Hour})
	small := raw(t, address, head(3)+"{")
	s.coming(t, 1)
	large := raw(t, address, head(1<<20)+strings.Repeat(" ", 300<<10))
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.bodies.mu.Lock()
		held := s.bodies.held
		s.bodies.mu.Unlock()
		if held == 236<<10 { // all but the first 64 KiB
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are held", held)
		}
	}
	answered(t, address, "POST", "/v1/x", strings.Repeat(" ", 200<<10))
	tooSlow(t, large)
	if _, err := small.Write([]byte("} ")); err != nil {
		t.Fatal(err)
	}
	if status, body, _, _ := answer(t, small); status != 200 {
		t.Errorf("the small one: %d %s", status, body)
	}
	status, body, header, closed := answer(t, raw(t, address, head(400<<10)+strings.Repeat(" ", 400<<10)))
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, "as many bytes") || !closed {
		t.Errorf("without room: %d %v (closed: %v): %s", status, header, closed, body)
	}
	s.coming(t, 0)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // a request is over a moment after its reply
		s.bodies.mu.Lock()
		held := s.bodies.held
		s.bodies.mu.Unlock()
		if held == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are still held", held)
		}
	}
}

// TestOverlongBody: a surface learns of it at once, and says so in its own way.
func TestOverlongBody(t *testing.T) {
	read := make(chan int64, 1)
	_, address := listening(
		t,
		Options{
			MaxBody: 1000,
			Receive: time.Hour,
			Grace:   time.Hour,
			Send:    time.Hour,
			REST: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				var tooLarge *http.MaxBytesError
				if errors.As(err, &tooLarge) {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
				}
				read <- n
			}),
		},
	)
	chunked := "POST /v1/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		sent   string
		status int
		bytes  int64
	}{
		{head(9_000_000_000_000_000_000), 413, 0}, // without a byte of it
		{head(1001) + strings.Repeat(" ", 1001), 413, 0},
		{head(1000) + strings.Repeat(" ", 1000), 200, 1000},
		{chunked + "3e9\r\n" + strings.Repeat(" ", 1001), 413, 1001},
		{chunked + "3e8\r\n" + strings.Repeat(" ", 1000) + "\r\n0\r\n\r\n", 200, 1000},
	} {
		status, body, _, closed := answer(t, raw(t, address, c.sent))
		if n := wait(t, read); status != c.status || n != c.bytes || closed != (status == 413) {
			t.Errorf("%.120q: %d %s (closed: %v), %d bytes, want %d", c.sent, status, body, closed, n, c.bytes)
		}
	}
}

// TestGivingWayIsFinal: a body that had to give way gets no more time and no room. It is not
// taken for whole, even if its end comes at that very moment.
func TestGivingWayIsFinal(t *testing.T) {
	i := &transfers{most: 1, mostBytes: 1 << 20}
	var set []time.Time
	b := &transfer{deadline: func(at time.Time) { set = append(set, at) }}
	i.enter(b)
	if !i.grow(b, 100<<10) {
		t.Error("there was no room")
	}
	other := &transfer{deadline: func(time.Time) { t.Error("the other is cut off") }}
	i.enter(other)
	if !i.grow(other, 164<<10) {
		t.Error("there was no room for the other")
	}
	b.extend(time.Now().Add(time.Hour))
	if i.grow(b, 2<<20) || i.arrived(b) || len(set) != 1 || time.Until(set[0]) > 0 || other.gone || i.held != 100<<10 {
		t.Errorf("its deadline was %v, %d bytes are held", set, i.held)
	}
	i.leave(other)
	other.giveUp() // whoever was about to cut it off comes late: its request is over, and so may its connection be
}

// TestATenantCrowdsOutItsOwn: a tenant that begins more bodies than it ends gives up its own, however long those of
// others have been coming. So it is with what they hold.
func TestATenantCrowdsOutItsOwn(t *testing.T) {
	i := &transfers{most: 3, mostBytes: 300 << 10}
	begin := func(tenant string) *transfer {
		b := &transfer{tenant: tenant, deadline: func(time.Time) {}}
		i.enter(b)
		return b
	}
	quiet, first, second := begin("quiet"), begin("loud"), begin("loud")
	third := begin("loud")
	if quiet.gone || !first.gone || second.gone {
		t.Errorf("quiet gives way: %v, first: %v, second: %v", quiet.gone, first.gone, second.gone)
	}
	another := begin("another") // it finds room, too
	if quiet.gone || !second.gone || third.gone {
		t.Errorf("quiet gives way: %v, second: %v, third: %v", quiet.gone, second.gone, third.gone)
	}
	if !i.grow(quiet, smallBody+100<<10) || !i.grow(third, smallBody+150<<10) || !i.grow(another, smallBody+100<<10) {
		t.Error("there was no room")
	}
	if quiet.gone || !third.gone || another.gone || i.held != 200<<10 {
		t.Errorf("quiet: %v, third: %v, another: %v; %d bytes are held", quiet.gone, third.gone, another.gone, i.held)
	}
}

// TestNobodyWaitsForWhoGivesWay: over HTTP/2 a body is cut off by the goroutine of its connection, which may have
// much to do. Other bodies come in meanwhile.
func TestNobodyWaitsForWhoGivesWay(t *testing.T) {
	i := &transfers{most: 1, mostBytes: 1 << 20}
	others := make(chan bool, 1)
	i.enter(&transfer{deadline: func(time.Time) {
		b := &transfer{deadline: func(time.Time) {}}
		go func() {
			i.enter(b)
			others <- i.grow(b, 100<<10) && i.arrived(b)
		}()
		if !wait(t, others) {
			t.Error("there was no room")
		}
	}})
	i.enter(&transfer{deadline: func(time.Time) {}})
}

// TestBodyIsCutShort: a client that goes away in the middle of a body has made no request.
func TestBodyIsCutShort(t *testing.T) {
	_, address := listening(
		t,
		Options{REST: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("half a request was run") })},
	)
	c := raw(t, address, head(100)+"{")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if status, body, _, closed := answer(t, c); status != 400 || !strings.Contains(body, "did not come whole") ||
		!closed {
		t.Errorf("%d %s", status, body)
	}
}

// TestSlowReaderLosesItsSlot: a client that does not take its reply is given up long before the
// time limit of replies is over.
func TestSlowReaderLosesItsSlot(t *testing.T) {
	begun := make(chan struct{})
	one := Limits{InFlight: 1}
	_, address := listening(t, Options{Limits: one, Grace: 100 * time.Millisecond, Rate: 1 << 30, Send: time.Hour,
		REST: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				return
			}
			close(begun)
			part := bytes.Repeat([]byte("x"), 1<<20)
			for range 256 { // more than any buffer between
				if _, err := w.Write(part); err != nil {
					return
				}
			}
			t.Error("nobody reads, and all is sent")
		})})
	raw(t, address, "GET /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
	wait(t, begun)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Post("http://"+address+"/v1/y", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("still %d", response.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestReplyMayPause: the time that a request works counts neither for its body nor for its
// reply, even if a part of the reply is sent already.
func TestReplyMayPause(t *testing.T) {
	_, address := listening(t, Options{Grace: time.Second, Receive: time.Second, Send: time.Hour,
		REST: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a")
			time.Sleep(1500 * time.Millisecond)
			if err := r.Context().Err(); err != nil {
				t.Errorf("the request ended: %v", err)
			}
			if r.Method == http.MethodPost {
				http.NewResponseController(w).Flush()
				time.Sleep(1500 * time.Millisecond)
			}
		})})
	answered(t, address, "GET", "/v1/x", "")
	answered(t, address, "POST", "/v1/x", "{}")
}

// TestListenersTakeNoSlot: a stream that stays open at an address of MCP does not keep others
// from an answer.
func TestListenersTakeNoSlot(t *testing.T) {
	open := make(chan struct{}, 8)
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			open <- struct{}{}
			<-r.Context().Done()
		}
	})
	_, address := listening(t, Options{Limits: Limits{InFlight: 1}, MCP: stream})
	for range 8 {
		c := raw(t, address, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
		wait(t, open)
		defer c.Close()
	}
	answered(t, address, "POST", "/mcp", "{}")
	answered(t, address, "GET", "/v1/x", "")
}
