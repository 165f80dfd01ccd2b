package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
)

// A Tier says how careful a client must be with a tool.
type Tier string

// The tiers there are.
const (
	ReadOnly      Tier = "ReadOnly"      // changes nothing
	SideEffecting Tier = "SideEffecting" // changes what is remembered
)

// Annotations are the hints that clients show or act upon, under their names in
// the Model Context Protocol. Every tool states all four.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`    // changes nothing
	Destructive bool `json:"destructiveHint"` // may change or remove what is there, not only add
	Idempotent  bool `json:"idempotentHint"`  // the same call again has no further effect
	OpenWorld   bool `json:"openWorldHint"`   // reaches beyond the memory itself
}

// A Tool is one function for a language model. Its fields describe it and must
// not be changed; [Tool.Call] runs it and is safe for concurrent use.
type Tool struct {
	Name        string
	Title       string
	Description string
	Family      string
	Tier        Tier
	Timeout     time.Duration
	Annotations Annotations

	// Original is the name of the tool where nothing else is called so. Renamed says that
	// it got its family as prefix by itself, since an earlier tool has that name.
	Original string
	Renamed  bool

	// Secondary tools are not named by general instructions to a model: what they say
	// of themselves is enough.
	Secondary bool

	InputSchema  json.RawMessage // of the arguments
	OutputSchema json.RawMessage // of Reply.Structured and of [ErrorReply]; nil: the tool replies only in text

	base      *base
	scopes    []loci.Scope // the caller needs one of them
	template  loci.Template
	arguments *jsonschema.Schema // what InputSchema shows
	choice    *choice            // the argument whose words need scopes of their own; nil: none
	bind      func(arguments) (work, error)

	// envelope turns every failure into a reply, for a tool whose replies all have one
	// form; it then checks all arguments itself. Nil: failures are errors.
	envelope func(args json.RawMessage, err error) Reply
	files    *filesPlace // of the tool memory
	raised   bool        // its entry asks for more care than it needs: it changes nothing
}

// Reads reports whether the tool changes nothing, however careful its entry wants callers to be.
func (t *Tool) Reads() bool { return t.Annotations.ReadOnly || t.raised }

// A Caller is who calls, and for which request.
type Caller struct {
	Principal      loci.Principal
	RequestID      string // for the audit log
	IdempotencyKey string // makes a write repeatable; see [loci.View]
	Client         string // the calling program, kept as the source of what it stores
	Connection     string // of a line that stays open: what is saved in it without a session belongs together

	// Confirms makes a call that would erase several memories at once fail with an
	// [*UnconfirmedError], unless Agreed is the mark of exactly these.
	Confirms bool
	Agreed   string
}

// A Reply is what a call returns. Text is for the model; Structured, when not
// nil, is a JSON object with the same content for programs.
type Reply struct {
	Text       string
	Structured json.RawMessage

	// Err is why the call failed, where the tool tells that in a form of its own: a
	// surface shows the reply and marks it as an error. Nil if it did not fail.
	Err error
}

// ErrorReply shows a failed call to a model: the message as text, and
// {"error", "code", "recovery"} for programs.
func ErrorReply(err error) Reply {
	e := loci.AsError(err)
	structured, _ := encode(struct { // three strings: cannot fail
		Error    string    `json:"error"`
		Code     loci.Code `json:"code"`
		Recovery string    `json:"recovery"`
	}{e.Error(), e.Code, e.Advice()})
	return Reply{Text: e.Error(), Structured: structured}
}

// work is a call whose arguments are checked already.
type work func(context.Context, *call) (Reply, error)

