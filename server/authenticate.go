package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

// headerAuthorization carries the credential. No surface sees it.
const headerAuthorization = "Authorization"

// principalKey is under which a request's context has who sends it.
type principalKey struct{}

// A Caller is who sends a request, and how many it may send.
type Caller struct {
	loci.Principal
	Limits CallerLimits

	// Delegated: an authorization server made the credential, and can make one with more
	// scopes. What such a caller lacks is a response with the status 403 on every surface.
	Delegated bool
}

// A Refusal says that somebody was refused what it may not do.
type Refusal struct {
	Caller    loci.Principal // of the credential, whatever headers chose
	Operation string         // as the surface calls it; OperationNone: the credential itself was refused
	RequestID string
	From      string // the address that it comes from, without a port; "": unknown
}

// OperationNone stands for every operation: the credential is no longer good.
const OperationNone = "authenticate"

// tellRefusal says what a request was refused, when it has ended.
func (s *Server) tellRefusal(r *http.Request) {
	if s.opts.Refused == nil {
		return
	}
	u := underwayOf(r)
	told := Refusal{Caller: u.caller.Principal, Operation: u.Refused(), RequestID: r.Header.Get(headerRequestID)}
	if u.stranger.Subject() != "" {
		told.Caller, told.Operation = u.stranger, OperationNone
	}
	if told.Operation == "" || told.Caller.Subject() == "" {
		return
	}
	told.From = s.from(r)
	s.opts.Refused(r.Context(), told)
}

// PrincipalOf returns who sends a request, as [Options].Authenticate said. false: nobody
// was asked.
func PrincipalOf(ctx context.Context) (p loci.Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(loci.Principal)
	return p, ok
}

// authenticate asks who sends a request, before its body comes in and before it takes
// anything from others. Probes need no credential, nor does the description of the server.
func (s *Server) authenticate(next http.Handler) http.Handler {
	if s.opts.Authenticate == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbe(r) || s.isMetadata(r) {
			next.ServeHTTP(w, r)
			return
		}
		c, err := s.opts.Authenticate(r)
		p := c.Principal
		if err == nil && p.Tenant().IsZero() {
			err = &loci.Error{Code: loci.Internal, Op: "authenticate", Msg: "internal error", Err: errors.New("nobody")}
		}
		if err != nil {
			underwayOf(r).stranger, underwayOf(r).reason = p, "credential"
			s.refuseCredential(w, r, err)
			return
		}
		if out, ok := w.(*response); ok {
			out.caller = p.Subject()
		}
		underwayOf(r).caller = c
		connectionOf(r.Context()).know(p.Tenant().String())
		if c.Delegated {
			underwayOf(r).MayAsk(s.opts.Resource.gives)
		}
		r.Header.Del(headerAuthorization)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, p)))
	})
}

// refuseCredential answers a request that is from nobody.
func (s *Server) refuseCredential(w http.ResponseWriter, r *http.Request, err error) {
	if e := loci.AsError(err); e.Err != nil && (e.Code == loci.Internal || e.Code == loci.Unavailable) {
		level := slog.LevelError
		if r.Context().Err() != nil { // gone, which is the caller's doing: thousands of them are no fault of ours
			level = slog.LevelInfo
		}
		s.opts.Logger.Log(r.Context(), level, "a credential could not be checked", "request_id",
			r.Header.Get(headerRequestID), "code", string(e.Code), "op", e.Op, "cause", e.Err)
	}
	p := problem.Of(err)
	if p.Status == http.StatusUnauthorized || p.Status == http.StatusBadRequest {
		w.Header().Set("WWW-Authenticate", s.bearerChallenge(r, reasonOf(err)))
	}
	refuse(w, r, p)
}

// reasonOf is why a credential was refused, as RFC 6750 calls it.
func reasonOf(err error) string {
	var known interface{ Challenge() string }
	if errors.As(err, &known) {
		return known.Challenge()
	}
	return ""
}
