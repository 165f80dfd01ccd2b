package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// Handler serves the same tools over HTTP, without sessions, with the same guard
// in front. Whoever mounts it authenticates requests before, answers for Origin
// and Host, and sets [Options.Identify].
func (s *Server) Handler() http.Handler {
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: true, Logger: slog.New(slog.DiscardHandler), MaxRequestBodyBytes: int64(s.opts.Limits.Line),
		PropagateRequestCancellation: true, DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set(headerRequestID, idOf(r.Header))
		r.Header.Del(headerConnection) // each request stands for itself
		if r.Method != http.MethodPost {
			inner.ServeHTTP(w, r)
			return
		}
		if encoding := r.Header.Get("Content-Encoding"); !jsonguard.Plain(encoding) {
			refuseHTTP(w, http.StatusUnsupportedMediaType, nil, &fault{jsonrpc.CodeInvalidRequest, "encoding",
				fmt.Sprintf("the encoding %.100q is not taken here: send the message as it is, without the header Content-Encoding", encoding)})
			return
		}
		var body []byte
		var tooLarge *http.MaxBytesError
		tooLong := r.ContentLength > int64(s.opts.Limits.Line) // refused without waiting for it
		var err error
		if !tooLong {
			body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.opts.Limits.Line)))
		}
		switch {
		case tooLong, errors.As(err, &tooLarge):
			refuseHTTP(w, http.StatusRequestEntityTooLarge, nil, &fault{jsonrpc.CodeInvalidRequest, "line",
				fmt.Sprintf("the message is longer than %d bytes: send less at once", s.opts.Limits.Line)})
			return
		case err != nil:
			return // the client is gone
		}
		e, f := s.checkBody(body)
		if f != nil {
			refuseHTTP(w, http.StatusBadRequest, e.id, f)
			return
		}
		if e.listens() {
			ctx, done := admission.Stream(r.Context())
			defer done()
			r = r.WithContext(ctx)
		}
		if e.calls(methodInitialize) {
			if id := sessionOf(e.params); id != "" {
				w.Header().Set(headerSession, id)
			}
		}
		if e.id != nil && !e.listens() { // not of a batch: its other replies are good
			w = &stepUp{ResponseWriter: w, ctx: r.Context(), id: e.id, method: e.method}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	})
}

// methodListen is the one request whose reply is a stream without an end.
const methodListen = "subscriptions/listen"

// methodInitialize is the first request of a client of an older revision.
const methodInitialize = "initialize"

func (e *envelope) listens() bool { return e.calls(methodListen) }

func (e *envelope) calls(name string) bool {
	var method string
	return json.Unmarshal(e.method, &method) == nil && method == name
}

// checkBody refuses what the SDK would refuse, since the SDK answers in the words of its
// own types. It returns the message, of a batch the one that is refused.
func (s *Server) checkBody(body []byte) (e envelope, f *fault) {
	e, f = guard(body, s.opts.Limits.Depth)
	isBatch := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	switch {
	case f != nil && (!isBatch || !f.isInside()):
		return e, f
	case !isBatch:
		_, f = e.message()
		return e, f
	}
	var elements []json.RawMessage
	if json.Unmarshal(body, &elements) != nil {
		return envelope{}, faults[jsonguard.JSON]
	}
	if f := s.opts.Limits.batch(body, len(elements)); f != nil {
		return envelope{}, f
	}
	for _, element := range elements {
		part, f := guard(element, s.opts.Limits.Depth)
		if f == nil {
			_, f = part.message()
		}
		if f == nil && part.listens() {
			f = faultListen
		}
		if f != nil {
			return part, f
		}
	}
	return envelope{}, nil
}

// faultListen: the other requests of a batch would run as long as somebody listens.
var faultListen = &fault{
	jsonrpc.CodeInvalidRequest, "batch", methodListen + " stands in a batch: send it by itself",
}

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// idOf is the id that the server around the handler gave a request, so that its log and
// ours agree. It makes a new one if there is none, or none that a log can hold.
func idOf(h http.Header) string {
	if id := h.Get("X-Request-Id"); validRequestID.MatchString(id) {
		return id
	}
	return nonce()
}

func refuseHTTP(w http.ResponseWriter, status int, id []byte, f *fault) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(refusal(id, f)) // nobody is left to tell
}
