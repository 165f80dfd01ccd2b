package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A stmt is a statement with its arguments. Every statement that touches a table says
// tenant = $1 for each of them.
type stmt struct {
	sql  string
	args []any
	once bool            // its text comes in many forms, so that it is not worth to be prepared
	row  func(row) error // takes its rows, which are valid only until it returns
	done func(n int64)   // takes the number of rows it returned or changed

	// The arguments as they are sent: see encode.
	values [][]byte
	oids   []uint32
}

// encode makes the arguments ready to be sent, unless they are.
func (s *stmt) encode() (err error) {
	if s.values != nil {
		return nil
	}
	values, oids := make([][]byte, len(s.args)), make([]uint32, len(s.args))
	for i, arg := range s.args {
		if values[i], oids[i], err = encode(arg); err != nil {
			return err
		}
	}
	s.values, s.oids = values, oids
	return nil
}

// conn is a connection in use.
type conn struct {
	pool     *pgxpool.Conn
	pg       *pgconn.PgConn
	prepared map[string]string // statements prepared on the connection, by text; nil: none are to be

	nodes *nodes
	node  *node
	key   []byte // of the tenant it is for; nil: of none

	meanwhile func() // is done once, while the next answer is on its way; nil: nothing is

	lost  error // how the node was lost
	watch *watch
}

// maxPrepared bounds the statements prepared on a connection.
const maxPrepared = 256

// connect takes a connection for a tenant's key, nil for none in particular; the caller releases it.
func (s *Store) connect(ctx context.Context, key []byte) (*conn, error) {
	began := time.Now()
	wait, end := waiting(ctx, s.opts.PoolWait)
	defer end()
	pool, n, err := s.nodes.acquire(wait, key)
	if err != nil {
		// The pool goes by the deadline, and may be a moment before the wait is over.
		if ctx.Err() == nil && time.Since(began) >= s.opts.PoolWait {
			return nil, &waitedError{err}
		}
		return nil, err
	}
	c := &conn{pool: pool, pg: pool.Conn().PgConn(), nodes: s.nodes, node: n, key: key}
	c.watch = s.nodes.watches.on(c.pg)
	if !s.opts.Unprepared {
		data := c.pg.CustomData()
		names, ok := data["loci"].(map[string]string)
		if !ok {
			names = map[string]string{}
			data["loci"] = names
		}
		c.prepared = names
	}
	return c, nil
}

// release gives the connection back; one inside a transaction is closed instead.
func (c *conn) release() {
	if c.lost != nil {
		c.nodes.fail(c.node, c.lost)
	}
	c.pool.Release()
}

// failed notes what a statement's error says of the node: where there are several, another one is
// asked next.
func (c *conn) failed(ctx context.Context, err error) {
	if err == nil || !c.nodes.several() || ctx.Err() != nil {
		return
	}
	c.nodes.homes.forget(c.key)
	if isLost(err) {
		c.lost = err
	}
}

// preparations counts the statements ever prepared, whose names are never given out twice.
var preparations atomic.Int64

var (
	binaryForm = []int16{1}
	commit     = stmt{sql: "COMMIT", once: true}
	rollback   = stmt{sql: "ROLLBACK", once: true}
	readOnly   = stmt{sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", once: true}

	// readWrite does not say READ WRITE: a standby refuses that in words of its own, and a
	// database that its operator made read-only would be written to.
	readWrite = stmt{sql: "BEGIN ISOLATION LEVEL READ COMMITTED", once: true}
)

// behindWall is the statement that lets a transaction see one tenant. It is a message of
// its own with the value in its text: the workers of a distributed database see no other.
func behindWall(tenant []byte) stmt {
	return stmt{sql: "SET LOCAL loci.tenant = '" + hex.EncodeToString(tenant) + "'", once: true}
}

// observe, when not nil, is shown every statement: for the test that reads them.
var observe func(sql string, args []any)

// run sends statements in one go and reads what they answer, in one round trip. After an
// error the rest is not done.
func (c *conn) run(ctx context.Context, stmts ...stmt) (err error) {
	c.watch.asked()
	p := c.pg.StartPipeline(ctx)
	defer func() {
		defer c.watch.answered()
		if end := p.Close(); err == nil {
			err = end
		}
		c.failed(ctx, err)
	}()
	var names []string // prepared on the way: "" for a statement that was or is not
	defer func() {
		for i, name := range names { // what was not confirmed is prepared again
			if name != "" {
				delete(c.prepared, stmts[i].sql)
			}
		}
	}()
	for i := range stmts {
		name, err := c.send(p, &stmts[i])
		if err != nil {
			return errors.Join(err, p.Sync()) // what is queued must be taken in
		}
		names = append(names, name)
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if do := c.meanwhile; do != nil {
		c.meanwhile = nil
		do()
	}
	for i := range stmts {
		if names[i] != "" {
			if _, err := p.GetResults(); err != nil {
				return err
			}
			names[i] = ""
		}
		if err := stmts[i].read(p); err != nil {
			return err
		}
	}
	return nil
}

// send queues a statement; fresh is the name under which it is prepared on the way.
func (c *conn) send(p *pgconn.Pipeline, s *stmt) (fresh string, err error) {
	if observe != nil {
		observe(s.sql, s.args)
	}
	if err := s.encode(); err != nil {
		return "", err
	}
	name, ok := c.prepared[s.sql]
	switch {
	case ok:
	case s.once || c.prepared == nil || len(c.prepared) >= maxPrepared:
		p.SendQueryParams(s.sql, s.values, s.oids, binaryForm, binaryForm)
		return "", nil
	default:
		fresh = fmt.Sprintf("loci_%d", preparations.Add(1))
		// Two of one text in one go: the second one finds the name that the first one gave.
		name, c.prepared[s.sql] = fresh, fresh
		p.SendPrepare(fresh, s.sql, nil)
	}
	p.SendQueryPrepared(name, s.values, binaryForm, binaryForm)
	return fresh, nil
}

// read takes the answer to the statement.
func (s *stmt) read(p *pgconn.Pipeline) error {
	results, err := p.GetResults()
	if err != nil {
		return err
	}
	reader, ok := results.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("%T in place of rows", results)
	}
	for reader.NextRow() {
		if s.row == nil {
			continue
		}
		if err := s.row(row(reader.Values())); err != nil {
			return err
		}
	}
	tag, err := reader.Close()
	if err == nil && s.done != nil {
		s.done(tag.RowsAffected())
	}
	return err
}
