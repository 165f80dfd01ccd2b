package observe_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/loci-memory/loci/observe"
)

// counted is a collector of metrics: it decodes what it gets.
func counted(t *testing.T, status int) (url string, batches <-chan *metricspb.MetricsData, heads <-chan http.Header) {
	t.Helper()
	got, headers := make(chan *metricspb.MetricsData, 100), make(chan http.Header, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		data := &metricspb.MetricsData{}
		if err != nil || proto.Unmarshal(body, data) != nil || q.URL.Path != "/v1/metrics" || q.Method != http.MethodPost ||
			q.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %v: %d bytes", q.Method, q.URL, q.Header, len(body))
		}
		w.WriteHeader(status)
		got <- data
		headers <- q.Header
	}))
	t.Cleanup(s.Close)
	return s.URL, got, headers
}

// batch is the next one that comes.
func batch(t *testing.T, batches <-chan *metricspb.MetricsData) *metricspb.MetricsData {
	t.Helper()
	select {
	case data := <-batches:
		return data
	case <-time.After(20 * time.Second):
		t.Fatal("no metrics came")
		return nil
	}
}

func push(t *testing.T, m *observe.Metrics, o observe.PushOptions) (stop func()) {
	t.Helper()
	stop, err := m.Push(o)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// series writes labels as Prometheus does.
func series(name string, labels []*commonpb.KeyValue) string {
	var all []string
	for _, l := range labels {
		all = append(all, l.Key+"="+strconv.Quote(l.Value.GetStringValue()))
	}
	if len(all) == 0 {
		return name
	}
	return name + "{" + strings.Join(all, ",") + "}"
}

// TestPushedMetrics: a collector gets what /metrics shows, under the same names, with the same
// labels and values, and nothing of the machine.
func TestPushedMetrics(t *testing.T) {
	m := observe.New(observe.Options{Version: "1.2.3", Load: func() observe.Load { return observe.Load{Running: 3} }})
	for _, took := range []time.Duration{3 * time.Millisecond, 4 * time.Millisecond, time.Hour} {
		m.Request(observe.Request{Operation: "save_note", Status: 201, Took: took})
	}
	url, batches, _ := counted(t, 200)
	before := uint64(time.Now().UnixNano())
	push(t, m, observe.PushOptions{Endpoint: url, Every: time.Hour})() // the end sends what there is
	if len(batches) != 1 {
		t.Fatalf("%d batches", len(batches))
	}
	data := batch(t, batches)
	of := data.ResourceMetrics[0]
	about := of.Resource.String()
	if len(of.Resource.Attributes) != 2 || !strings.Contains(about, "1.2.3") || !strings.Contains(about, `"loci"`) {
		t.Errorf("the resource is %s", about)
	}
	shown, found := text(t, m), map[string]bool{}
	for _, one := range of.ScopeMetrics[0].Metrics {
		found[one.Name] = true
		if !strings.Contains(shown, "\n# HELP "+one.Name+" ") && !strings.HasPrefix(shown, "# HELP "+one.Name+" ") {
			t.Errorf("%s is no metric of Prometheus", one.Name)
		}
		switch d := one.Data.(type) {
		case *metricspb.Metric_Sum:
			const since = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
			if !d.Sum.IsMonotonic || d.Sum.AggregationTemporality != since {
				t.Errorf("%s: %v", one.Name, d.Sum)
			}
			for _, p := range d.Sum.DataPoints {
				if p.StartTimeUnixNano == 0 || p.StartTimeUnixNano > before || p.TimeUnixNano < before {
					t.Errorf("%s counts from %d to %d", one.Name, p.StartTimeUnixNano, p.TimeUnixNano)
				}
			}
		case *metricspb.Metric_Histogram:
			for _, p := range d.Histogram.DataPoints {
				var sum uint64
				for _, n := range p.BucketCounts {
					sum += n
				}
				if sum != p.Count || len(p.BucketCounts) != len(p.ExplicitBounds)+1 {
					t.Errorf("%s: %v", one.Name, p)
				}
			}
		}
	}
	for line := range strings.Lines(shown) {
		if name, is := strings.CutPrefix(line, "# TYPE "); is && !found[strings.Fields(name)[0]] {
			t.Errorf("%s is not sent", name)
		}
	}
	requests, took := metric(t, data, "loci_requests_total").GetSum(), metric(t, data, "loci_request_duration_seconds")
	if p := requests.DataPoints[0]; series("loci_requests_total", p.Attributes) != `loci_requests_total{operation="save_note",status="201"}` || p.GetAsDouble() != 3 {
		t.Errorf("%v", requests)
	}
	p := took.GetHistogram().DataPoints[0]
	in := slices.Index(p.ExplicitBounds, .005)
	if took.Unit != "s" || p.Count != 3 || p.BucketCounts[in] != 2 || p.BucketCounts[in-1] != 0 ||
		p.BucketCounts[len(p.BucketCounts)-1] != 1 || p.GetSum() < 3600 {
		t.Errorf("%v", took)
	}
	if running := metric(t, data, "loci_requests_running").GetGauge(); running.DataPoints[0].GetAsDouble() != 3 {
		t.Errorf("%v", running)
	}
	if pauses := metric(t, data, "go_gc_duration_seconds").GetSummary(); len(pauses.DataPoints[0].QuantileValues) != 5 {
		t.Errorf("%v", pauses)
	}
}

func metric(t *testing.T, data *metricspb.MetricsData, name string) *metricspb.Metric {
	t.Helper()
	for _, one := range data.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("no metric %s", name)
	return nil
}

// TestMetricsArePushedAgain: they go now and then, with headers that are read each time, and a
// last time at the end. Nothing goes after that.
func TestMetricsArePushedAgain(t *testing.T) {
	m := observe.New(observe.Options{})
	url, batches, heads := counted(t, 200)
	var reads atomic.Int64
	stop := push(t, m, observe.PushOptions{Endpoint: url + "/", Every: time.Millisecond, Headers: func() ([]byte, error) {
		return []byte("Authorization: Bearer " + strconv.FormatInt(reads.Add(1), 10) + "\n"), nil
	}})
	batch(t, batches)
	m.Request(observe.Request{Operation: "late", Status: 200})
	batch(t, batches)
	stop()
	var last *metricspb.MetricsData
	for len(batches) > 0 {
		last = <-batches
	}
	if last == nil || series("", metric(t, last, "loci_requests_total").GetSum().DataPoints[0].Attributes) != `{operation="late",status="200"}` {
		t.Errorf("the last batch: %v", last)
	}
	if first, second := (<-heads).Get("Authorization"), (<-heads).Get("Authorization"); first == second || !strings.HasPrefix(first, "Bearer ") {
		t.Errorf("headers %q and %q", first, second)
	}
}

// TestCollectorsThatFailMetrics: a collector that refuses costs a line in the log, and the next
// batch goes to it all the same. A bad address or a bad header is known at the start.
func TestCollectorsThatFailMetrics(t *testing.T) {
	var l strings.Builder
	m := observe.New(observe.Options{})
	url, batches, _ := counted(t, 500)
	stop := push(t, m, observe.PushOptions{Endpoint: url, Every: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&l, nil))})
	batch(t, batches)
	batch(t, batches)
	stop()
	if said := l.String(); strings.Count(said, "the collector does not take metrics") != 1 || !strings.Contains(said, "status 500") {
		t.Errorf("the log: %s", said)
	}
	for want, o := range map[string]observe.PushOptions{
		"a host":               {Endpoint: "collector:4318"},
		"metrics.headers_file": {Endpoint: "http://u:secret@collector"},
		"is no header":         {Endpoint: url, Headers: func() ([]byte, error) { return []byte("secret"), nil }},
	} {
		if _, err := m.Push(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if u, err := observe.MetricsURL("https://c.example/otlp"); u != "https://c.example/otlp" || err != nil {
		t.Errorf("%s, %v", u, err)
	}
}
