package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/tool"
)

// call runs a tool for a request. What the tool refuses is a result with isError,
// for the model to read; what is not the model's to mend is a protocol error.
func (s *Server) call(ctx context.Context, t *tool.Tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	// Wait before taking a slot: the call that is waited for needs one, too.
	if err := s.turns.find(requestID(r.Extra)).wait(ctx); err != nil {
		return failed(err), nil
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return failed(ctx.Err()), nil
	}
	if refusal, said := declined(t, r); said {
		return refusal, nil
	}
	reply, err := s.run(ctx, t, r)
	if question := s.question(r, cmp.Or(err, reply.Err)); question != nil {
		return question, nil
	}
	if err != nil {
		return s.refused(ctx, t, r, err)
	}
	// The SDK logs a result it cannot encode, and never answers the request.
	if reply.Structured != nil && !json.Valid(reply.Structured) {
		return s.refused(ctx, t, r, &loci.Error{Code: loci.Internal, Op: "encode reply", Msg: "internal error",
			Err: errors.New("the structured reply is not JSON")})
	}
	return result(reply, reply.Err != nil), nil
}

func (s *Server) run(ctx context.Context, t *tool.Tool, r *sdk.CallToolRequest) (tool.Reply, error) {
	trail.Does(ctx, t.Name)
	ctx = trail.Of(ctx, traceOf(r.Params.Meta))
	caller, err := s.caller(ctx, t.Name, r, r.Params.Meta)
	if err != nil {
		if codeOf(err) == loci.Forbidden {
			trail.Refuses(ctx, t.Name)
		}
		return tool.Reply{}, err
	}
	s.confirms(r, &caller)
	return s.opts.Call(ctx, t, caller, r.Params.Arguments)
}

// refused answers a call that failed. Causes are logged, never shown.
func (s *Server) refused(
	ctx context.Context, t *tool.Tool, r *sdk.CallToolRequest, err error,
) (*sdk.CallToolResult, error) {
	var missing *loci.ConfigurationError
	if errors.As(err, &missing) {
		return nil, configurationError(missing)
	}
	e := loci.AsError(err)
	if e.Code == loci.Internal || e.Code == loci.Unavailable && e.Err != nil && ctx.Err() == nil {
		s.opts.Logger.ErrorContext(ctx, "tool failed", "tool", t.Name, "request_id", requestID(r.Extra),
			"code", string(e.Code), "op", e.Op, "cause", e.Err)
	}
	return failed(e), nil
}

func failed(err error) *sdk.CallToolResult { return result(tool.ErrorReply(err), true) }

func result(reply tool.Reply, isError bool) *sdk.CallToolResult {
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: reply.Text}}, IsError: isError}
	if reply.Structured != nil {
		out.StructuredContent = reply.Structured
	}
	return out
}

// configurationError aborts the request: only a person who configures the connection can
// mend it, and no model can.
func configurationError(c *loci.ConfigurationError) error {
	available := c.Available
	if available == nil {
		available = []string{}
	}
	data, _ := json.Marshal(struct { // strings: cannot fail
		Type      string   `json:"type"`
		Key       string   `json:"key"`
		Available []string `json:"available"`
	}{"ConfigurationError", c.Key, available})
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: c.Error(), Data: data}
}
