package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/session"
)

type sessionChangeCmd struct {
	ID          string         `arg:"" help:"The id of the session."`
	Metadata    []string       `sep:"none" short:"m" placeholder:"NAME=VALUE" help:"A detail, or several as a JSON object, that replace all old ones; may be repeated."`
	MaxMessages *int           `placeholder:"N" help:"The most messages to keep, from the next append on. 0: the setting sessions.max_messages."`
	Timeout     *time.Duration `placeholder:"DURATION" help:"How long without activity until it expires, at least 1s. 0s: the setting sessions.timeout."`
	place
}

// Help is shown below the usage.
func (*sessionChangeCmd) Help() string {
	return `Settings that are not given stay as they are.

    loci session change trip --metadata title=Lisbon --timeout 24h`
}

// Run changes a session.
func (c *sessionChangeCmd) Run(a *app) error {
	in := session.Change{MaxMessages: c.MaxMessages}
	metadata, err := sessionMetadata(c.Metadata)
	if err != nil {
		return err
	}
	if metadata != nil {
		in.Metadata = &metadata
	}
	if c.Timeout != nil {
		if err := checkTimeout(*c.Timeout); err != nil {
			return err
		}
		in.TimeoutSeconds = new(int64(*c.Timeout / time.Second))
	}
	m, err := a.memory(c.place, "", loci.ScopeWrite)
	if err != nil {
		return err
	}
	before, unread := session.Of(m).Session(a.ctx, c.ID)
	changed, err := session.Of(m).Update(a.ctx, c.ID, in)
	if err != nil {
		return err
	}
	same := unread == nil && before.MaxMessages == changed.MaxMessages &&
		before.TimeoutSeconds == changed.TimeoutSeconds &&
		bytes.Equal(before.Metadata, changed.Metadata)
	if a.json {
		return a.printJSON(struct {
			session.Session
			Unchanged bool `json:"unchanged,omitempty"`
		}{changed, same})
	}
	if same {
		a.printf("session %s has these values already: nothing was changed\n", terminal.Clean(c.ID, false))
		return nil
	}
	a.printf("changed session %s\n", terminal.Clean(c.ID, false))
	return nil
}

type sessionSummariseCmd struct {
	ID            string `arg:"" help:"The id of the session."`
	ContextTokens int    `required:"" placeholder:"N" help:"The room a model has for the conversation, in tokens: 100 to 10000000."`
	place
}

// Help is shown below the usage.
func (*sessionSummariseCmd) Help() string {
	return `Does something once the conversation takes more than 85 % of the room and six or more messages are not summarised yet: then the
oldest of them join the summary, until half of the room is in use. The messages stay. The language model of llm.provider writes the
summary; without one, the summary consists of the most telling sentences.

    loci session summarise trip --context-tokens 8000`
}

// Run summarises.
func (c *sessionSummariseCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeWrite)
	if err != nil {
		return err
	}
	done, err := session.Of(m).Summarise(a.ctx, c.ID, session.SummaryOptions{
		ContextTokens: c.ContextTokens, Completer: a.completer, TokensPerDay: a.cfg.Consolidation.TokensPerDay,
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	if !done.Done {
		a.note("nothing to summarise: %d tokens of %d are in use", done.Before, c.ContextTokens)
		return nil
	}
	a.printf("%s\n", a.text(done.Summary.Text))
	a.note(
		"%d tokens before, %d after; it covers the messages up to %d",
		done.Before,
		done.After,
		done.Summary.Through,
	)
	return nil
}

type sessionTrimCmd struct {
	ID          string `arg:"" help:"The id of the session."`
	MaxMessages int    `arg:"" help:"How many messages to keep."`
	place
}

// Help is shown below the usage.
func (*sessionTrimCmd) Help() string {
	return `System messages stay, and count as kept. The messages that are kept never begin with the result of a tool call, and hold no result
whose call is gone.

    loci session trim trip 100`
}

// Run trims a session.
func (c *sessionTrimCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeDelete)
	if err != nil {
		return err
	}
	done, err := session.Of(m).Trim(a.ctx, c.ID, c.MaxMessages)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	a.printf("%s erased, %d kept\n", number(done.Erased, "message", "messages"), done.Messages)
	return nil
}

type sessionPopCmd struct {
	ID string `arg:"" help:"The id of the session."`
	place
}

// Help is shown below the usage.
func (*sessionPopCmd) Help() string {
	return `Shows the newest message and erases it, in one change, so that several callers at once each get a different one. If there is no
message, it shows nothing and the exit code is 0.

    loci session pop trip`
}

// Run takes the newest message.
func (c *sessionPopCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeDelete)
	if err != nil {
		return err
	}
	took, err := session.Of(m).Pop(a.ctx, c.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(took)
	}
	if took.Message == nil {
		a.note("the session has no message")
		return nil
	}
	t := table{head: []string{"SEQ", "AGE", "SPEAKER", "TEXT"}}
	t.add(fmt.Sprint(took.Message.Seq), a.when(took.Message.CreatedAt), took.Message.Speaker(), took.Message.Text())
	t.print(a)
	return nil
}

type sessionClearCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"The ids of the sessions."`
	All bool     `help:"All sessions of the user or organisation, expired ones too."`
	place
}

// Help is shown below the usage.
func (*sessionClearCmd) Help() string {
	return `Prints how many sessions and messages were erased.

    loci session clear trip
    loci session clear --all`
}

// Run erases sessions.
func (c *sessionClearCmd) Run(a *app) (err error) {
	if c.All == (len(c.IDs) > 0) {
		return loci.Errorf(loci.Invalid, "say what to erase: either ids of sessions, or --all")
	}
	m, err := a.memory(c.place, "", loci.ScopeDelete)
	if err != nil {
		return err
	}
	var done session.Cleared
	if c.All {
		done, err = session.Of(m).ClearAll(a.ctx)
	}
	for _, id := range c.IDs {
		one, clearErr := session.Of(m).Clear(a.ctx, id)
		done.Sessions += one.Sessions
		done.Messages += one.Messages
		if err = clearErr; err != nil {
			break
		}
	}
	if err != nil {
		if done.Sessions > 0 {
			a.note("%d sessions were erased before it stopped", done.Sessions)
		}
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	a.printf("%s erased, with %s\n", number(done.Sessions, "session", "sessions"), number(done.Messages, "message", "messages"))
	return nil
}

type sessionExportCmd struct {
	ID   string `arg:"" help:"The id of the session."`
	File string `arg:"" optional:"" default:"-" help:"The file to write; - or nothing is standard output."`
	place
}

// Help is shown below the usage.
func (*sessionExportCmd) Help() string {
	return `Writes one JSON document. The file appears when it is complete, and only its owner can read it. "loci export" writes all sessions,
with everything else.

    loci session export trip trip.json
    loci session export trip | loci --user bob session import -`
}

// Run exports a session.
func (c *sessionExportCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	if c.File == "-" {
		return session.Of(m).Export(a.ctx, c.ID, a.out)
	}
	if err := writeFile(c.File, sessionExport, func(w io.Writer) error {
		return session.Of(m).Export(a.ctx, c.ID, w)
	}); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"session_id": c.ID, "file": c.File})
	}
	a.printf("exported session %s to %s\n", terminal.Clean(c.ID, false), terminal.Clean(c.File, false))
	return nil
}

type sessionImportCmd struct {
	File string `arg:"" help:"The file to read; - is standard input."`
	ID   string `placeholder:"ID" help:"The id of the session, which --session names, too. Default: the one in the file."`
	Mode string `default:"new" enum:"new,append,replace" values:"new,append,replace" help:"What to do with a session that is there: new refuses, append adds to its end, replace erases it first. Default: new."`
	place
}

// Help is shown below the usage.
func (*sessionImportCmd) Help() string {
	return `Reads a file of "loci session export", or a JSON array of messages in the form of LangChain or OpenAI. The whole file is checked
before anything is stored. More than 5,000 messages, or 4 MiB of them, are stored in several parts, one after the other.

    loci session import trip.json --id trip-2
    echo '[{"role":"user","content":"Hi."}]' | loci session import - --id hi`
}

// namedSession is the id of a session of a command that need not name one: as its own flag or argument says, or the flag
// of every command. Two ids are refused, since one of them would be ignored.
func (a *app) namedSession(flag, id string) (string, error) {
	other := a.flags.Session
	switch {
	case other == nil || *other == id:
		return id, nil
	case id == "":
		return *other, nil
	}
	return "", &loci.Error{Code: loci.Invalid, Recovery: "Name the session once.",
		Msg: fmt.Sprintf("%s is %.64q, and --session is %.64q", flag, id, *other)}
}

// Run imports a session.
func (c *sessionImportCmd) Run(a *app) (err error) {
	id, err := a.namedSession("--id", c.ID)
	if err != nil {
		return err
	}
	scopes := []loci.Scope{loci.ScopeWrite}
	if c.Mode == string(session.ImportReplace) {
		scopes = append(scopes, loci.ScopeDelete)
	}
	m, err := a.memory(c.place, "", scopes...) // first whether the caller may at all
	if err != nil {
		return err
	}
	file, err := a.openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	how := session.Import{ID: id, Mode: session.ImportMode(c.Mode), Parts: true}
	done, err := session.Of(m).Import(a.ctx, file, how)
	a.imported = true
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	a.printf("%s imported into session %s\n", number(done.Imported, "message", "messages"), terminal.Clean(done.Session, false))
	if done.Replaced > 0 {
		a.note("%d messages gave way", done.Replaced)
	}
	if done.Trimmed > 0 {
		a.note("%d of the oldest messages were left out: the session keeps no more", done.Trimmed)
	}
	return nil
}