// Call runs the tool. It returns within the tool's Timeout, whatever happens
// inside, and a panic inside is an Internal error. Every error is a [*loci.Error],
// to be shown with [ErrorReply], or a [*loci.ConfigurationError], which is not the
// model's fault and is no tool result: the surface aborts the request with it.
func (t *Tool) Call(ctx context.Context, c Caller, args json.RawMessage) (reply Reply, err error) {
	begun := time.Now()
	ctx, ended := trail.Begin(ctx, trail.Step{Kind: trail.Tool, Name: t.Name})
	defer func() {
		if p := recover(); p != nil {
			reply, err = Reply{}, t.panicked(ctx, c, p)
		}
		err = bounded(err)
		ended(trail.End{Code: t.leaveTrail(ctx, err, time.Since(begun))})
		if err != nil && t.envelope != nil {
			t.report(ctx, c, err)
			reply, err = t.envelope(args, err), nil
		}
	}()
	if err := t.permit(c.Principal); err != nil {
		return Reply{}, err
	}
	given, err := parseArguments(args, t.base.cfg.MaxArguments)
	if err != nil {
		return Reply{}, err
	}
	if t.envelope == nil {
		if err := refuseTenant(c.Principal, given); err != nil {
			return Reply{}, err
		}
	}
	if err := checkBounds(t.arguments, given); err != nil {
		return Reply{}, err
	}
	w, err := t.bind(given)
	if err != nil {
		return Reply{}, err
	}
	return t.limit(ctx, c, w)
}

// leaveTrail says how a call ended, to the server that the request came through. code is that
// of the error.
func (t *Tool) leaveTrail(ctx context.Context, err error, took time.Duration) (code string) {
	done := trail.Call{Tool: t.Name, Took: took}
	if err != nil {
		code := loci.AsError(err).Code
		var question *UnconfirmedError // it is no refusal of authority
		if code == loci.Forbidden && !errors.As(err, &question) {
			trail.Refuses(ctx, t.Name)
			var lacking *loci.ScopeError
			if errors.As(err, &lacking) {
				trail.Lacks(ctx, lacking.Names()...)
			}
		}
		done.Code = string(code)
	}
	trail.Called(ctx, done)
	return done.Code
}

// permit refuses a principal that has none of the tool's scopes, or may not use its
// family. A tool with several actions asks again for the one it is about to do; see
// [call.require].
func (t *Tool) permit(p loci.Principal) error {
	if err := t.allowed(p); err != nil {
		return err
	}
	names, suspended := make([]string, len(t.scopes)), error(nil)
	for i, s := range t.scopes {
		err := p.Require(s)
		if err == nil {
			return nil
		}
		if lacking := (*loci.ScopeError)(nil); !errors.As(err, &lacking) {
			suspended = err
		}
		names[i] = strconv.Quote(string(s))
	}
	if suspended != nil {
		return suspended
	}
	return &loci.Error{Code: loci.Forbidden, Err: &loci.ScopeError{OneOf: t.scopes},
		Msg: fmt.Sprintf("%s needs the scope %s, which this credential lacks", t.Name, strings.Join(names, " or "))}
}

// refuseTenant refuses arguments that try to choose a tenant, even the caller's
// own: a model that may name one will sooner or later be talked into another.
// For an operator they are unknown arguments like any other.
func refuseTenant(p loci.Principal, given arguments) error {
	if p.May(loci.ScopeAdmin) && p.May(loci.ScopeElevate) {
		return nil
	}
	for _, a := range given {
		if strings.Contains(strings.ToLower(a.name), "tenant") {
			return &loci.Error{Code: loci.Forbidden,
				Msg:      fmt.Sprintf("argument %q is refused: the tenant follows from the credential and cannot be chosen by a call", clip(a.name, 64)),
				Recovery: "Leave the argument out."}
		}
	}
	return nil
}

var errTimedOut = errors.New("the tool's time is up")

