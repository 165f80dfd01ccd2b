// Package network breaks the network between a store and its database with Toxiproxy, during
// every call of a store and during what memories are asked for.
//
// It is a module of its own, so that Toxiproxy and what it needs is nobody else's dependency.
package network

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/jackc/pgx/v5"
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/storetest"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most lines wait for what does not come: they are broken at the same time, however few
	// processors there are.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("96"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if server.of != nil {
		if err := server.of.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// server is the database server of all tests, with a database that others are made of.
var server struct {
	once     sync.Once
	of       *pgtest.Server
	template pgtest.Database
	err      error
	made     atomic.Int64
}

// database is an empty one with our tables. As others have it, nothing is set on it.
func database(t *testing.T) (d pgtest.Database, address string) {
	t.Helper()
	server.once.Do(func() {
		ctx := context.Background()
		server.of, server.err = pgtest.Start(ctx, pgtest.Options{Args: []string{"max_connections=600"}})
		if server.err != nil {
			return
		}
		if server.template, _, server.err = server.of.Database(ctx); server.err != nil {
			return
		}
		_, server.err = postgres.Migrate(ctx, server.template.Owner, postgres.Migration{Role: server.template.Role})
	})
	if server.err != nil {
		t.Fatal(server.err)
	}
	name := fmt.Sprintf("%s_%d", server.template.Name, server.made.Add(1))
	execute(t, server.of.URL, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, server.template.Name))
	t.Cleanup(func() { execute(t, server.of.URL, "DROP DATABASE "+name+" WITH (FORCE)") })
	at := func(text string) string {
		return changed(t, text, func(u *url.URL) { u.Path = "/" + name })
	}
	d = pgtest.Database{Name: name, Super: at(server.template.Super), Server: at(server.template.Server)}
	return d, server.of.Address()
}

// one makes databases one after the other: the server copies a template for one caller alone.
var one sync.Mutex

func execute(t *testing.T, at, statement string) {
	t.Helper()
	one.Lock()
	defer one.Unlock()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
}

func changed(t *testing.T, text string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

// A proxy is one of Toxiproxy's.
type proxy struct {
	*testing.T
	*toxiproxy.Proxy
}

// latency is what each answer takes, so that a call has a middle.
const latency = 4 * time.Millisecond

// A toxic is what Toxiproxy calls a fault of one direction.
type toxic struct {
	Name       string  `json:"name"`
	Type       string  `json:"type"`
	Stream     string  `json:"stream"`
	Toxicity   float32 `json:"toxicity"`
	Attributes any     `json:"attributes"`
}

// attributes of a toxic, by name.
type attributes map[string]int

func newProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{t, toxiproxy.NewProxy(s, "postgres", "127.0.0.1:0", upstream)}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	p.add(toxic{Type: "latency", Stream: "downstream", Toxicity: 1, Name: "distance", Attributes: attributes{
		"latency": int(latency.Milliseconds()),
	}})
	return p
}

func (p *proxy) add(x toxic) {
	text, err := json.Marshal(x)
	if err == nil {
		_, err = p.Toxics.AddToxicJson(strings.NewReader(string(text)))
	}
	if err != nil {
		p.Errorf("add %s: %v", text, err)
	}
}

func (p *proxy) remove(name string) {
	if err := p.Toxics.RemoveToxic(context.Background(), name); err != nil {
		p.Errorf("remove %s: %v", name, err)
	}
}

// A fault breaks what a proxy passes on, and takes that away again.
type fault struct {
	name   string
	begin  func(p *proxy) // when nothing is wrong yet; nil: nothing
	strike func(p *proxy)
	mend   func(p *proxy)
	passes bool          // everything comes through in the end
	slow   bool          // calls take seconds
	hangs  bool          // … or, if the store did not end them, for ever
	long   bool          // every call goes through it with LOCI_LONG alone
	lasts  time.Duration // it is over by itself then
}

// toxicFault is a fault of Toxiproxy's kinds.
func toxicFault(name, kind, stream string, a attributes) fault {
	return fault{
		name:   name,
		strike: func(p *proxy) { p.add(toxic{Name: "fault", Type: kind, Stream: stream, Toxicity: 1, Attributes: a}) },
		mend:   func(p *proxy) { p.remove("fault") },
	}
}

