package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
)

// What a proxy may do to a connection.
const (
	passes     = iota
	losesReply // what holds a COMMIT goes through; its answer, and the connection, do not
	losesEnd   // what holds a COMMIT does not go through
	hangs      // nothing goes through from then on
	down       // connections are cut, and no new one is taken
)

// A proxy stands between a store and its server and breaks what goes through, at a commit as well.
// What may happen at any moment is in tests/network, during every call.
type proxy struct {
	listener net.Listener
	server   string
	fault    atomic.Int32
	cuts     atomic.Int32 // connections it cut in the middle of a commit
	took     atomic.Int32 // connections to the server
	said     atomic.Int64 // how often the store said something

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
		p.set(down)
		_ = l.Close() // ends accept
		p.done.Wait()
	})
	return p
}

// set changes what the proxy does from now on.
func (p *proxy) set(fault int32) {
	p.fault.Store(fault)
	if fault != down {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close() // both ends see it
	}
	p.conns = nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil || p.fault.Load() == down {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.took.Add(1)
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var lost atomic.Bool // nothing comes back from then on
		p.done.Go(func() { p.forward(client, server, &lost) })
		p.done.Go(func() { p.back(server, client, &lost) })
	}
}

// forward sends what the store says.
func (p *proxy) forward(from, to net.Conn, lost *atomic.Bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.said.Add(1)
		ends := bytes.Contains(buffer[:n], []byte("COMMIT\x00"))
		switch fault := p.fault.Load(); {
		case fault == hangs:
			continue
		case fault == losesEnd && ends:
			p.cuts.Add(1)
			p.fault.Store(passes)
			return
		case fault == losesReply && ends:
			p.cuts.Add(1)
			lost.Store(true)
			p.fault.Store(passes)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if lost.Load() {
			time.Sleep(200 * time.Millisecond) // the server works on
			return
		}
	}
}

// back sends what the server answers.
func (p *proxy) back(from, to net.Conn, lost *atomic.Bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || lost.Load() {
			return
		}
		if p.fault.Load() == hangs {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// throughProxy opens an empty store whose connections go through a proxy.
func throughProxy(t *testing.T) (loci.Store, *proxy, loci.Store) {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	p := newProxy(t, pgtest.Shared(t).Address())
	through := changed(t, d.Server, func(u *url.URL) { u.Host = p.listener.Addr().String() })
	return openAt(t, through), p, openAt(t, d.Server)
}

// count is how many records and events of a tenant are there.
func count(t *testing.T, s loci.Store, tn loci.Tenant) (records int64, events int) {
	t.Helper()
	n, err := s.Count(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}})
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := s.Events(t.Context(), tn, loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return n.Records, len(log)
}

// After a commit whose answer is lost the store looks for it: a commit that was made is
// acknowledged, once, and one that was not is made again.
func TestLostCommits(t *testing.T) {
	s, p, straight := throughProxy(t)
	tn := locitest.Tenant(t, "lost")
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	want := int64(1)
	for _, fault := range []int32{losesReply, losesEnd, losesReply, losesEnd} {
		guess := want < 5 // of the writes whose answer is lost, too
		if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
		before, c := p.cuts.Load(), creation(loci.NewID())
		if !guess {
			c = in(fmt.Sprint(want), c) // a namespace that is new
		}
		p.set(fault)
		how := way(func() {
			if err := s.Apply(t.Context(), tn, c); err != nil {
				t.Errorf("fault %d: %v", fault, err)
			}
		})
		if (how == asked) == guess {
			t.Errorf("fault %d hits a write that is made %s", fault, how)
		}
		want += 2
		if p.cuts.Load() == before {
			t.Errorf("fault %d did not happen", fault)
		}
		if records, events := count(t, straight, tn); records != want || int64(events) != want {
			t.Errorf("fault %d: %d records and %d events; want %d", fault, records, events, want)
		}
	}
	// Vectors and expiries have no event: a line of the list of changes tells whether they were
	// made.
	id := loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []int32{losesReply, losesEnd} {
		p.set(fault)
		touch := loci.Touch{ID: id, ExpiresAt: time.UnixMilli(1_900_000_000_000 + int64(fault)).UTC()}
		if err := s.Touch(t.Context(), tn, []loci.Touch{touch}); err != nil {
			t.Errorf("fault %d: %v", fault, err)
		}
		records, _, err := straight.Records(
			t.Context(),
			tn,
			loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{id}},
			loci.Page{},
		)
		if err != nil || len(records) != 1 || !records[0].ExpiresAt.Equal(touch.ExpiresAt) {
			t.Errorf("fault %d: %v, %v", fault, records, err)
		}
	}
}

// If a server cannot be reached, the error is Unavailable and comes soon. When the server is
// there again, so is the store.
func TestServerThatGoesAndComes(t *testing.T) {
	s, p, _ := throughProxy(t)
	tn := locitest.Tenant(t, "gone")
	id := loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	calls := map[string]func(ctx context.Context) error{
		"write": func(ctx context.Context) error { return s.Apply(ctx, tn, creation(loci.NewID())) },
		"read":  func(ctx context.Context) error { _, err := s.Count(ctx, tn, everywhere); return err },
		"search": func(ctx context.Context) error {
			_, err := s.Match(ctx, tn, loci.Probe{Text: wordOf(id)}, everywhere, 1)
			return err
		},
		"touch": func(ctx context.Context) error { return s.Touch(ctx, tn, []loci.Touch{{ID: id, At: time.Now()}}) },
	}
	for name, call := range calls {
		p.set(down)
		began := time.Now()
		if err := call(t.Context()); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Unavailable {
			t.Errorf("%s of a server that is gone: %v", name, err)
		}
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("%s of a server that is gone took %v", name, d)
		}
		p.set(passes)
		if err := call(t.Context()); err != nil {
			t.Errorf("%s of a server that is there again: %v", name, err)
		}
		p.set(hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		cut := time.AfterFunc(400*time.Millisecond, func() { p.set(down) }) // the store waits for a write that began
		if err := call(ctx); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Unavailable {
			t.Errorf("%s of a server that hangs: %v", name, err)
		}
		cancel()
		cut.Stop()
		p.set(down)
		p.set(passes)
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the server hung: %v", name, err)
		}
	}
}
