package observe

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TraceOptions configure [OpenTraces].
type TraceOptions struct {
	// Endpoint is where the collector takes OTLP over HTTP; see [TraceURL].
	Endpoint string

	// Headers, unless nil, are sent with each batch, such as "Authorization: Bearer …", one a
	// line. They are read for each batch, so that they can be changed while a server runs.
	Headers func() ([]byte, error)

	Sample  float64 // the share of traces that are sent, of those that no caller began: 0 to 1
	Version string  // of the program
	Logger  *slog.Logger
	Metrics *Metrics // counts the spans; nil: nobody does
}

// tracePath is where collectors take spans, unless somebody says otherwise.
const tracePath = "/v1/traces"

// TraceURL is the address of a collector, as a person writes it: with [tracePath], where it
// names no path. Invalid: it is none.
func TraceURL(endpoint string) (string, error) { return collectorURL("traces", tracePath, endpoint) }

// A collector takes spans over HTTP. The exporter of OpenTelemetry does that, too, but brings
// gRPC along, and settings of its own from the environment.
type collector struct {
	*sender
	metrics *Metrics
}

func newCollector(o TraceOptions) (*collector, error) {
	to, err := newSender("traces", "spans", tracePath, o.Endpoint, o.Headers, o.Logger)
	if err != nil {
		return nil, err
	}
	return &collector{to, o.Metrics}, nil
}

// Start implements [otlptrace.Client].
func (c *collector) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *collector) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client]. It sends a batch once: what a collector does not
// take is lost, so that nothing waits for it.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire it is an ExportTraceServiceRequest, whose package needs gRPC.
	return c.send(ctx, &tracepb.TracesData{ResourceSpans: spans})
}

// forgiving is an exporter whose failures are counted and logged, now and then, and nothing else.
type forgiving struct {
	*otlptrace.Exporter
	to *collector
}

// ExportSpans implements [sdktrace.SpanExporter].
func (f *forgiving) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := f.Exporter.ExportSpans(ctx, spans)
	f.to.metrics.exported(len(spans), err == nil)
	if err != nil {
		f.to.complain(err)
	}
	return nil
}