// limit runs w in its own goroutine, so that the caller has an answer at the
// deadline even when something inside does not heed its context.
func (t *Tool) limit(ctx context.Context, c Caller, w work) (Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, errTimedOut)
	defer cancel()
	type outcome struct {
		reply Reply
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: t.panicked(ctx, c, p)}
			}
			done <- o
		}()
		o.reply, o.err = w(ctx, &call{Caller: c, tool: t})
	}()
	select {
	case o := <-done:
		return o.reply, t.failure(ctx, o.err)
	case <-ctx.Done():
	}
	select {
	case o := <-done: // both at once: what was done counts
		return o.reply, t.failure(ctx, o.err)
	default:
		return Reply{}, t.failure(ctx, ctx.Err())
	}
}

// failure brings an error to one of the two types that Call returns.
func (t *Tool) failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var c *loci.ConfigurationError
	if errors.As(err, &c) {
		return c
	}
	e := loci.AsError(err)
	if e.Code != loci.Unavailable || context.Cause(ctx) != errTimedOut { //nolint:errorlint // our own value, never wrapped
		return e
	}
	late := &loci.Error{Code: loci.Unavailable, Err: err,
		Msg: "tool timed out after " + strconv.FormatFloat(t.Timeout.Seconds(), 'f', -1, 64) + "s"}
	if t.Tier == SideEffecting {
		late.Recovery = "It was done completely or not at all: search to see which before you call again."
	}
	return late
}

// bounded shortens a message that repeats too much of what the caller sent.
func bounded(err error) error {
	const most = 1000
	e, coded := err.(*loci.Error) //nolint:errorlint // what failure and the checks return is not wrapped
	if !coded || len(e.Msg) <= most {
		return err
	}
	short := *e
	short.Msg = clip(e.Msg, most) + " …"
	return &short
}

// report logs what is not the model's fault and what no surface will see any more.
func (t *Tool) report(ctx context.Context, c Caller, err error) {
	var missing *loci.ConfigurationError
	if e := loci.AsError(err); errors.As(err, &missing) || e.Code == loci.Internal ||
		e.Code == loci.Unavailable && e.Err != nil && ctx.Err() == nil {
		t.base.logger.ErrorContext(ctx, "tool failed", "tool", t.Name, "request_id", c.RequestID, "code", string(e.Code), "op", e.Op, "cause", e.Err)
	}
}

// panicked reports a panic to the log; called while recovering.
func (t *Tool) panicked(ctx context.Context, c Caller, p any) error {
	t.base.logger.ErrorContext(ctx, "tool panicked", "tool", t.Name, "request_id", c.RequestID,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return &loci.Error{Code: loci.Internal, Op: t.Name, Msg: "internal error", Err: fmt.Errorf("panic: %v", p)}
}

// A call is one run of a tool.
type call struct {
	Caller
	tool *Tool
}

// require refuses a caller that lacks a scope.
func (c *call) require(s loci.Scope) error { return c.Principal.Require(s) }

// memory binds a handle to the caller's place.
func (c *call) memory() (*loci.Memory, error) { return c.memoryAt(c.tool.template) }

// memoryAt is memory for another place than the tool's own.
func (c *call) memoryAt(template loci.Template) (*loci.Memory, error) {
	engine := c.tool.base.engine
	if engine == nil {
		return nil, &loci.Error{Code: loci.Unavailable, Msg: "memory is not configured",
			Recovery: "Ask the operator to configure a store."}
	}
	namespace, err := template.Resolve(c.Principal.Vars())
	if err != nil {
		return nil, err
	}
	return engine.Memory(loci.View{
		Tenant: c.Principal.Tenant(), Namespace: namespace, Actor: c.Principal.Subject(),
		RequestID: clip(c.RequestID, 256), IdempotencyKey: c.IdempotencyKey,
		Source:   loci.Source{Kind: "agent", Client: clip(c.Client, 256), Tool: c.tool.Name},
		Sequence: cmp.Or(c.Principal.Var(loci.VarSession), c.Principal.Var(loci.VarThread), c.Connection),
	})
}

// clip shortens what somebody else wrote to n characters of valid text.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
