package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// What the tools of sessions show.
const (
	maxSessions     = 50   // of a list, hits of a search
	presetSessions  = 10   // of these
	maxMessages     = 100  // of a reading
	presetMessages  = 20   // of these
	messageExcerpt  = 2000 // characters of a message; of longer ones the beginning is shown
	titleCharacters = 80
	titleMessages   = 5 // how far the words of a title are looked for
)

// What a model reads of the tools of sessions.
const (
	listSessionsText = "List your earlier conversations with this user, the latest first: their ids, titles, summaries and times. " +
		"Use it when the user refers to a conversation by its time, or to find the id of one."
	readSessionText = "Read a conversation: the newest messages, in their order; before goes further back. " +
		"To find what was said about something, search first: "
	searchSessionsText = "Search what was said in your earlier conversations with this user, by meaning and by words. " +
		"Use it when the user refers to something that you talked about before."
	deleteSessionText = "Delete a conversation with all of its messages, for good. " +
		"Use it only when the user asks you to forget a conversation; it cannot be undone."
)

type sessionListInput struct {
	Limit          int    `json:"limit,omitempty" jsonschema:"Most conversations to return"`
	Cursor         string `json:"cursor,omitempty" jsonschema:"The next_cursor of the list before, to go on"`
	IncludeExpired bool   `json:"include_expired,omitempty" jsonschema:"Also those that have been inactive for long"`
}

type sessionReadInput struct {
	SessionID string `json:"session_id" jsonschema:"ID of the conversation"`
	Before    int    `json:"before,omitempty" jsonschema:"Only messages with a smaller seq; 0: up to the newest"`
	Limit     int    `json:"limit,omitempty" jsonschema:"Most messages to return"`
}

type sessionSearchInput struct {
	Query     string `json:"query" jsonschema:"Natural language search query"`
	Limit     int    `json:"limit,omitempty" jsonschema:"Most messages to return"`
	SessionID string `json:"session_id,omitempty" jsonschema:"Only this conversation"`

	Since string `json:"since,omitempty" jsonschema:"From this date or time on"`
	Until string `json:"until,omitempty" jsonschema:"Before this date or time"`
}

type sessionDeleteInput struct {
	SessionID string `json:"session_id" jsonschema:"ID of the conversation to delete"`
}

