package mcp

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

// The files of the first tool of the families files and claude are resources, too, and what the
// connector says of each such tool's tree is a prompt.
const (
	resourceScheme   = "memory"
	resourceTemplate = resourceScheme + ":///{+path}"
	resourceType     = "text/plain; charset=utf-8"
	resourcePage     = 500 // resources of a page
)

// What the server answers in addition when it has files, and when it has prompts.
var (
	resourceMethods = map[string]bool{"resources/list": true, "resources/read": true, "resources/templates/list": true}
	promptMethods   = map[string]bool{"prompts/list": true, "prompts/get": true}
)

// connectorPrompt is the name of the prompt of a connector. No tool with files can have
// it: theirs have no hyphens.
const connectorPrompt = "memory-connector"

// addFiles registers resources and prompts for the tools that have files.
func (s *Server) addFiles() {
	s.timeout = time.Duration(tool.DefaultSearchTimeout)
	for _, t := range s.opts.Tools {
		if !t.HasFiles() {
			continue
		}
		if s.files == nil {
			s.files, s.timeout = t, t.Timeout
			s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "file", Title: "Memory file", URITemplate: resourceTemplate,
				Description: "A file of the memory; a directory is the list of what is in it.", MIMEType: resourceType}, s.readResource)
		}
		s.sdk.AddPrompt(&sdk.Prompt{Name: t.Name, Title: t.Title, Description: "What the memory holds, to begin a conversation with.",
			Arguments: []*sdk.PromptArgument{
				{Name: "content", Description: "tree: the names at the root (default); full: every file with its content"},
				{Name: "max_chars", Description: "Most characters, 1 to 20000; default 4000"},
			}}, s.prompt(t))
		s.prompts = true
	}
	if k := s.opts.Connector; k != nil {
		s.prompts = true
		s.sdk.AddPrompt(&sdk.Prompt{Name: connectorPrompt, Title: "Memory", Description: "What the memory holds, to begin a conversation with."},
			func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return s.say(ctx, connectorPrompt, r, k.Text)
			})
	}
}

// fileCapabilities are what the server declares when it has files or a connector.
func fileCapabilities(o *Options, c *sdk.ServerCapabilities) {
	if o.Connector != nil {
		c.Prompts = &sdk.PromptCapabilities{}
	}
	for _, t := range o.Tools {
		if t.HasFiles() {
			c.Resources, c.Prompts = &sdk.ResourceCapabilities{}, &sdk.PromptCapabilities{}
		}
	}
}

// tree opens the tree whose files are resources.
func (s *Server) tree(ctx context.Context, r source, meta sdk.Meta) (*tree.Tree, error) {
	c, err := s.caller(ctx, "resources", r, meta)
	if err != nil {
		return nil, err
	}
	return s.files.Tree(c)
}

// within runs a request for files as calls of tools that only read run: in one of the
// slots, and in bounded time.
func (s *Server) within(ctx context.Context, r source, do func(context.Context) error) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return s.fileError(ctx, r, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.fileError(ctx, r, do(ctx))
}

// fileError is how a request for files fails: with the words of the error, for
// these are no calls of a model. Causes are logged, never shown.
func (s *Server) fileError(ctx context.Context, r source, err error) error {
	var protocol *jsonrpc.Error
	if err == nil || errors.As(err, &protocol) {
		return err
	}
	e := loci.AsError(err)
	switch e.Code {
	case loci.Internal, loci.Unavailable:
		s.opts.Logger.ErrorContext(ctx, "resource failed", "request_id", requestID(r.GetExtra()), "code", string(e.Code), "op", e.Op, "cause", e.Err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: e.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Error()}
}

// listResources lists the files of the caller's tree, a page at a time. The order
// is that of the store, directory by directory.
func (s *Server) listResources(
	ctx context.Context, r *sdk.ListResourcesRequest,
) (out *sdk.ListResourcesResult, err error) {
	out = &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
	out.CacheScope = "private"
	err = s.within(ctx, r, func(ctx context.Context) error {
		params := r.Params
		if params == nil {
			params = &sdk.ListResourcesParams{}
		}
		files, err := s.tree(ctx, r, params.Meta)
		if tree.ErrnoOf(err) == tree.ENOTMEM {
			return nil // clients list without being asked to: no thread, no files
		}
		if err != nil {
			return err
		}
		list, next, err := files.Files(ctx, loci.Page{Limit: resourcePage, Cursor: params.Cursor})
		for _, f := range list {
			out.Resources = append(out.Resources, &sdk.Resource{
				URI: resourceURI(f.Path), Name: f.Name, Title: f.Path, MIMEType: resourceType, Size: f.Bytes,
			})
		}
		out.NextCursor = next
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readResource reads a file; a directory is the list of what is in it.
func (s *Server) readResource(
	ctx context.Context, r *sdk.ReadResourceRequest,
) (out *sdk.ReadResourceResult, err error) {
	err = s.within(ctx, r, func(ctx context.Context) error {
		path, ok := resourcePath(r.Params.URI)
		if !ok {
			return sdk.ResourceNotFoundError(r.Params.URI)
		}
		files, err := s.tree(ctx, r, r.Params.Meta)
		if err != nil {
			return err
		}
		text, err := files.Read(ctx, path)
		if tree.ErrnoOf(err) == tree.EISDIR {
			text, err = directory(ctx, files, path)
		}
		if tree.ErrnoOf(err) == tree.ENOENT {
			return sdk.ResourceNotFoundError(r.Params.URI)
		}
		out = &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
			URI: r.Params.URI, MIMEType: resourceType, Text: s.files.Scrub(text),
		}}}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// directory writes the URIs of what is in a directory, a line each.
func directory(ctx context.Context, files *tree.Tree, path string) (string, error) {
	list, err := files.List(ctx, path)
	var lines strings.Builder
	for _, f := range list {
		lines.WriteString(resourceURI(f.Path))
		if f.Dir {
			lines.WriteByte('/')
		}
		lines.WriteByte('\n')
	}
	return lines.String(), err
}

func resourceURI(path string) string {
	return (&url.URL{Scheme: resourceScheme, Path: path}).String()
}

// resourcePath is the inverse of resourceURI.
func resourcePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != resourceScheme || u.Host != "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || u.Opaque != "" {
		return "", false
	}
	path, err := tree.CleanPath(u.Path)
	return path, err == nil
}

// prompt makes the handler of a tool's prompt.
func (s *Server) prompt(t *tool.Tool) sdk.PromptHandler {
	return func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return s.say(ctx, t.Name, r, func(ctx context.Context, c tool.Caller) (string, error) {
			o := tree.ConnectorOptions{Content: tree.ConnectorContent(r.Params.Arguments["content"])}
			if text := r.Params.Arguments["max_chars"]; text != "" {
				n, err := strconv.Atoi(text)
				if err != nil || n == 0 {
					n = -1 // the message is that of a number out of range
				}
				o.MaxChars = n
			}
			return t.ConnectorText(ctx, c, o)
		})
	}
}

// say answers a request for a prompt with what text returns; nothing is no message.
func (s *Server) say(
	ctx context.Context, name string, r *sdk.GetPromptRequest,
	text func(context.Context, tool.Caller) (string, error),
) (*sdk.GetPromptResult, error) {
	out := &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{}}
	err := s.within(ctx, r, func(ctx context.Context) error {
		c, err := s.caller(ctx, name, r, r.Params.Meta)
		if err != nil {
			return err
		}
		said, err := text(ctx, c)
		if said != "" {
			out.Messages = append(out.Messages, &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: said}})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
