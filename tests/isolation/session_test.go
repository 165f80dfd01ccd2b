package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// storeSession gives the victim a conversation with the canary everywhere.
func storeSession(ctx context.Context, m *loci.Memory) error {
	s := session.Of(m)
	if _, err := s.Create(ctx, session.New{
		ID:       canary,
		Metadata: json.RawMessage(`{"` + canary + `":"` + canary + `"}`),
	}); err != nil {
		return err
	}
	messages, err := session.ParseMessages([]byte(fmt.Sprintf(`[{"role":"user","name":%q,"content":"message %s"},{"role":"assistant","content":%q}]`, canary, canary, canary)))
	if err == nil {
		_, err = s.Append(ctx, canary, messages)
	}
	return err
}

// readSessions calls what reads conversations.
func (p *probe) readSessions(ctx context.Context) {
	s := session.Of(p.m)
	for _, id := range []string{p.sent, canary} {
		talk, err := s.Session(ctx, id)
		p.unknown("Session", id, talk, err)
		history, err := s.History(ctx, id, session.HistoryQuery{})
		p.unknown("History", id, history, err)
		var out bytes.Buffer
		err = s.Export(ctx, id, &out)
		p.unknown("Sessions.Export", id, out.String(), err)
		found, err := s.Search(ctx, session.Search{Text: "message " + p.sent, Session: id})
		p.check("Sessions.Search", found.Hits, named(err))
		p.checkIDs("Sessions.Search", found)
		block, err := s.Retrieve(ctx, id, session.RetrieveQuery{Text: "message", Recent: 1})
		p.check("Retrieve", block.Text, named(err))
		p.checkIDs("Retrieve", block)
		done, err := s.Summarise(ctx, id, session.SummaryOptions{ContextTokens: 100})
		p.unknown("Summarise", id, done, err)
	}
	found, err := s.Search(ctx, session.Search{Text: "message " + p.sent})
	p.check("Sessions.Search", found.Hits, named(err))
	p.checkIDs("Sessions.Search", found)
	for _, cursor := range append([]string{"", p.sent}, p.sc.cursor...) {
		sessions, next, err := s.List(ctx, session.Query{Expired: true}, loci.Page{Cursor: cursor})
		p.check("List", sessions, named(err))
		p.checkIDs("List", []any{sessions, next})
	}
	all, err := p.m.Search(ctx, loci.Query{Kinds: []loci.Kind{session.Kind, session.KindMessage}})
	p.check("Search", all, err)
	p.checkIDs("Search", all)
}

// writeSessions calls what changes conversations, and leaves none behind.
func (p *probe) writeSessions(ctx context.Context) {
	s := session.Of(p.m)
	trimmed, err := s.Trim(ctx, canary, 0)
	p.unknown("Trim", canary, trimmed, err)
	cleared, err := s.Clear(ctx, canary)
	p.unknown("Clear", canary, cleared, err)
	own := must(session.ParseMessage([]byte(`{"role":"user","content":"own"}`)))
	done, err := s.Append(ctx, canary, []session.Message{own})
	if err != nil || done.First != 1 || !done.Created {
		p.t.Errorf("the victim's id is taken: %+v, %v", done, err)
	}
	document := `{"format":"loci.session","version":1,"messages":[{"role":"user","content":"own"}]}`
	for _, mode := range []session.ImportMode{session.ImportNew, session.ImportAppend, session.ImportReplace} {
		imported, err := s.Import(ctx, strings.NewReader(document), session.Import{ID: p.sent + canary, Mode: mode})
		p.check("Sessions.Import", []any{imported.Imported, imported.Replaced}, named(err))
	}
	made, err := s.Create(ctx, session.New{ID: p.sent})
	p.check("Create", made.Messages, named(err))
	if _, err := s.ClearAll(ctx); err != nil {
		p.t.Errorf("ClearAll: %v", err)
	}
}

// unknown requires the answer that there is no such session.
func (p *probe) unknown(method, id string, reply any, err error) {
	p.t.Helper()
	if e := loci.AsError(err); e == nil || e.Code != loci.NotFound && e.Code != loci.Invalid {
		p.t.Errorf("%s of %.40q: %v, %v", method, id, reply, err)
	}
	p.checkIDs(method, reply)
}

// named takes the id that the attacker itself named out of an error.
func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), canary, ""))
}
