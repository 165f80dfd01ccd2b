package loci

import (
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/internal/label"
)

// Code says what kind of failure an [Error] is. Surfaces map codes to their own
// vocabulary (exit codes, HTTP status, MCP error results); the set is closed.
type Code string

// The codes an [Error] can carry.
const (
	Invalid         Code = "invalid"         // the request itself is wrong; the same request will fail again
	Unauthenticated Code = "unauthenticated" // nobody vouches for the caller
	Forbidden       Code = "forbidden"       // the caller is known and may not do this
	NotFound        Code = "not_found"       // no such record in what the caller may see
	Conflict        Code = "conflict"        // somebody else changed it first, or a key was used for another request
	TooLarge        Code = "too_large"       // a limit on size or number is passed
	Unsupported     Code = "unsupported"     // this store or build cannot do it
	Unavailable     Code = "unavailable"     // a part is down, locked or full; retrying later may work
	Internal        Code = "internal"        // a defect; details are logged, never shown
)

// recoveries say what to do next where an error does not say so itself.
var recoveries = map[Code]string{
	Invalid:         "Correct what the message names and try again.",
	Unauthenticated: "Authenticate and call again.",
	Forbidden:       "Use a credential that has the permission, or leave this call out.",
	NotFound:        "Search again to get a current id.",
	Conflict:        "Read the current state and decide again.",
	TooLarge:        "Send less at once.",
	Unsupported:     "Use a store or a version of Loci that can do this.",
	Unavailable:     "Try again in a few seconds.",
	Internal:        "Try again; if it persists, look at the server's log.",
}

// Error is the one error type of Loci. Msg is meant for the caller: it names the field, the limit and the remedy, and
// never carries another caller's data. Err, when set, is the cause; it is for logs only.
type Error struct {
	Code     Code
	Op       string // the operation that failed, such as "store fact"; for logs
	Msg      string // what the caller is told
	Recovery string // what to do next; empty: a sentence that fits the code
	Err      error  // the cause, logged but not shown
}

// Sentinels for errors.Is: any *Error of the same code matches.
var (
	ErrInvalid     = &Error{Code: Invalid}
	ErrForbidden   = &Error{Code: Forbidden}
	ErrNotFound    = &Error{Code: NotFound}
	ErrConflict    = &Error{Code: Conflict}
	ErrTooLarge    = &Error{Code: TooLarge}
	ErrUnsupported = &Error{Code: Unsupported}
	ErrUnavailable = &Error{Code: Unavailable}
)

// Errorf makes an Error; a %w verb sets its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns the message for the caller, or the code when there is none.
func (e *Error) Error() string {
	if e.Msg == "" {
		return string(e.Code)
	}
	return e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a sentinel of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Msg == "" && t.Code == e.Code
}

// Advice returns what the caller should do next.
func (e *Error) Advice() string {
	if e.Recovery != "" {
		return e.Recovery
	}
	return recoveries[e.Code]
}

// AsError turns any error into an Error that is safe to show: context errors
// become Unavailable, a [*ConfigurationError] becomes Invalid, anything else that
// is not an Error becomes Internal with its text kept as the hidden cause.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var c *ConfigurationError
	switch {
	case errors.As(err, &c):
		return &Error{Code: Invalid, Msg: c.Error(), Err: err,
			Recovery: "Name it with the request: over REST in its header (such as Loci-User), over MCP in _meta, on the command line with its flag. Or set it in the configuration."}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Unavailable, Msg: "the operation took too long and was stopped", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Unavailable, Msg: "the operation was cancelled", Err: err}
	}
	return &Error{Code: Internal, Msg: "internal error", Err: err}
}

// A ConfigurationError says that a namespace template names a variable which the caller's configuration does not set.
// It is the operator's mistake, not the model's, so it aborts the call instead of becoming a tool's reply.
type ConfigurationError struct {
	Key       string
	Available []string // the names that are set, sorted
}

// Error returns the message in the form users of such configuration know.
func (e *ConfigurationError) Error() string {
	return fmt.Sprintf("ConfigurationError: Missing key in 'configurable' field: %s. Available keys: [%s]",
		e.Key, label.Quoted(e.Available))
}
