// Package observe counts what a server does, for Prometheus, and sends metrics and traces of it
// to a collector, by OTLP.
//
//	metrics := observe.New(observe.Options{Version: "1.2.3"})
//	traces, err := observe.OpenTraces(observe.TraceOptions{Endpoint: "http://127.0.0.1:4318", Sample: 1})
//	watch := &observe.Watch{Metrics: metrics, Traces: traces}
//	server.Options{Begin: …watch.Request…, Done: …metrics.Request…, Metrics: metrics.Handler()}
//
// No label has a value that a caller can choose: an operation is one of those that the
// surfaces have, a tool one of the configuration, a status three digits.
package observe

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options configure [New].
type Options struct {
	Version string

	// Load is what the server has to do at the moment; nil: nobody knows.
	Load func() Load

	// Work is what the store did by itself; nil: nobody knows. CommitSizes are the upper
	// bounds by which it counts commits.
	Work        func() Work
	CommitSizes []int
}

// A Load is what a server has to do.
type Load struct {
	Running, Waiting, Aside, Slots, Tenants int // requests, and tenants that ask

	Unread  int    // answers that wait for their readers
	GivenUp uint64 // of these, those that gave way to others, since the start

	Connections     int    // that are open
	Strangers       int    // of these, those on which no good credential has come
	MostConnections int    // that may be open
	Displaced       uint64 // connections that gave way to others, since the start
}

// A Request is one that has ended.
type Request struct {
	Operation string // "": none that a surface has
	Method    string // for traces: one that HTTP defines; "": another one
	Route     string // for traces: the pattern of the path; "": unknown
	Status    int
	Took      time.Duration
	Refused   string // why, in one word; "": it was not refused
	Calls     []Call
}

// A Call is one of a tool.
type Call struct {
	Tool    string
	Outcome string // ok, or the code of the error
	Took    time.Duration
}

// Metrics are those of one server. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	calls    *prometheus.CounterVec
	callTook *prometheus.HistogramVec
	steps    steps
	version  string
	began    time.Time // since when it counts
}

// buckets are upper bounds in seconds: from a read in memory to the longest call of a model.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// none is the operation of requests that no surface has.
const none = "none"

// New makes metrics, with those of the process and of Go's runtime.
func New(o Options) *Metrics {
	m := &Metrics{
		version: o.Version, began: time.Now(),
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_requests_total", Help: "Requests that have ended.",
		}, []string{"operation", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loci_request_duration_seconds", Help: "How long requests took.", Buckets: buckets,
		}, []string{"operation"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_refusals_total", Help: "Requests that were refused before or instead of what they asked for.",
		}, []string{"reason"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loci_tool_calls_total", Help: "Calls of tools that have ended.",
		}, []string{"tool", "outcome"}),
		callTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loci_tool_call_duration_seconds", Help: "How long calls of tools took.", Buckets: buckets,
		}, []string{"tool"}),
	}
	m.steps = newSteps()
	m.registry.MustRegister(m.steps.collectors()...)
	built := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "loci_build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": o.Version},
	})
	built.Set(1)
	m.registry.MustRegister(
		m.requests, m.took, m.refused, m.calls, m.callTook, built,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	if o.Load != nil {
		m.registry.MustRegister(newLoad(o.Load))
	}
	if o.Work != nil {
		m.registry.MustRegister(newWork(o.Work, o.CommitSizes))
	}
	return m
}

// Request counts a request that has ended.
func (m *Metrics) Request(r Request) {
	if r.Operation == "" {
		r.Operation = none
	}
	m.requests.WithLabelValues(r.Operation, strconv.Itoa(r.Status)).Inc()
	m.took.WithLabelValues(r.Operation).Observe(r.Took.Seconds())
	if r.Refused != "" {
		m.refused.WithLabelValues(r.Refused).Inc()
	}
	for _, c := range r.Calls {
		m.calls.WithLabelValues(c.Tool, c.Outcome).Inc()
		m.callTook.WithLabelValues(c.Tool).Observe(c.Took.Seconds())
	}
}

// Handler answers with all metrics, in the text format of Prometheus or in OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, EnableOpenMetrics: true})
}

// load asks for the load of the server whenever somebody looks.
type load struct {
	now func() Load
	of  []loadMetric
}

// A loadMetric is one number of a load.
type loadMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Load) float64
}

func newLoad(now func() Load) *load {
	l := &load{now: now}
	add := func(kind prometheus.ValueType, name, help string, value func(*Load) float64) {
		l.of = append(l.of, loadMetric{prometheus.NewDesc(name, help, nil, nil), kind, value})
	}
	gauge := func(name, help string, value func(*Load) int) {
		add(prometheus.GaugeValue, name, help, func(l *Load) float64 { return float64(value(l)) })
	}
	gauge("loci_requests_running", "Requests that run at the moment.", func(l *Load) int { return l.Running })
	gauge("loci_requests_waiting", "Requests that wait for others to end.", func(l *Load) int { return l.Waiting })
	gauge("loci_requests_aside", "Requests that wait for an index, a disk or a service.", func(l *Load) int { return l.Aside })
	gauge("loci_answers_unread", "Answers that wait for their readers.", func(l *Load) int { return l.Unread })
	add(prometheus.CounterValue, "loci_answers_given_up_total", "Answers that gave way to others, as nobody took them.",
		func(l *Load) float64 { return float64(l.GivenUp) })
	gauge("loci_requests_slots", "Requests that may run at once.", func(l *Load) int { return l.Slots })
	gauge("loci_tenants_asking", "Tenants that share the slots at the moment.", func(l *Load) int { return l.Tenants })
	gauge("loci_connections_open", "Connections that are open.", func(l *Load) int { return l.Connections })
	gauge("loci_connections_without_credential", "Of these, those on which no good credential has come.",
		func(l *Load) int { return l.Strangers })
	gauge("loci_connections_limit", "Connections that may be open.", func(l *Load) int { return l.MostConnections })
	add(prometheus.CounterValue, "loci_connections_displaced_total", "Connections that gave way to others.",
		func(l *Load) float64 { return float64(l.Displaced) })
	return l
}

// Describe implements [prometheus.Collector].
func (l *load) Describe(to chan<- *prometheus.Desc) {
	for _, m := range l.of {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (l *load) Collect(to chan<- prometheus.Metric) {
	now := l.now()
	for _, m := range l.of {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&now))
	}
}
