package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/session"
)

// notePrefix tells the ids of notes from others; the rest is the fact's own id.
const notePrefix = "note-"

// The sources of a hit: the saved notes, and what was said in this conversation.
const (
	sourceUserMemory   = "user_memory"
	sourceConversation = "conversation"
)

type noteSearchInput struct {
	Query               string   `json:"query" jsonschema:"Natural language search query"`
	TopK                int      `json:"top_k,omitempty" jsonschema:"Most results to return"`
	IncludeConversation bool     `json:"include_conversation,omitempty" jsonschema:"Also search the current conversation"`
	Tags                []string `json:"tags,omitempty" jsonschema:"Only notes that have all of these tags"`

	MinScore decimal `json:"min_score,omitzero"`

	Since string `json:"since,omitempty" jsonschema:"From this date or time on"`
	Until string `json:"until,omitempty" jsonschema:"Before this date or time"`

	Filter map[string]any `json:"filter,omitempty"`
}

type noteSaveInput struct {
	Content string   `json:"content" jsonschema:"Natural language text to save: a fact, preference or decision"`
	Tags    []string `json:"tags,omitempty" jsonschema:"Labels to search by later"`
}

type noteUpdateInput struct {
	NoteID  string `json:"note_id" jsonschema:"ID of the note to update"`
	Content string `json:"content" jsonschema:"New text, which replaces the old"`
}

type noteDeleteInput struct {
	NoteID string `json:"note_id" jsonschema:"ID of the note to delete"`
}

// noteHit is one result of memory_search.
type noteHit struct {
	NoteID string  `json:"note_id"`
	Text   string  `json:"text"`
	Score  float64 `json:"score"`
	Source string  `json:"source"`
}

// saidHit is a result in the structured reply, which also tells who said it and when. The
// text is fixed.
type saidHit struct {
	noteHit
	CreatedAt string `json:"created_at"`
	Speaker   string `json:"speaker,omitempty"`
}

// noteChange is the reply of the tools that change notes.
type noteChange struct {
	NoteID  string `json:"note_id"`
	Message string `json:"message"`
}

// savedNote is the structured reply of memory_save, which also tells of a save that
// stored nothing, and of notes that the new one may correct. The text is fixed.
type savedNote struct {
	noteChange
	Outcome loci.Outcome `json:"outcome,omitempty"`
	neighbours
}

func searchNotes(b *base, t Tool, i Instance) *Tool {
	t.Title = "Search notes"
	t.Description = describe("Search your persistent memory for relevant information. Use this when you need to recall user preferences, past decisions, stored facts, or anything previously saved. Results are ranked by relevance using semantic similarity and keyword matching. By default searches only your saved notes; set include_conversation to true to also search the current conversation history.", i)
	t.Tier, t.Timeout = ReadOnly, time.Duration(b.cfg.SearchTimeout)
	t.Annotations = Annotations{ReadOnly: true, Idempotent: true}
	t.scopes = []loci.Scope{loci.ScopeRead}
	s := spec{Tool: t, output: listOutput("results"), adjust: func(properties map[string]*jsonschema.Schema) {
		between(properties["top_k"], 1, maxTopK, b.most(b.cfg.TopK))
		i.floor(properties["min_score"])
		properties["include_conversation"].Default = json.RawMessage("false")
		properties["filter"].Description = filterText
	}}
	return declare(s, func(ctx context.Context, c *call, in noteSearchInput) (Reply, error) {
		if strings.TrimSpace(in.Query) == "" {
			return Reply{}, loci.Errorf(loci.Invalid, "query must not be empty")
		}
		where, err := loci.ParseWhere(in.Filter)
		if err != nil {
			return Reply{}, err
		}
		m, err := c.notes()
		if err != nil {
			return Reply{}, err
		}
		q := loci.Query{Text: in.Query, Limit: in.TopK, Tags: in.Tags, MinScore: i.least(in.MinScore),
			Where: where, Kinds: []loci.Kind{loci.KindFact}}
		if q.Since, q.Until, err = period(in.Since, in.Until); err != nil {
			return Reply{}, err
		}
		r, err := m.Search(ctx, q)
		if err != nil {
			return Reply{}, err
		}
		var found []saidHit
		for _, match := range r.Matches {
			fact, err := loci.FactOf(&match.Record, r.At)
			if err != nil {
				return Reply{}, err
			}
			text := fence.Key(b.scrub(fact.Subject), b.scrub(fact.Predicate)) +
				b.scrubPassage(match.Passage, match.Record.Text)
			found = append(found, saidHit{
				noteHit{noteID(match.Record.ID), text, round(match.Score), sourceUserMemory},
				jsonform.Time(match.Record.CreatedAt), b.scrub(match.Speaker),
			})
		}
		if in.IncludeConversation && len(in.Tags) == 0 && where.IsZero() { // a message has neither tags nor metadata
			said, err := c.searchConversation(ctx, &q)
			if err != nil {
				return Reply{}, err
			}
			found = mergeHits(found, said, in.TopK)
		}
		hits, said := make([]json.RawMessage, len(found)), make([]json.RawMessage, len(found))
		for i := range found {
			if hits[i], err = encode(found[i].noteHit); err != nil {
				return Reply{}, err
			}
			if said[i], err = encode(found[i]); err != nil {
				return Reply{}, err
			}
		}
		return b.listReply(hits, "results", said, understood{r.Corrections, r.Times, r.NotReranked})
	})
}

