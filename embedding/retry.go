package embedding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"

	"github.com/cenkalti/backoff/v5"
)

// A refusedError is an answer that repeating does not change.
type refusedError struct {
	err       *loci.Error
	divisible bool // a smaller request may work
}

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// maxRefused is how often a connection is tried that nobody accepts: a program
// that is not running does not come back within a second.
const maxRefused = 2

// post sends one request until it succeeds, is refused, or the time is over.
func (r *remote) post(ctx context.Context, texts []string) ([][]float32, error) {
	wait := backoff.NewExponentialBackOff() // 1.5 times as long each time, with half of it up to chance
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 10*time.Second
	var last error // why the attempts before failed
	refused := 0
	attempt := func() ([][]float32, error) {
		rows, err := r.attempt(ctx, texts)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			if refused++; refused == maxRefused {
				return nil, backoff.Permanent(err)
			}
		}
		return rows, err
	}
	left := r.timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline) // a wait beyond it is not begun
	}
	rows, err := backoff.Retry(ctx, attempt, backoff.WithBackOff(wait), backoff.WithMaxTries(maxAttempts), backoff.WithMaxElapsedTime(max(left, time.Nanosecond)))
	if err == nil {
		return rows, nil
	}
	return nil, r.explain(err, last)
}

// attempt makes one request and reads its answer.
func (r *remote) attempt(ctx context.Context, texts []string) ([][]float32, error) {
	if r.limiter != nil {
		if err := r.limiter.Wait(ctx); err != nil {
			return nil, backoff.Permanent(&loci.Error{Code: loci.Unavailable, Err: err,
				Msg: "the limit of requests a minute leaves no room for this one in time"})
		}
	}
	body, err := json.Marshal(r.request(texts))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	// A number takes up to 24 bytes when it is written out.
	answer, f, header, err := r.client.send(ctx, body, int64(len(texts))*loci.MaxDims*24+1<<20)
	if err != nil {
		return nil, err
	}
	if f == nil {
		rows, err := r.vectors(answer, len(texts))
		if err != nil {
			return nil, backoff.Permanent(r.broken("what is no list of vectors: is %s the address of such a service?", r.client.setting))
		}
		if err := r.check(rows, len(texts)); err != nil {
			return nil, backoff.Permanent(err)
		}
		return rows, nil
	}
	if !f.transient() {
		return nil, r.refuse(*f)
	}
	err = loci.Errorf(loci.Unavailable, "%s at %s is overloaded or fails (%s)", r.model, r.client.host(), f)
	if after := retryAfter(header, time.Now()); after > 0 {
		err = loci.Errorf(loci.Unavailable, "%s at %s asks for a pause of %s (%s)", r.model, r.client.host(), after.Round(time.Millisecond), f)
		return nil, errors.Join(err, &backoff.RetryAfterError{Duration: after})
	}
	return nil, err
}

// refuse explains a status that repeating does not change.
func (r *remote) refuse(f failure) error {
	err, again := r.refused(f)
	if again {
		return loci.Errorf(loci.Unavailable, "%s at %s refused the form of the request (%s)", r.model, r.client.host(), &f)
	}
	divisible := false
	if err == nil {
		err, divisible = r.commonRefusal(f)
	}
	err.Msg = r.model + " at " + r.client.host() + " " + err.Msg
	return backoff.Permanent(&refusedError{err, divisible})
}

// commonRefusal explains what means the same everywhere.
func (r *remote) commonRefusal(f failure) (err *loci.Error, divisible bool) {
	source := r.client.key.Source
	switch {
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		if source == "" {
			return loci.Errorf(loci.Invalid, "wants a key, and this embedder has none (%s)", &f), false
		}
		return loci.Errorf(loci.Invalid, "does not accept the key (%s): set %s to one that is valid there", &f, source), false
	case f.status == http.StatusTooManyRequests:
		return loci.Errorf(loci.Invalid, "says that the quota is used up (%s): look at the account's plan", &f), false
	case f.status >= 300 && f.status < 400:
		return loci.Errorf(loci.Invalid, "redirects (%s), which is not followed: set %s to the final address", &f, r.client.setting), false
	case f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed:
		return loci.Errorf(loci.Invalid, "is not there (%s): correct the model's name or %s", &f, r.client.setting), false
	case f.tooLong():
		return loci.Errorf(loci.TooLarge, "says it is too long for the model (%s): lower retrieval.chunk_size", &f), true
	case f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity:
		return loci.Errorf(loci.Invalid, "refuses the request (%s)", &f), true
	}
	return loci.Errorf(loci.Invalid, "refuses the request (%s)", &f), false
}

// textNumber says which text is meant, without a word of it.
func textNumber(place int, texts []string) string {
	return fmt.Sprintf("; it is text %d of %d, with %d characters", place+1, len(texts), utf8.RuneCountInString(texts[place]))
}

// explain makes an error of ours of what ended the attempts.
func (r *remote) explain(err, last error) error {
	var refusal *refusedError
	if errors.As(err, &refusal) {
		return refusal // fill may cut the request in two
	}
	if ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); ended && last != nil {
		err = last
	}
	var e *loci.Error
	if errors.As(err, &e) {
		return e
	}
	msg := "does not answer"
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		msg = "did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		msg = "is not running: the connection was refused"
	case errors.Is(err, errLinkLocal):
		return &loci.Error{Code: loci.Invalid, Msg: r.client.setting + ": " + errLinkLocal.Error(), Err: err}
	}
	return &loci.Error{Code: loci.Unavailable, Msg: r.model + " at " + r.client.host() + " " + msg, Err: err}
}
