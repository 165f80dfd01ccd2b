package child

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
)

// Shared is a server that the tests of a process share. [Shared.Get] starts it with the first call, and [Shared.Run]
// stops it.
type Shared[S interface{ Stop() error }] struct {
	Start func(context.Context) (S, error)

	mu     sync.Mutex
	begun  bool
	server S
	err    error
}

// Get returns the server.
func (s *Shared[S]) Get(t testing.TB) S {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		s.server, s.err = s.Start(context.Background())
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Run runs the tests of a package and stops the server, if one of them has started it.
func (s *Shared[S]) Run(m interface{ Run() int }) int {
	code := m.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun && s.err == nil {
		if err := s.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// FreePort is a port of this machine on which nobody listens; somebody may before it is used.
func FreePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// End is the end of a file that a program wrote its log to.
func End(log string) string {
	data, err := os.ReadFile(log) //nolint:gosec // a test's
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4096):])
}
