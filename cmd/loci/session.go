package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/session"
)

// sessionCmd is the group of commands about conversations.
type sessionCmd struct {
	Create    sessionCreateCmd    `cmd:"" help:"Make a session and print its id."`
	Append    sessionAppendCmd    `cmd:"" help:"Add messages to a session; it is made if it is not there."`
	Show      sessionShowCmd      `cmd:"" help:"Show the messages of a session."`
	Change    sessionChangeCmd    `cmd:"" help:"Change the metadata and the limits of a session."`
	List      sessionListCmd      `cmd:"" help:"List sessions, the one with the latest activity first."`
	Search    sessionSearchCmd    `cmd:"" help:"Find messages by meaning and by words."`
	Summarise sessionSummariseCmd `cmd:"" help:"Summarise the older messages when a model has no room for them."`
	Trim      sessionTrimCmd      `cmd:"" help:"Erase the oldest messages of a session."`
	Pop       sessionPopCmd       `cmd:"" help:"Take the newest message of a session."`
	Clear     sessionClearCmd     `cmd:"" help:"Erase sessions with their messages."`
	Export    sessionExportCmd    `cmd:"" help:"Write a session to a file."`
	Import    sessionImportCmd    `cmd:"" help:"Read a session from a file."`
}

type sessionCreateCmd struct {
	ID          *string       `arg:"" optional:"" help:"Its id, up to 256 bytes, which --session names, too. Default: a new UUID."`
	Metadata    []string      `sep:"none" short:"m" placeholder:"NAME=VALUE" help:"A detail, or several as a JSON object; may be repeated."`
	MaxMessages int           `placeholder:"N" help:"The most messages to keep. Default: the setting sessions.max_messages."`
	Timeout     time.Duration `placeholder:"DURATION" help:"How long without activity until it expires, at least 1s. Default: the setting sessions.timeout."`
	place
}

// Run makes a session.
func (c *sessionCreateCmd) Run(a *app) error {
	in := session.New{MaxMessages: c.MaxMessages, TimeoutSeconds: int64(c.Timeout / time.Second)}
	if c.ID != nil {
		if in.ID = *c.ID; in.ID == "" { // of a variable that a script did not set
			return loci.Errorf(loci.Invalid, "<id> must not be empty: leave it out for a new UUID")
		}
	}
	var err error
	if in.ID, err = a.namedSession("<id>", in.ID); err != nil {
		return err
	}
	if err := checkTimeout(c.Timeout); err != nil {
		return err
	}
	if in.Metadata, err = sessionMetadata(c.Metadata); err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeWrite)
	if err != nil {
		return err
	}
	s, err := session.Of(m).Create(a.ctx, in)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s\n", terminal.Clean(s.ID, false))
	return nil
}

func checkTimeout(d time.Duration) error {
	if d%time.Second != 0 || d < 0 {
		return loci.Errorf(loci.Invalid, "--timeout is %s; it must be whole seconds, such as 90s or 24h", d)
	}
	return nil
}

// sessionMetadata reads --metadata; nil means that it was not given.
func sessionMetadata(given []string) (json.RawMessage, error) {
	metadata, err := parseMetadata(given)
	if err != nil || metadata == nil {
		return nil, err
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "--metadata: %s", jsonform.Fault(err))
	}
	return raw, nil
}

type sessionAppendCmd struct {
	ID             string   `arg:"" help:"The id of the session."`
	Text           []string `arg:"" optional:"" help:"What was said; - reads it from standard input."`
	Role           string   `default:"user" enum:"user,assistant,system" values:"user,assistant,system" help:"Who said it: user, assistant or system. Default: user."`
	Messages       string   `placeholder:"FILE" help:"Append the messages of a file instead, or of standard input (-): a JSON array in the form of LangChain or OpenAI."`
	IdempotencyKey string   `placeholder:"KEY" help:"Makes the command safe to repeat: the same key appends only once."`
	place
}

// Help is shown below the usage.
func (*sessionAppendCmd) Help() string {
	return `Prints the numbers of the new messages. If there is no session with this id, the command makes one.

    loci session append trip "Which seat did I like?"
    loci session append trip --role assistant "The window seat."
    echo '[{"role":"user","content":"Thanks."}]' | loci session append trip --messages -`
}

