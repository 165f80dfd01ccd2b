package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/view"
)

type exportCmd struct {
	File  string   `arg:"" optional:"" default:"-" help:"The file to write; - or nothing is standard output."`
	Kind  []string `sep:"none" placeholder:"KIND" values:"note,fact,rule,episode,item,session,message,file,thread" help:"Only memories of this kind; may be repeated. A session comes with its messages."`
	State []string `sep:"none" placeholder:"STATE" values:"live,fading,waiting,superseded,forgotten,expired" help:"Only notes, facts, rules, episodes and items in this state, and with live all others; may be repeated."`
	place
}

// Help is shown below the usage.
func (*exportCmd) Help() string {
	return `Writes one JSON object a line, history included. The file appears when it is complete, and only its owner can read it. The command
says how many memories in other namespaces it left out: "loci namespaces" lists those.

    loci export memories.jsonl
    loci export | loci --user bob import -`
}

// Run exports a namespace.
func (c *exportCmd) Run(a *app) error {
	if err := checkWhich(c.Kind, c.State); err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	show, end := a.progress("exporting")
	if c.File == "-" && isTerminal(a.rawOut) { // the lines themselves show how far it is
		show = func(int64) {}
	}
	defer end()
	q := view.Query{Kinds: namesOf[loci.Kind](c.Kind), States: namesOf[view.State](c.State)}
	if c.File == "-" {
		if _, err := view.Export(a.ctx, m, a.out, q, show); err != nil {
			return err
		}
		end()
		_, err := a.noteOutside(m)
		return err
	}
	var n int64
	err = writeFile(c.File, storeExport, func(w io.Writer) error {
		n, err = view.Export(a.ctx, m, w, q, show)
		return err
	})
	end()
	if err != nil {
		return err
	}
	left, err := a.noteOutside(m)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"records": n, "file": c.File, "left_out": left})
	}
	a.printf("exported %s to %s\n", memories(n), terminal.Clean(c.File, false))
	return nil
}

// What an export may take the place of: one of the same kind, known by how it begins.
var (
	storeExport   = exported{"export of Loci", `"format":"loci.export"`}
	sessionExport = exported{"export of a session", `"format":"loci.session"`}
)

type exported struct{ name, begin string }

// checkPlace refuses a place where something lies that Loci did not make. An empty file
// is room that somebody made for the export.
func (x exported) checkPlace(path string) error {
	refuse := func(why string) error {
		return &loci.Error{
			Code:     loci.Conflict,
			Msg:      terminal.Word(path) + why,
			Recovery: "Choose another name, or move it away.",
		}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError(path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse(" is a link: an export follows none")
	case !info.Mode().IsRegular():
		return refuse(" is no file")
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(path) //nolint:gosec // the file the user names
	if err != nil {
		return fileError(path, err)
	}
	begin, err := io.ReadAll(io.LimitReader(f, 128))
	if err = errors.Join(err, f.Close()); err != nil {
		return fileError(path, err)
	}
	if !strings.Contains(string(begin), x.begin) {
		return refuse(" is there and is no " + x.name)
	}
	return nil
}

// writeFile writes a file beside its place and moves it there when it is whole
// and on the disk, so that nobody meets half of it.
func writeFile(path string, over exported, write func(io.Writer) error) (err error) {
	if err := over.checkPlace(path); err != nil {
		return err
	}
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
