package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/tool"
)

// An adapter puts what every request goes through between the mux and huma: who
// asks, whether they may, and a guard in front of the body.
type adapter struct{ *API }

// ServeHTTP is part of huma's interface.
func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.API.ServeHTTP(w, r) }

// Handle registers an operation.
func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	limit, scope := op.MaxBodyBytes, scopeOf(op)
	tools, _ := op.Metadata[toolsKey].(bool)
	if op.RequestBody == nil {
		limit = 0
	}
	op.MaxBodyBytes = -1 // has been applied when huma reads the body
	a.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.opts.Timeout)
		defer cancel()
		trail.Does(ctx, op.OperationID)
		r = r.WithContext(ctx)
		defer a.recover(w, r, op)
		w.Header().Set("Cache-Control", "no-store") // a memory is nobody else's
		c, err := a.caller(r)
		if err == nil {
			err = permit(c.Principal, scope, tools)
		}
		if err == nil {
			err = guardQuery(op, r.URL.RawQuery)
		}
		if err == nil {
			err = a.guardBody(w, r, op.RequestBody, limit)
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(ctx, callerKey{}, c))
		handler(&exchange{humago.NewContext(op, r, w)})
	})
}

// An exchange is a request and its response. Huma answers 422 when its schemas refuse a
// request; here every invalid request gets 400.
type exchange struct{ humaContext }

// humaContext is another name for embedding: the interface has a method Context.
type humaContext huma.Context

// SetStatus is part of huma's interface.
func (e *exchange) SetStatus(code int) {
	if code == http.StatusUnprocessableEntity {
		code = http.StatusBadRequest
	}
	e.humaContext.SetStatus(code)
}

// Unwrap is what humago.Unwrap looks for.
func (e *exchange) Unwrap() huma.Context { return e.humaContext }

// permit refuses a caller that lacks a scope, and one for some families of tools where
// something else is done.
func permit(p loci.Principal, scope loci.Scope, tools bool) error {
	if !tools && tool.Limited(p) {
		return &loci.Error{Code: loci.Forbidden, Msg: "this credential is for some families of tools alone",
			Recovery: "Call tools, at /v1/tools/{name} or over MCP, or use another credential."}
	}
	if scope == "" {
		return nil
	}
	return p.Require(scope)
}

// recover answers a request whose handler panicked, if it can still be answered.
func (a *API) recover(w http.ResponseWriter, r *http.Request, op *huma.Operation) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	a.opts.Logger.ErrorContext(r.Context(), "request panicked", "operation", op.OperationID, "request_id", requestID(r.Header),
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	a.refuse(w, r, &loci.Error{Code: loci.Internal, Op: op.OperationID, Msg: "internal error"})
}

// refuse answers with a problem.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := a.problem(r.Context(), requestID(r.Header), err)
	p.Write(w)
}

// problem makes the problem of an error, and logs what the caller is not told.
func (a *API) problem(ctx context.Context, requestID string, err error) *problem.Problem {
	var p *problem.Problem
	if !errors.As(err, &p) {
		e := loci.AsError(err)
		var tokens *loci.TokensError // a limit, and no fault
		failed := e.Code == loci.Unavailable && e.Err != nil && ctx.Err() == nil && !errors.As(err, &tokens)
		if e.Code == loci.Internal || failed {
			a.opts.Logger.ErrorContext(ctx, "request failed", "request_id", requestID, "code", string(e.Code), "op", e.Op, "cause", e.Err)
		}
		if e.Code == loci.Forbidden {
			trail.Refuses(ctx, "")
			var lacking *loci.ScopeError
			if errors.As(err, &lacking) {
				trail.Lacks(ctx, lacking.Names()...)
			}
		}
		p = problem.Of(e)
	}
	p.RequestID = requestID
	return p
}

// maxEmptyBody is what a body may have that says nothing: an empty object, and white space.
const maxEmptyBody = 64

// guardBody reads the body, checks it and puts it back. limit is in bytes; 0: there
// should be none.
func (a *API) guardBody(w http.ResponseWriter, r *http.Request, described *huma.RequestBody, limit int64) error {
	if limit > 0 {
		if err := checkContentType(r); err != nil {
			return err
		}
	}
	none := limit == 0
	if none && r.Method == http.MethodPost {
		limit = maxEmptyBody // many a client sends {} with every POST
	}
	tooLong := loci.Errorf(loci.TooLarge, "the body is longer than %d bytes: send less at once", limit)
	if !none && r.ContentLength > limit {
		return tooLong // without waiting for it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge) && none, none && !slices.Contains([]string{"", "{}"}, string(bytes.TrimSpace(body))):
		return loci.Errorf(loci.Invalid, "this request takes no body: leave it out")
	case errors.As(err, &tooLarge):
		return tooLong
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem.At(http.StatusRequestTimeout, loci.Errorf(loci.Unavailable, "the body did not come in time"))
	case err != nil:
		return loci.Errorf(loci.Invalid, "the body did not come whole: %w", err)
	}
	if none {
		body = nil
	}
	if len(body) > 0 {
		err := checkJSON(body)
		if err == nil {
			err = a.checkSizes(described, body)
		}
		if err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// checkContentType refuses bodies that are not called JSON: a browser's form could
// be sent without asking the server first.
func checkContentType(r *http.Request) error {
	if encoding := r.Header.Get("Content-Encoding"); !jsonguard.Plain(encoding) {
		return problem.At(http.StatusUnsupportedMediaType, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("the encoding %.100q is not taken here", encoding),
			Recovery: "Send the body as it is, without the header Content-Encoding."})
	}
	given := r.Header.Get("Content-Type")
	if given == "" && r.ContentLength == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem.At(http.StatusUnsupportedMediaType, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("the media type %.100q is not taken here", given),
			Recovery: "Send JSON in UTF-8, with the header Content-Type: application/json."})
	}
	return nil
}

func checkJSON(body []byte) error {
	switch fault := jsonguard.Check(body, maxDepth, nil); fault {
	case "":
		return nil
	case jsonguard.Depth:
		return loci.Errorf(loci.Invalid, "the body nests deeper than %d levels: flatten it", maxDepth)
	default:
		return loci.Errorf(loci.Invalid, "the body %s", fault.Of(body))
	}
}

// encode writes JSON.
func encode(w io.Writer, v any) error {
	data, err := jsonform.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// decode reads JSON. Numbers in values of any form stay as they are written; only
// where huma checks a body against a schema they are floats, as it wants them: those
// that no float holds are infinite then, so that a value may have them. Names are
// exact, which they are neither to huma nor to package json.
func decode(data []byte, v any) error {
	check, ok := v.(*any)
	if ok {
		if value, whole := jsonguard.Value(data); whole {
			*check = value
			return nil
		}
	}
	if err := jsonguard.CheckNames(data, v); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(v)
	if ok && err == nil {
		*check = floats(*check)
	}
	if err != nil {
		return errors.New(jsonform.Fault(err))
	}
	return nil
}

// floats makes floats of the numbers in a value.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64() // out of range: infinite
		return f
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = floats(v[key])
		}
	}
	return v
}
