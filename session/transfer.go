package session

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// The format of an exported session: one JSON object {"format", "version",
// "session", "messages"}, in which each message is {"seq", "created_at", "type", "data"}.
const (
	Format        = "loci.session"
	FormatVersion = 1
)

// MaxImportBytes bounds the document of one import of a session.
const MaxImportBytes = 256 << 20

// MaxPart and MaxPartBytes bound what an import stores in one change, which others
// wait for: messages, and the bytes of their JSON. So does MaxAppendParts.
const (
	MaxPart      = 5000
	MaxPartBytes = 4 << 20
)

// A document is a session in an export. It names no namespace: it belongs to whoever
// imports it.
type document struct {
	ID             string          `json:"id"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	MaxMessages    int             `json:"max_messages,omitzero"`
	TimeoutSeconds int64           `json:"timeout_seconds,omitzero"`
	Status         Status          `json:"status,omitempty"` // not read
	CreatedAt      time.Time       `json:"created_at,omitzero"`
	UpdatedAt      time.Time       `json:"updated_at,omitzero"`    // not read: an import is an activity
	Messages       int64           `json:"message_count,omitzero"` // not read
	Last           int64           `json:"last_seq,omitzero"`
	Summary        *Summary        `json:"summary,omitempty"`
}

// Export writes a session with all of its messages as one JSON document, of the format
// "loci.session". It leaves out what is appended meanwhile. NotFound: there is no such
// session.
func (s *Handle) Export(ctx context.Context, id string, w io.Writer) error {
	st, err := s.have(ctx, id)
	if err != nil {
		return err
	}
	shown, err := ofRecord(&st.record, s.m.Now())
	if err != nil {
		return err
	}
	head, err := loci.MarshalJSON(document{
		ID: shown.ID, Metadata: shown.Metadata, MaxMessages: shown.MaxMessages,
		TimeoutSeconds: shown.TimeoutSeconds, Status: shown.Status, CreatedAt: shown.CreatedAt,
		UpdatedAt: shown.UpdatedAt, Messages: shown.Messages, Last: shown.LastSeq, Summary: shown.Summary,
	})
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: "encode session", Err: err}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	write := func(text string) { _, _ = out.WriteString(text) } // Flush tells
	write(`{"format":"` + Format + `","version":1,"session":` + string(head) + `,"messages":[`)
	between := "\n"
	for after, more := int64(0), true; more; {
		part, err := s.History(ctx, id, HistoryQuery{After: after, Before: shown.LastSeq + 1, Limit: 200})
		if err != nil {
			return err
		}
		for i := range part.Messages {
			line, err := loci.MarshalJSON(part.Messages[i])
			if err != nil {
				return &loci.Error{Code: loci.Internal, Op: "encode message", Err: err}
			}
			write(between + string(line))
			between, after = ",\n", part.Messages[i].Seq
		}
		more = part.More
	}
	write("\n]}\n")
	return out.Flush()
}

// An ImportMode says what an import does with a session that exists already.
type ImportMode string

// The modes of an import.
const (
	ImportNew     ImportMode = "new"     // there must be none of the id
	ImportAppend  ImportMode = "append"  // the messages follow those that are there, or begin a new session
	ImportReplace ImportMode = "replace" // the session and its messages give way, if there is one
)

// An Import says how [Handle.Import] stores a session.
type Import struct {
	ID   string     // of the session; empty: the one in the document, else a new UUID
	Mode ImportMode // default ImportNew

	// Parts lets a document be longer than [MaxPart] and [MaxPartBytes]. It is stored
	// in several changes then: when one fails, those before it stay, and the error
	// says so. An idempotency key of the handle does not count for it.
	Parts bool
}

// ImportedSession says what [Handle.Import] did.
type ImportedSession struct {
	Session  string `json:"session_id"`
	Imported int64  `json:"imported"` // messages
	Replaced int64  `json:"replaced"` // messages that gave way
	Trimmed  int64  `json:"trimmed"`  // messages left out or erased, since the session keeps no more
}

// Import reads what [Handle.Export] wrote, up to [MaxPart] messages, or with opts.Parts
// up to [MaxImportBytes] and [MaxImportMessages], or a JSON array of messages in the
// forms of [ParseMessage].
// The whole document is checked before anything is stored, all of it or nothing, and
// a fault is named with its message and field. Numbers and times are kept; where the
// messages follow others they get new numbers, and the session stays as it is
// otherwise. Conflict: mode ImportNew, and there is a session of the id.
func (s *Handle) Import(ctx context.Context, r io.Reader, opts Import) (ImportedSession, error) {
	opts.Mode = cmp.Or(opts.Mode, ImportNew)
	if opts.Mode != ImportNew && opts.Mode != ImportAppend && opts.Mode != ImportReplace {
		return ImportedSession{}, loci.OneOf("mode", string(opts.Mode), ImportNew, ImportAppend, ImportReplace)
	}
	in, err := s.readDocument(r, opts.Parts)
	if err != nil {
		return ImportedSession{}, err
	}
	if opts.ID != "" {
		in.session.ID = opts.ID
	}
	if in.session.ID != "" {
		if err := checkSessionID(in.session.ID); err != nil {
			return ImportedSession{}, err
		}
		unlock, err := s.lock(ctx, in.session.ID)
		if err != nil {
			return ImportedSession{}, err
		}
		defer unlock()
	}
	var request any
	if len(in.ends) == 1 {
		request = map[string]any{"session": in.session, "mode": opts.Mode, "messages": in.messages}
	}
	done, err := loci.Commit(ctx, s.m, "import session", request, func(now time.Time) (loci.Decision[ImportedSession], error) {
		return in.decide(ctx, opts.Mode, now)
	})
	for part := 1; part < len(in.ends) && err == nil; part++ {
		err = in.follow(ctx, part, &done)
	}
	return done, err
}

// follow stores a part of a document behind those before it.
func (in *importing) follow(ctx context.Context, part int, done *ImportedSession) error {
	var imported, trimmed int64
	_, err := loci.Commit(ctx, in.s.m, "import session", nil, func(now time.Time) (d loci.Decision[bool], err error) {
		st, err := in.s.have(ctx, done.Session)
		if err != nil {
			return d, err
		}
		batch := in.part(part)
		if batch.numbers != nil && batch.numbers[0] <= st.body.Last { // another writer was in between
			batch.numbers = nil
		}
		if batch.numbers != nil && !batch.more {
			st.body.Last = max(st.body.Last, in.session.Last)
		}
		imported = int64(len(batch.drafts))
		d.Embed, d.Record = loci.EmbedSoon, st.record.ID
		trimmed, d.Change, err = batch.decide(ctx, st, now)
		return d, err
	})
	if err != nil {
		e := *loci.AsError(err)
		e.Msg = fmt.Sprintf("the first %d messages are in the session, the others are not: %s", done.Imported, e.Error())
		e.Recovery = "Import it again with mode replace."
		return &e
	}
	done.Imported += imported
	done.Trimmed += trimmed
	return nil
}

// importing is a document on its way into a session.
type importing struct {
	s        *Handle
	session  document
	messages []StoredMessage // numbers are 0 where the document has none
	batch    *appending
	ends     []int // of the parts, each stored in one change
}

// part is what one change stores of a document.
func (in *importing) part(i int) *appending {
	from, end := 0, in.ends[i]
	if i > 0 {
		from = in.ends[i-1]
	}
	a := *in.batch
	a.drafts, a.headers, a.more = a.drafts[from:end], slices.Clone(a.headers[from:end]), i < len(in.ends)-1
	if a.numbers != nil {
		a.numbers = a.numbers[from:end]
	}
	return &a
}

// divide finds the parts of a document. The last one may be empty.
func (in *importing) divide(several bool) error {
	size, from, parts := 0, 0, partCount(0)
	for i, m := range in.messages {
		full := parts.add(m.Data) != nil
		if i > from && (full || i-from == MaxPart || size+len(m.Data) > MaxPartBytes) {
			in.ends = append(in.ends, i)
			size, from, parts = 0, i, countParts(m.Data, false)
		}
		size += len(m.Data)
	}
	in.ends = append(in.ends, len(in.messages))
	switch {
	case several || len(in.ends) == 1:
		return nil
	case len(in.messages) > MaxPart:
		return loci.Errorf(loci.TooLarge, "messages has %d entries; the limit of one import is %d: import the others with mode append", len(in.messages), MaxPart)
	}
	return loci.Errorf(loci.TooLarge, "messages have more than %d bytes: import those from messages[%d] on with mode append", MaxPartBytes, in.ends[0])
}

// readDocument reads and checks a whole document.
func (s *Handle) readDocument(r io.Reader, parts bool) (*importing, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxImportBytes+1))
	if err != nil {
		return nil, &loci.Error{Code: loci.Invalid, Msg: "the input cannot be read: " + err.Error(), Err: err}
	}
	if len(data) > MaxImportBytes {
		return nil, loci.Errorf(loci.TooLarge, "the document has more than %d bytes: import it in parts, with mode append", MaxImportBytes)
	}
	document := struct {
		Format   string            `json:"format"`
		Version  int               `json:"version"`
		Session  document          `json:"session"`
		Messages []json.RawMessage `json:"messages"`
	}{}
	into := any(&document)
	if list := bytes.TrimSpace(data); len(list) > 0 && list[0] == '[' { // as other programs keep a conversation
		document.Format, document.Version, into = Format, FormatVersion, &document.Messages
	}
	if err := loci.CheckJSON("the document", data); err != nil {
		return nil, err
	}
	if err := loci.UnmarshalJSON(data, into); err != nil {
		return nil, loci.Errorf(loci.Invalid, "not JSON of an exported session, nor a list of messages: %s", err)
	}
	switch {
	case into != any(&document) && len(document.Messages) == 0:
		return nil, loci.Errorf(loci.Invalid, "the list of messages is empty: there is nothing to import")
	case document.Format != Format:
		return nil, loci.Errorf(loci.Invalid, "format is %q; it must be %s", loci.ClipLabel(document.Format), Format)
	case document.Version < 1:
		return nil, loci.Errorf(loci.Invalid, "version is %d; it must be 1 to %d", document.Version, FormatVersion)
	case document.Version != FormatVersion:
		return nil, loci.Errorf(loci.Unsupported, "version is %d: this build reads %s up to version %d", document.Version, Format, FormatVersion)
	case document.Messages == nil:
		return nil, loci.Errorf(loci.Invalid, "messages must be a list")
	case len(document.Messages) > MaxImportMessages:
		return nil, loci.Errorf(loci.TooLarge, "messages has %d entries; the limit is %d: import it in parts, with mode append", len(document.Messages), MaxImportMessages)
	}
	if !parts {
		if err := checkParts(document.Messages); err != nil {
			return nil, err
		}
	}
	in := &importing{s: s, session: document.Session}
	if err := in.readMessages(document.Messages); err != nil {
		return nil, err
	}
	if err := in.divide(parts); err != nil {
		return nil, err
	}
	return in, in.checkSession()
}

func (in *importing) readMessages(list []json.RawMessage) error {
	in.messages = make([]StoredMessage, len(list))
	plain := make([]Message, len(list))
	last := int64(0)
	for i, raw := range list {
		m, err := importMessage(raw)
		if err == nil && (m.Seq == 0) != (in.messages[0].Seq == 0) && i > 0 {
			err = loci.Errorf(loci.Invalid, "seq must be in all messages, or in none")
		}
		if err == nil && m.Seq != 0 && m.Seq <= last {
			err = loci.Errorf(loci.Invalid, "seq is %d; it must be greater than that of the message before it, %d", m.Seq, last)
		}
		if err != nil {
			return inMessage(i, err)
		}
		last, in.messages[i], plain[i] = m.Seq, m, m.Message
	}
	var err error
	if in.batch, err = in.s.draftAll(plain, in.s.draftParsed); err != nil {
		return err
	}
	in.batch.typ = loci.EventImported
	for i, m := range in.messages {
		in.batch.drafts[i].CreatedAt = m.CreatedAt
	}
	return nil
}

// importMessage reads a message of a document.
func importMessage(raw json.RawMessage) (m StoredMessage, err error) {
	object, err := messageObject(raw)
	if err != nil {
		return m, err
	}
	if seq, ok := object["seq"]; ok {
		if json.Unmarshal(seq, &m.Seq) != nil || m.Seq < 1 || m.Seq > maxSeq {
			return m, loci.Errorf(loci.Invalid, "seq must be a whole number from 1 to %d", int64(maxSeq))
		}
	}
	if at, ok := object["created_at"]; ok {
		if json.Unmarshal(at, &m.CreatedAt) != nil {
			return m, loci.Errorf(loci.Invalid, "created_at must be a time such as 2026-01-02T03:04:05.678Z")
		}
		if m.CreatedAt, err = loci.CheckTime("created_at", m.CreatedAt); err != nil {
			return m, err
		}
	}
	given := len(object)
	delete(object, "seq")
	delete(object, "created_at")
	if len(object) < given { // what stands beside a message is no part of it
		if raw, err = loci.MarshalJSON(object); err != nil {
			return m, err
		}
	}
	m.Message, err = parseMessage(object, raw)
	return m, err
}

// maxSeq is the greatest number of a message that every reader of JSON knows exactly.
const maxSeq = 1 << 53

// checkSession checks what a document says of the session, and redacts it.
func (in *importing) checkSession() (err error) {
	d := &in.session
	if d.CreatedAt, err = loci.CheckTime("session.created_at", d.CreatedAt); err != nil {
		return err
	}
	if d.Last < 0 || d.Last > maxSeq {
		return loci.Errorf(loci.Invalid, "session.last_seq is %d; it must be 0 to %d", d.Last, int64(maxSeq))
	}
	return checkSummary(in.s.m, d.Summary)
}

// checkSummary checks a summary that was not made here, and redacts it.
func checkSummary(m *loci.Memory, s *Summary) (err error) {
	switch {
	case s == nil:
		return nil
	case s.Through < 0 || s.Through > maxSeq || s.Epoch < 0 || s.Messages < 0:
		return loci.Errorf(loci.Invalid, "summary: through_seq, epoch and message_count must be at least 0")
	case len(s.Text) > m.Settings().MaxContent:
		return loci.Errorf(loci.TooLarge, "summary.text has %d bytes; the limit is %d", len(s.Text), m.Settings().MaxContent)
	}
	s.Text, s.By = loci.Redact(m, s.Text), loci.Redact(m, loci.ClipLabel(s.By))
	s.CreatedAt, err = loci.CheckTime("summary.created_at", s.CreatedAt)
	return err
}

// decide makes the change that stores a document.
func (in *importing) decide(
	ctx context.Context, mode ImportMode, now time.Time,
) (d loci.Decision[ImportedSession], err error) {
	var there *state
	if in.session.ID != "" {
		if there, err = in.s.find(ctx, in.session.ID); err != nil {
			return d, err
		}
	}
	st := there
	in.batch.numbers = nil
	if there == nil || mode == ImportReplace {
		if st, err = in.restored(now); err != nil {
			return d, err
		}
	} else if mode == ImportNew {
		return d, &loci.Error{Code: loci.Conflict, Op: "import session", Msg: "there is a session with this id already",
			Recovery: "Give it another id, or import with mode append or replace."}
	}
	batch := in.part(0)
	d.Reply.Imported = int64(len(batch.drafts))
	d.Embed = loci.EmbedSoon
	d.Reply.Trimmed, d.Change, err = batch.decide(ctx, st, now)
	if err != nil {
		return d, err
	}
	if there != nil && mode == ImportReplace {
		d.Reply.Replaced = int64(len(d.Change.Erase))
		d.Change.Erase = append(d.Change.Erase, loci.Erase{ID: there.record.ID, Version: there.record.Version})
		d.Change.Events = append(d.Change.Events,
			in.s.m.Event(loci.EventErased, &there.record, now, map[string]any{"messages": d.Reply.Replaced}))
	}
	d.Reply.Session, d.Record = st.body.ID, st.record.ID
	return d, nil
}

// restored is a new session as the document has it.
func (in *importing) restored(now time.Time) (*state, error) {
	d := &in.session
	st, err := in.s.draftSession(New{
		ID: d.ID, Metadata: d.Metadata, MaxMessages: d.MaxMessages, TimeoutSeconds: d.TimeoutSeconds,
	}, now)
	if err != nil {
		return nil, err
	}
	if !d.CreatedAt.IsZero() {
		st.body.CreatedAt = d.CreatedAt
	}
	st.body.Summary = d.Summary
	if len(in.messages) > 0 && in.messages[0].Seq > 0 {
		in.batch.numbers = make([]int64, len(in.messages))
		for i, m := range in.messages {
			in.batch.numbers[i], in.batch.headers[i].seq = m.Seq, m.Seq
		}
	}
	if len(in.ends) == 1 && (len(in.messages) == 0 || in.batch.numbers != nil) {
		st.body.Last = d.Last
	}
	return st, nil
}
