package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci"
)

type exportCmd struct {
	File string `arg:"" optional:"" default:"-" help:"The file to write; - or nothing is standard output."`
	place
}

// Help is shown below the usage.
func (*exportCmd) Help() string {
	return `Writes one JSON object a line, history included. The file appears when it is complete, readable by its owner alone.

    loci export memories.jsonl
    loci export | loci --user bob import -`
}

// Run exports a namespace.
func (c *exportCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	show, end := a.progress("exporting")
	defer end()
	if c.File == "-" {
		_, err := m.Export(a.ctx, a.out, show)
		return err
	}
	var n int64
	err = writeFile(c.File, func(w io.Writer) error {
		n, err = m.Export(a.ctx, w, show)
		return err
	})
	end()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"records": n, "file": c.File})
	}
	a.printf("exported %d memories to %s\n", n, clean(c.File, false))
	return nil
}

// writeFile writes a file beside its place and moves it there when it is whole
// and on the disk, so that nobody meets half of it.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // its mode is 0600
	if err != nil {
		return fileError(path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // may be closed already; the first error counts
			_ = os.Remove(f.Name())
		}
	}()
	out := bufio.NewWriterSize(f, 64<<10)
	if err := write(out); err != nil {
		return err
	}
	for _, step := range []func() error{out.Flush, f.Sync, f.Close, func() error { return os.Rename(f.Name(), path) }} {
		if err := step(); err != nil {
			return fileError(path, err)
		}
	}
	return nil
}
