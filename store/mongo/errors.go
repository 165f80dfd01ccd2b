package mongo

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/store/internal/batch"
)

// Codes of errors that mean something to us.
const (
	codeUnauthorized  = 13
	codeAuthFailed    = 18
	codeConflict      = 112
	codeNoTransaction = 251
	codeExceeded      = 50
	codeTooOld        = 239
	codeUnavailable   = 246
	codeDiskFull      = 14031
	codeExists        = 48 // a collection
	codeDuplicate     = 11000
)

// Labels of errors, as the driver's specification says.
const (
	labelTransient = "TransientTransactionError"
	labelUnknown   = "UnknownTransactionCommitResult"
)

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

func hasCode(err error, codes ...int) bool {
	return slices.ContainsFunc(mongo.ErrorCodes(err), func(code int) bool { return slices.Contains(codes, code) })
}

// notPrimary are the codes of a server that is no primary, or is ending.
var notPrimary = []int{91, 189, 10107, 11600, 11602, 13435, 13436}

// isLost reports whether the connection went, or was never there: the primary may be another
// server now.
func isLost(err error) bool {
	var network net.Error
	var selection topology.ServerSelectionError
	return mongo.IsNetworkError(err) || hasCode(err, notPrimary...) || errors.As(err, &selection) ||
		errors.As(err, &network) || errors.Is(err, net.ErrClosed)
}

// isAuth reports whether a connection was refused because of who asked for it: the driver
// shows that by its text alone.
func isAuth(err error) bool {
	return strings.Contains(err.Error(), "auth error") || strings.Contains(err.Error(), "AuthenticationFailed")
}

// isTLS reports whether a connection could not be made secret: the driver shows that by its
// text alone.
func isTLS(err error) bool {
	return strings.Contains(err.Error(), "x509: ") || strings.Contains(err.Error(), "tls: ")
}

// isConflict reports whether another transaction was in the way.
func isConflict(err error) bool {
	return hasCode(err, codeConflict, codeNoTransaction, codeTooOld, codeUnavailable) ||
		hasLabel(err, labelTransient) && !isLost(err)
}

// mayPass reports whether what failed may work when it is tried again.
func mayPass(err error) bool {
	return isConflict(err) || isLost(err) || errors.Is(err, batch.ErrStale) || hasLabel(err, labelTransient) ||
		hasCode(err, codeDuplicate)
}

const (
	// attempts bounds how often something is tried, with pauses that grow in between.
	attempts = 5

	// firstPause is before the second try; each is four times the one before.
	firstPause = 5 * time.Millisecond

	// longestPause is the longest one while another transaction is in the way.
	longestPause = 200 * time.Millisecond
)

// pause waits before the try after the nth, and reports whether there is to be one. Who is in
// the way of a write goes, so that only the context bounds the waiting.
func pause(ctx context.Context, n int, err error) bool {
	if !mayPass(err) {
		return false
	}
	wait := firstPause << min(2*(n-1), 20)
	if isConflict(err) {
		wait = min(firstPause<<min(n-1, 10), longestPause)
	} else if n >= attempts {
		return false
	}
	return patience.Sleep(ctx, wait/2+rand.N(wait)) == nil
}

// again runs what changes nothing until it works, fails for good, or has failed too often.
func again(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil || ctx.Err() != nil || n == attempts || !pause(ctx, n, err) {
			return err
		}
	}
}

// translate says in our words what went wrong.
func translate(op string, err error) error {
	if err == nil {
		return nil
	}
	var coded *loci.Error
	if errors.As(err, &coded) {
		return err
	}
	e := &loci.Error{Code: loci.Unavailable, Op: op, Err: err}
	switch {
	case hasCode(err, codeUnauthorized):
		e.Code, e.Msg = loci.Unsupported, "the user may not use the database"
		e.Recovery = `Give it the role: db.grantRolesToUser("USER", [{role: "readWrite", db: "DATABASE"}]) in mongosh.`
	case hasCode(err, codeAuthFailed):
		e.Code, e.Msg = loci.Unsupported, "the database server refuses the user or its password"
		e.Recovery = "Check both, and authSource in the URL: the database in which the user was made."
	case hasCode(err, codeDiskFull):
		e.Msg, e.Recovery = "the disk of the database server is full; nothing was stored", "Free some space there, then try again."
	case hasCode(err, codeExceeded):
		e.Msg, e.Recovery = "the database took too long", "Try again; if it persists, look for long operations with db.currentOp()."
	case isConflict(err), hasCode(err, codeDuplicate):
		e.Msg = "other writes of the tenant were in the way for too long"
		e.Recovery = "Try again: what a server that was killed left behind ends after transactionLifetimeLimitSeconds, 60 if nothing else is set."
	case errors.Is(err, batch.ErrStale):
		e.Msg, e.Recovery = err.Error(), "Try again."
	case isAuth(err):
		e.Code, e.Msg = loci.Unsupported, "the database server refuses the user or its password"
		e.Recovery = "Check both, and authSource in the URL: the database in which the user was made."
	case isTLS(err):
		e.Code, e.Msg = loci.Unsupported, "the database server and the URL do not agree on TLS"
		e.Recovery = "Check tls=true, and tlsCAFile in the URL: the certificate of whoever signed the server's, which must name the host."
	case isLost(err):
		e.Msg = "the database server does not answer"
		e.Recovery = "Check that it runs, has a primary, that hosts and replicaSet are those of the URL, and tls=true where it asks for TLS, and only there."
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), mongo.IsTimeout(err):
		return ended(op, err)
	default:
		e.Code, e.Msg = loci.Internal, "the database failed"
	}
	return e
}

// ended is the error for a context that ended, or a wait of ours.
func ended(op string, err error) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(context.DeadlineExceeded, err)
	}
	e := loci.AsError(err)
	if e.Op == "" {
		e.Op = op
	}
	return e
}
