package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/patience"
)

// Where a network swallows everything, a call that nothing else ends would wait for ever. Two times
// bound that; with a wait for a connection ([Options.PoolWait]) they stay below half a minute.
var (
	// silence is how long nothing has to come before somebody looks whether the server is there. A
	// statement may take longer than that: where the server answers, it is left alone.
	silence = 6 * time.Second

	// probeTime is how long the server may take to answer that it is there.
	probeTime = 4 * time.Second
)

// A watch is a connection that somebody may be waiting at.
type watch struct {
	pg    *pgconn.PgConn
	since atomic.Int64 // when it was asked what it has not answered, after the beginning of the process; 0: nothing
}

// begun is what times are counted from.
var begun = time.Now()

func (w *watch) asked() { w.since.Store(int64(time.Since(begun))) }

func (w *watch) answered() { w.since.Store(0) }

// watches are the connections of a store.
type watches struct {
	mu sync.Mutex
	of map[*pgconn.PgConn]*watch
}

// on returns the watch of a connection.
func (ws *watches) on(pg *pgconn.PgConn) *watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.of[pg]
	if w == nil {
		w = &watch{pg: pg}
		if ws.of == nil {
			ws.of = map[*pgconn.PgConn]*watch{}
		}
		ws.of[pg] = w
	}
	return w
}

// forget is called by the pool before it closes a connection.
func (ws *watches) forget(c *pgx.Conn) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.of, c.PgConn())
}

// keep looks after connections until a context ends.
func (ws *watches) keep(ctx context.Context) {
	for patience.Sleep(ctx, silence/4) == nil {
		byServer := map[string][]*watch{}
		for _, w := range ws.silent() {
			at := w.pg.Conn().RemoteAddr()
			byServer[at.Network()+at.String()] = append(byServer[at.Network()+at.String()], w)
		}
		var group sync.WaitGroup
		for _, all := range byServer {
			group.Go(func() { settle(ctx, all) })
		}
		group.Wait()
	}
}

// silent are the connections on which nothing has come for long.
func (ws *watches) silent() (all []*watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.of {
		if since := w.since.Load(); since != 0 && time.Since(begun)-time.Duration(since) > silence {
			all = append(all, w)
		}
	}
	return all
}

// settle looks whether the server of some connections is there. If it is, their statements take long;
// if not, they are closed, as those who wait would see it of a server that is gone.
func settle(ctx context.Context, all []*watch) {
	before := make([]int64, len(all))
	for i, w := range all {
		before[i] = w.since.Load()
	}
	there := answers(ctx, all[0].pg.Conn().RemoteAddr())
	for i, w := range all {
		if ctx.Err() != nil || before[i] == 0 || !w.since.CompareAndSwap(before[i], int64(time.Since(begun))) {
			continue // something has come
		}
		if !there {
			_ = w.pg.Conn().Close() // whoever waits hears of it
		}
	}
}

// sslRequest asks whether a server speaks TLS. Every PostgreSQL and every pooler answers with one
// byte, before it asks who is there.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// answers reports whether a server says anything.
func answers(ctx context.Context, at net.Addr) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, at.Network(), at.String())
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // nothing was to come
	if err := conn.SetDeadline(time.Now().Add(probeTime)); err != nil {
		return false
	}
	if _, err := conn.Write(sslRequest); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}
