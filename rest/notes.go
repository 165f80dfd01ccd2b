package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// notePrefix begins the ids of notes, as tools show them.
const notePrefix = "note-"

// note is a fact without subject and predicate, or one with them.
type note struct {
	ID           string          `json:"id" example:"note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"`
	Content      string          `json:"content"`
	Value        json.RawMessage `json:"value,omitempty" doc:"A structured content"`
	Subject      string          `json:"subject,omitempty" doc:"Of a fact; a note has none"`
	Predicate    string          `json:"predicate,omitempty" doc:"Of a fact; a note has none"`
	Tags         []string        `json:"tags" nullable:"false"`
	Metadata     map[string]any  `json:"metadata,omitempty"`
	Validity     loci.Validity   `json:"validity" doc:"Now"`
	SupersededBy *loci.ID        `json:"superseded_by,omitempty" format:"uuid"`
	Version      int64           `json:"version" doc:"Grows with each change"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
	ConfirmedAt  time.Time       `json:"confirmed_at" doc:"When it was last said"`
	Sequence     string          `json:"sequence,omitempty" doc:"The conversation it is a part of"`
	Position     int64           `json:"position,omitempty" doc:"Its place there"`
}

func showNote(f *loci.Fact) note {
	out := note{
		ID:          f.ID.String(),
		Content:     f.Content,
		Value:       f.Value,
		Subject:     f.Subject,
		Predicate:   f.Predicate,
		Tags:        append([]string{}, f.Tags...),
		Metadata:    f.Metadata,
		Validity:    f.Validity,
		Version:     f.Version,
		CreatedAt:   f.CreatedAt,
		UpdatedAt:   f.UpdatedAt,
		ConfirmedAt: f.ConfirmedAt,
		Sequence:    f.Sequence,
		Position:    f.Position,
	}
	if f.IsNote() {
		out.ID = notePrefix + out.ID
	}
	if !f.SupersededBy.IsZero() {
		out.SupersededBy = &f.SupersededBy
	}
	return out
}

type saveNote struct {
	Content  string         `json:"content" doc:"Plain words"`
	Tags     []string       `json:"tags,omitempty" doc:"At most 16"`
	Metadata map[string]any `json:"metadata,omitempty" doc:"Details to filter by, at most 64 KiB"`

	CreatedAt *time.Time `json:"created_at,omitempty" doc:"When it was said, 1900 to a day from now; absent: now"`
	Sequence  string     `json:"sequence,omitempty" maxLength:"256" doc:"The conversation it is a part of; absent: that which metadata name (session_id, thread_id), else the caller's session or thread"`
	Position  *int64     `json:"position,omitempty" minimum:"0" doc:"Its place in sequence, which must be given, too; absent: behind what was saved before"`
}

type savedNote struct {
	ID      string       `json:"id"`
	Outcome loci.Outcome `json:"outcome" enum:"created,duplicate_of" doc:"duplicate_of: nothing was stored, since the memory of this id says it already, or the text only shows memories"`

	RelatedTo        string `json:"related_to,omitempty" doc:"An older memory that says it in mostly the same words"`
	PossibleUpdateOf string `json:"possible_update_of,omitempty" doc:"An older memory of the same subject that says something else: if it no longer holds, delete it"`
}

type savedOutput struct {
	Status int
	Body   savedNote
}

type changeNote struct {
	Content   *string         `json:"content,omitempty" doc:"In place of the old text"`
	Tags      *[]string       `json:"tags,omitempty" doc:"In place of the old ones"`
	Metadata  *map[string]any `json:"metadata,omitempty" doc:"In place of the old ones"`
	IfVersion int64           `json:"if_version,omitempty" minimum:"1" doc:"Refuse the change unless this is the version"`
}

// oneNote is in a request about one note.
type oneNote struct {
	ID string `path:"id" maxLength:"64" doc:"Of the note, with note- or without"`
}

func (n *oneNote) id() (loci.ID, error) {
	id, err := loci.ParseID(strings.TrimPrefix(n.ID, notePrefix))
	if err != nil {
		return id, loci.Errorf(loci.NotFound, "there is no such note") // what is no id names no note
	}
	return id, nil
}

type changeNoteInput struct {
	ID   string `path:"id" maxLength:"64" doc:"Of the note, with note- or without"`
	Body changeNote
}

type noteOutput struct{ Body note }

type listNotesInput struct {
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many"`
	Cursor  string   `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
	Tag     []string `query:"tag,explode" maxItems:"16" doc:"Only notes with this tag; may be repeated"`
	History bool     `query:"history" doc:"Also those that are no longer valid"`
}

type notesOutput struct {
	Body struct {
		Notes      []note `json:"notes" nullable:"false" doc:"Newest first"`
		NextCursor string `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	} `nameHint:"Notes"`
}

