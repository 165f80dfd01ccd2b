package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/store/internal/batch"
)

// SQLSTATE codes that mean something to us.
const (
	codeUnique        = "23505"
	codeDivision      = "22012" // by zero
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codeCanceled      = "57014" // statement_timeout, too
	codeLockTimeout   = "55P03"
	codeNoPrivilege   = "42501"
	codeNoTable       = "42P01"
	codeNoSchema      = "3F000"
	codeNoColumn      = "42703"
	codeNoDatabase    = "3D000"
	codeBadPassword   = "28P01"
	codeNoLogin       = "28000"
	codeTooMany       = "53300"
	codeDiskFull      = "53100"
	codeNoStatement   = "26000" // a prepared statement that is not there: a pooler in between
	codeStatementMet  = "42P05" // one that is there already: likewise
	codeNoOption      = "42704" // while connecting: a setting that is none
	codeBadOption     = "22023" // … or may not be so
)

// codeOf is the SQLSTATE of an error, or "".
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// isLost reports whether the connection went, or was never there: the server may have
// failed over to another one.
func isLost(err error) bool {
	if code := codeOf(err); code != "" {
		return strings.HasPrefix(code, "08") || code == "57P01" || code == "57P02" || code == "57P03" ||
			code == codeReadOnly
	}
	var network net.Error
	var connecting *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connecting) || pgconn.SafeToRetry(err) ||
		errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "unexpected EOF") ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "connection reset") ||
		strings.Contains(err.Error(), "broken pipe")
}

// isConnecting reports whether there was no connection yet.
func isConnecting(err error) bool {
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting)
}

// databaseOf is the database that nobody could connect to.
func databaseOf(err error) string {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return ""
	}
	return connecting.Config.Database
}

// refusedOption says which option of a URL the server refuses; "" for none.
func refusedOption(err error) string {
	var refusal *pgconn.PgError
	if !isConnecting(err) || !errors.As(err, &refusal) {
		return ""
	}
	if refusal.Code != codeNoOption && refusal.Code != codeBadOption {
		return ""
	}
	return "the database server refuses an option of the store's URL: " + refusal.Message
}

// isRelayed reports whether a node that is well tells of another one that it did not reach. What
// it says of itself ends the connection, and is no mere error.
func isRelayed(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.SeverityUnlocalized == "ERROR" && e.Code != codeReadOnly && isLost(err)
}

// A waitedError says that there was no connection for as long as a call waits for one. It is not
// waited for again: five times would be most of a minute.
type waitedError struct{ error }

func (e *waitedError) Unwrap() error { return e.error }

// mayPass reports whether what failed may work when it is tried again.
func mayPass(err error) bool {
	var waited *waitedError
	if errors.As(err, &waited) {
		return false
	}
	switch codeOf(err) {
	case codeSerialization, codeDeadlock, codeTooMany:
		return true
	}
	return errors.Is(err, batch.ErrStale) || isLost(err)
}

// attempts bounds how often something is tried, with pauses that grow in between.
const attempts = 5

// firstPause is before the second try; each is four times the one before.
const firstPause = 5 * time.Millisecond

// again runs what changes nothing until it works, fails for good, or has failed too often. What took
// longer to fail than a server may say nothing is not tried again: that would take as long once more.
func (s *Store) again(ctx context.Context, do func() error) error {
	began, pause := time.Now(), firstPause
	for n := 1; ; n++ {
		err := do()
		if err == nil || ctx.Err() != nil || n == attempts || !mayPass(err) || time.Since(began) > silence {
			return err
		}
		if !errors.Is(err, batch.ErrStale) {
			if patience.Sleep(ctx, pause/2+rand.N(pause)) != nil {
				return err
			}
			pause *= 4
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
	if e.Msg = refusedOption(err); e.Msg != "" {
		e.Code, e.Recovery = loci.Invalid, "Take it out, or see PostgreSQL's manual for what it may be."
		return e
	}
	switch codeOf(err) {
	case codeCanceled, codeLockTimeout:
		e.Msg, e.Recovery = "the database took too long", "Try again; if it persists, look for long transactions in pg_stat_activity."
	case codeReadOnly:
		e.Msg, e.Recovery = "the database server is read-only", "Give the URL of the primary, or several hosts with target_session_attrs=read-write."
	case codeNoPrivilege:
		e.Code, e.Msg = loci.Unsupported, "the role may not use the tables"
		e.Recovery = "Run loci migrate with the URL of the tables' owner and --role with the name of this role."
	case codeNoTable, codeNoSchema, codeNoColumn:
		e.Code, e.Msg = loci.Unsupported, "the database does not have the tables of this build"
		e.Recovery = "Run loci migrate with the URL of the role that is to own them."
	case codeNoDatabase:
		e.Code, e.Msg = loci.Unsupported, fmt.Sprintf("the database %q does not exist", databaseOf(err))
		e.Recovery = "Make it with createdb, encoding UTF8, then run loci migrate; or name another one in the URL."
	case codeNoLogin, codeBadPassword:
		e.Code, e.Msg, e.Recovery = loci.Unsupported, "the database server refuses the role or its password", loginRemedy(err)
	case codeTooMany:
		e.Msg, e.Recovery = "the database server has no connection left", "Lower pool_max_conns of each server, or use a pooler."
	case codeDiskFull:
		e.Msg, e.Recovery = "the disk of the database server is full; nothing was stored", "Free some space there, then try again."
	case codeNoStatement, codeStatementMet:
		e.Msg = "a pooler between here and the database server mixes up prepared statements"
		e.Recovery = "Add default_query_exec_mode=exec to the URL."
	case codeSerialization, codeDeadlock:
		e.Msg, e.Recovery = "the database server gave up a transaction in favour of another one", "Try again."
	case "":
		return translateUncoded(e)
	default:
		if isLost(err) {
			e.Msg, e.Recovery = "the database server is starting or ending", "Try again in a moment."
			return e
		}
		e.Code, e.Msg = loci.Internal, "the database failed"
	}
	return e
}

// translateUncoded says what went wrong where the server gave no code: it was not reached, or
// the call ended first.
func translateUncoded(e *loci.Error) error {
	err := e.Err
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !isConnecting(err) {
		return translateEnd(e.Op, err)
	}
	if errors.Is(err, batch.ErrStale) {
		e.Msg, e.Recovery = err.Error(), "Try again."
		return e
	}
	if msg, recovery := faultOfTLS(err); msg != "" {
		e.Code, e.Msg, e.Recovery = loci.Unsupported, msg, recovery
		return e
	}
	e.Msg, e.Recovery = "the database server does not answer", "Check that it runs and that its host and port are those of the URL."
	return e
}

// translateEnd is the error for a context that ended, or a wait of ours.
func translateEnd(op string, err error) error {
	ended := loci.AsError(err)
	if ended.Op == "" {
		ended.Op = op
	}
	return ended
}
