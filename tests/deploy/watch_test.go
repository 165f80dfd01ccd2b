package deploy

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// What the chart writes of the kinds of Prometheus' operator, whose own types bring its whole
// program. The names are those of monitoring.coreos.com/v1.
type (
	monitor struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			Selector          meta.LabelSelector `json:"selector"`
			NamespaceSelector struct {
				MatchNames []string `json:"matchNames"`
			} `json:"namespaceSelector"`
			Endpoints []struct {
				Port, Path, Interval, Scheme string
				Authorization                struct {
					Credentials core.SecretKeySelector `json:"credentials"`
				} `json:"authorization"`
				TLSConfig struct {
					ServerName string `json:"serverName"`
					CA         struct {
						Secret core.SecretKeySelector `json:"secret"`
					} `json:"ca"`
				} `json:"tlsConfig"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	rules struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			Groups []map[string]any `json:"groups"`
		} `json:"spec"`
	}
)

// By itself the chart makes nothing that a cluster without Prometheus does not know.
func TestChartIsNotWatchedByItself(t *testing.T) {
	all := rendered(t, chart(t), cases["files"])
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "dashboard"} {
		if all[kind] != "" {
			t.Errorf("it makes %s", all[kind])
		}
	}
}

// The monitor finds the service, with a key and the service's own name; rules and dashboard are
// those that are checked against the metrics there are.
func TestChartIsWatched(t *testing.T) {
	all := rendered(t, chart(t), cases["watched"])
	var service core.Service
	var watch monitor
	var alerts rules
	var board core.ConfigMap
	for kind, into := range map[string]any{
		"Service": &service, "ServiceMonitor": &watch, "PrometheusRule": &alerts, "dashboard": &board,
	} {
		if err := yaml.UnmarshalStrict([]byte(all[kind]), into); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, all[kind])
		}
	}
	for name, value := range watch.Spec.Selector.MatchLabels {
		if service.Labels[name] != value {
			t.Errorf("the monitor looks for %s=%s, and the service has %v", name, value, service.Labels)
		}
	}
	e := watch.Spec.Endpoints[0]
	if e.Port != service.Spec.Ports[0].Name || e.Scheme != "https" || e.Path != "/metrics" || e.Interval != "30s" ||
		e.Authorization.Credentials.Name != "metrics" || e.Authorization.Credentials.Key != "key" ||
		e.TLSConfig.ServerName != "team-loci.memory.svc" || e.TLSConfig.CA.Secret.Name != "certificate" ||
		watch.Spec.NamespaceSelector.MatchNames[0] != "memory" || watch.Labels["release"] != "prometheus" {
		t.Errorf("%+v", watch)
	}
	spec, err := yaml.Marshal(alerts.Spec)
	if err != nil {
		t.Fatal(err)
	}
	reads, quiet := parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)
	got, errs := rulefmt.Parse(spec, false, model.UTF8Validation, reads, quiet)
	file := filepath.Join(packaging, "prometheus", "alerts.yaml")
	want, more := rulefmt.ParseFile(file, false, model.UTF8Validation, reads, quiet)
	if len(errs)+len(more) > 0 || len(got.Groups) != 1 || len(got.Groups[0].Rules) != len(want.Groups[0].Rules) ||
		alerts.Labels["release"] != "prometheus" {
		t.Errorf("%v %v %+v", errs, more, alerts)
	}
	made, err := os.ReadFile(filepath.Join(packaging, "prometheus", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, board.Data["loci.json"], string(made)) || board.Labels["grafana_dashboard"] != "1" || board.Namespace != "grafana" {
		t.Errorf("the dashboard: %v in %q", board.Labels, board.Namespace)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var one, other any
	if err := json.Unmarshal([]byte(a), &one); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &other); err != nil {
		t.Fatal(err)
	}
	left, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	right, err := json.Marshal(other)
	return err == nil && string(left) == string(right)
}
