package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/loci-memory/loci"
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
func TraceURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", loci.Errorf(loci.Invalid, "it is not a URL") // not shown: it may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", loci.Errorf(loci.Invalid, "it must begin with http:// or https:// and a host")
	case u.User != nil:
		return "", loci.Errorf(loci.Invalid, "it must not hold a user or a password: put them into traces.headers_file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", loci.Errorf(loci.Invalid, "it must end with its path, without ? and #")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracePath
	}
	return u.String(), nil
}

// Bounds of one batch.
const (
	sendFor    = 10 * time.Second
	mostAnswer = 64 << 10
)

// A collector takes spans over HTTP. The exporter of OpenTelemetry does that, too, but brings
// gRPC along, and settings of its own from the environment.
type collector struct {
	url     string
	headers func() ([]byte, error)
	http    *http.Client
	logger  *slog.Logger
	metrics *Metrics

	mu    sync.Mutex
	quiet time.Time // no failure is logged until then
}

// sayEvery is how often a collector that does not take spans is worth a line in the log.
const sayEvery = time.Minute

func newCollector(o TraceOptions) (*collector, error) {
	address, err := TraceURL(o.Endpoint)
	if err != nil {
		return nil, err
	}
	c := &collector{url: address, headers: o.Headers, logger: o.Logger, metrics: o.Metrics, http: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// The headers must not travel to where nobody sent them.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	if _, err := c.read(); err != nil { // a misspelt path is to be known at the start
		return nil, &loci.Error{Code: loci.Invalid, Msg: "traces.headers_file: " + err.Error(),
			Recovery: "Write one header a line, such as Authorization: Bearer …"}
	}
	return c, nil
}

// Start implements [otlptrace.Client].
func (c *collector) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *collector) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// read returns the headers of a batch.
func (c *collector) read() (http.Header, error) {
	if c.headers == nil {
		return http.Header{}, nil
	}
	data, err := c.headers()
	if err != nil {
		return nil, err
	}
	data = append(bytes.TrimSpace(data), "\r\n\r\n"...)
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(data))).ReadMIMEHeader()
	if err != nil {
		return nil, errors.New("a line is no header") // not shown: it may be a secret
	}
	return http.Header(h), nil
}

// UploadTraces implements [otlptrace.Client]. It sends a batch once: what a collector does not
// take is lost, so that nothing waits for it.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire it is an ExportTraceServiceRequest, whose package needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	headers, err := c.read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = headers
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "loci")
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()                          // read to its end, or given up
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) // so that the connection can be used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("it answered with status %d", answer.StatusCode)
	}
	return nil
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

// complain logs that the collector does not take spans, unless that was said a moment ago.
func (c *collector) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.quiet) {
		c.quiet = now.Add(sayEvery)
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which is known
		}
		c.logger.Warn("the collector does not take spans; they are lost", "cause", err)
	}
}
