package mongo_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
)

// What a proxy may do to a commit.
const (
	losesAnswer = 1 + iota // it goes through; its answer, and the connection, do not
	losesCommit            // it does not go through, and the connection is closed
	hangsAnswer            // its answer does not come, and the connection stays open
	hangsCommit            // it does not go through, and the connection stays open
)

// A proxy stands between a store and its server and breaks commits.
type proxy struct {
	listener net.Listener
	server   string
	fault    atomic.Int32
	times    atomic.Int32 // how many commits it will strike
	struck   atomic.Int32 // how many it did
	looked   atomic.Int32 // how many looks for a lost commit went through
	waits    atomic.Int64 // the longest that the monitor lets the server say nothing, in ms

	then    func()              // called when a commit was struck: its answer has come, or it is lost
	rewrite func([]byte) []byte // what it makes of answers

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close() // ends the loop
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.done.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var fault atomic.Int32 // of the connection
		p.done.Go(func() { p.forward(client, server, &fault) })
		p.done.Go(func() { p.back(server, client, &fault) })
	}
}

// message reads a whole one.
func message(from net.Conn) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head)
	if size < 16 || size > 64<<20 {
		return nil, io.ErrUnexpectedEOF
	}
	out := make([]byte, size)
	_, err := io.ReadFull(from, out[copy(out, head):])
	return out, err
}

// forward sends what the store says.
func (p *proxy) forward(client, server net.Conn, fault *atomic.Int32) {
	hung := false
	defer func() {
		_ = client.Close()
		if !hung {
			_ = server.Close()
		}
	}()
	for {
		m, err := message(client)
		if err != nil {
			return
		}
		if _, wait, ok := bytes.Cut(m, []byte("\x12maxAwaitTimeMS\x00")); ok && len(wait) >= 8 {
			p.waits.Store(int64(binary.LittleEndian.Uint64(wait))) //nolint:gosec // milliseconds
		}
		if bytes.Contains(m, []byte("\x12looks\x00")) {
			p.looked.Add(1)
		}
		if bytes.Contains(m, []byte("\x10commitTransaction\x00")) && p.times.Add(-1) >= 0 {
			p.struck.Add(1)
			switch what := p.fault.Load(); what {
			case losesCommit:
				p.strike()
				return
			case hangsCommit:
				p.strike()
				hung = true // the server keeps the connection, and the transaction
				continue
			default:
				fault.Store(what)
			}
		}
		if _, err := server.Write(m); err != nil {
			return
		}
	}
}

func (p *proxy) strike() {
	if p.then != nil {
		p.then()
	}
}

// back sends what the server answers.
func (p *proxy) back(server, client net.Conn, fault *atomic.Int32) {
	defer func() { _, _ = client.Close(), server.Close() }()
	for {
		m, err := message(server)
		if err != nil {
			return
		}
		switch fault.Load() {
		case losesAnswer:
			p.strike()
			return
		case hangsAnswer:
			p.strike()
			continue
		}
		if p.rewrite != nil {
			m = p.rewrite(m)
		}
		if _, err := client.Write(m); err != nil {
			return
		}
	}
}

// breaks strikes so many commits from now on.
func (p *proxy) breaks(fault, times int32) {
	p.struck.Store(0)
	p.looked.Store(0)
	p.fault.Store(fault)
	p.times.Store(times)
}

// url is that of a database behind the proxy.
func (p *proxy) url(s *mongotest.Server, at string) string {
	return strings.Replace(at, s.Address(), p.listener.Addr().String(), 1)
}

// through is a store behind the proxy.
func (p *proxy) through(t *testing.T, s *mongotest.Server, at string) loci.Store {
	t.Helper()
	return openAt(t, p.url(s, at))
}
