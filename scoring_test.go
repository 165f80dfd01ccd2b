package loci_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// tables reads the tables of a document: for each its rows, without head and rule.
func tables(document string) (all [][][]string) {
	var rows [][]string
	for _, line := range strings.Split(document+"\n", "\n") {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 2 {
				all = append(all, rows[2:])
			}
			rows = nil
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return all
}

func decimal(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestScoringPage recomputes every row of the formulas in docs/scoring.md, and lets an engine live
// through those about states.
func TestScoringPage(t *testing.T) {
	formulas, measured, _ := strings.Cut(readFile(t, "docs/scoring.md"), "\n## Score of a search\n")
	if len(tables(measured)) != 4 {
		t.Error("behind the formulas stand four tables of what was measured, and nothing else")
	}
	all := tables(formulas)
	if len(all) != 6 || len(all[0]) < 10 || len(all[1]) < 5 || len(all[2]) < 10 {
		t.Fatalf("the page has %d tables; want the six that are checked", len(all))
	}
	for _, row := range all[0] {
		permanence, confidence := loci.Permanence(row[0]), decimal(t, row[2])
		if rate, err := permanence.Rate(); err != nil || rate != decimal(t, row[1]) {
			t.Errorf("%v: rate %v, %v", row, rate, err)
		}
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "u")
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "x", Permanence: permanence, Confidence: confidence}).ID
		c.Advance(time.Duration(decimal(t, row[3]) * float64(dayLong)))
		f := locitest.Fact(t, m, id)
		got := strconv.FormatFloat(f.EffectiveConfidence, 'f', 4, 64)
		if got != row[4] || string(f.Validity) != row[5] {
			t.Errorf("%v: %s, %s", row, got, f.Validity)
		}
	}
	for _, row := range all[1] {
		rate, err := loci.Permanence(row[0]).Rate()
		if err != nil {
			t.Fatal(err)
		}
		d := loci.Decay{Confidence: decimal(t, row[1]), Rate: rate, From: time.Unix(0, 0)}
		for i, threshold := range []float64{loci.ActiveConfidence, loci.LiveConfidence} {
			if days := d.Below(threshold).Sub(d.From).Hours() / 24; math.Abs(days-decimal(t, row[2+i])) > 0.0006 {
				t.Errorf("%v: below %v after %v days", row, threshold, days)
			}
		}
	}
	for _, row := range all[2] {
		got := loci.Effectiveness(int64(decimal(t, row[0])), int64(decimal(t, row[1])))
		if strconv.FormatFloat(got, 'f', 4, 64) != row[2] {
			t.Errorf("%v: %v", row, got)
		}
	}
	checkRecallTables(t, all[3], all[4], all[5])
}

// checkRecallTables recomputes the components of a recalled memory's score.
func checkRecallTables(t *testing.T, relevance, recency, score [][]string) {
	t.Helper()
	rank := func(text string) int {
		if text == "–" {
			return 0
		}
		return int(decimal(t, text))
	}
	same := func(row []string, got float64) {
		t.Helper()
		if strconv.FormatFloat(got, 'f', 4, 64) != row[len(row)-1] {
			t.Errorf("%v: %v", row, got)
		}
	}
	for _, row := range relevance {
		same(row, loci.Relevance(rank(row[0]), rank(row[1]), rank(row[2])))
	}
	now := locitest.NewClock().Now()
	for _, row := range recency {
		same(row, loci.Recency(now.Add(-time.Duration(decimal(t, row[0])*float64(dayLong))), now))
	}
	if loci.Recency(time.Time{}, now) != 0 || loci.Recency(now.Add(time.Hour), now) != 1 {
		t.Error("never used, or used in the future of a clock that was set back")
	}
	for _, row := range score {
		same(row, loci.RecallWeights{
			Relevance:  0.4,
			Importance: 0.3,
			Recency:    0.2,
			Confidence: 0.1,
		}.Score(loci.RecallExplain{
			Relevance:  decimal(t, row[0]),
			Importance: decimal(t, row[1]) / 10,
			Recency:    decimal(t, row[2]),
			Confidence: decimal(t, row[3]),
		}))
	}
	if len(relevance) < 8 || len(recency) < 5 || len(score) < 5 {
		t.Error("rows are missing")
	}
}