// Run appends messages.
func (c *sessionAppendCmd) Run(a *app) error {
	if c.ID == "" { // would be a new session at each call, under an id that is not shown
		return loci.Errorf(loci.Invalid, "<id> must not be empty: name the session")
	}
	messages, err := c.messages(a)
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, c.IdempotencyKey, loci.ScopeWrite)
	if err != nil {
		return err
	}
	done, err := session.Of(m).Append(a.ctx, c.ID, messages)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	if done.First == done.Last {
		a.printf("message %d\n", done.First)
	} else {
		a.printf("messages %d to %d\n", done.First, done.Last)
	}
	if done.Trimmed > 0 {
		a.note("%d of the oldest messages were erased: the session keeps no more", done.Trimmed)
	}
	return nil
}

func (c *sessionAppendCmd) messages(a *app) ([]session.Message, error) {
	if (c.Messages == "") == (len(c.Text) == 0) {
		return nil, loci.Errorf(loci.Invalid, "say what to append: either a text, or --messages FILE")
	}
	if c.Messages == "" {
		text, err := a.words(c.Text, session.MaxMessageBytes)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(map[string]string{"role": c.Role, "content": text})
		if err != nil {
			return nil, loci.Errorf(loci.Invalid, "the text is not valid: %s", jsonform.Fault(err))
		}
		message, err := session.ParseMessage(raw)
		return []session.Message{message}, err
	}
	file, err := a.openInput(c.Messages)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, 2*session.MaxAppendBytes))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fileError(c.Messages, err)
	}
	return session.ParseMessages(data)
}

// openInput opens a file to read; "-" is standard input.
func (a *app) openInput(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.input()), nil
	}
	file, err := os.Open(path) //nolint:gosec // the file the user names
	if err != nil {
		return nil, fileError(path, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() { // to read it would say so without a remedy
		return nil, errors.Join(fileError(path, syscall.EISDIR), file.Close())
	}
	return file, nil
}

type sessionShowCmd struct {
	ID     string `arg:"" help:"The id of the session."`
	Last   *int   `short:"n" placeholder:"N" help:"How many of the newest messages, 1 to 1000. Default: 50."`
	After  int64  `placeholder:"SEQ" help:"Only messages after this number."`
	Before int64  `placeholder:"SEQ" help:"Only messages before this number."`
	All    bool   `help:"All messages, however many."`
	Form   string `default:"stored" enum:"stored,openai" values:"stored,openai" help:"With --json: stored, as LangChain has it, or openai. Default: stored."`
	place
}

// Help is shown below the usage.
func (*sessionShowCmd) Help() string {
	return `In a pipe each message is a line: number, time, speaker and text, with tabs between them.

    loci session show trip --last 10
    loci session show trip --all --json --form openai`
}

// A sessionShown is a session as show --json writes it.
type sessionShown struct {
	Session  session.Session   `json:"session"`
	Messages []json.RawMessage `json:"messages"`
}

// Run shows messages.
func (c *sessionShowCmd) Run(a *app) error {
	q := session.HistoryQuery{After: c.After, Before: c.Before, Last: 50}
	switch {
	case c.All && c.Last != nil:
		return loci.Errorf(loci.Invalid, "--all shows every message, and --last some: leave one of them out")
	case c.All:
		q.Last, q.Limit = 0, 1000
	case c.Last != nil:
		q.Last = *c.Last
	}
	if !c.All && (q.Last < 1 || q.Last > 1000) {
		return loci.Errorf(loci.Invalid, "--last is %d; it must be 1 to 1000: for more, use --all", q.Last)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	talk, err := session.Of(m).Session(a.ctx, c.ID)
	if err != nil {
		return err
	}
	out := sessionShown{Session: talk, Messages: []json.RawMessage{}}
	t := table{head: []string{"SEQ", "AGE", "SPEAKER", "TEXT"}}
	for more := true; more; {
		h, err := session.Of(m).History(a.ctx, c.ID, q)
		if err != nil {
			return err
		}
		for i := range h.Messages {
			stored := &h.Messages[i]
			q.After = stored.Seq
			if !a.json {
				t.add(fmt.Sprint(stored.Seq), a.when(stored.CreatedAt), stored.Speaker(), stored.Text())
				continue
			}
			raw, err := c.form(stored)
			if err != nil {
				return err
			}
			out.Messages = append(out.Messages, raw)
		}
		more = h.More
	}
	if a.json {
		return a.printJSON(out)
	}
	if talk.Summary != nil {
		a.note("summary up to message %d: %s", talk.Summary.Through, terminal.Clean(talk.Summary.Text, false))
	}
	t.print(a)
	return nil
}

func (c *sessionShowCmd) form(stored *session.StoredMessage) (json.RawMessage, error) {
	if c.Form == "openai" {
		return stored.OpenAI()
	}
	return jsonform.Marshal(stored)
}

type sessionListCmd struct {
	Limit int  `short:"n" default:"50" placeholder:"N" help:"The most to show, 1 to 1000. Default: 50."`
	All   bool `help:"Also expired sessions."`
	following
	place
}

// Help is shown below the usage.
func (*sessionListCmd) Help() string {
	return `In a pipe each session is a line: id, last activity, status, number of messages, with tabs between them.

    loci session list --all`
}

// Run lists sessions.
func (c *sessionListCmd) Run(a *app) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --cursor", c.Limit)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	sessions, next, err := session.Of(m).List(a.ctx, session.Query{Expired: c.All},
		loci.Page{Limit: c.Limit, Cursor: c.Cursor})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Sessions   []session.Session `json:"sessions"`
			NextCursor string            `json:"next_cursor,omitempty"`
		}{append([]session.Session{}, sessions...), next})
	}
	t := table{head: []string{"ID", "ACTIVE", "STATUS", "MESSAGES"}}
	for i := range sessions {
		s := &sessions[i]
		t.add(s.ID, a.when(s.UpdatedAt), string(s.Status), fmt.Sprint(s.Messages))
	}
	if len(sessions) == 0 && c.Cursor == "" {
		a.note("no conversation yet; try: loci session append trip \"Which seat did I like?\"")
	}
	t.print(a)
	a.more(next)
	return nil
}

