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
	"github.com/loci-memory/loci/internal/remote"

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
func (r *service) post(ctx context.Context, texts []string) ([][]float32, error) {
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
	rows, err := backoff.Retry(ctx, attempt,
		backoff.WithBackOff(wait),
		backoff.WithMaxTries(maxAttempts),
		backoff.WithMaxElapsedTime(max(left, time.Nanosecond)),
	)
	if err == nil {
		return rows, nil
	}
	return nil, r.explain(err, last)
}

// attempt makes one request and reads its answer.
func (r *service) attempt(ctx context.Context, texts []string) ([][]float32, error) {
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
	limit := int64(len(texts))*loci.MaxDims*24 + 1<<20
	answer, f, err := r.client.Post(ctx, body, limit, remote.Bearer)
	switch {
	case errors.Is(err, remote.ErrKey):
		return nil, backoff.Permanent(err)
	case errors.Is(err, remote.ErrTooLong):
		return nil, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent more than %d bytes for one request", r.client.Host(), limit))
	case err != nil:
		return nil, err
	}
	if f == nil {
		rows, err := r.vectors(answer, len(texts))
		if err != nil {
			return nil, backoff.Permanent(r.broken("what is no list of vectors: is %s the address of such a service?", r.client.Setting))
		}
		if err := r.check(rows, len(texts)); err != nil {
			return nil, backoff.Permanent(err)
		}
		return rows, nil
	}
	if !f.Transient() || f.Status >= 500 && tooLong(f) { // some say 500 to a text that is too long
		return nil, r.refuse(f)
	}
	err = loci.Errorf(loci.Unavailable, "%s at %s is overloaded or fails (%s)", r.model, r.client.Host(), f)
	if after := f.After; after > 0 {
		err = loci.Errorf(loci.Unavailable, "%s at %s asks for a pause of %s (%s)", r.model, r.client.Host(), after.Round(time.Millisecond), f)
		return nil, errors.Join(err, &backoff.RetryAfterError{Duration: after})
	}
	return nil, err
}

// refuse explains a status that repeating does not change.
func (r *service) refuse(f *remote.Failure) error {
	err, again := r.refused(f)
	if again {
		return loci.Errorf(loci.Unavailable, "%s at %s refused the form of the request (%s)", r.model, r.client.Host(), f)
	}
	divisible := false
	if err == nil {
		err, divisible = r.commonRefusal(f)
	}
	err.Msg = r.model + " at " + r.client.Host() + " " + err.Msg
	return backoff.Permanent(&refusedError{err, divisible})
}

// commonRefusal explains what means the same everywhere.
func (r *service) commonRefusal(f *remote.Failure) (err *loci.Error, divisible bool) {
	if err := r.client.Refusal(f, "this embedder has none", "the model's name"); err != nil {
		return err, false
	}
	switch {
	case f.Status == http.StatusTooManyRequests:
		return f.UsedUp(), false
	case tooLong(f):
		return loci.Errorf(loci.TooLarge, "says it is too long for the model (%s): lower retrieval.chunk_size", f), true
	case f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity:
		return loci.Errorf(loci.Invalid, "refuses the request (%s)", f), true
	}
	return loci.Errorf(loci.Invalid, "refuses the request (%s)", f), false
}

// tooLong reports whether a text or a request passes a limit of the model.
func tooLong(f *remote.Failure) bool {
	return f.Status == http.StatusRequestEntityTooLarge ||
		f.Says("context_length_exceeded", "context length", "maximum context", "too long", "max_tokens_per_request", "too many tokens", "maximum input length")
}

// textNumber says which text is meant, without a word of it.
func textNumber(place int, texts []string) string {
	return fmt.Sprintf("; it is text %d of %d, with %d characters", place+1, len(texts), utf8.RuneCountInString(texts[place]))
}

// explain makes an error of ours of what ended the attempts.
func (r *service) explain(err, last error) error {
	var refusal *refusedError
	if errors.As(err, &refusal) {
		return refusal // fill may cut the request in two
	}
	if ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); ended && last != nil {
		err = last
	}
	return r.client.Explain(err, r.model+" at "+r.client.Host())
}
