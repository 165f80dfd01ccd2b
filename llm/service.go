package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/remote"

	"github.com/cenkalti/backoff/v5"
)

// maxTries is how often one call is sent when the service is overloaded or fails.
const maxTries = 4

// A protocol is what two services do differently.
type protocol interface {
	defaultURL() string
	path() string
	request(model string, p loci.Prompt) any
	authorize(h http.Header, key string)
	answer(body []byte) (loci.Completion, error)
	adapt(f *remote.Failure) bool // the next request will be different and may work
}

// A service is a model that is asked over HTTP.
type service struct {
	protocol
	config Config
	client *remote.Client
}

// Model names the provider and the model.
func (s *service) Model() string { return s.config.Provider + ":" + s.config.Model }

func (s *service) who() string { return s.Model() + " at " + s.client.Host() }

// Complete asks once, and again while the service is overloaded or fails and there is
// time. An error comes with the tokens that may have been used. What the service
// says is never part of an error: it may repeat the prompt.
func (s *service) Complete(ctx context.Context, p loci.Prompt) (loci.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	var used loci.Usage // by requests of which nothing came back
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, 20*time.Second
	deadline, _ := ctx.Deadline()
	answer, err := backoff.Retry(ctx, func() (loci.Completion, error) {
		answer, err := s.once(ctx, p)
		if err != nil {
			used.PromptTokens += answer.Usage.PromptTokens
			used.CompletionTokens += answer.Usage.CompletionTokens
			used.Estimated = used.Estimated || answer.Usage.Estimated
		}
		return answer, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(maxTries),
		backoff.WithMaxElapsedTime(max(time.Until(deadline), time.Nanosecond)))
	if err == nil {
		answer.Usage.PromptTokens += used.PromptTokens
		answer.Usage.CompletionTokens += used.CompletionTokens
		answer.Usage.Estimated = answer.Usage.Estimated || used.Estimated
		return answer, nil
	}
	return loci.Completion{Usage: used}, s.client.Explain(err, s.who())
}

// once sends one request. Requests that reached the service and whose answer is lost
// or unusable may have been paid for: they are not repeated, and count in full.
func (s *service) once(ctx context.Context, p loci.Prompt) (loci.Completion, error) {
	lost := loci.Completion{Usage: loci.Usage{PromptTokens: loci.EstimateTokens(p.System) + loci.EstimateTokens(p.User),
		CompletionTokens: int64(p.MaxTokens), Estimated: true}}
	request, err := json.Marshal(s.request(s.config.Model, p))
	if err != nil {
		return loci.Completion{}, backoff.Permanent(err)
	}
	body, failure, err := s.client.Post(ctx, request, s.config.MaxReply, s.authorize)
	switch {
	case errors.Is(err, remote.ErrKey):
		return loci.Completion{}, backoff.Permanent(err)
	case errors.Is(err, remote.ErrUnsent):
		return loci.Completion{}, err
	case errors.Is(err, remote.ErrTooLong):
		return lost, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent more than %d bytes", s.who(), s.config.MaxReply))
	case err != nil:
		return lost, backoff.Permanent(err)
	case failure != nil:
		return loci.Completion{}, s.refused(failure)
	}
	answer, err := s.answer(body)
	if err != nil {
		return lost, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent something other than a completion: does %s name such a service?", s.who(), s.client.Setting))
	}
	if u := &answer.Usage; u.PromptTokens <= 0 || u.CompletionTokens < 0 {
		*u = loci.Usage{
			PromptTokens: lost.Usage.PromptTokens, CompletionTokens: loci.EstimateTokens(answer.Text),
			Estimated: true,
		}
	}
	return answer, nil
}

// refused says what a failure means, and whether the same request may work later.
func (s *service) refused(f *remote.Failure) error {
	var err *loci.Error
	switch {
	case s.adapt(f):
		return loci.Errorf(loci.Unavailable, "%s refused the form of the request (%s)", s.who(), f)
	case f.Says("insufficient_quota", "credit balance"):
		err = f.UsedUp()
	default:
		err = s.client.Refusal(f, "set llm.key_env or llm.key_file", "llm.model")
	}
	if err == nil && (f.Status == http.StatusRequestEntityTooLarge || f.Says("context_length_exceeded", "prompt is too long", "maximum context")) {
		err = loci.Errorf(loci.TooLarge, "says the prompt is too long (%s): lower llm.prompt_tokens", f)
	}
	if err == nil && f.Transient() {
		err := loci.Errorf(loci.Unavailable, "%s is overloaded or fails (%s)", s.who(), f)
		if f.After > 0 {
			return errors.Join(err, &backoff.RetryAfterError{Duration: f.After})
		}
		return err
	}
	if err == nil {
		err = loci.Errorf(loci.Unavailable, "refuses the request (%s)", f)
	}
	err.Msg = s.who() + " " + err.Msg
	return backoff.Permanent(err)
}
