package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/session"
)

// messages are a JSON array of messages as it was sent, for the library to read: it
// keeps every digit and key, and names the message and the field that is wrong.
type messages struct{ json.RawMessage }

// Schema is what huma asks a type for. The forms of a message are in the description
// and not among what huma checks, which would only say that none of them fits.
func (messages) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:       huma.TypeArray,
		Items:      messageSchema(r),
		Extensions: map[string]any{"minItems": 1, "maxItems": session.MaxAppend},
	}
}

// document is a session as [session.Handle.Export] writes it, or a list of messages.
type document struct{ json.RawMessage }

// Schema is what huma asks a type for.
func (document) Schema(r huma.Registry) *huma.Schema {
	list := &huma.Schema{Type: huma.TypeArray, Description: "The messages alone", Items: messageSchema(r),
		Extensions: map[string]any{"minItems": 1, "maxItems": session.MaxPart}}
	return &huma.Schema{OneOf: []*huma.Schema{documentSchema(), list}}
}

// shownMessages are [session.StoredMessage] values, or messages of OpenAI's chat.
type shownMessages []any

// Schema is what huma asks a type for.
func (shownMessages) Schema(huma.Registry) *huma.Schema {
	langchain := object("A message in the form langchain", storedProperties(), "seq", "created_at", "type", "data")
	forms := map[string]any{"oneOf": []any{langchain, openAIForm()}}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, Extensions: forms}}
}

// A shownMessage is a message in the form langchain, or null.
type shownMessage struct{ *session.StoredMessage }

// MarshalJSON is for package json.
func (m shownMessage) MarshalJSON() ([]byte, error) { return jsonform.Marshal(m.StoredMessage) }

// Schema is what huma asks a type for.
func (shownMessage) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Extensions: map[string]any{"oneOf": []any{
		object("A message in the form langchain", storedProperties(), "seq", "created_at", "type", "data"), map[string]any{"type": "null"}}}}
}

// object describes an object that may have more properties.
func object(title string, properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "title": title, "properties": properties, "required": required}
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func oneOf(values ...string) map[string]any { return map[string]any{"type": "string", "enum": values} }

