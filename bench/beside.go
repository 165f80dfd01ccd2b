package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Neighbour is another memory that is asked the same: a program that reads a line of JSON
// from its standard input and answers with one. docs/retrieval.md has the lines.
type Neighbour struct {
	Name    string
	Command []string // the program and its arguments
}

// ParseNeighbour reads NAME=PROGRAM ARGUMENT….
func ParseNeighbour(text string) (n Neighbour, err error) {
	name, command, ok := strings.Cut(text, "=")
	if n = (Neighbour{strings.TrimSpace(name), strings.Fields(command)}); !ok || n.Name == "" || len(n.Command) == 0 {
		return n, loci.Errorf(loci.Invalid, "beside is %q; write it as NAME=PROGRAM", text)
	}
	if slices.Contains([]string{ModeKeyword, ModeVector, ModeHybrid, ModeFTS5, ModeTyping}, n.Name) {
		return n, loci.Errorf(loci.Invalid, "beside: %s is the name of a mode of Loci; choose another", n.Name)
	}
	return n, nil
}

// beside is a running neighbour that has a dataset.
type beside struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	stored  time.Duration
	durable bool
	system  string
}

// What is said to a neighbour.
type (
	besideRequest struct {
		Op       string         `json:"op"` // begin, save, ready or search
		Dir      string         `json:"dir,omitempty"`
		Memories []besideMemory `json:"memories,omitempty"`
		Conv     string         `json:"conv,omitempty"`
		Query    string         `json:"query,omitempty"`
		Limit    int            `json:"limit,omitempty"`
	}
	besideMemory struct {
		Conv    string `json:"conv"`
		ID      string `json:"id"`
		Text    string `json:"text"`
		Session string `json:"session"`
		Speaker string `json:"speaker"`
		Role    string `json:"role"`
		Time    string `json:"time"`
	}
	besideReply struct {
		Error   string `json:"error"`
		System  string `json:"system"`  // to begin: its name and version
		Durable bool   `json:"durable"` // to begin: what is saved is on disk when the answer comes
		Hits    []struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		} `json:"hits"`
	}
)

// openBeside starts a neighbour and gives it every turn.
func openBeside(ctx context.Context, n Neighbour, dir string, d *Dataset, r *run) (b *beside, err error) {
	cmd := exec.CommandContext(ctx, n.Command[0], n.Command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("%s does not start: %v", n.Name, err), Err: err}
	}
	b = &beside{name: n.Name, cmd: cmd, in: in, out: json.NewDecoder(out)}
	if err := b.fill(dir, d, r); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *beside) fill(dir string, d *Dataset, r *run) error {
	begun, err := b.ask(besideRequest{Op: "begin", Dir: dir})
	if err != nil {
		return err
	}
	b.system, b.durable = begun.System, begun.Durable
	start := time.Now()
	var memories []besideMemory
	for i := range d.Turns {
		t := &d.Turns[i]
		if text := t.content(r.Context, r.Captions); text != "" {
			memories = append(memories, besideMemory{t.Conv, t.ID, text, t.Session, t.Speaker, t.Role, t.Time})
		}
	}
	for some := range slices.Chunk(memories, 100) {
		if _, err := b.ask(besideRequest{Op: "save", Memories: some}); err != nil {
			return err
		}
	}
	_, err = b.ask(besideRequest{Op: "ready"})
	b.stored = time.Since(start)
	return err
}

// ask sends one line and reads one.
func (b *beside) ask(request besideRequest) (reply besideReply, err error) {
	line, err := json.Marshal(request)
	if err != nil {
		return reply, &loci.Error{Code: loci.Internal, Op: "bench", Err: err}
	}
	if _, err = b.in.Write(append(line, '\n')); err == nil {
		err = b.out.Decode(&reply)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it ended without an answer")
	case err == nil && reply.Error != "":
		err = errors.New(reply.Error)
	}
	if err != nil {
		return reply, &loci.Error{Code: loci.Unavailable, Op: "bench", Msg: fmt.Sprintf("%s, asked to %s: %v", b.name, request.Op, err), Err: err}
	}
	return reply, nil
}

// find is a finder.
func (b *beside) find(_ context.Context, conv, query string) ([]hit, error) {
	reply, err := b.ask(besideRequest{Op: "search", Conv: conv, Query: query, Limit: depth})
	if err != nil {
		return nil, err
	}
	hits := make([]hit, 0, depth)
	for _, h := range reply.Hits[:min(depth, len(reply.Hits))] {
		hits = append(hits, hit{h.ID, h.Text})
	}
	return hits, nil
}

// close lets it end: its input ends.
func (b *beside) close() error {
	_ = b.in.Close() // it may have ended already
	return b.cmd.Wait()
}
