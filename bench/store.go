package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store"
)

// loaded is Loci over a file, with the handle of one user.
type loaded struct {
	store  loci.Store
	engine *loci.Engine
	memory *loci.Memory
}

func openLoci(ctx context.Context, dir string) (*loaded, error) {
	return openLociWith(ctx, dir, loci.Options{})
}

// openLociWith is openLoci with options beside the embedder.
func openLociWith(ctx context.Context, dir string, opts loci.Options) (*loaded, error) {
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "loci.db"), nil)
	if err != nil {
		return nil, err
	}
	embedder, err := embedding.NewBuiltin() // the default, with which users save and search
	if err != nil {
		return nil, err
	}
	opts.Embedder = embedder
	e, err := loci.New(s, &opts)
	if err != nil {
		return nil, err
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return nil, err
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "bench"})
	return &loaded{s, e, m}, err
}

// save stores notes from so many callers at once.
func (l *loaded) save(ctx context.Context, callers int, notes []string) error {
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := c; i < len(notes); i += callers {
				if _, err := l.memory.StoreFact(ctx, loci.NewFact{Content: notes[i]}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// saves measures writes: one at a time, and many callers at once.
func saves(ctx context.Context, opts Options, row func(Row)) error {
	for _, c := range []struct {
		name    string
		callers int
		fts     bool
		against string
	}{
		{"save, one caller", 1, false, "one INSERT and its commit"},
		{"save, one caller", 1, true, "one INSERT, FTS5 and its commit"},
		{"save, 64 callers", 64, true, "64 INSERTs and FTS5 in one commit"},
		{"save, 256 callers", 256, true, "256 INSERTs and FTS5 in one commit"},
	} {
		dir := filepath.Join(opts.Dir, fmt.Sprintf("save-%d-%v", c.callers, c.fts))
		l, err := openLoci(ctx, dir)
		if err != nil {
			return err
		}
		r, err := openRaw(ctx, dir, c.fts)
		if err != nil {
			return err
		}
		notes := newCorpus(1)
		draw := func() (batch []string) {
			for range c.callers {
				batch = append(batch, notes.note())
			}
			return batch
		}
		o, b, err := pair(opts.Time, c.callers,
			func() error { return l.save(ctx, c.callers, draw()) },
			func() error { return r.save(ctx, draw()...) })
		if err = errors.Join(err, l.store.Close(), r.close()); err != nil {
			return err
		}
		row(figure(c.name, c.against, o, b))
	}
	return nil
}

// searches measures reads over a store of a size.
func searches(ctx context.Context, opts Options, size int, row func(Row)) error {
	dir := filepath.Join(opts.Dir, fmt.Sprintf("search-%d", size))
	l, err := openLoci(ctx, dir)
	if err != nil {
		return err
	}
	r, err := openRaw(ctx, dir, true)
	if err != nil {
		return err
	}
	source := newCorpus(2)
	notes := make([]string, size)
	for i := range notes {
		notes[i] = source.note()
	}
	for start := 0; start < size; start += 1000 {
		part := notes[start:min(start+1000, size)]
		if err := errors.Join(l.save(ctx, 256, part), r.save(ctx, part...)); err != nil {
			return err
		}
	}
	find := func(q loci.Query) func() error {
		queries := newCorpus(3)
		return func() error {
			q.Text, q.Limit = queries.query(notes[queries.rng.IntN(size)]), 5
			result, err := l.memory.Search(ctx, q)
			if err == nil && len(result.Matches) == 0 {
				err = fmt.Errorf("no match for %q", q.Text)
			}
			return err
		}
	}
	baseQueries := newCorpus(3)
	base := func() error {
		_, err := r.find(ctx, baseQueries.query(notes[baseQueries.rng.IntN(size)]))
		return err
	}
	label := fmt.Sprintf("of %d notes", size)
	// The first search of all makes the index and keeps it beside the file. Every start after it
	// finds that there.
	for _, name := range []string{"index made by the first search ", "first search after start "} {
		if err := l.store.Close(); err != nil {
			return err
		}
		if l, err = openLoci(ctx, dir); err != nil {
			return err
		}
		empty := heap()
		start := time.Now()
		if err := find(loci.Query{})(); err != nil {
			return err
		}
		first := time.Since(start)
		start = time.Now()
		if err := base(); err != nil {
			return err
		}
		cold := figure(name+label, "FTS5 bm25", cost{median: first}, cost{median: time.Since(start)})
		cold.HeapMiB = max(0, heap()-empty)
		row(cold)
	}
	for _, mode := range []loci.Mode{loci.Keyword, loci.Hybrid} {
		o, b, err := pair(opts.Time, 1, find(loci.Query{Mode: mode}), base)
		if err != nil {
			return err
		}
		row(figure(fmt.Sprintf("%s search %s", mode, label), "FTS5 bm25", o, b))
	}
	return errors.Join(l.store.Close(), r.close())
}

// startups measures from the start of a process to its first word: of the MCP
// server its first reply, of the baseline that it is over.
func startups(ctx context.Context, opts Options, row func(Row)) error {
	file := "sqlite:" + filepath.Join(opts.Dir, "start.db")
	idle := []string{"true"}
	if runtime.GOOS == "windows" {
		idle = []string{"cmd", "/c", "exit"}
	}
	o, b, err := pair(opts.Time, 1,
		func() error { return firstReply(ctx, opts.Binary, file) },
		func() error { return exec.CommandContext(ctx, idle[0], idle[1:]...).Run() })
	if err != nil {
		return err
	}
	o.allocs, o.bytes = 0, 0 // of another process
	row(figure("start to first MCP reply", "a program that does nothing", o, b))
	return nil
}

func firstReply(ctx context.Context, binary, file string) (err error) {
	cmd := exec.CommandContext(ctx, binary, "mcp", "--store", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	if _, err := io.WriteString(in, hello+"\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && !strings.Contains(line, `"result"`) {
		err = fmt.Errorf("the server answered %s", line)
	}
	return errors.Join(err, in.Close(), cmd.Wait())
}
