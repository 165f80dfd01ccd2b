package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/tool"
)

// toolShown is a tool as clients see it, with the names of the Model Context Protocol
// in its annotations.
type toolShown struct {
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Description  string           `json:"description" doc:"For the model"`
	Family       string           `json:"family"`
	InputSchema  json.RawMessage  `json:"input_schema" doc:"JSON Schema of the arguments"`
	OutputSchema json.RawMessage  `json:"output_schema,omitempty" doc:"JSON Schema of structured; absent: the tool replies in text alone"`
	Annotations  tool.Annotations `json:"annotations" doc:"Hints on what a call does"`
}

type toolsOutput struct {
	Body struct {
		Tools []toolShown `json:"tools" nullable:"false"`
	} `nameHint:"Tools"`
}

type toolInput struct {
	Name string           `path:"name" maxLength:"64" doc:"Of the tool"`
	Body *json.RawMessage `doc:"The arguments, a JSON object; no body is no arguments"`
}

// toolReply is what a call came to, as over the Model Context Protocol.
type toolReply struct {
	Text       string          `json:"text" doc:"For the model"`
	Structured json.RawMessage `json:"structured,omitempty" doc:"The same for programs: an object; of a refused call its error, code and recovery"`
	IsError    bool            `json:"is_error" doc:"The tool refused the call; the text says why"`
}

type toolOutput struct{ Body toolReply }

func (a *API) toolRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/tools", id: "list_tools", summary: "List the tools",
		open: "it lists what the caller may call", tools: true},
		func(_ context.Context, c *caller, _ *struct{}) (*toolsOutput, error) {
			return showTools(c, a.tools()), nil
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/tools/{name}", id: "call_tool", summary: "Call a tool", value: true, writes: true,
		open: "each tool asks for its own", tools: true,
		detail: "The reply is that of the same tool over MCP. What a tool refuses is a reply with is_error, for the model to read. " +
			"Each tool needs its own scope."}, a.callTool)
}

// showTools shows those of some tools that a caller may use.
func showTools(c *caller, tools []*tool.Tool) *toolsOutput {
	out := &toolsOutput{}
	out.Body.Tools = []toolShown{}
	for _, t := range tools {
		t, may := t.For(c.Principal)
		if !may {
			continue
		}
		out.Body.Tools = append(out.Body.Tools,
			toolShown{t.Name, t.Title, t.Description, t.Family, t.InputSchema, t.OutputSchema, t.Annotations})
	}
	return out
}

func (a *API) callTool(ctx context.Context, c *caller, in *toolInput) (*toolOutput, error) {
	return a.callOneOf(ctx, c, a.tools(), in, "See /v1/tools for those there are.")
}

// callOneOf calls the tool of a name; recovery says where the existing ones are listed.
func (a *API) callOneOf(
	ctx context.Context, c *caller, tools []*tool.Tool, in *toolInput, recovery string,
) (*toolOutput, error) {
	at := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == in.Name })
	if at < 0 {
		return nil, &loci.Error{Code: loci.NotFound, Msg: "there is no such tool", Recovery: recovery}
	}
	var arguments json.RawMessage
	if in.Body != nil {
		arguments = *in.Body
	}
	reply, err := tools[at].Call(ctx, *c, arguments)
	var missing *loci.ConfigurationError
	switch {
	case errors.As(err, &missing):
		return nil, err // nothing a model could mend
	case cmp.Or(err, reply.Err) != nil && len(trail.Stopped(ctx)) > 0:
		return nil, cmp.Or(err, reply.Err) // the caller can get the scope, and looks for that at the status
	case err != nil:
		_ = a.problem(ctx, c.RequestID, err) // logs what is not told
		return &toolOutput{showReply(tool.ErrorReply(err), true)}, nil
	}
	return &toolOutput{showReply(reply, reply.Err != nil)}, nil
}

func showReply(r tool.Reply, refused bool) toolReply {
	return toolReply{Text: r.Text, Structured: r.Structured, IsError: refused}
}
