package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/tool"
)

// The keys of a request's _meta that Loci reads, all of them texts. Any other key
// below "loci/" is refused: a misspelt user_id must not end in another memory.
const (
	metaPrefix      = "loci/"
	metaIdempotency = metaPrefix + "idempotency_key"
	metaTenant      = metaPrefix + "tenant"
)

// maxMeta bounds the keys of a request's _meta.
const maxMeta = 100

// chosen are the variables a request may choose; [loci.Principal.With] decides
// whether this one may.
var chosen = []string{loci.VarThread, loci.VarSession, loci.VarUser, loci.VarOrg, loci.VarAgent, loci.VarButler}

// An Origin is what a transport knows of a request.
type Origin struct {
	RequestID string      // for the audit log: unique to the connection and the request
	Header    http.Header // of the HTTP request; nil on other transports
}

// headerRequestID carries the request's id from our transports through the SDK to
// the handlers; a value that a client sends is overwritten.
const headerRequestID = "Loci-Request-Id"

// headerConnection names the connection of a request in the same way, where there is one.
const headerConnection = "Loci-Connection"

func requestID(extra *sdk.RequestExtra) string {
	if extra == nil {
		return ""
	}
	return extra.Header.Get(headerRequestID)
}

// connection is the name of the connection of a request, as a sequence of memories; ""
// where each request stands for itself.
func connection(extra *sdk.RequestExtra) string {
	if extra == nil || extra.Header.Get(headerConnection) == "" {
		return ""
	}
	return "connection:" + extra.Header.Get(headerConnection)
}

// nonce tells connections apart in request ids.
func nonce() string { return strings.ToLower(rand.Text()[:10]) }

// A source is what the SDK's requests have in common.
type source interface {
	GetExtra() *sdk.RequestExtra
	ClientInfo() *sdk.Implementation
}

// originOf is where a request comes from.
func originOf(extra *sdk.RequestExtra) Origin {
	origin := Origin{RequestID: requestID(extra)}
	if extra != nil {
		origin.Header = extra.Header.Clone()
		origin.Header.Del(headerRequestID) // ours, and not the client's
		origin.Header.Del(headerConnection)
	}
	return origin
}

// caller says who makes a call of what, and refuses what the request chose without leave.
func (s *Server) caller(ctx context.Context, what string, r source, meta sdk.Meta) (tool.Caller, error) {
	origin := originOf(r.GetExtra())
	p, err := s.opts.Identify(ctx, origin)
	if err != nil {
		return tool.Caller{}, err
	}
	c := tool.Caller{RequestID: origin.RequestID, Client: client(r), Connection: connection(r.GetExtra())}
	vars, own, err := metadata(meta)
	if err != nil {
		return tool.Caller{}, err
	}
	if c.IdempotencyKey, err = idempotencyKey(own, origin.Header); err != nil {
		return tool.Caller{}, err
	}
	name, elevate := own[metaTenant]
	if elevate {
		to, bad := loci.NewTenant(name)
		p, err = p.Elevate(to)
		if bad != nil && errors.Is(err, loci.ErrInvalid) { // and not forbidden, which comes first
			err = bad
		}
		if err != nil {
			return tool.Caller{}, err
		}
	}
	if c.Principal, err = p.With(vars); err != nil {
		return tool.Caller{}, err
	}
	if !c.Principal.ElevatedFrom().IsZero() { // by _meta, or by what Identify read
		if s.opts.RecordElevation == nil {
			return tool.Caller{}, loci.Errorf(loci.Forbidden, "requests cannot choose their tenant here")
		}
		// Nothing happens that is not on record.
		if err := s.opts.RecordElevation(ctx, c.Principal, c.RequestID, what); err != nil {
			return tool.Caller{}, err
		}
	}
	return c, nil
}

// idempotencyKey is that of _meta, else that of the HTTP request.
func idempotencyKey(own map[string]string, h http.Header) (string, error) {
	key, ok := own[metaIdempotency]
	where := "_meta key " + metaIdempotency
	if sent := h.Values("Idempotency-Key"); !ok && len(sent) > 0 {
		key, ok, where = sent[0], true, "the header Idempotency-Key"
		if len(sent) > 1 {
			return "", loci.Errorf(loci.Invalid, "%s comes %d times: send one", where, len(sent))
		}
	}
	if ok && key == "" {
		return "", loci.Errorf(
			loci.Invalid,
			"%s must not be empty: leave it out, or choose a key of 1 to 256 bytes",
			where,
		)
	}
	return key, nil
}

// metadata sorts the keys of Loci in a request's _meta.
func metadata(meta sdk.Meta) (vars loci.Vars, own map[string]string, err error) {
	vars, own = loci.Vars{}, map[string]string{}
	if len(meta) > maxMeta {
		return nil, nil, loci.Errorf(
			loci.Invalid,
			"_meta has %d keys; the limit is %d: leave some out",
			len(meta),
			maxMeta,
		)
	}
	for key, value := range meta {
		if len(key) < len(metaPrefix) || !strings.EqualFold(key[:len(metaPrefix)], metaPrefix) {
			continue
		}
		text, ok := value.(string)
		name := strings.TrimPrefix(key, metaPrefix)
		isVar := slices.Contains(chosen, name)
		switch {
		case !isVar && key != metaIdempotency && key != metaTenant:
			return nil, nil, loci.Errorf(loci.Invalid, "_meta key %q is unknown: the keys are %s%s, %s and %s",
				clip(key), metaPrefix, strings.Join(chosen, ", "+metaPrefix), metaIdempotency, metaTenant)
		case !ok:
			return nil, nil, loci.Errorf(loci.Invalid, "_meta key %q must be a text", key)
		case isVar:
			vars[name] = text
		default:
			own[key] = text
		}
	}
	return vars, own, nil
}

// traceOf is the trace that a request says it belongs to. What is no text is nobody's: the
// protocol leaves these keys to whoever traces, and a call never fails for them.
func traceOf(meta sdk.Meta) (c trail.Caller) {
	c.Parent, _ = meta["traceparent"].(string)
	c.State, _ = meta["tracestate"].(string)
	return c
}

// client names the calling program, as it calls itself.
func client(r source) string {
	info := r.ClientInfo()
	switch {
	case info == nil:
		return ""
	case info.Version == "":
		return info.Name
	}
	return info.Name + "/" + info.Version
}
