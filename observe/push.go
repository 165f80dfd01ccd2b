package observe

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// PushOptions configure [Metrics.Push].
type PushOptions struct {
	// Endpoint is where the collector takes OTLP over HTTP; see [MetricsURL].
	Endpoint string

	// Headers as of [TraceOptions].
	Headers func() ([]byte, error)

	Every  time.Duration // how often; default 30 s
	Logger *slog.Logger
}

// metricsPath is where collectors take metrics, unless somebody says otherwise.
const metricsPath = "/v1/metrics"

// pushEvery is how often metrics are sent, unless somebody says otherwise.
const pushEvery = 30 * time.Second

// MetricsURL is the address of a collector, as a person writes it: with [metricsPath], where it
// names no path. Invalid: it is none.
func MetricsURL(endpoint string) (string, error) {
	return collectorURL("metrics", metricsPath, endpoint)
}

// Push begins to send all metrics to a collector, now and then: what [Metrics.Handler] shows,
// under the same names and with the same labels. Counts are those since the start, so one that
// a collector does not take is in the next. stop sends them a last time, for a few seconds at
// most, and ends it.
func (m *Metrics) Push(o PushOptions) (stop func(), err error) {
	to, err := newSender("metrics", "metrics", metricsPath, o.Endpoint, o.Headers, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Every <= 0 {
		o.Every = pushEvery
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		next := time.NewTicker(o.Every)
		defer next.Stop()
		for {
			select {
			case <-next.C:
				m.push(ctx, to)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		last, cancel := context.WithTimeout(context.Background(), lastMoments)
		defer cancel()
		m.push(last, to)
		to.http.CloseIdleConnections()
	}, nil
}

// push sends all metrics once.
func (m *Metrics) push(ctx context.Context, to *sender) {
	families, err := m.registry.Gather()
	if err != nil { // what could be gathered is sent
		m.failed(to, err)
	}
	// On the wire it is an ExportMetricsServiceRequest, whose package needs gRPC.
	err = to.send(ctx, m.data(families, time.Now()))
	if err != nil && ctx.Err() == nil {
		to.complain(err)
	}
}

func (m *Metrics) failed(to *sender, err error) {
	to.logger.Warn("not all metrics could be read", "cause", err)
}

// data are families of metrics as OTLP has them.
func (m *Metrics) data(families []*dto.MetricFamily, now time.Time) *metricspb.MetricsData {
	scope := &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: "github.com/loci-memory/loci"}}
	c := converter{now: nanos(now), began: nanos(m.began)}
	for _, f := range families {
		if one := c.family(f); one != nil {
			scope.Metrics = append(scope.Metrics, one)
		}
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{
		// Not what the SDK finds out by itself: the name of the machine, its user, the command line.
		Resource:     &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", "loci"), text("service.version", m.version)}},
		ScopeMetrics: []*metricspb.ScopeMetrics{scope},
	}}}
}

// A converter makes metrics of OTLP from those of Prometheus at one moment.
type converter struct{ now, began uint64 }

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// family converts all metrics of a name; nil: they are of a kind that OTLP does not have.
func (c converter) family(f *dto.MetricFamily) *metricspb.Metric {
	out := &metricspb.Metric{Name: f.GetName(), Description: f.GetHelp(), Unit: unit(f.GetName())}
	switch f.GetType() { //nolint:exhaustive // others have no family here
	case dto.MetricType_COUNTER:
		sum := &metricspb.Sum{IsMonotonic: true, AggregationTemporality: cumulative}
		for _, one := range f.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, c.number(one, one.GetCounter().GetValue(), c.began))
		}
		out.Data = &metricspb.Metric_Sum{Sum: sum}
	case dto.MetricType_GAUGE:
		gauge := &metricspb.Gauge{}
		for _, one := range f.GetMetric() {
			gauge.DataPoints = append(gauge.DataPoints, c.number(one, one.GetGauge().GetValue(), 0))
		}
		out.Data = &metricspb.Metric_Gauge{Gauge: gauge}
	case dto.MetricType_HISTOGRAM:
		histogram := &metricspb.Histogram{AggregationTemporality: cumulative}
		for _, one := range f.GetMetric() {
			histogram.DataPoints = append(histogram.DataPoints, c.histogram(one))
		}
		out.Data = &metricspb.Metric_Histogram{Histogram: histogram}
	case dto.MetricType_SUMMARY:
		summary := &metricspb.Summary{}
		for _, one := range f.GetMetric() {
			summary.DataPoints = append(summary.DataPoints, c.summary(one))
		}
		out.Data = &metricspb.Metric_Summary{Summary: summary}
	default:
		return nil
	}
	return out
}

func (c converter) number(m *dto.Metric, value float64, began uint64) *metricspb.NumberDataPoint {
	return &metricspb.NumberDataPoint{
		Attributes: labels(m), StartTimeUnixNano: began, TimeUnixNano: c.now,
		Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// histogram converts buckets: those of Prometheus count all that is below their bound, those of
// OTLP what is between it and the bound before, and the last one has no bound.
func (c converter) histogram(m *dto.Metric) *metricspb.HistogramDataPoint {
	h := m.GetHistogram()
	out := &metricspb.HistogramDataPoint{
		Attributes: labels(m), StartTimeUnixNano: c.began, TimeUnixNano: c.now,
		Count: h.GetSampleCount(), Sum: h.SampleSum,
	}
	var before uint64
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			continue
		}
		out.ExplicitBounds = append(out.ExplicitBounds, b.GetUpperBound())
		out.BucketCounts = append(out.BucketCounts, b.GetCumulativeCount()-before)
		before = b.GetCumulativeCount()
	}
	out.BucketCounts = append(out.BucketCounts, h.GetSampleCount()-before)
	return out
}

func (c converter) summary(m *dto.Metric) *metricspb.SummaryDataPoint {
	s := m.GetSummary()
	out := &metricspb.SummaryDataPoint{
		Attributes: labels(m), StartTimeUnixNano: c.began, TimeUnixNano: c.now,
		Count: s.GetSampleCount(), Sum: s.GetSampleSum(),
	}
	for _, q := range s.GetQuantile() {
		out.QuantileValues = append(out.QuantileValues,
			&metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return out
}

// unit is the one that the end of a name says, as UCUM writes it.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	}
	return ""
}

func labels(m *dto.Metric) (all []*commonpb.KeyValue) {
	for _, l := range m.GetLabel() {
		all = append(all, text(l.GetName(), l.GetValue()))
	}
	return all
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{
		Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}},
	}
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) } //nolint:gosec // not negative