// reset ends connections with a reset, a while after they passed on something more. Toxiproxy
// makes a connection end so if it has the toxic from its beginning: it waits there for its time.
func reset(name, stream string, after time.Duration) fault {
	toxicity := func(p *proxy, of float32) {
		text := fmt.Sprintf(`{"toxicity":%v,"attributes":{"timeout":%d}}`, of, after.Milliseconds())
		if _, err := p.Toxics.UpdateToxicJson("fault", strings.NewReader(text)); err != nil {
			p.Errorf("%s: %v", text, err)
		}
	}
	return fault{
		name: name,
		begin: func(p *proxy) {
			wait := attributes{"timeout": int(after.Milliseconds())}
			p.add(toxic{Name: "fault", Type: "reset_peer", Stream: stream, Attributes: wait})
		},
		strike: func(p *proxy) { toxicity(p, 1) },
		mend:   func(p *proxy) { toxicity(p, 0) },
	}
}

// faults are all kinds, each in both directions.
func faults() (all []fault) {
	for _, stream := range []string{"upstream", "downstream"} {
		of := func(f fault, is func(f *fault)) {
			is(&f)
			all = append(all, f)
		}
		passes, fails := func(f *fault) { f.passes = true }, func(*fault) {}
		slow, hangs := func(f *fault) { f.slow = true }, func(f *fault) { f.hangs, f.long = true, true }
		rarely := func(f *fault) { f.long = true }
		slices := attributes{"average_size": 256, "size_variation": 240, "delay": 200}
		of(toxicFault("latency "+stream, "latency", stream, attributes{"latency": 60, "jitter": 50}), passes)
		of(toxicFault("slice "+stream, "slicer", stream, slices), passes)
		of(reset("reset "+stream, stream, 0), fails)
		of(reset("reset after 15 ms "+stream, stream, 15*time.Millisecond), rarely)
		of(toxicFault("timeout "+stream, "timeout", stream, attributes{"timeout": 400}), slow)
		of(toxicFault("timeout without end "+stream, "timeout", stream, attributes{"timeout": 0}), hangs)
		of(toxicFault("cut "+stream, "limit_data", stream, attributes{"bytes": 100}), rarely)
	}
	down := fault{
		name:   "down",
		strike: func(p *proxy) { p.Stop() },
		mend: func(p *proxy) {
			if err := p.Start(); err != nil {
				p.Error(err)
			}
		},
	}
	// What is over in a moment no call fails for: it is done again, or found to have been done.
	brief := down
	brief.name, brief.lasts, brief.passes = "down for a moment", time.Millisecond, true
	return append(all, down, brief)
}

// open opens a store behind a proxy.
func (f *fault) open(t *testing.T) storetest.Line {
	t.Helper()
	d, address := database(t)
	p := newProxy(t, address)
	if f.begin != nil {
		f.begin(p)
	}
	return storetest.Line{
		Store:    openAt(t, changed(t, d.Server, func(u *url.URL) { u.Host = p.Listen })),
		Straight: openAt(t, d.Server),
		Break:    func() { f.strike(p) },
		Mend:     func() { f.mend(p) },
	}
}

// openAt opens a store as others do: with the defaults of everything.
func openAt(t *testing.T, at string) loci.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// long reports whether everything is to be tried.
func long() bool { return os.Getenv("LOCI_LONG") != "" }

// Every call of a store gives a right answer or an error while the network breaks, in time, and
// nothing is stored twice or lost; the store recovers at once.
func TestEveryCallOverABrokenNetwork(t *testing.T) {
	var all []storetest.Fault
	for _, f := range faults() {
		if f.long && !long() {
			continue
		}
		of := storetest.Fault{Name: f.name, Open: f.open, Passes: f.passes, Lasts: f.lasts, Lanes: 1}
		of.Moments, of.InTurn = []time.Duration{storetest.Before, latency * 3 / 2}, !long()
		if long() {
			of.Moments = append(of.Moments, latency/2, 3*latency, 5*latency, 8*latency)
		}
		if f.lasts > 0 {
			of.Moments, of.InTurn = []time.Duration{latency / 2, latency * 3 / 2, latency * 5 / 2}, false
		}
		if f.slow {
			of.Lanes = 8
		}
		if f.hangs {
			of.Lanes = 16
		}
		all = append(all, of)
	}
	storetest.RunLines(t, func() loci.Store { return memory.Open() }, all)
}