type sessionSearchCmd struct {
	Query    []string `arg:"" help:"What to look for, in plain words; - reads it from standard input."`
	In       string   `placeholder:"ID" help:"Only in this session. Default: in all of them."`
	Limit    int      `short:"n" default:"10" placeholder:"N" help:"The most results to show, 1 to 1000. Default: 10."`
	MinScore float64  `placeholder:"X" help:"Only messages with at least this score, 0 to 1. A score is about the chance that the message answers. Default: 0."`
	NoRerank bool     `help:"Do not rerank the results, even if rerank.model is set."`
	Since    string   `placeholder:"TIME" help:"Only messages of this time or after: a date, a time, or how long ago (7d)."`
	Until    string   `placeholder:"TIME" help:"Only messages before this time."`
	Mode     string   `placeholder:"MODE" values:"hybrid,keyword,semantic" help:"hybrid, keyword or semantic. Default: hybrid."`
	place
}

// Help is shown below the usage.
func (*sessionSearchCmd) Help() string {
	return `In a pipe each result is a line: score, session, number, speaker and passage, with tabs between them.

    loci session search "window seat" --in trip`
}

// Run searches messages.
func (c *sessionSearchCmd) Run(a *app) error {
	text, err := a.words(c.Query, loci.MaxQueryBytes)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to %d", c.Limit, loci.MaxSearchLimit)
	}
	said, err := periodOf(c.Since, c.Until, time.Now())
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	if c.In != "" { // where nothing is found, a wrong id looks like a conversation without the words
		if _, err := session.Of(m).Session(a.ctx, c.In); err != nil {
			return err
		}
	}
	found, err := session.Of(m).Search(a.ctx, session.Search{
		Text: text, Session: c.In, Mode: loci.Mode(c.Mode), Limit: c.Limit, MinScore: c.MinScore,
		Rerank: unless(c.NoRerank), Since: said.since, Until: said.until,
	})
	if err != nil {
		return err
	}
	if found.KeywordOnly {
		a.note("the embedder did not answer: these are results by keyword")
	}
	a.notReranked(found.NotReranked)
	if a.json {
		return a.printJSON(found)
	}
	t := table{head: []string{"SCORE", "SESSION", "SEQ", "SPEAKER", "PASSAGE"}}
	for i := range found.Hits {
		hit := &found.Hits[i]
		t.add(fmt.Sprintf("%.3f", hit.Score), hit.Session, fmt.Sprint(hit.Seq), hit.Speaker, strings.TrimSpace(hit.Passage))
	}
	if len(t.rows) == 0 {
		a.note("nothing found")
	}
	t.print(a)
	return nil
}