// searchConversation searches what was said in the caller's session; a caller without a
// session, or without its own place, has said nothing.
func (c *call) searchConversation(ctx context.Context, q *loci.Query) (hits []saidHit, err error) {
	talk := cmp.Or(c.Principal.Var(loci.VarSession), c.Principal.Var(loci.VarThread))
	if talk == "" {
		return nil, nil
	}
	// Sessions are in the caller's own place, wherever this tool keeps its notes.
	m, err := c.memoryAt(nil)
	var missing *loci.ConfigurationError
	if errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := session.Of(m).Search(ctx, session.Search{
		Text:     q.Text,
		Session:  talk,
		Limit:    q.Limit,
		MinScore: q.MinScore,
		Since:    q.Since,
		Until:    q.Until,
	})
	for _, hit := range found.Hits {
		hits = append(hits, saidHit{
			noteHit{"", c.tool.base.scrubPassage(hit.Passage, hit.Text), round(hit.Score), sourceConversation},
			jsonform.Time(hit.CreatedAt), c.tool.base.scrub(hit.Speaker),
		})
	}
	return hits, err
}

// mergeHits puts the hits of two sources in order of their scores, a note first where
// they are equal, each text once, and keeps the best limit.
func mergeHits(notes, said []saidHit, limit int) []saidHit {
	all := slices.Concat(notes, said)
	slices.SortStableFunc(all, func(a, b saidHit) int { return cmp.Compare(b.Score, a.Score) })
	shown := map[string]bool{}
	all = slices.DeleteFunc(all, func(h saidHit) bool {
		text := strings.Join(strings.Fields(h.Text), " ")
		repeated := shown[text]
		shown[text] = true
		return repeated
	})
	return all[:min(limit, len(all))]
}

func saveNote(b *base, t Tool, i Instance) *Tool {
	t.Title = "Save note"
	t.Description = describe("Save an important piece of information to your persistent memory as a natural language note. Use this proactively whenever the user shares preferences, makes decisions, states facts, or tells you something worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a note_id for future reference.", i)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.scopes = []loci.Scope{loci.ScopeWrite}
	return declare(
		spec{Tool: t, output: append(append(noteOutput(), duplicate), near()...)},
		func(ctx context.Context, c *call, in noteSaveInput) (Reply, error) {
			m, err := c.notes()
			if err != nil {
				return Reply{}, err
			}
			stored, err := m.StoreFact(ctx, loci.NewFact{Content: in.Content, Tags: in.Tags})
			if err != nil {
				return Reply{}, err
			}
			saved := noteChange{noteID(stored.ID), "Note saved successfully."}
			reply, err := objectReply(saved)
			if err == nil {
				reply.Structured, err = encode(savedNote{saved, notCreated(stored), nearTo(stored, noteID)})
			}
			return reply, err
		},
	)
}

func updateNote(b *base, t Tool, i Instance) *Tool {
	t.Title = "Update note"
	t.Description = describe("Update a previously saved note with new content. Use this when the user corrects or changes previously stored information (e.g., a new preferred name, an updated preference). First use "+i.called("memory_search")+" to find the note and its note_id, then call this with the note_id and the new content.", i)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.Annotations = Annotations{Destructive: true}
	t.scopes = []loci.Scope{loci.ScopeWrite}
	s := spec{Tool: t, output: noteOutput()}
	return declare(s, func(ctx context.Context, c *call, in noteUpdateInput) (Reply, error) {
		return c.changeNote(in.NoteID, "Note updated successfully.", func(m *loci.Memory, id loci.ID) error {
			_, err := m.ReviseFact(ctx, id, loci.FactRevision{Content: &in.Content})
			return err
		})
	})
}

func deleteNote(b *base, t Tool, i Instance) *Tool {
	t.Title = "Delete note"
	t.Description = describe("Delete a previously saved note from memory. Use this when the user asks you to forget specific information. First use "+i.called("memory_search")+" to find the note and its note_id, then call this with the note_id to remove it.", i)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.Annotations = Annotations{Destructive: true, Idempotent: true}
	t.scopes = []loci.Scope{loci.ScopeDelete}
	s := spec{Tool: t, output: noteOutput()}
	return declare(s, func(ctx context.Context, c *call, in noteDeleteInput) (Reply, error) {
		return c.changeNote(in.NoteID, "Note deleted successfully.", func(m *loci.Memory, id loci.ID) error {
			return m.EraseFact(ctx, id)
		})
	})
}

func describe(text string, i Instance) string {
	if i.Instructions == "" {
		return text
	}
	return text + "\n\n" + i.Instructions
}

func noteOutput() []result {
	text := &jsonschema.Schema{Type: "string"}
	return []result{{name: "note_id", schema: text}, {name: "message", schema: text}}
}

// notes binds a handle to the user's notes. They belong to a person: an
// organisation or an agent alone has none, unless the operator says where.
func (c *call) notes() (*loci.Memory, error) {
	if c.tool.base.engine != nil && c.tool.template == nil && c.Principal.Var(loci.VarUser) == "" {
		return nil, &loci.Error{Code: loci.Forbidden, Msg: "user context is not available",
			Recovery: "Use a credential that names a user."}
	}
	return c.memory()
}

// changeNote runs a change of one note and replies with its id.
func (c *call) changeNote(given, message string, change func(*loci.Memory, loci.ID) error) (Reply, error) {
	m, err := c.notes()
	if err != nil {
		return Reply{}, err
	}
	id, err := loci.ParseID(strings.TrimPrefix(given, notePrefix))
	if err != nil {
		return Reply{}, unknownNote(given) // what is no id names no note
	}
	if err := change(m, id); err != nil {
		if loci.AsError(err).Code == loci.NotFound {
			err = unknownNote(given)
		}
		return Reply{}, err
	}
	return objectReply(noteChange{noteID(id), message})
}

func unknownNote(given string) error {
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("note `%s` not found", clip(given, 100)),
		Recovery: "Search for the note and use its note_id exactly as the search returns it."}
}

func noteID(id loci.ID) string { return notePrefix + id.String() }
