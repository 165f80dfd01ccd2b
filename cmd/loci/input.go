package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/view"
)

// An interruptible reader gives up waiting when its context ends: a read of a
// terminal or a pipe cannot be stopped otherwise. It gives up the bytes of the
// read it left, which is fine since nothing reads after that.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read reads like the reader beneath, or fails with the context's error.
func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	own := make([]byte, min(len(p), 64<<10)) // p is the caller's again once we return
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(own)
		done <- result{n, err}
	}()
	select {
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	case r := <-done:
		return copy(p, own[:r.n]), r.err
	}
}

// input is standard input, given up when the program is interrupted.
func (a *app) input() io.Reader { return interruptible{a.ctx, a.stdin} }

// words joins the words of a text given as arguments; "-" alone stands for
// standard input, whose last line end is no part of the text.
func (a *app) words(args []string, limit int) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	// One byte more than allowed is enough to be refused as too large.
	data, err := io.ReadAll(io.LimitReader(a.input(), int64(limit)+3))
	if err != nil {
		return "", fileError("standard input", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// An idArg is a memory's id as people write it: a UUID, with or without "note-", or the
// digits that it begins or ends with, if no other id does.
type idArg string

const notePrefix = "note-"

// check refuses what can be no id, before anything is opened.
func (s idArg) check() error {
	text := strings.TrimPrefix(string(s), notePrefix)
	if _, err := loci.ParseID(text); err == nil || view.IsAbbreviation(text) {
		return nil
	}
	return loci.Errorf(loci.Invalid,
		"%.64q is not an id: write it as in note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77, or its last %d or more digits",
		string(s), view.MinAbbreviation)
}

// in opens the memory that a command is about and finds the id there.
func (s idArg) in(a *app, at place, idempotencyKey string, scope loci.Scope) (*loci.Memory, loci.ID, error) {
	if err := s.check(); err != nil {
		return nil, loci.ID{}, err
	}
	m, err := a.memory(at, idempotencyKey, scope)
	if err != nil {
		return nil, loci.ID{}, err
	}
	id, err := s.find(a, m)
	return m, id, err
}

// mostCandidates bounds the memories that are named when an id is ambiguous.
const mostCandidates = 5

// find returns the id that was meant.
func (s idArg) find(a *app, m *loci.Memory) (loci.ID, error) {
	id, _, err := s.whole(a, m)
	return id, err
}

// whole returns the id that was meant, and how it is shown: as it was written, where that is
// all of it.
func (s idArg) whole(a *app, m *loci.Memory) (id loci.ID, shown string, err error) {
	text := strings.TrimPrefix(string(s), notePrefix)
	if id, err := loci.ParseID(text); err == nil {
		return id, string(s), nil
	}
	entries, err := view.Abbreviated(a.ctx, m, text, mostCandidates+1)
	switch {
	case err != nil:
		return id, "", err
	case len(entries) == 0:
		return id, "", loci.Errorf(loci.NotFound, "no id here begins or ends with %s", text)
	case len(entries) == 1:
		return entries[0].ID, entryJSON(&entries[0]).ID, nil
	}
	var candidates []string
	for i := range entries[:min(len(entries), mostCandidates)] {
		shown := entryJSON(&entries[i])
		said := terminal.Truncate(terminal.Clean(shown.said(), false), 50)
		candidates = append(candidates, shown.ID+" ("+said+")")
	}
	if len(entries) > mostCandidates {
		candidates = append(candidates, "and others")
	}
	return id, "", &loci.Error{Code: loci.Invalid, Msg: text + " may be " + strings.Join(candidates, ", "),
		Recovery: "Write more of the id."}
}

// shortDigits are so many that two of 10,000 memories end alike once in a hundred stores.
const shortDigits = 8

// shortID is how a list shows an id on a terminal: its last digits, so that the text has room.
func (a *app) shortID(id string, wide bool) string {
	if wide || !isTerminal(a.rawOut) || len(id) < shortDigits {
		return id
	}
	return id[len(id)-shortDigits:]
}

// A width is what lists have in common that cut rows to the terminal.
type width struct {
	Wide bool `help:"Show ids and texts in full, on a terminal too."`
}

// shownID is how an id is shown: a note's begins with "note-".
func shownID(id loci.ID, note bool) string {
	if note {
		return notePrefix + id.String()
	}
	return id.String()
}

// parseMetadata reads the values of --metadata: each either name=value or a JSON object.
func parseMetadata(values []string) (map[string]any, error) {
	var all map[string]any
	put := func(name string, value any) error {
		if all == nil {
			all = map[string]any{}
		}
		if _, twice := all[name]; twice {
			return loci.Errorf(loci.Invalid, "--metadata: %s is given twice", name)
		}
		all[name] = value
		return nil
	}
	for _, v := range values {
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			object, err := parseObject("--metadata", v)
			if err != nil {
				return nil, err
			}
			for name, value := range object {
				if err := put(name, value); err != nil {
					return nil, err
				}
			}
			continue
		}
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, loci.Errorf(loci.Invalid, "--metadata %q: write name=value or a JSON object", v)
		}
		if err := put(name, value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxObjectDepth is how deep an object of the command line nests, as with tools.
const maxObjectDepth = 64

// parseObject reads one JSON object; large numbers stay exact. It refuses what decoders
// would silently change.
func parseObject(what, text string) (map[string]any, error) {
	switch fault := jsonguard.CheckStored([]byte(text), maxObjectDepth, nil); fault {
	case jsonguard.UTF8:
		return nil, loci.Errorf(loci.Invalid, "%s is not valid UTF-8", what)
	case jsonguard.Depth:
		return nil, loci.Errorf(loci.Invalid, "%s nests deeper than %d levels: flatten it", what, maxObjectDepth)
	case jsonguard.Surrogate:
		return nil, loci.Errorf(
			loci.Invalid,
			`%s contains half of a surrogate pair, such as \ud800: write the whole character`,
			what,
		)
	case jsonguard.Duplicate:
		return nil, loci.Errorf(loci.Invalid, "%s %s", what, fault.Of([]byte(text)))
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var object map[string]any
	err := d.Decode(&object)
	fault := ""
	if err != nil {
		fault = jsonform.Fault(err)
	} else if _, after := d.Token(); !errors.Is(after, io.EOF) {
		fault = "something follows the object"
	} else if object == nil {
		fault = "it is null"
	}
	if fault != "" {
		return nil, loci.Errorf(
			loci.Invalid,
			"%s must be a JSON object such as {\"topic\":\"travel\"}: %s",
			what,
			fault,
		)
	}
	return object, nil
}

// parseFilter reads the value of --filter; empty is no filter.
func parseFilter(text string) (loci.Where, error) {
	if text == "" {
		return loci.Where{}, nil
	}
	object, err := parseObject("--filter", text)
	if err != nil {
		return loci.Where{}, err
	}
	return loci.ParseWhere(object)
}

// A period is the times that a command is about.
type period struct{ since, until time.Time }

// periodOf reads --since and --until.
func periodOf(since, until string, now time.Time) (p period, err error) {
	if p.since, err = parseTime("--since", since, now); err != nil {
		return p, err
	}
	p.until, err = parseTime("--until", until, now)
	return p, err
}

// parseTime reads a moment: a date, a time with its zone, or how long ago, such
// as 90m, 24h or 7d.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days+"\n", "%d\n", &n); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, loci.Errorf(loci.Invalid, "%s %q: write a date such as 2026-01-31, a time such as 2026-01-31T08:00:00Z, or how long ago: 90m, 24h, 7d", flag, text)
}
