package mcp

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

// confirmation is the name of our question among those of a result.
const confirmation = "confirm"

// confirms says whether a call needs the leave of a person, and of what it brings.
func (s *Server) confirms(r *sdk.CallToolRequest, c *tool.Caller) {
	can := asks(r) || asksElsewhere(r)
	c.Confirms = s.opts.Confirm == tool.ConfirmRequired || s.opts.Confirm == tool.ConfirmAuto && can
	if answer, there := answerOf(r); there && answer.Action == "accept" {
		c.Agreed = r.Params.RequestState
		if c.Agreed == "" { // an answer to a question that is not known
			c.Agreed = "none"
		}
	}
}

// asks reports whether the client of a request can put a question with a form to a person.
// Clients of the first revision with questions say so without naming the form. Where each
// HTTP request stands for itself, only those of the newest revision say what they can.
func asks(r *sdk.CallToolRequest) bool {
	can := r.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// A client of an older revision says what it can once, in a request of its own, and over HTTP
// nobody keeps that. So what it said comes back to us with each request, as the id of a session
// that no server has. Such a client cannot be asked, as its answer might reach another server, but
// its person counts on being asked: the call is refused.
const (
	headerSession = "Mcp-Session-Id"
	askingSession = "asks-" // and anything
)

// asksElsewhere reports whether the client of a request can ask a person, and not here.
func asksElsewhere(r *sdk.CallToolRequest) bool {
	return r.Extra != nil && strings.HasPrefix(r.Extra.Header.Get(headerSession), askingSession)
}

// sessionOf is the id for a client whose first request has these params; "": it needs none.
func sessionOf(params json.RawMessage) string {
	var said struct {
		Capabilities struct {
			Elicitation *struct{ Form, URL *struct{} }
		}
	}
	if json.Unmarshal(params, &said) != nil {
		return "" // the SDK refuses it
	}
	if e := said.Capabilities.Elicitation; e == nil || e.Form == nil && e.URL != nil {
		return ""
	}
	return askingSession + nonce()
}

// answerOf is what became of our question.
func answerOf(r *sdk.CallToolRequest) (answer *sdk.ElicitResult, there bool) {
	answer, there = r.Params.InputResponses[confirmation].(*sdk.ElicitResult)
	return answer, there && answer != nil
}

// question is the result that asks a person, in place of a call that failed because nobody
// had agreed. nil: it failed for something else, or nobody can be asked. The newest revision has
// such results; in older ones the SDK asks itself and makes the call again.
//
// The mark is no secret and needs no signature: whoever could forge it could as well say
// that the person agreed. It only holds an answer to what was shown.
func (s *Server) question(r *sdk.CallToolRequest, err error) *sdk.CallToolResult {
	var ask *tool.UnconfirmedError
	if !errors.As(err, &ask) || ask.Changed || !asks(r) {
		return nil
	}
	return &sdk.CallToolResult{RequestState: ask.Mark, InputRequests: sdk.InputRequestMap{
		// A form without fields: to send it is to agree.
		confirmation: &sdk.ElicitParams{Mode: "form", Message: ask.Question,
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}}
}

// declined is the result of a call to which the person did not agree.
func declined(t *tool.Tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, bool) {
	answer, there := answerOf(r)
	if !there || answer.Action == "accept" {
		return nil, false
	}
	message := "the user declined: nothing was deleted"
	if answer.Action != "decline" {
		message = "the user gave no answer: nothing was deleted"
	}
	return refusedFor(t, r, message), true
}

func refusedFor(t *tool.Tool, r *sdk.CallToolRequest, message string) *sdk.CallToolResult {
	return result(t.Refusal(r.Params.Arguments, &loci.Error{Code: loci.Forbidden, Msg: message,
		Recovery: "Leave it as it is, and ask the user what to do."}), true)
}

// unanswered reports whether a call failed since the client of an older revision did not
// answer the question that the SDK put to it.
func unanswered(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "multi-round-trip: ")
}

// notAsked is the result of such a call. What the client says of it may name its insides.
func (s *Server) notAsked(r *sdk.CallToolRequest) *sdk.CallToolResult {
	return refusedFor(s.tools[r.Params.Name], r, "the client could not ask the user: nothing was deleted")
}
