package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/jsonform"
)

// following are the flags that continue a list.
type following struct {
	Cursor string `placeholder:"CURSOR" help:"Continue an earlier list: the cursor is what it printed at its end."`
	Next   bool   `help:"Show the next page of your last list on a terminal, with the same flags."`
}

// A pageEnd is where a list ended: how it was called, and the cursor it gave.
type pageEnd struct {
	Args   []string `json:"args"`
	Cursor string   `json:"cursor"`
}

// maxPageEnds is how long the file of ends may be: a few commands, each as long as a
// command line.
const maxPageEnds = 1 << 20

// pageEnds is the file that keeps the last end of each command that lists; without a home it is
// in no directory.
func (a *app) pageEnds() string {
	return filepath.Join(config.StateDir(a.env), "loci", "next.json")
}

// more says how to go on with a list, when the list is shown; an empty cursor is its end.
func (a *app) more(cursor string) {
	if a.json {
		return
	}
	kept := isTerminal(a.rawOut) && a.keepPageEnd(cursor) == nil
	switch {
	case cursor == "":
	case kept:
		a.closing = "there are more: loci " + a.called + " --next"
	default:
		a.closing = "there are more: --cursor " + cursor
	}
}

// keepPageEnd keeps where the list ended, and forgets the end of one that is complete.
func (a *app) keepPageEnd(cursor string) error {
	path := a.pageEnds()
	if !filepath.IsAbs(path) {
		return fs.ErrNotExist
	}
	ends, err := readPageEnds(path)
	if err != nil {
		ends = map[string]pageEnd{} // a file that cannot be read is replaced
	}
	if _, kept := ends[a.called]; cursor == "" && !kept {
		return nil
	}
	delete(ends, a.called)
	if cursor != "" {
		ends[a.called] = pageEnd{Args: withoutCursor(a.args), Cursor: cursor}
	}
	data, err := json.Marshal(ends)
	if err != nil {
		return err
	}
	return replaceFile(path, data)
}

// replaceFile writes a file of the user's own beside the old one, then in its place.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// readPageEnds reads the file; one that is not there holds nothing.
func readPageEnds(path string) (map[string]pageEnd, error) {
	ends := map[string]pageEnd{}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ends, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxPageEnds {
		return nil, loci.Errorf(loci.TooLarge, "%s has %d bytes", path, info.Size())
	}
	data, err := os.ReadFile(path) //nolint:gosec // a file of our own
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &ends); err != nil {
		return nil, loci.Errorf(loci.Invalid, "%s: %s", path, jsonform.Fault(err))
	}
	return ends, nil
}

// withNext are the arguments with --next replaced by what it stands for: the arguments
// of the last list by this command, and its cursor.
func (a *app) withNext(args []string) ([]string, error) {
	i := slices.Index(args[:endOfFlags(args)], "--next")
	if i < 0 {
		return args, nil
	}
	words := slices.Delete(slices.Clone(args), i, i+1)
	if j := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }); j >= 0 {
		return nil, loci.Errorf(loci.Invalid, "--next repeats the flags of the list before; leave out %q", words[j])
	}
	command := strings.Join(words, " ")
	ends, err := readPageEnds(a.pageEnds())
	if err != nil {
		return nil, err
	}
	end, ok := ends[command]
	if !ok {
		return nil, &loci.Error{Code: loci.NotFound, Msg: "--next: no earlier list of \"loci " + command + "\" on a terminal has more to show",
			Recovery: "List first: loci " + command + "."}
	}
	at := endOfFlags(end.Args)
	return slices.Insert(end.Args, at, "--cursor="+end.Cursor), nil
}

// withoutCursor returns the arguments without the cursor at which their list began.
func withoutCursor(args []string) (rest []string) {
	end := endOfFlags(args)
	for i := 0; i < len(args); i++ {
		switch {
		case i < end && args[i] == "--cursor":
			i++ // its value
		case i < end && strings.HasPrefix(args[i], "--cursor="):
		default:
			rest = append(rest, args[i])
		}
	}
	return rest
}

// paging are the commands that may show more than fits the screen.
var paging = []string{
	"list", "search", "recall", "context", "get", "events", "history", "links", "review", "provenance", "namespaces",
	"session show", "session list", "session search", "file list", "file read", "file history", "file diff",
}

// paged runs a command and shows what it prints through the pager if the screen is too
// low for it.
func (a *app) paged(command func() error) error {
	var printed bytes.Buffer
	screen := a.out
	a.out = bufio.NewWriter(&printed)
	err := command()
	_ = a.out.Flush() // a buffer takes all
	a.out = screen
	if pager := a.pager(); pager != nil && bytes.Count(printed.Bytes(), []byte("\n")) >= a.height() {
		pager.Stdin, pager.Stdout, pager.Stderr = bytes.NewReader(printed.Bytes()), a.rawOut, a.err
		// An interrupt is for the pager, where it ends a search. If it ended this
		// program, the pager would be left alone with the terminal.
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		defer signal.Stop(interrupts)
		shown := pager.Run()
		if exit := (*exec.ExitError)(nil); shown == nil || errors.As(shown, &exit) || errors.Is(shown, syscall.EPIPE) {
			return err // who leaves a pager early has seen enough
		}
	}
	_, _ = a.out.Write(printed.Bytes()) // run reports a failure when it flushes
	return err
}

// pager is the command of PAGER, else less; nil if that is empty, "cat" or not there.
func (a *app) pager() *exec.Cmd {
	text, ok := a.env.Lookup("PAGER")
	if !ok {
		text = "less"
	}
	words := strings.Fields(text)
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	pager := exec.CommandContext(context.WithoutCancel(a.ctx), path, words[1:]...) //nolint:gosec // the user's own pager
	pager.Env = a.env
	if a.env.Get("LESS") == "" {
		pager.Env = append(slices.Clip(pager.Env), "LESS=FRX") // colours, and no screen of its own for a short text
	}
	return pager
}

// height is how many lines the terminal shows.
func (a *app) height() int {
	if f, ok := a.rawOut.(*os.File); ok {
		if _, n, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 24
}
