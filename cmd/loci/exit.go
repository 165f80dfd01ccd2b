package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/internal/terminal"
)

// The exit codes; scripts rely on them.
const (
	exitOK          = 0
	exitInternal    = 1
	exitInvalid     = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitForbidden   = 5
	exitUnavailable = 6
	exitTooLarge    = 7
	exitUnsupported = 8
	exitInterrupted = 130 // as shells report SIGINT
)

// exitTable describes them in the help.
const exitTable = `    0    done
    1    an internal error
    2    arguments or configuration are not valid
    3    there is no such memory or tool
    4    somebody else changed it first, or the count is not the expected one
    5    not allowed
    6    a part is down, locked or full; trying again may help
    7    too large
    8    this store or build cannot do it
    130  interrupted`

var exitCodes = map[loci.Code]int{
	loci.Invalid:         exitInvalid,
	loci.NotFound:        exitNotFound,
	loci.Conflict:        exitConflict,
	loci.Forbidden:       exitForbidden,
	loci.Unauthenticated: exitForbidden,
	loci.Unavailable:     exitUnavailable,
	loci.TooLarge:        exitTooLarge,
	loci.Unsupported:     exitUnsupported,
	loci.Internal:        exitInternal,
}

// errorJSON is what --json writes to standard error.
type errorJSON struct {
	Error    string `json:"error"`
	Code     string `json:"code"`
	Recovery string `json:"recovery,omitempty"`
	Cause    string `json:"cause,omitempty"`
}

// report tells about an error and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if a.ctx.Err() != nil { // whatever failed then, failed because of it
		a.reportAs(errorJSON{Error: "interrupted", Code: "interrupted", Recovery: "What was done stays done; run the command again for the rest."})
		return exitInterrupted
	}
	e := loci.AsError(err)
	out := errorJSON{Error: e.Error(), Code: string(e.Code), Recovery: e.Advice()}
	if lacking := (*loci.ScopeError)(nil); errors.As(err, &lacking) { // there is no other credential here
		out.Recovery = "The setting scopes says what you may do; give LOCI_SCOPES for one call: LOCI_SCOPES=" +
			a.scopesWith(lacking.OneOf[0]) + " loci " + a.called + "."
	}
	if e.Code == loci.Internal && e.Err != nil {
		// Whoever runs the command is the operator: nobody else could read a log.
		out.Cause = cause(e.Err)
	}
	a.reportAs(out)
	if code, ok := exitCodes[e.Code]; ok {
		return code
	}
	return exitInternal
}

// scopesWith are the scopes of this call and one more, as LOCI_SCOPES takes them: what it says is all there are.
func (a *app) scopesWith(more loci.Scope) string {
	var names []string
	for _, s := range loci.Scopes {
		if s == more || a.principal.May(s) {
			names = append(names, string(s))
		}
	}
	return strings.Join(names, ",")
}

func (a *app) reportAs(e errorJSON) {
	if a.json {
		enc := json.NewEncoder(a.err)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(e) // standard error is the last resort
		return
	}
	a.note("loci: %s", terminal.Clean(e.Error, true))
	if e.Cause != "" {
		a.note("cause: %s", terminal.Clean(e.Cause, true))
	}
	if e.Recovery != "" {
		a.note("%s", terminal.Clean(e.Recovery, true))
	}
}

// cause is what lies behind an internal error, without the types of Go that package
// json names.
func cause(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return jsonform.Fault(err)
	}
	return err.Error()
}

// fileError tells what went wrong with a file or a stream.
func fileError(name string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return oserror.Of(name, err)
}
