package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// pages says of a command that what it shows may be longer than the screen.
func pages(command string) bool {
	return slices.Contains([]string{
		"list", "search", "recall", "context", "get", "events", "history", "links", "review", "provenance", "namespaces",
		"session show", "session list", "session search", "file list", "file show", "file versions",
	}, command)
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
	pager := exec.CommandContext(a.ctx, path, words[1:]...) //nolint:gosec // the user's own pager
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
