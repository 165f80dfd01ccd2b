package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/spelling"
)

// choose returns the clients to work on; nil if there is nothing to do but what was shown.
func (c *setupCmd) choose(a *app, sys system, to target) ([]client, error) {
	if len(c.Client) > 0 && c.All {
		return nil, loci.Errorf(loci.Invalid, "--all takes no names of clients: leave them out")
	}
	if len(c.Client) > 0 {
		return named(c.Client)
	}
	var found []client
	for _, client := range clients {
		if sys.has(client) && (!c.Project || client.project != "") {
			found = append(found, client)
		}
	}
	if c.All && len(found) > 0 {
		return found, nil
	}
	c.list(a, sys, found, to)
	if len(found) == 0 || c.All || !isTerminal(a.stdin) || !isTerminal(a.rawOut) || a.json {
		return nil, nil
	}
	return ask(a, found)
}

// named returns the clients of these names.
func named(names []string) ([]client, error) {
	ids := make([]string, len(clients))
	for i, client := range clients {
		ids[i] = client.id
	}
	var chosen []client
	for _, name := range names {
		if _, err := spelling.OneOf(name, ids...); err != nil {
			return nil, &loci.Error{
				Code:     loci.Invalid,
				Msg:      fmt.Sprintf("the client %v", err),
				Recovery: "For any other client, \"loci setup --print\" shows what to enter.",
			}
		}
		if !slices.ContainsFunc(chosen, func(c client) bool { return c.id == name }) {
			chosen = append(chosen, clients[slices.Index(ids, name)])
		}
	}
	return chosen, nil
}

// has reports whether a client is on this machine.
func (s system) has(c client) bool {
	for _, program := range c.programs {
		if _, err := s.lookPath(program); err == nil {
			return true
		}
	}
	info, err := os.Stat(c.traces(s))
	return err == nil && info.IsDir()
}

// lookPath finds a program on the PATH of the run's environment.
func (s system) lookPath(program string) (string, error) {
	for _, dir := range filepath.SplitList(s.env.Get("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// list shows the clients that were found, and which of them know Loci already.
func (c *setupCmd) list(a *app, sys system, found []client, to target) {
	results := make([]setupResult, len(found))
	rows := table{head: []string{"", "CLIENT", "STATE", "FILE"}}
	for i, client := range found {
		results[i] = c.state(sys, client, to)
		rows.add(strconv.Itoa(i+1), client.id, results[i].inWords(), results[i].File)
	}
	if a.json {
		_ = a.printJSON(map[string]any{"clients": results})
		return
	}
	rows.print(a)
	switch {
	case len(found) == 0:
		a.note(
			"No client that setup knows was found on this machine. \"loci setup --print\" shows what to enter in another.",
		)
	case !isTerminal(a.stdin) || !isTerminal(a.rawOut):
		a.note("\"loci setup NAME\" connects one of them, \"loci setup --all\" all.")
	}
}

// inWords is the state of a client in a list.
func (r setupResult) inWords() string {
	switch r.Outcome {
	case setupFound:
		return "not connected"
	case setupConnected:
		return "connected"
	case setupDiffers:
		return "another entry named loci"
	}
	return r.Error
}

// ask lets a person choose on the terminal.
func ask(a *app, found []client) ([]client, error) {
	a.printf("Connect which? Numbers or names, Enter for all, none to leave it: ")
	if err := a.out.Flush(); err != nil {
		return nil, fileError("standard output", err)
	}
	line, err := bufio.NewReader(a.input()).ReadString('\n')
	if err != nil && line == "" {
		return nil, nil // the end of input is a no
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if len(words) == 0 {
		return found, nil
	}
	if len(words) == 1 && (words[0] == "none" || words[0] == "n") {
		return nil, nil
	}
	for i, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			if n < 1 || n > len(found) {
				return nil, loci.Errorf(loci.Invalid, "there is no number %d in the list", n)
			}
			words[i] = found[n-1].id
		}
	}
	return named(words)
}
