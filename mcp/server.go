// Package mcp serves the declared tools over the Model Context Protocol, in every
// revision from 2024-11-05 to 2026-07-28:
//
//	server, err := mcp.New(mcp.Options{Tools: set, Principal: principal, RecordElevation: engine.RecordElevation})
//	err = server.Serve(ctx, os.Stdin, os.Stdout)
//
// The protocol itself is the official Go SDK's. This package adds what a memory
// needs around it: a guard in front of every parser, who the caller is, the form
// of errors, and an end of input that loses no reply.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/tool"
)

// Options configure a [Server]. The zero value of each field means its default.
type Options struct {
	// Tools, in the order in which clients see them; at least one, unless there is a
	// connector.
	Tools []*tool.Tool

	// Connector, unless nil, is a prompt that says what it puts into conversations.
	Connector *tool.Connector

	// Principal is whom every request comes from, unless Identify is set.
	Principal loci.Principal

	// Identify says who sends a request, for surfaces that serve many callers. It uses
	// nothing that a tool or a model sends.
	Identify func(context.Context, Origin) (loci.Principal, error)

	// RecordElevation writes into the audit logs of both tenants that a principal of one
	// acts in the other, before the tool runs. nil: no request may do so.
	RecordElevation func(ctx context.Context, p loci.Principal, requestID, tool string) error

	// Call runs a tool; default: its own Call. For limits and measurements.
	Call func(context.Context, *tool.Tool, tool.Caller, json.RawMessage) (tool.Reply, error)

	Version      string       // of the program; default "dev"
	Instructions string       // for the model; default: [Instructions] of the tools
	Logger       *slog.Logger // default slog.Default(); gets ids and causes, never content

	// Confirm says whether a person is asked before a call erases several memories at
	// once, one of [tool.Confirms]; default [tool.ConfirmAuto].
	Confirm string

	Limits Limits
}

// A Server offers tools to MCP clients. It is safe for concurrent use.
type Server struct {
	opts  Options
	sdk   *sdk.Server
	tools map[string]*tool.Tool
	slots chan struct{} // one for each tool call that runs
	turns turns         // of every connection
	files *tool.Tool    // whose files are resources; nil: there are none

	general bool          // whether the instructions are ours, about the tools
	prompts bool          // whether there are some
	timeout time.Duration // of requests for files and prompts
}

// New makes a server.
func New(o Options) (*Server, error) {
	o.Limits.complete()
	o.Version = cmp.Or(o.Version, "dev")
	o.Confirm = cmp.Or(o.Confirm, tool.ConfirmAuto)
	if !slices.Contains(tool.Confirms, o.Confirm) {
		return nil, loci.Errorf(loci.Invalid, "unknown choice %q of Confirm: must be one of %s", o.Confirm, strings.Join(tool.Confirms, ", "))
	}
	general, named := o.Instructions == "", o.Tools
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Call == nil {
		o.Call = func(ctx context.Context, t *tool.Tool, c tool.Caller, args json.RawMessage) (tool.Reply, error) {
			return t.Call(ctx, c, args)
		}
	}
	if o.Identify == nil {
		if o.Principal.Tenant().IsZero() {
			return nil, loci.Errorf(loci.Invalid, "an MCP server needs a principal or a way to identify callers")
		}
		o.Identify = func(context.Context, Origin) (loci.Principal, error) { return o.Principal, nil }
		named = permittedTo(o.Principal, o.Tools)
	}
	o.Instructions = cmp.Or(o.Instructions, Instructions(named))
	if len(o.Tools) == 0 && o.Connector == nil {
		return nil, loci.Errorf(loci.Invalid, "an MCP server needs at least one tool")
	}
	s := &Server{
		opts: o, general: general, tools: map[string]*tool.Tool{},
		slots: make(chan struct{}, o.Limits.InFlight), turns: turns{of: map[string]*turn{}},
	}
	// A method that is not declared gets "method not found".
	capabilities := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
	fileCapabilities(&o, capabilities)
	s.sdk = sdk.NewServer(s.implementation(), &sdk.ServerOptions{
		Instructions: o.Instructions,
		// The SDK's own log names nothing an operator could act upon, and quotes input.
		Logger:       slog.New(slog.DiscardHandler),
		PageSize:     len(o.Tools) + 1,
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range o.Tools {
		if _, taken := s.tools[t.Name]; taken {
			return nil, loci.Errorf(loci.Invalid, "two tools are named %q", t.Name)
		}
		s.tools[t.Name] = t
		if err := s.add(t); err != nil {
			return nil, err
		}
	}
	s.addFiles()
	s.sdk.AddReceivingMiddleware(s.around)
	return s, nil
}

func (s *Server) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: "loci", Title: "Loci memory", Version: s.opts.Version}
}

