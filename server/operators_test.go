package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOperatorsApart: what is below /v1/admin is at the listener of operators alone, however
// it is written, and nothing else is there but probes. Both end together.
func TestOperatorsApart(t *testing.T) {
	s, _ := newServer(t, Options{OperatorsApart: true})
	ctx, end := context.WithCancel(t.Context())
	var listeners []net.Listener
	for range 2 {
		l, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listeners[0], listeners[1]) }()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: stay}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path            string
		plain, operator int
	}{
		{"/v1/notes", 200, 404}, {"/mcp", 200, 404}, {"/mcp/bot", 200, 404}, {"/nothing", 404, 404},
		{"/v1/administer", 200, 404},
		{"/v1/admin", 404, 200}, {"/v1/admin/tenants", 404, 200}, {"/v1/%61dmin/tenants", 404, 200}, {"/v1/admin%2Ftenants", 404, 200},
		{"/v1//admin/tenants", 307, 404}, {"/v1/x/../admin/tenants", 307, 404},
		{"/healthz", 200, 200}, {"/livez", 200, 200}, {"/readyz", 200, 200},
	} {
		for i, want := range []int{c.plain, c.operator} {
			url := "http://" + listeners[i].Addr().String() + c.path
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(reply.Body)
			_ = reply.Body.Close()
			if reply.StatusCode != want || want == 404 && !strings.Contains(string(body), "not_found") {
				t.Errorf("%s at listener %d: %d %s, want %d", c.path, i, reply.StatusCode, body, want)
			}
		}
	}
	end()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	for _, l := range listeners {
		if c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
			_ = c.Close()
			t.Errorf("%s still takes connections", l.Addr())
		}
	}
}

// TestListenerOfOperatorsThatFails ends the server: half of it is not what was asked for.
func TestListenerOfOperatorsThatFails(t *testing.T) {
	s, _ := newServer(t, Options{OperatorsApart: true})
	var listeners []net.Listener
	for range 2 {
		l, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	_ = listeners[1].Close()
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), listeners[0], listeners[1]) }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "the listener failed") {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}
