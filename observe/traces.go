package observe

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/loci-memory/loci/internal/trail"
)

// Traces sends what requests consisted of to a collector, as spans. They say what was done,
// how long that took and whether it worked; nothing of a memory, of an argument or of who
// asked is in one. A nil *Traces makes none. It is safe for concurrent use.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Bounds of what waits for the collector. What is beyond is lost, and nobody waits for it.
const (
	mostSpans   = 4096 // that wait
	sentAtOnce  = 512
	sentEvery   = 2 * time.Second
	lastMoments = 3 * time.Second // for what is left at the end
)

// OpenTraces starts to send spans, when there are some. It asks the collector nothing.
func OpenTraces(o TraceOptions) (*Traces, error) {
	client, err := newCollector(o)
	if err != nil {
		return nil, err
	}
	// Not the SDK's own resource, which names the machine, its user and the command line.
	about := resource.NewSchemaless(
		attribute.String("service.name", "loci"), attribute.String("service.version", o.Version))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: 256, AttributeCountLimit: 16, LinkCountLimit: 1,
			EventCountLimit: 1, AttributePerEventCountLimit: 1, AttributePerLinkCountLimit: 1,
		}),
		sdktrace.WithBatcher(&forgiving{otlptrace.NewUnstarted(client), client},
			sdktrace.WithMaxQueueSize(mostSpans), sdktrace.WithMaxExportBatchSize(sentAtOnce),
			sdktrace.WithBatchTimeout(sentEvery), sdktrace.WithExportTimeout(sendFor)),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("github.com/loci-memory/loci")}, nil
}

// Close sends what is left, for a few seconds at most.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastMoments)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what could not be sent was counted and logged
}

// unseen is a span that nobody sees.
var unseen = trace.SpanFromContext(context.Background())

// request begins the span of a request.
func (t *Traces) request(ctx context.Context, h http.Header) (of context.Context, span trace.Span) {
	if t == nil {
		return ctx, unseen
	}
	ctx = remote(ctx, trail.Caller{Parent: h.Get("Traceparent"), State: h.Get("Tracestate")})
	return t.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
}

// endRequest ends the span of a request.
func endRequest(span trace.Span, r *Request) {
	if !span.IsRecording() {
		return
	}
	method, name := r.Method, r.Method
	if method == "" {
		method, name = "_OTHER", "HTTP"
	}
	if r.Route != "" {
		name += " " + r.Route
	}
	span.SetName(name)
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", r.Route),
		attribute.Int("http.response.status_code", r.Status),
	)
	if r.Operation != "" {
		span.SetAttributes(attribute.String("loci.operation", r.Operation))
	}
	if r.Refused != "" {
		span.SetAttributes(attribute.String("loci.refused", r.Refused))
	}
	if r.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// step begins the span of a step. Only calls of tools have one of their own: the rest is a part
// of something, or of the upkeep, which nobody asked for.
func (t *Traces) step(ctx context.Context, s trail.Step) (of context.Context, span trace.Span) {
	if t == nil {
		return ctx, unseen
	}
	around, caller := trace.SpanContextFromContext(ctx), trail.CallerOf(ctx)
	switch {
	case s.Kind != trail.Tool && !around.IsSampled(), caller.Parent == "" && around.IsValid() && !around.IsSampled():
		return ctx, unseen
	case s.Kind != trail.Tool:
		return t.tracer.Start(ctx, nameOf(s), trace.WithSpanKind(kindOf(s)))
	case caller.Parent == "":
		return t.tracer.Start(ctx, nameOf(s), trace.WithSpanKind(trace.SpanKindServer))
	}
	// The call belongs to the caller's trace, the request that carries it to that of its
	// transport, which may carry calls of many: one knows of the other.
	ctx = remote(ctx, caller)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	if own := trace.SpanContextFromContext(ctx); own.TraceID() != around.TraceID() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: around}))
	}
	return t.tracer.Start(ctx, nameOf(s), options...)
}

// nameOf is the name of the span of a step, and kindOf its kind.
func nameOf(s trail.Step) string {
	switch s.Kind {
	case trail.Tool:
		return "tools/call " + s.Name
	case trail.Store, trail.Load, trail.Embed, trail.Complete:
	}
	return string(s.Kind) + " " + s.Name
}

func kindOf(s trail.Step) trace.SpanKind {
	if s.Kind == trail.Load {
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

// endStep ends the span of a step. The names of attributes are the conventions of
// OpenTelemetry, where these have some.
func endStep(span trace.Span, s trail.Step, e trail.End) {
	if !span.IsRecording() {
		return
	}
	switch s.Kind {
	case trail.Tool:
		span.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", s.Name))
	case trail.Store:
		span.SetAttributes(attribute.String("db.operation.name", s.Name))
	case trail.Embed:
		span.SetAttributes(attribute.String("gen_ai.operation.name", s.Name))
	case trail.Complete:
		span.SetAttributes(attribute.String("gen_ai.operation.name", s.Name),
			attribute.Int64("gen_ai.usage.input_tokens", e.Prompt),
			attribute.Int64("gen_ai.usage.output_tokens", e.Answer))
	case trail.Load:
	}
	span.SetAttributes(attribute.String("loci.outcome", outcome(e)))
	if e.Code != "" {
		span.SetAttributes(attribute.String("error.type", e.Code))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// outcome is how a step ended, in a word.
func outcome(e trail.End) string {
	if e.Code == "" {
		return succeeded
	}
	return e.Code
}

// samplingState is what OpenTelemetry itself writes into a tracestate: with which chance the
// trace was sampled.
var samplingState = regexp.MustCompile(`^ot=((th:[0-9a-f]{1,14}|rv:[0-9a-f]{14})(;(th:[0-9a-f]{1,14}|rv:[0-9a-f]{14}))?)$`)

// remote returns a context in which a caller's trace goes on, if it is written as the W3C says.
// Of its state only that of the sampling is kept: the rest is any text of up to 512 bytes, for
// services that we do not call.
func remote(ctx context.Context, c trail.Caller) context.Context {
	if c.Parent == "" {
		return ctx
	}
	said := propagation.MapCarrier{"traceparent": c.Parent}
	if len(c.State) <= 512 {
		for member := range strings.SplitSeq(c.State, ",") {
			if member = strings.TrimSpace(member); samplingState.MatchString(member) {
				said["tracestate"] = member
			}
		}
	}
	return propagation.TraceContext{}.Extract(ctx, said)
}
