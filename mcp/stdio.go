package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
)

// Serve serves one client, a message a line, as over standard input and output.
// It returns when the input ends or ctx is done, in both cases once every request
// that came before is answered or the time for it is up. The end of the input is
// no error. A read of in that blocks cannot be interrupted: when ctx is done, it
// goes on until in is closed or the process ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(s, out, ctx.Done())
	go c.read(in)
	// Requests outlive ctx: what is under way when the program is told to stop is finished.
	session, err := s.sdk.Connect(context.WithoutCancel(ctx), transport{c}, nil)
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: "serve MCP", Msg: "internal error", Err: err}
	}
	err = session.Wait()
	c.abandon()
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Op: "serve MCP", Msg: "the connection to the client broke", Err: err}
	}
	return nil
}

// A transport hands its one connection to the SDK. The SDK's own transports end
// at the first bad line, and drop the replies that are under way when the input
// ends.
type transport struct{ c *conn }

func (t transport) Connect(context.Context) (sdk.Connection, error) { return t.c, nil }

// An incoming message, and the place of its reply.
type incoming struct {
	message jsonrpc.Message
	size    int
	batch   *batch // nil: the reply is a line of its own
	at      int    // in batch
}

// read is the goroutine that reads lines, until the input ends.
func (c *conn) read(in io.Reader) {
	defer close(c.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, overlong, err := readLine(r, c.limits.Line)
		more := true
		switch {
		case overlong:
			id := idOfEnds(line[:min(keptOfLine, len(line))], line[max(0, len(line)-keptOfLine):])
			c.refuse(id, &fault{jsonrpc.CodeInvalidRequest, "line",
				fmt.Sprintf("the line is longer than %d bytes: send less at once", c.limits.Line)})
		case len(bytes.TrimSpace(line)) > 0:
			more = c.accept(line)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			c.readErr = err
		}
		if err != nil || !more {
			return
		}
	}
}

// keptOfLine is how many bytes are kept of an overlong line, at its begin and at its end.
const keptOfLine = 1 << 10

// readLine reads up to the end of a line. It keeps the begin and the end of an overlong line.
func readLine(r *bufio.Reader, limit int) (line []byte, overlong bool, err error) {
	for {
		var part []byte
		part, err = r.ReadSlice('\n')
		switch {
		case overlong, len(line)+len(bytes.TrimRight(part, "\r\n")) > limit:
			overlong = true
			line = append(line, part...)
			line = slices.Delete(line, min(keptOfLine, len(line)), max(keptOfLine, len(line)-keptOfLine))
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, overlong, err
		}
	}
}

// accept guards a line and passes its messages on; false: the connection is closed.
func (c *conn) accept(line []byte) bool {
	e, f := guard(line, c.limits.Depth)
	if (f == nil || f.isInside()) && bytes.TrimSpace(line)[0] == '[' {
		return c.acceptBatch(line)
	}
	var m jsonrpc.Message
	if f == nil {
		m, f = e.message()
	}
	if f != nil {
		c.refuse(e.id, f)
		return true
	}
	return c.pass(incoming{message: m, size: len(line)})
}

// pass hands a message to the SDK's reader; false: the connection is closed.
func (c *conn) pass(in incoming) bool {
	select {
	case c.lines <- in:
		return true
	case <-c.closed:
		return false
	}
}
