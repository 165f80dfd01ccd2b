package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// wireSession is a conversation without its messages.
type wireSession struct {
	ID             string           `json:"id"`
	Metadata       json.RawMessage  `json:"metadata,omitempty" doc:"A JSON object"`
	MaxMessages    int              `json:"max_messages,omitempty" doc:"How many messages it keeps; absent: as the server is configured"`
	TimeoutSeconds int64            `json:"timeout_seconds,omitempty" doc:"After how much inactivity it is expired; absent: as the server is configured"`
	Status         session.Status   `json:"status" enum:"active,expired" doc:"expired: the next append makes it active again"`
	CreatedAt      time.Time        `json:"created_at"`
	UpdatedAt      time.Time        `json:"updated_at" doc:"Of the last append, else of its creation"`
	MessageCount   int64            `json:"message_count"`
	LastSeq        int64            `json:"last_seq" doc:"Of the newest message ever appended; 0: there was none"`
	Summary        *session.Summary `json:"summary,omitempty"`
}

func showSession(s *session.Session) wireSession {
	return wireSession{
		ID:             s.ID,
		Metadata:       s.Metadata,
		MaxMessages:    s.MaxMessages,
		TimeoutSeconds: s.TimeoutSeconds,
		Status:         s.Status,
		CreatedAt:      s.CreatedAt,
		UpdatedAt:      s.UpdatedAt,
		MessageCount:   s.Messages,
		LastSeq:        s.LastSeq,
		Summary:        s.Summary,
	}
}

// The requests.
type (
	newSession struct {
		ID             string          `json:"id,omitempty" minLength:"1" doc:"1 to 256 bytes; absent: a new UUID"`
		Metadata       json.RawMessage `json:"metadata,omitempty" doc:"A JSON object of up to 16 KiB"`
		MaxMessages    int             `json:"max_messages,omitempty" doc:"Keep the newest so many messages, up to 1000000; absent: as the server is configured"`
		TimeoutSeconds int64           `json:"timeout_seconds,omitempty" doc:"Expired after so much inactivity, up to ten years; absent: as the server is configured"`
	}
	changeSession struct {
		Metadata       given  `json:"metadata,omitempty" doc:"A JSON object in place of the old one; null: none"`
		MaxMessages    *int   `json:"max_messages,omitempty" doc:"0: as the server is configured. The next append trims"`
		TimeoutSeconds *int64 `json:"timeout_seconds,omitempty" doc:"0: as the server is configured. It counts from the last activity"`
	}
	listSessionsInput struct {
		Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many"`
		Cursor  string `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
		Expired bool   `query:"include_expired" doc:"Also expired sessions"`
	}
	clearSessionsInput struct {
		All bool `query:"all" required:"true" doc:"true: every session, also expired ones"`
	}
	oneSession struct {
		ID string `path:"session_id" maxLength:"256"`
	}
	importSession struct {
		Document document           `json:"document"`
		ID       string             `json:"id,omitempty" minLength:"1" doc:"Of the session; absent: the one in the document, else a new UUID"`
		Mode     session.ImportMode `json:"mode,omitempty" enum:"new,append,replace" doc:"What to do with a session of the id: new, the default, refuses; append adds to its end; replace erases it, which needs the scope delete"`
	}
)

// The replies.
type (
	sessionOutput  struct{ Body wireSession }
	listedSessions struct {
		Sessions   []wireSession `json:"sessions" nullable:"false" doc:"The latest activity first"`
		NextCursor string        `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
	}
	sessionsOutput struct{ Body listedSessions }
	clearedOutput  struct{ Body session.Cleared }
)

// given is a JSON value that may be null, which is not the same as absent.
type given struct{ *json.RawMessage }

// UnmarshalJSON is for package json, which takes null for nothing otherwise.
func (g *given) UnmarshalJSON(data []byte) error {
	g.RawMessage = new(json.RawMessage(bytes.Clone(data)))
	return nil
}

// Schema is what huma asks a type for.
func (given) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