// messageSchema describes the forms of a message that the library reads.
func messageSchema(r huma.Registry) *huma.Schema {
	const name = "Message"
	if r.Map()[name] == nil {
		r.Map()[name] = &huma.Schema{Type: huma.TypeObject, Description: "A message in any of four forms; each may have more properties.",
			Extensions: map[string]any{"oneOf": []any{openAIForm(), langChainForm(), dumpedForm(), constructorForm()}}}
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

func openAIForm() map[string]any {
	call := object("A call of a tool", map[string]any{"id": text(""), "type": oneOf("function"),
		"function": object("", map[string]any{"name": text(""), "arguments": text("A JSON object, as text")}, "name", "arguments")}, "function")
	return object("A message of OpenAI's chat", map[string]any{
		"role":    oneOf("user", "assistant", "system", "developer", "tool", "function"),
		"content": contentForm(map[string]any{"type": "null"}),
		"name":    text("Of the speaker"), "tool_call_id": text("Of the call whose result this is; of the role tool"),
		"tool_calls": map[string]any{"type": "array", "items": call}}, "role")
}

func storedProperties() map[string]any {
	return map[string]any{"seq": map[string]any{"type": "integer", "description": "From 1, consecutive"},
		"created_at": map[string]any{"type": "string", "format": "date-time"},
		"type": map[string]any{"type": "string", "examples": []string{string(session.MessageHuman), string(session.MessageAI)},
			"description": "human, ai, system, tool, function, chat, generic, remove, or a chunk of a stream such as AIMessageChunk"},
		"data": map[string]any{"type": "object", "description": "content, id, name, tool_calls, tool_call_id and so on; whatever it holds is kept"}}
}

func langChainForm() map[string]any {
	properties := storedProperties()
	delete(properties, "seq")
	delete(properties, "created_at")
	return object("A message as LangChain stores it", properties, "type", "data")
}

func dumpedForm() map[string]any {
	return object("A message as LangChain's model_dump and LangGraph's server write it", map[string]any{
		"type": storedProperties()["type"], "content": contentForm()}, "type", "content")
}

// contentForm is a text or a list of blocks, or what else a form takes.
func contentForm(others ...any) map[string]any {
	return map[string]any{"oneOf": append([]any{map[string]any{"type": "string"},
		map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}, others...)}
}

func constructorForm() map[string]any {
	return object("A message as LangChain serialises its objects", map[string]any{
		"lc": map[string]any{"type": "integer"}, "type": oneOf("constructor"),
		"id":     map[string]any{"type": "array", "items": text("such as langchain_core, messages, HumanMessage")},
		"kwargs": map[string]any{"type": "object"}}, "lc", "type", "id", "kwargs")
}

func documentSchema() *huma.Schema {
	described := object("", map[string]any{
		"format":   oneOf(session.Format),
		"version":  map[string]any{"type": "integer", "enum": []int{session.FormatVersion}},
		"session":  map[string]any{"type": "object", "description": "Its id, metadata and limits"},
		"messages": map[string]any{"type": "array", "maxItems": session.MaxPart, "items": object("", storedProperties(), "type", "data")},
	}, "format", "version", "messages")
	delete(described, "type")
	delete(described, "title")
	return &huma.Schema{Type: huma.TypeObject, Description: "A session with its messages", Extensions: described}
}

// The requests.
type (
	appendMessages struct {
		ID   string `path:"session_id" maxLength:"256"`
		Body struct {
			Messages messages `json:"messages"`
		} `nameHint:"NewMessages"`
	}
	historyInput struct {
		ID     string `path:"session_id" maxLength:"256"`
		After  int64  `query:"after" minimum:"0" doc:"Only messages with a greater number"`
		Before int64  `query:"before" minimum:"0" doc:"Only messages with a smaller number; 0: no bound"`
		Last   int    `query:"last" minimum:"1" maximum:"1000" doc:"Only the newest so many of them; then limit means nothing. If they have more than 32 MiB, those that fit, and next"`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		Order  string `query:"order" enum:"asc,desc" default:"asc" doc:"asc: oldest first"`
		Format string `query:"format" enum:"langchain,openai" default:"langchain" doc:"openai: the messages alone, as OpenAI's chat has them"`
	}
	trimSession struct {
		ID   string `path:"session_id" maxLength:"256"`
		Body struct {
			MaxMessages int `json:"max_messages" doc:"How many messages to keep, 0 to 1000000"`
		} `nameHint:"TrimSession"`
	}
	popped struct {
		SessionID    string       `json:"session_id"`
		Message      shownMessage `json:"message" doc:"The message that was taken; null: there was none"`
		MessageCount int64        `json:"message_count" doc:"How many are left"`
	}
	searchMessages struct {
		Query  string    `json:"query" doc:"In plain words, with \"phrases\" and begin*"`
		Mode   loci.Mode `json:"mode,omitempty" enum:"hybrid,keyword,semantic" doc:"Absent: hybrid"`
		Limit  *int      `json:"limit,omitempty" doc:"1 to 1000; absent: 10"`
		Offset int       `json:"offset,omitempty" doc:"0 to 10000"`

		MinScore float64 `json:"min_score,omitempty" doc:"The least score, 0 to 1: about the chance that it answers. Absent: whatever fits best"`
		Rerank   *bool   `json:"rerank,omitempty" doc:"Whether the re-ranker of the server reads the best results again. Absent: if it has one"`

		Since instant `json:"since,omitempty" doc:"Only messages of this time or after"`
		Until instant `json:"until,omitempty" doc:"Only messages before this time"`
	}
	searchSession struct {
		ID   string `path:"session_id" maxLength:"256"`
		Body searchMessages
	}
	summariseSession struct {
		ID   string `path:"session_id" maxLength:"256"`
		Body struct {
			ContextTokens int     `json:"context_tokens" example:"8000" doc:"The room a model has for the conversation, 100 to 10000000"`
			Threshold     float64 `json:"threshold,omitempty" doc:"Of the room in use, above which a summary is due; absent: 0.85"`
			Target        float64 `json:"target,omitempty" doc:"Of the room that is in use afterwards; absent: 0.5"`
			Messages      int     `json:"messages,omitempty" doc:"That are not summarised yet, at least; absent: 6"`
			SummaryTokens int     `json:"summary_tokens,omitempty" example:"800" doc:"Most of the summary itself; absent: a tenth of context_tokens"`
		} `nameHint:"SummariseSession"`
	}
	retrieveForSession struct {
		ID   string `path:"session_id" maxLength:"256"`
		Body struct {
			Query  string `json:"query" doc:"The new message; of a long one the first 16 KiB count"`
			Budget *int   `json:"token_budget,omitempty" doc:"Most tokens of the text, 0 to 200000; absent: 1000"`
			Recent int    `json:"recent,omitempty" doc:"How many of the newest messages the model sees anyway; absent: those the summary does not cover, else 20"`

			MinScore *float64 `json:"min_score,omitempty" doc:"The least score, 0 to 1: about the chance that it answers. Absent: 0.05"`
		} `nameHint:"RetrieveForSession"`
	}
)

// The replies.
type (
	appended struct {
		SessionID    string    `json:"session_id"`
		Created      bool      `json:"created" doc:"The session, by this append"`
		FirstSeq     int64     `json:"first_seq"`
		LastSeq      int64     `json:"last_seq"`
		Count        int64     `json:"count" doc:"How many were appended"`
		CreatedAt    time.Time `json:"created_at" doc:"Of the messages"`
		MessageCount int64     `json:"message_count" doc:"How many the session holds now"`
		Trimmed      int64     `json:"trimmed" doc:"Messages erased, since the session keeps no more"`
	}
	history struct {
		SessionID string        `json:"session_id"`
		Messages  shownMessages `json:"messages" nullable:"false"`
		Next      int64         `json:"next,omitempty" doc:"Goes on as after, or as before where the newest come first; absent at the end. With last: what to give as before, where there was no room for all of them"`
	}
	historyOutput struct{ Body history }
	hitsOutput    struct{ Body session.Hits }
)

func (a *API) messageRoutes() {
	const one = "/v1/sessions/{session_id}/"
	route(a, endpoint{method: http.MethodPost, path: one + "messages", id: "append_messages", summary: "Append messages to a session", scope: loci.ScopeWrite,
		writes: true, value: true, detail: "All of them or none: up to 1000, with up to 10000 blocks of content and calls of tools together. A session that is not there is created."},
		a.appendMessages)
	route(a, endpoint{method: http.MethodGet, path: one + "messages", id: "list_messages", summary: "Read the messages of a session", scope: loci.ScopeRead}, a.history)
	route(a, endpoint{method: http.MethodPost, path: one + "trim", id: "trim_session", summary: "Erase the oldest messages of a session", scope: loci.ScopeDelete,
		writes: true, detail: "System messages stay and count. What is kept never begins with the result of a tool call, and holds none whose call is gone."},
		func(ctx context.Context, c *caller, in *trimSession) (*struct{ Body session.Trimmed }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body session.Trimmed }, error) {
				done, err := session.Of(m).Trim(ctx, in.ID, in.Body.MaxMessages)
				return &struct{ Body session.Trimmed }{done}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: one + "pop", id: "pop_message", summary: "Take the newest message out of a session",
		scope: loci.ScopeDelete, writes: true, detail: "In one change: of several callers at once each gets another message. " +
			"Those that a later message of the type remove names are passed over. The message is erased."},
		func(ctx context.Context, c *caller, in *oneSession) (*struct{ Body popped }, error) {
			return within(a, c, func(m *loci.Memory) (*struct{ Body popped }, error) {
				done, err := session.Of(m).Pop(ctx, in.ID)
				return &struct{ Body popped }{popped{done.Session, shownMessage{done.Message}, done.Messages}}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/sessions/search", id: "search_sessions", summary: "Find messages of any session", scope: loci.ScopeRead},
		func(ctx context.Context, c *caller, in *struct{ Body searchMessages }) (*hitsOutput, error) {
			return a.searchMessages(ctx, c, "", &in.Body)
		})
	route(a, endpoint{method: http.MethodPost, path: one + "search", id: "search_session", summary: "Find messages of a session", scope: loci.ScopeRead,
		detail: "A session that is not there has no messages."},
		func(ctx context.Context, c *caller, in *searchSession) (*hitsOutput, error) {
			return a.searchMessages(ctx, c, in.ID, &in.Body)
		})
	route(a, endpoint{method: http.MethodPost, path: one + "summarise", id: "summarise_session", summary: "Summarise the older messages of a session", scope: loci.ScopeWrite,
		writes: true, detail: "Only if they take too much of the room a model has. The messages stay."}, a.summarise)
	route(a, endpoint{method: http.MethodPost, path: one + "retrieve", id: "retrieve_for_session", summary: "Make a text of what matters for a new message", scope: loci.ScopeRead,
		detail: "Of the notes, and of the messages of the session that the model does not see."}, a.retrieve)
}

// maxAppendBytes bounds the messages of one append, as JSON in which what is not ASCII counts twice, so that all of them cost
// less than a second. A single one may be as long as a message may be.
const maxAppendBytes = 1 << 20

func (a *API) appendMessages(ctx context.Context, c *caller, in *appendMessages) (*struct{ Body appended }, error) {
	return within(a, c, func(m *loci.Memory) (*struct{ Body appended }, error) {
		read, err := session.ParseMessages(in.Body.Messages.RawMessage)
		if err != nil {
			return nil, err
		}
		if size := intake.SizeOfText([]byte(in.Body.Messages.RawMessage)); size > maxAppendBytes && len(read) > 1 {
			return nil, loci.Errorf(loci.TooLarge, "messages have %d bytes, of which what is not ASCII counts twice; the limit is %d: "+
				"append them in several calls", size, maxAppendBytes)
		}
		done, err := session.Of(m).Append(ctx, in.ID, read)
		return &struct{ Body appended }{appended{
			SessionID:    done.Session,
			Created:      done.Created,
			FirstSeq:     done.First,
			LastSeq:      done.Last,
			Count:        done.Last - done.First + 1,
			CreatedAt:    done.CreatedAt,
			MessageCount: done.Messages,
			Trimmed:      done.Trimmed,
		}}, err
	})
}

func (a *API) history(ctx context.Context, c *caller, in *historyInput) (*historyOutput, error) {
	return within(a, c, func(m *loci.Memory) (*historyOutput, error) {
		page, err := session.Of(m).History(ctx, in.ID, session.HistoryQuery{
			After:       in.After,
			Before:      in.Before,
			Last:        in.Last,
			Limit:       in.Limit,
			NewestFirst: in.Order == "desc",
		})
		if err != nil {
			return nil, err
		}
		out := &historyOutput{history{SessionID: page.Session, Messages: make(shownMessages, len(page.Messages))}}
		for i := range page.Messages {
			stored := &page.Messages[i]
			if page.More && (i == 0 || in.Last == 0 || in.Order == "desc") { // of the newest, the oldest
				out.Body.Next = stored.Seq
			}
			if in.Format != "openai" {
				out.Body.Messages[i] = stored
				continue
			}
			if out.Body.Messages[i], err = stored.OpenAI(); err != nil {
				e := *loci.AsError(err)
				e.Msg = fmt.Sprintf("message %d: %s", stored.Seq, e.Msg)
				if e.Code == loci.Unsupported {
					e.Recovery = "Read it with the format langchain."
				}
				return nil, &e
			}
		}
		return out, nil
	})
}

func (a *API) searchMessages(ctx context.Context, c *caller, talk string, in *searchMessages) (*hitsOutput, error) {
	return within(a, c, func(m *loci.Memory) (*hitsOutput, error) {
		limit, err := limitOf(in.Limit, loci.MaxSearchLimit)
		if err != nil {
			return nil, err
		}
		found, err := session.Of(m).Search(ctx, session.Search{Text: in.Query, Session: talk,
			Mode: in.Mode, Limit: limit, Offset: in.Offset, MinScore: in.MinScore, Rerank: in.Rerank,
			Since: in.Since.at, Until: in.Until.at})
		return &hitsOutput{found}, err
	})
}

func (a *API) summarise(
	ctx context.Context, c *caller, in *summariseSession,
) (*struct{ Body session.Summarised }, error) {
	return within(a, c, func(m *loci.Memory) (*struct{ Body session.Summarised }, error) {
		o, b := a.opts.Summaries, &in.Body
		o.ContextTokens, o.Threshold, o.Target = b.ContextTokens, b.Threshold, b.Target
		o.Messages, o.SummaryTokens = b.Messages, b.SummaryTokens
		done, err := session.Of(m).Summarise(ctx, in.ID, o)
		return &struct{ Body session.Summarised }{done}, err
	})
}

func (a *API) retrieve(
	ctx context.Context, c *caller, in *retrieveForSession,
) (*struct{ Body session.Retrieved }, error) {
	return within(a, c, func(m *loci.Memory) (*struct{ Body session.Retrieved }, error) {
		found, err := session.Of(m).Retrieve(ctx, in.ID, session.RetrieveQuery{Text: in.Body.Query,
			TokenBudget: in.Body.Budget, Recent: in.Body.Recent, MinScore: in.Body.MinScore})
		return &struct{ Body session.Retrieved }{found}, err
	})
}