// add registers a tool with a raw handler: the typed ones of the SDK validate the
// arguments a second time, at twice the price of a call.
func (s *Server) add(t *tool.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil { // the SDK's way to refuse a name or a schema
			err = loci.Errorf(loci.Invalid, "tool %q: %v", t.Name, p)
		}
	}()
	s.sdk.AddTool(declare(t), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return s.call(ctx, t, r)
	})
	return nil
}

// declare is a tool as the protocol lists it.
func declare(t *tool.Tool) *sdk.Tool {
	a := t.Annotations
	declared := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: a.ReadOnly, DestructiveHint: &a.Destructive,
			IdempotentHint: a.Idempotent, OpenWorldHint: &a.OpenWorld}}
	if t.OutputSchema != nil { // a nil json.RawMessage in the field would not be nil there
		declared.OutputSchema = t.OutputSchema
	}
	return declared
}

// permitted are the tools that the caller may use, in our order; the SDK sorts them by
// name. A model tries every tool that it sees. A caller who cannot be identified, for
// example because the user is missing, sees all tools: the calls say what is missing. Who
// is refused sees none.
func (s *Server) permitted(ctx context.Context, r sdk.Request) (list []*tool.Tool) {
	p, err := s.opts.Identify(ctx, originOf(r.GetExtra()))
	if code := codeOf(err); code == loci.Unauthenticated || code == loci.Forbidden {
		trail.Refuses(ctx, "tools/list")
		return nil
	}
	if err != nil {
		return s.opts.Tools
	}
	return permittedTo(p, s.opts.Tools)
}

func codeOf(err error) loci.Code {
	if err == nil {
		return ""
	}
	return loci.AsError(err).Code
}

func permittedTo(p loci.Principal, tools []*tool.Tool) (list []*tool.Tool) {
	for _, t := range tools {
		if own, may := t.For(p); may {
			list = append(list, own)
		}
	}
	return list
}

// instruct makes general instructions name the tools that the caller may use.
func (s *Server) instruct(ctx context.Context, r sdk.Request, instructions *string) {
	if s.general {
		*instructions = Instructions(s.permitted(ctx, r))
	}
}

// methods are what the server answers. The SDK would also answer logging and others,
// which this server does not declare.
var methods = map[string]bool{"initialize": true, "ping": true, "server/discover": true, "subscriptions/listen": true,
	"tools/list": true, "tools/call": true}

// around is the middleware of every request: it keeps a panic from ending the
// process, and lists tools in our order where the SDK sorts them by name.
func (s *Server) around(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.opts.Logger.ErrorContext(ctx, "request panicked", "method", method, "request_id", requestID(r.GetExtra()),
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		answered := methods[method] || s.files != nil && resourceMethods[method] || s.prompts && promptMethods[method]
		if !answered && !strings.HasPrefix(method, "notifications/") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
		}
		if call, ok := r.(*sdk.CallToolRequest); ok {
			if _, known := s.tools[call.Params.Name]; !known {
				return nil, &jsonrpc.Error{
					Code:    jsonrpc.CodeInvalidParams,
					Message: fmt.Sprintf("unknown tool %q", clip(call.Params.Name)),
				}
			}
		}
		if list, ok := r.(*sdk.ListResourcesRequest); ok { // which ones there are depends on the caller
			return s.listResources(ctx, list)
		}
		if cursorOf(r) != "" { // the SDK would say that something is wrong
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "cursor must be left out: " + method + " has one page"}
		}
		result, err = next(ctx, method, r)
		if call, ok := r.(*sdk.CallToolRequest); ok && unanswered(err) {
			return s.notAsked(call), nil
		}
		if err != nil {
			return result, err
		}
		switch result := result.(type) {
		case *sdk.ListToolsResult:
			result.Tools = []*sdk.Tool{}
			for _, t := range s.permitted(ctx, r) {
				result.Tools = append(result.Tools, declare(t))
			}
		case *sdk.InitializeResult:
			s.instruct(ctx, r, &result.Instructions)
		case *sdk.DiscoverResult:
			s.instruct(ctx, r, &result.Instructions)
		}
		return result, nil
	}
}

// cursorOf is where a caller wants a list to go on that has one page; "": at its beginning.
func cursorOf(r sdk.Request) string {
	switch r := r.(type) {
	case *sdk.ListToolsRequest:
		return cmp.Or(r.Params, &sdk.ListToolsParams{}).Cursor
	case *sdk.ListPromptsRequest:
		return cmp.Or(r.Params, &sdk.ListPromptsParams{}).Cursor
	case *sdk.ListResourceTemplatesRequest:
		return cmp.Or(r.Params, &sdk.ListResourceTemplatesParams{}).Cursor
	}
	return ""
}

// clip shortens what a client sent and we quote.
func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}