// shownSession is a conversation as a model sees it in a list.
type shownSession struct {
	SessionID string         `json:"session_id"`
	Title     string         `json:"title"` // that of its metadata, else how it begins
	Summary   string         `json:"summary,omitempty"`
	Status    session.Status `json:"status"`
	Current   bool           `json:"current,omitempty"` // the one the call is made in
	Messages  int64          `json:"message_count"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

type shownMessage struct {
	Seq       int64     `json:"seq"`
	Speaker   string    `json:"speaker"`
	CreatedAt time.Time `json:"created_at"`
	Text      string    `json:"text"`
	Excerpt   bool      `json:"excerpt,omitempty"` // the beginning of a longer text
}

type shownHit struct {
	SessionID string    `json:"session_id"`
	Seq       int64     `json:"seq"`
	Speaker   string    `json:"speaker"`
	CreatedAt time.Time `json:"created_at"`
	Text      string    `json:"text"`
	Score     float64   `json:"score"`
}

// sessions opens the conversations of the caller.
func (c *call) sessions() (*session.Handle, error) {
	m, err := c.memory()
	if err != nil {
		return nil, err
	}
	return session.Of(m), nil
}

// currentSession is the conversation that a call is made in; "": none is known.
func (c *call) currentSession() string {
	return cmp.Or(c.Principal.Var(loci.VarSession), c.Principal.Var(loci.VarThread))
}

func listSessions(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "List conversations", listSessionsText, i)
	t.Secondary = true
	output := pageOutput("sessions", "next_cursor", "string")
	s := spec{Tool: t, output: output, adjust: func(p map[string]*jsonschema.Schema) {
		between(p["limit"], 1, maxSessions, b.most(presetSessions))
		p["include_expired"].Default = json.RawMessage("false")
	}}
	return declare(s, func(ctx context.Context, c *call, in sessionListInput) (Reply, error) {
		talks, err := c.sessions()
		if err != nil {
			return Reply{}, err
		}
		for { // again with fewer, where so many do not fit: the cursor goes on after the last one shown
			page := loci.Page{Limit: in.Limit, Cursor: in.Cursor}
			found, next, err := talks.List(ctx, session.Query{Expired: in.IncludeExpired}, page)
			if err != nil {
				return Reply{}, err
			}
			rows, err := c.showSessions(ctx, talks, found)
			if err != nil {
				return Reply{}, err
			}
			end := "}"
			if next != "" {
				end = fmt.Sprintf(`,"next_cursor":%q}`, next) // base64 or digits
			}
			n := fitting(rows, b.cfg.ReplyCap-len(`{"sessions":[]`+end))
			if n == len(rows) || n == 0 {
				text := `{"sessions":` + string(list(rows[:n])) + end
				return Reply{Text: text, Structured: json.RawMessage(text)}, nil
			}
			in.Limit = n
		}
	})
}

func (c *call) showSessions(
	ctx context.Context, talks *session.Handle, found []session.Session,
) ([]json.RawMessage, error) {
	rows := make([]json.RawMessage, len(found))
	for n := range found {
		shown, err := c.showSession(ctx, talks, &found[n])
		if err != nil {
			return nil, err
		}
		if rows[n], err = encode(shown); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// showSession is a conversation with a title and what its summary says.
func (c *call) showSession(ctx context.Context, talks *session.Handle, s *session.Session) (shownSession, error) {
	b := c.tool.base
	shown := shownSession{
		SessionID: s.ID, Status: s.Status, Current: s.ID == c.currentSession(),
		Messages: s.Messages, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if s.Summary != nil {
		shown.Summary, _ = excerpt(b.scrub(s.Summary.Text), messageExcerpt)
	}
	var named struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(s.Metadata, &named) == nil && strings.TrimSpace(named.Title) != "" { // of any other form it is no title
		shown.Title = title(b.scrub(named.Title))
		return shown, nil
	}
	begin, err := talks.History(ctx, s.ID, session.HistoryQuery{Limit: titleMessages})
	if err != nil && loci.AsError(err).Code != loci.NotFound { // deleted meanwhile
		return shown, err
	}
	for _, m := range begin.Messages {
		if text := strings.TrimSpace(m.Text()); m.Type == session.MessageHuman && text != "" {
			shown.Title = title(b.scrub(text))
			break
		}
	}
	return shown, nil
}

// title is a text on one line, cut where it is long.
func title(text string) string {
	short, cut := excerpt(strings.Join(strings.Fields(text), " "), titleCharacters)
	if cut {
		short += "…"
	}
	return short
}

// excerpt is the beginning of a text that is longer than n characters.
func excerpt(text string, n int) (short string, cut bool) {
	if utf8.RuneCountInString(text) <= n {
		return text, false
	}
	return string([]rune(text)[:n]), true
}

// pageOutput is a list, and where it goes on.
func pageOutput(name, next, kind string) []result {
	return []result{
		{name: name, schema: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"}}},
		{name: next, schema: &jsonschema.Schema{Type: kind}, optional: true},
	}
}

func readSession(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Read conversation", readSessionText+i.called("memory_search_sessions")+".", i)
	t.Secondary = true
	id := result{name: "session_id", schema: &jsonschema.Schema{Type: "string"}}
	output := append([]result{id}, pageOutput("messages", "before", "integer")...)
	s := spec{Tool: t, output: output, adjust: func(p map[string]*jsonschema.Schema) {
		between(p["limit"], 1, maxMessages, b.most(presetMessages))
		between(p["before"], 0, 1<<53, 0)
	}}
	return declare(s, func(ctx context.Context, c *call, in sessionReadInput) (Reply, error) {
		talks, err := c.sessions()
		if err != nil {
			return Reply{}, err
		}
		q := session.HistoryQuery{Before: int64(in.Before), Limit: in.Limit, NewestFirst: true}
		found, err := talks.History(ctx, in.SessionID, q)
		if err != nil {
			return Reply{}, noSession(in.SessionID, err)
		}
		return b.readingReply(in.SessionID, &found)
	})
}

// readingReply shows messages that came newest first, oldest first: as many of the newest
// as fit. before is where to go on, if there are more.
func (b *base) readingReply(id string, found *session.History) (Reply, error) {
	var rows []json.RawMessage
	for _, m := range found.Messages {
		text, cut := excerpt(b.scrub(m.Text()), messageExcerpt)
		data, err := encode(shownMessage{m.Seq, b.scrub(m.Speaker()), m.CreatedAt, text, cut})
		if err != nil {
			return Reply{}, err
		}
		rows = append(rows, data)
	}
	head, err := encode(id)
	if err != nil {
		return Reply{}, err
	}
	frame := len(`{"session_id":,"messages":[],"before":9007199254740992}`) + len(head)
	n := fitting(rows, b.cfg.ReplyCap-frame)
	end := "}"
	if n > 0 && (n < len(rows) || found.More) {
		end = fmt.Sprintf(`,"before":%d}`, found.Messages[n-1].Seq)
	}
	shown := make([]json.RawMessage, n)
	for at := range shown {
		shown[at] = rows[n-1-at]
	}
	text := fmt.Sprintf(`{"session_id":%s,"messages":%s%s`, head, list(shown), end)
	return Reply{Text: text, Structured: json.RawMessage(text)}, nil
}

func searchSessions(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Search conversations", searchSessionsText, i)
	s := spec{Tool: t, output: listOutput("results"), adjust: func(p map[string]*jsonschema.Schema) {
		between(p["limit"], 1, maxSessions, b.most(presetSessions))
	}}
	lists := i.called("memory_list_sessions")
	return declare(s, func(ctx context.Context, c *call, in sessionSearchInput) (Reply, error) {
		if strings.TrimSpace(in.Query) == "" {
			return Reply{}, loci.Errorf(loci.Invalid, "query must not be empty: say what to look for, or call %s", lists)
		}
		talks, err := c.sessions()
		if err != nil {
			return Reply{}, err
		}
		q := session.Search{Text: in.Query, Session: in.SessionID, Limit: in.Limit}
		if q.Since, q.Until, err = period(in.Since, in.Until); err != nil {
			return Reply{}, err
		}
		found, err := talks.Search(ctx, q)
		if err == nil && len(found.Hits) == 0 && in.SessionID != "" { // of one that is not there nothing is known
			_, err = talks.History(ctx, in.SessionID, session.HistoryQuery{Limit: 1})
		}
		if err != nil {
			return Reply{}, noSession(in.SessionID, err)
		}
		rows := make([]json.RawMessage, len(found.Hits))
		for n, hit := range found.Hits {
			text := b.scrubPassage(hit.Passage, hit.Text)
			shown := shownHit{hit.Session, hit.Seq, b.scrub(hit.Speaker), hit.CreatedAt, text, round(hit.Score)}
			if rows[n], err = encode(shown); err != nil {
				return Reply{}, err
			}
		}
		return b.resultsReply(rows, understood{found.Corrections, found.Times, found.NotReranked})
	})
}

func deleteSession(b *base, t Tool, i Instance) *Tool {
	t.Title, t.Secondary = "Delete conversation", true
	t.Description = describe(deleteSessionText, i)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.Annotations = Annotations{Destructive: true}
	t.scopes = []loci.Scope{loci.ScopeDelete}
	text := &jsonschema.Schema{Type: "string"}
	output := []result{{name: "session_id", schema: text}, {name: "message", schema: text}}
	s := spec{Tool: t, output: output}
	return declare(s, func(ctx context.Context, c *call, in sessionDeleteInput) (Reply, error) {
		talks, err := c.sessions()
		if err != nil {
			return Reply{}, err
		}
		if err := c.deleteConversation(ctx, talks, in.SessionID); err != nil {
			return Reply{}, noSession(in.SessionID, err)
		}
		return objectReply(struct {
			SessionID string `json:"session_id"`
			Message   string `json:"message"`
		}{in.SessionID, "Session deleted successfully."})
	})
}

// noSession says which conversation is not there.
func noSession(id string, err error) error {
	if loci.AsError(err).Code != loci.NotFound {
		return err
	}
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("session `%s` not found", clip(id, 64)),
		Recovery: "List the conversations to see their ids."}
}
