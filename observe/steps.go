package observe

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
)

// succeeded is the outcome of what worked; any other one is the code of an error.
const succeeded = "ok"

// Completer returns a language model whose calls are steps of what the context belongs to;
// see [Watch]. Nil stays nil.
func Completer(c loci.Completer) loci.Completer {
	if c == nil {
		return nil
	}
	return &watchedCompleter{c}
}

type watchedCompleter struct{ loci.Completer }

// Complete implements [loci.Completer].
func (w *watchedCompleter) Complete(ctx context.Context, p loci.Prompt) (answer loci.Completion, err error) {
	ctx, ended := trail.Begin(ctx, trail.Step{Kind: trail.Complete, Name: "chat"})
	defer func() {
		ended(trail.End{Code: codeOf(err), Prompt: answer.Usage.PromptTokens, Answer: answer.Usage.CompletionTokens})
	}()
	return w.Completer.Complete(ctx, p)
}

// steps are the metrics of what requests and the upkeep consist of, by kind.
type steps struct {
	store, embed, load, complete timed
	tokens                       *prometheus.CounterVec
	spans                        *prometheus.CounterVec
}

// A timed is how often something was done, and for how long.
type timed struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newTimed(name, what string, labels ...string) timed {
	return timed{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_" + name + "s_total", Help: what + " that have ended.",
		}, append(labels, "outcome")),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loci_" + name + "_duration_seconds", Help: what + ": how long they took.", Buckets: buckets,
		}, labels),
	}
}

func (t *timed) add(outcome string, took time.Duration, labels ...string) {
	t.took.WithLabelValues(labels...).Observe(took.Seconds())
	t.total.WithLabelValues(append(labels, outcome)...).Inc()
}

func newSteps() steps {
	return steps{
		store:    newTimed("store_call", "Calls of the store", "call"),
		embed:    newTimed("embedder_call", "Calls of the embedder"),
		load:     newTimed("index_wait", "Searches that waited for an index"),
		complete: newTimed("model_call", "Calls of the language model"),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_model_tokens_total", Help: "Tokens of the language model, of prompts and of answers.",
		}, []string{"of"}),
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_spans_total", Help: "Spans that went to the collector, or were lost on the way.",
		}, []string{"outcome"}),
	}
}

func (s *steps) collectors() (all []prometheus.Collector) {
	for _, t := range []*timed{&s.store, &s.embed, &s.load, &s.complete} {
		all = append(all, t.total, t.took)
	}
	return append(all, s.tokens, s.spans)
}

// step counts a step that has ended. Calls of tools are counted with their requests.
func (m *Metrics) step(s trail.Step, e trail.End, took time.Duration) {
	switch s.Kind {
	case trail.Store:
		m.steps.store.add(outcome(e), took, s.Name)
	case trail.Embed:
		m.steps.embed.add(outcome(e), took)
	case trail.Load:
		m.steps.load.add(outcome(e), took)
	case trail.Complete:
		m.steps.complete.add(outcome(e), took)
		m.steps.tokens.WithLabelValues("prompt").Add(float64(max(0, e.Prompt)))
		m.steps.tokens.WithLabelValues("answer").Add(float64(max(0, e.Answer)))
	case trail.Tool:
	}
}

// exported counts spans that a collector took, or did not.
func (m *Metrics) exported(spans int, taken bool) {
	if m == nil {
		return
	}
	how := succeeded
	if !taken {
		how = trail.Failed
	}
	m.steps.spans.WithLabelValues(how).Add(float64(spans))
}
