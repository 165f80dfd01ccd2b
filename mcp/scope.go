package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/loci-memory/loci/internal/trail"
)

// A stepUp answers 403 in place of a reply which says that the caller lacks a scope, if the
// caller can ask an authorization server for it: clients look at the status and at the
// header WWW-Authenticate, which the server in front writes, and not into the reply.
type stepUp struct {
	http.ResponseWriter
	ctx     context.Context //nolint:containedctx // of the request whose response it is
	id      json.RawMessage
	method  json.RawMessage
	begun   bool
	refused bool
	plain   bool // the SDK refuses it in a text of its own, which comes next
}

// WriteHeader is part of [http.ResponseWriter].
func (s *stepUp) WriteHeader(status int) {
	if s.begun {
		return
	}
	s.begun = true
	if s.plain = status == http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain"); s.plain {
		return
	}
	scopes := trail.Stopped(s.ctx)
	if status != http.StatusOK || len(scopes) == 0 {
		s.ResponseWriter.WriteHeader(status)
		return
	}
	s.refused = true
	s.Header().Set("Cache-Control", "no-store")
	refuseHTTP(s.ResponseWriter, http.StatusForbidden, s.id, &fault{jsonrpc.CodeInvalidRequest, "insufficient_scope",
		"this token lacks the scope " + strings.Join(scopes, " or ") + ": get one that has it"})
}

// Write is part of [http.ResponseWriter].
func (s *stepUp) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	if s.plain {
		s.plain, s.refused = false, bytes.HasPrefix(p, []byte("JSON RPC not handled"))
		if s.refused {
			refuseHTTP(s.ResponseWriter, http.StatusBadRequest, s.id,
				&fault{jsonrpc.CodeMethodNotFound, "method", "method not found: " + string(s.method)})
		} else {
			s.ResponseWriter.WriteHeader(http.StatusBadRequest)
		}
	}
	if s.refused {
		return len(p), nil
	}
	return s.ResponseWriter.Write(p)
}

// Flush is for replies that come in parts.
func (s *stepUp) Flush() {
	if s.begun {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // what cannot be flushed comes with the rest
	}
}

// Unwrap is what [http.ResponseController] looks for.
func (s *stepUp) Unwrap() http.ResponseWriter { return s.ResponseWriter }
