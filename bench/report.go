package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Print writes the report as tables of at most 100 columns. The intervals are at
// 95 %; [RetrievalReport] as JSON has them for every metric.
func (r *RetrievalReport) Print(w io.Writer) error {
	p := &printer{w: w}
	for _, d := range r.Datasets {
		p.line("%s: %d turns in %d conversations; %d questions, of which %d count",
			d.Name, d.Turns, d.Conversations, d.Questions, d.Counted)
		if d.Adversarial+d.LeftOut > 0 {
			p.line("(%d adversarial are shown apart; %d without evidence or without an answer are left out)", d.Adversarial, d.LeftOut)
		}
		if d.Unresolved > 0 {
			p.line("(%d times the answer key names a turn that is not there)", d.Unresolved)
		}
		for _, f := range d.Files {
			p.line("%s  %s", f.SHA256, f.Path)
		}
	}
	for i := range r.Runs {
		p.run(&r.Runs[i])
	}
	for _, data := range r.compared() {
		p.line("\n%s, against embedder %s, context %s", data, r.Runs[0].Embedder, r.Runs[0].Context)
		var rows []Difference
		for _, d := range r.Differences {
			if d.Data == data {
				d.B = ""
				rows = append(rows, d)
			}
		}
		p.differences(rows)
	}
	return p.err
}

// compared lists the data that runs were compared on.
func (r *RetrievalReport) compared() (names []string) {
	for _, d := range r.Differences {
		if !slices.Contains(names, d.Data) {
			names = append(names, d.Data)
		}
	}
	return names
}

// A printer keeps the first error of its writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// table writes rows whose first column is to the left and the others to the right.
func (p *printer) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		p.line("%s", strings.TrimRight(line, " "))
	}
}

func (p *printer) run(r *RunReport) {
	p.line("\n%s, embedder %s, context %s%s", r.Data, r.embedder(), r.Context, map[bool]string{true: ", with captions"}[r.Captions])
	p.line("%d memories stored in %s, embedded in %s: %.0f a second\n", r.Memories, seconds(r.StoreTime), seconds(r.EmbedTime), r.StoredPerSec)
	rows := [][]string{{"", "n", "R@1", "R@5", "R@10", "95 %", "R@20", "nDCG@10", "95 %", "hit@10", "MRR"}}
	for _, m := range r.Modes {
		all := m.Groups[0]
		v := func(metric string) string { return plain(all.Metrics[metric]) }
		rows = append(rows, []string{m.Mode, fmt.Sprint(all.N), v("recall@1"), v("recall@5"), v("recall@10"), interval(all.Metrics["recall@10"]),
			v("recall@20"), v("ndcg@10"), interval(all.Metrics["ndcg@10"]), v("hit@10"), v("mrr")})
	}
	p.table(rows)
	p.line("")
	p.categories(r)
	p.line("")
	rows = [][]string{{"a search", "p50", "p95", "tokens of 10 hits", metricSession, metricAnswer, "stored in", "a save is kept"}}
	for _, m := range r.Modes {
		stored := m.Stored
		if m.System == "" && m.Mode != ModeFTS5 {
			stored = r.StoreTime + r.EmbedTime
		}
		shown := func(metric string) string {
			if e, ok := m.Groups[0].Metrics[metric]; ok {
				return plain(e)
			}
			return "–"
		}
		rows = append(rows, []string{m.Mode, round(m.P50).String(), round(m.P95).String(), fmt.Sprintf("%.0f", m.Tokens),
			shown(metricSession), shown(metricAnswer), seconds(stored), m.Kept})
	}
	p.table(rows)
	for _, m := range r.Modes {
		if m.System != "" {
			p.line("%s: %s", m.Mode, m.System)
		}
	}
	if len(r.Differences) > 0 {
		p.line("")
		p.differences(r.Differences)
	}
}

func (r *RunReport) embedder() string {
	if r.Model == "" {
		return r.Embedder
	}
	return fmt.Sprintf("%s (%s, %d dimensions)", r.Embedder, r.Model, r.Dims)
}

// categories writes recall@10 of each category, a mode a column.
func (p *printer) categories(r *RunReport) {
	head := []string{"R@10 by category", "n"}
	for _, m := range r.Modes {
		head = append(head, m.Mode, "95 %")
	}
	rows := [][]string{head}
	for i, g := range r.Modes[0].Groups {
		if g.Group == Overall {
			continue
		}
		row := []string{g.Group, fmt.Sprint(g.N)}
		for _, m := range r.Modes {
			e := m.Groups[i].Metrics["recall@10"]
			row = append(row, plain(e), fmt.Sprintf("%.2f–%.2f", e.Low, e.High))
		}
		rows = append(rows, row)
	}
	p.table(rows)
}

func (p *printer) differences(all []Difference) {
	rows := [][]string{{"difference, paired", "R@10", "95 %", "nDCG@10", "95 %"}}
	for _, d := range all {
		name := d.A
		if d.B != "" {
			name += " - " + d.B
		}
		recall, ndcg := d.Metrics["recall@10"], d.Metrics["ndcg@10"]
		rows = append(rows,
			[]string{name, signed(recall.Value), signedInterval(recall), signed(ndcg.Value), signedInterval(ndcg)})
	}
	p.table(rows)
}

func plain(e Estimate) string    { return fmt.Sprintf("%.3f", e.Value) }
func interval(e Estimate) string { return fmt.Sprintf("%.3f–%.3f", e.Low, e.High) }
func signed(v float64) string    { return fmt.Sprintf("%+.3f", v) }

func signedInterval(e Estimate) string { return signed(e.Low) + " to " + signed(e.High) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