func (a *API) sessionRoutes() {
	route(a, endpoint{method: http.MethodPost, path: "/v1/sessions", id: "create_session", summary: "Create a session", scope: loci.ScopeWrite,
		writes: true, status: http.StatusCreated, detail: "An append creates one, too."},
		func(ctx context.Context, c *caller, in *struct{ Body newSession }) (*sessionOutput, error) {
			return within(a, c, func(m *loci.Memory) (*sessionOutput, error) {
				made, err := session.Of(m).Create(ctx, session.New(in.Body))
				return &sessionOutput{showSession(&made)}, err
			})
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/sessions", id: "list_sessions", summary: "List sessions", scope: loci.ScopeRead}, a.listSessions)
	route(a, endpoint{method: http.MethodDelete, path: "/v1/sessions", id: "clear_sessions", summary: "Erase all sessions with their messages",
		scope: loci.ScopeDelete, writes: true}, a.clearSessions)
	route(a, endpoint{method: http.MethodGet, path: "/v1/sessions/{session_id}", id: "get_session", summary: "Read a session", scope: loci.ScopeRead},
		func(ctx context.Context, c *caller, in *oneSession) (*sessionOutput, error) {
			return within(a, c, func(m *loci.Memory) (*sessionOutput, error) {
				found, err := session.Of(m).Session(ctx, in.ID)
				return &sessionOutput{showSession(&found)}, err
			})
		})
	route(a, endpoint{method: http.MethodPatch, path: "/v1/sessions/{session_id}", id: "change_session", summary: "Change what a session is kept with",
		scope: loci.ScopeWrite, writes: true}, a.changeSession)
	route(a, endpoint{method: http.MethodDelete, path: "/v1/sessions/{session_id}", id: "clear_session", summary: "Erase a session with its messages",
		scope: loci.ScopeDelete, writes: true},
		func(ctx context.Context, c *caller, in *oneSession) (*clearedOutput, error) {
			return within(a, c, func(m *loci.Memory) (*clearedOutput, error) {
				done, err := session.Of(m).Clear(ctx, in.ID)
				return &clearedOutput{done}, err
			})
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/sessions/{session_id}/export", id: "export_session", summary: "Write a session as one document",
		scope: loci.ScopeRead, reply: documentSchema(), detail: "A document that does not end in its closing brace is not whole."}, a.exportSession)
	route(a, endpoint{method: http.MethodPost, path: "/v1/sessions/import", id: "import_session", summary: "Store the document of a session",
		scope: loci.ScopeWrite, writes: true, value: true, detail: "Whole or not at all. A document of more than 5,000 messages goes in parts: the others with mode append."}, a.importSession)
}

func (a *API) listSessions(ctx context.Context, c *caller, in *listSessionsInput) (*sessionsOutput, error) {
	return within(a, c, func(m *loci.Memory) (*sessionsOutput, error) {
		found, next, err := session.Of(m).List(ctx, session.Query{Expired: in.Expired},
			loci.Page{Limit: in.Limit, Cursor: in.Cursor})
		out := &sessionsOutput{listedSessions{Sessions: make([]wireSession, len(found)), NextCursor: next}}
		for i := range found {
			out.Body.Sessions[i] = showSession(&found[i])
		}
		return out, err
	})
}

func (a *API) clearSessions(ctx context.Context, c *caller, in *clearSessionsInput) (*clearedOutput, error) {
	if !in.All {
		return nil, loci.Errorf(loci.Invalid, "all must be true: this erases every session")
	}
	return within(a, c, func(m *loci.Memory) (*clearedOutput, error) {
		done, err := session.Of(m).ClearAll(ctx)
		return &clearedOutput{done}, err
	})
}

func (a *API) changeSession(ctx context.Context, c *caller, in *struct {
	ID   string `path:"session_id" maxLength:"256"`
	Body changeSession
}) (*sessionOutput, error) {
	return within(a, c, func(m *loci.Memory) (*sessionOutput, error) {
		changed, err := session.Of(m).Update(ctx, in.ID, session.Change{Metadata: in.Body.Metadata.RawMessage,
			MaxMessages: in.Body.MaxMessages, TimeoutSeconds: in.Body.TimeoutSeconds})
		return &sessionOutput{showSession(&changed)}, err
	})
}

// exportSession sends a document while it is read. What fails before its first byte
// is a problem; after that the connection breaks off, so that no client takes half a
// document for a whole one.
func (a *API) exportSession(ctx context.Context, c *caller, in *oneSession) (*huma.StreamResponse, error) {
	return within(a, c, func(m *loci.Memory) (*huma.StreamResponse, error) {
		if _, err := session.Of(m).Session(ctx, in.ID); err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			w.Header().Set("Content-Type", "application/json")
			out := &begun{ResponseWriter: w}
			err := session.Of(m).Export(ctx, in.ID, out)
			a.breakOff(r, out, c, err)
		}}, nil
	})
}

// breakOff ends a response that failed: with a problem if nothing of it was sent, else by
// ending the connection, so that nobody takes it for whole.
func (a *API) breakOff(r *http.Request, out *begun, c *caller, err error) {
	switch {
	case err == nil:
	case !out.yes:
		a.refuse(out.ResponseWriter, r, err)
	default:
		_ = a.problem(r.Context(), c.RequestID, err) // into the log
		panic(http.ErrAbortHandler)
	}
}

// begun knows whether a response has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

// Write is part of [http.ResponseWriter].
func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

func (a *API) importSession(
	ctx context.Context, c *caller, in *struct{ Body importSession },
) (*struct{ Body session.ImportedSession }, error) {
	if in.Body.Mode == session.ImportReplace {
		if err := c.Principal.Require(loci.ScopeDelete); err != nil {
			return nil, err
		}
	}
	return within(a, c, func(m *loci.Memory) (*struct{ Body session.ImportedSession }, error) {
		done, err := session.Of(m).Import(ctx, bytes.NewReader(in.Body.Document.RawMessage),
			session.Import{ID: in.Body.ID, Mode: in.Body.Mode})
		return &struct{ Body session.ImportedSession }{done}, err
	})
}
