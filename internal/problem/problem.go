// Package problem shows errors over HTTP as RFC 9457 says (application/problem+json).
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// ContentType is the media type of a problem.
const ContentType = "application/problem+json"

// A Problem is an error as a client sees it. It is an error itself.
type Problem struct { //nolint:errname // as RFC 9457 calls it
	Type      string    `json:"type" doc:"Always about:blank: the code tells problems apart" example:"about:blank"`
	Title     string    `json:"title" doc:"The HTTP status in words" example:"Bad Request"`
	Status    int       `json:"status" doc:"The HTTP status" example:"400"`
	Detail    string    `json:"detail" doc:"What is wrong" example:"limit is 0; it must be 1 to 1000"`
	Code      loci.Code `json:"code" enum:"invalid,unauthenticated,forbidden,not_found,conflict,too_large,unsupported,unavailable,internal" doc:"The kind of the error"`
	Recovery  string    `json:"recovery" doc:"What to do next"`
	RequestID string    `json:"request_id,omitempty" doc:"Of the request, as in the server's log"`
	Errors    []Part    `json:"errors,omitempty" doc:"The parts of a request that are wrong, if there are several or their place is known"`

	// Retry is after which time it may help to try again, where the status says so at all.
	// It is shown as Retry-After, in whole seconds and at least one.
	Retry time.Duration `json:"-"`

	tokens *loci.TokensError // of language models that are used up; nil: they are not
	cause  error             // for the log
}

// A Part is one thing that is wrong with a request.
type Part struct {
	Location string `json:"location" doc:"Where it is" example:"body.limit"`
	Message  string `json:"message" doc:"What is wrong with it" example:"must be a whole number"`
}

// statuses are the HTTP status of each code.
var statuses = map[loci.Code]int{
	loci.Invalid:         http.StatusBadRequest,
	loci.Unauthenticated: http.StatusUnauthorized,
	loci.Forbidden:       http.StatusForbidden,
	loci.NotFound:        http.StatusNotFound,
	loci.Conflict:        http.StatusConflict,
	loci.TooLarge:        http.StatusRequestEntityTooLarge,
	loci.Unsupported:     http.StatusNotImplemented,
	loci.Unavailable:     http.StatusServiceUnavailable,
	loci.Internal:        http.StatusInternalServerError,
}

// Of makes the problem of an error, with the status of its code, and with the time to try again
// where a cause has the method RetryIn. What is not meant for the caller stays in Cause.
func Of(err error) *Problem {
	e := loci.AsError(err)
	status, known := statuses[e.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	var quota *loci.QuotaError
	if errors.As(err, &quota) {
		status = http.StatusInsufficientStorage
	}
	var tokens *loci.TokensError
	if errors.As(err, &tokens) {
		p := At(http.StatusTooManyRequests, e)
		p.Retry, p.tokens = tokens.In, tokens
		return p
	}
	p := At(status, e)
	var later interface{ RetryIn() time.Duration }
	if errors.As(err, &later) {
		p.Retry = later.RetryIn()
	}
	return p
}

// At is Of with a status that HTTP knows better than the code.
func At(status int, err error) *Problem {
	e := loci.AsError(err)
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.Error(), Code: e.Code,
		Recovery: e.Advice(), cause: e.Err}
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus returns the HTTP status; the name is that of an interface of package huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of a problem, whatever a client prefers.
func (p *Problem) ContentType(string) string { return ContentType }

// Headers are what a response with this problem carries besides its media type.
func (p *Problem) Headers() http.Header {
	h := http.Header{"Cache-Control": {"no-store"}}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(p.Retry.Seconds())))))
	}
	if t := p.tokens; t != nil { // beside the rates of the request, which package server shows
		h.Set("Ratelimit-Policy", fmt.Sprintf(`"model-tokens";q=%d;w=86400`, t.Limit))
		h.Set("Ratelimit", fmt.Sprintf(`"model-tokens";r=%d;t=%.0f`, max(0, t.Limit-t.Used), math.Ceil(t.In.Seconds())))
	}
	return h
}

// Write answers a request with the problem.
func (p *Problem) Write(w http.ResponseWriter) { p.write(w, ContentType, p) }

// WriteRPC answers a message of JSON-RPC with the problem: an error without an id, as nobody has read
// the message, of which the problem is the data. Clients of MCP show this, and no other body.
func (p *Problem) WriteRPC(w http.ResponseWriter) {
	code := -32600 // the request is not a valid one
	if p.Status >= 500 || p.Status == http.StatusTooManyRequests {
		code = -32603 // there was no room, or a fault
	}
	type fault struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Data    *Problem `json:"data"`
	}
	p.write(w, "application/json", struct {
		Version string  `json:"jsonrpc"`
		ID      *string `json:"id"`
		Error   fault   `json:"error"`
	}{"2.0", nil, fault{code, p.Detail + ". " + p.Recovery, p}})
}

func (p *Problem) write(w http.ResponseWriter, contentType string, body any) {
	for name, values := range p.Headers() {
		if strings.HasPrefix(name, "Ratelimit") {
			values = append(w.Header()[name], values...)
		}
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(p.Status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(body) // nobody is left to tell
}

// NoRoute is the problem of a request that no handler takes, for the status that a
// mux gives it: 404 or 405.
func NoRoute(status int, method, path string) *Problem {
	if status == http.StatusMethodNotAllowed {
		return At(status, &loci.Error{Code: loci.Unsupported, Msg: fmt.Sprintf("%s is not possible here", method),
			Recovery: "Use a method that the header Allow names."})
	}
	return At(status, &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("there is nothing at %.200q", path),
		Recovery: "See /v1/openapi.json for what there is."})
}