func (a *API) noteRoutes() {
	route(
		a,
		endpoint{
			method:  http.MethodPost,
			path:    "/v1/notes",
			id:      "save_note",
			summary: "Save a note",
			scope:   loci.ScopeWrite,
			writes:  true,
			status:  http.StatusCreated,
			also:    http.StatusOK,
			detail:  "What is remembered already is answered with 200 and its old id, and a note said again is confirmed.",
		},
		a.saveNote,
	)
	route(
		a,
		endpoint{
			method:  http.MethodGet,
			path:    "/v1/notes",
			id:      "list_notes",
			summary: "List notes and facts",
			scope:   loci.ScopeRead,
		},
		a.listNotes,
	)
	route(
		a,
		endpoint{
			method:  http.MethodGet,
			path:    "/v1/notes/{id}",
			id:      "get_note",
			summary: "Read a note or a fact",
			scope:   loci.ScopeRead,
		},
		func(ctx context.Context, c *caller, in *oneNote) (*noteOutput, error) {
			return noteCall(a, c, in, func(m *loci.Memory, id loci.ID) (loci.Fact, error) { return m.Fact(ctx, id) })
		})
	route(a, endpoint{method: http.MethodPatch, path: "/v1/notes/{id}", id: "change_note", summary: "Correct a note or a fact", scope: loci.ScopeWrite,
		writes: true, detail: "It keeps its id; what it said before is kept as a revision."},
		func(ctx context.Context, c *caller, in *changeNoteInput) (*noteOutput, error) {
			return noteCall(a, c, &oneNote{in.ID}, func(m *loci.Memory, id loci.ID) (loci.Fact, error) {
				b := in.Body
				return m.ReviseFact(ctx, id, loci.FactRevision{
					Content:   b.Content,
					Tags:      b.Tags,
					Metadata:  b.Metadata,
					IfVersion: b.IfVersion,
				})
			})
		})
	route(a, endpoint{method: http.MethodDelete, path: "/v1/notes/{id}", id: "delete_note", summary: "Erase a note or a fact", scope: loci.ScopeDelete,
		writes: true, status: http.StatusNoContent},
		func(ctx context.Context, c *caller, in *oneNote) (*struct{}, error) {
			_, err := noteCall(a, c, in, func(m *loci.Memory, id loci.ID) (loci.Fact, error) {
				return loci.Fact{}, m.EraseFact(ctx, id)
			})
			return nil, err
		})
}

// noteCall runs do for the note of a request.
func noteCall(a *API, c *caller, in *oneNote, do func(*loci.Memory, loci.ID) (loci.Fact, error)) (*noteOutput, error) {
	m, err := a.memory(c)
	if err != nil {
		return nil, err
	}
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	f, err := do(m, id)
	return &noteOutput{showNote(&f)}, err
}

func (a *API) saveNote(ctx context.Context, c *caller, in *struct{ Body saveNote }) (*savedOutput, error) {
	m, err := a.memoryIn(c, in.Body.Sequence)
	if err != nil {
		return nil, err
	}
	fact := loci.NewFact{Content: in.Body.Content, Tags: in.Body.Tags, Metadata: in.Body.Metadata}
	if in.Body.CreatedAt != nil {
		fact.CreatedAt = *in.Body.CreatedAt
	}
	if in.Body.Position != nil && in.Body.Sequence == "" {
		return nil, loci.Errorf(loci.Invalid, "position needs a sequence: name it, or leave position out")
	}
	if in.Body.Position != nil {
		fact.Sequence, fact.Position = in.Body.Sequence, *in.Body.Position
	}
	stored, err := m.StoreFact(ctx, fact)
	shown := func(id loci.ID) string {
		if id.IsZero() {
			return ""
		}
		return notePrefix + id.String()
	}
	out := &savedOutput{http.StatusCreated, savedNote{shown(stored.ID), stored.Outcome,
		shown(stored.RelatedTo), shown(stored.PossibleUpdateOf)}}
	if stored.Outcome == loci.DuplicateOf {
		out.Status = http.StatusOK
	}
	return out, err
}

// mostListed is how many bytes a page of notes may hold, about: it ends early then.
var mostListed = 32 << 20

func (a *API) listNotes(ctx context.Context, c *caller, in *listNotesInput) (*notesOutput, error) {
	m, err := a.memory(c)
	if err != nil {
		return nil, err
	}
	facts, next, err := m.Facts(ctx, loci.FactQuery{Tags: in.Tag, History: in.History},
		loci.Page{Limit: in.Limit, Cursor: in.Cursor, MaxBytes: mostListed})
	out := &notesOutput{}
	out.Body.Notes, out.Body.NextCursor = make([]note, len(facts)), next
	for i := range facts {
		out.Body.Notes[i] = showNote(&facts[i])
	}
	return out, err
}
