package deploy_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// TestAlertsAreRules: Prometheus itself takes the file, expressions included.
func TestAlertsAreRules(t *testing.T) {
	t.Parallel()
	groups, errs := rulefmt.ParseFile("../../packaging/prometheus/alerts.yaml", false, model.UTF8Validation,
		parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 || len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 9 {
		t.Fatalf("%v %v", groups, errs)
	}
	for _, r := range groups.Groups[0].Rules {
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s has no summary or severity", r.Alert)
		}
	}
}

// TestDashboardAsksPrometheus: every expression of the dashboard is one, and every panel asks
// something of the servers that the reader chose.
func TestDashboardAsksPrometheus(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../packaging/prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	type target struct{ Expr string }
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []target
		}
	}
	if err := json.Unmarshal(data, &board); err != nil || len(board.Panels) < 20 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	variable := regexp.MustCompile(`\$__rate_interval`)
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for _, one := range p.Targets {
			if !strings.Contains(one.Expr, `job=~"$job",instance=~"$instance"`) {
				t.Errorf("%s asks all servers: %s", p.Title, one.Expr)
			}
			asked := variable.ReplaceAllString(one.Expr, "5m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(asked); err != nil {
				t.Errorf("%s: %s: %v", p.Title, one.Expr, err)
			}
		}
	}
}
