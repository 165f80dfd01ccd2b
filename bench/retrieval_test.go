package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

var lexical = System{Name: "lexical", Embedder: embedding.NewLexical()}

// measure runs without intervals, in memory, on the diary.
func measure(t *testing.T, opts RetrievalOptions) *RetrievalReport {
	t.Helper()
	if opts.Dirs == nil {
		opts.Dirs = []string{"testdata/diary"}
	}
	if opts.Systems == nil {
		opts.Systems = []System{lexical}
	}
	if opts.Resamples == 0 {
		opts.Resamples = -1
	}
	report, err := Retrieval(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// quality is the part of a report that does not depend on the machine.
func quality(r *RetrievalReport) map[string]map[string]Estimate {
	out := map[string]map[string]Estimate{}
	for _, run := range r.Runs {
		for _, m := range run.Modes {
			for _, g := range m.Groups {
				out[strings.Join([]string{run.Data, run.Embedder, run.Context, m.Mode, g.Group}, " ")] = g.Metrics
			}
		}
	}
	return out
}

// TestRetrievalReport: measures the diary once and checks what a report holds: each mode, each
// group of questions, figures inside of their intervals, and differences that are those of the
// figures.
func TestRetrievalReport(t *testing.T) {
	r := measure(t, RetrievalOptions{Baseline: true, InMemory: true, Resamples: 200})
	want := DatasetReport{Name: "diary", Conversations: 2, Turns: 41, Questions: 24, Counted: 22, Adversarial: 2}
	if diff := cmp.Diff([]DatasetReport{want}, r.Datasets); diff != "" {
		t.Error(diff)
	}
	run := r.Runs[0]
	if run.Memories != 41 || run.Model != "lexical-1" || run.Dims != 256 || run.StoredPerSec <= 0 {
		t.Errorf("%+v", run)
	}
	var modes, groups []string
	for _, m := range run.Modes {
		modes = append(modes, m.Mode)
		if m.P50 <= 0 || m.P95 < m.P50 || m.Tokens < 15 || m.Tokens > 400 {
			t.Errorf("%s: p50 %v, p95 %v, %v tokens", m.Mode, m.P50, m.P95, m.Tokens)
		}
	}
	n := 0
	for _, g := range run.Modes[0].Groups {
		groups = append(groups, g.Group)
		if g.Group != Overall && g.Group != "adversarial" {
			n += g.N
		}
		for metric, e := range g.Metrics {
			if e.Low > e.Value || e.High < e.Value {
				t.Errorf("%s %s: %+v", g.Group, metric, e)
			}
		}
	}
	if diff := cmp.Diff([]string{"keyword", "vector", "hybrid", "fts5"}, modes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"overall", "adversarial", "multi-hop", "open-domain", "single-hop", "temporal"}, groups); diff != "" {
		t.Error(diff)
	}
	if counted := run.Modes[0].Groups[0].N; counted != 22 || n != counted {
		t.Errorf("%d questions overall, %d in categories", counted, n)
	}
	if len(run.Differences) != 4 {
		t.Errorf("%d differences", len(run.Differences))
	}
	for _, d := range run.Differences {
		byMode := func(mode string) float64 {
			return run.Modes[slices.Index(modes, mode)].Groups[0].Metrics["recall@5"].Value
		}
		if got := d.Metrics["recall@5"].Value; !near(got, byMode(d.A)-byMode(d.B)) || d.N != 22 {
			t.Errorf("%s - %s is %v of %d", d.A, d.B, got, d.N)
		}
	}
}

// TestRetrievalIsTheSameInEveryStore also shows that a run can be repeated.
func TestRetrievalIsTheSameInEveryStore(t *testing.T) {
	dir := t.TempDir()
	file := quality(measure(t, RetrievalOptions{Dir: dir, Contexts: Contexts[:2]}))
	memory := quality(measure(t, RetrievalOptions{InMemory: true, Contexts: Contexts[:2]}))
	if diff := cmp.Diff(file, memory); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if maps.EqualFunc(file["diary lexical none vector overall"], file["diary lexical speaker vector overall"], func(a, b Estimate) bool { return a == b }) {
		t.Error("the context changes nothing")
	}
}

func TestRetrievalComparesAndPools(t *testing.T) {
	r := measure(t, RetrievalOptions{InMemory: true, Dirs: []string{"testdata/diary", "testdata/diary"}, Systems: []System{lexical, {Name: "none"}},
		// Sequences are signals of their own, and so is the time that one of the questions names.
		Engine: loci.Options{Search: loci.SearchOptions{NeighbourShare: loci.None, ContextShare: loci.None}}})
	q := quality(r)
	if one, all := q["diary#2 lexical hybrid overall"], q["all lexical hybrid overall"]; !maps.Equal(one, all) {
		t.Errorf("twice the same data: %v apart, %v together", one, all)
	}
	if _, ok := q["diary none none vector overall"]; ok {
		t.Error("without an embedder there is a mode vector")
	}
	if !maps.Equal(q["diary none none hybrid multi-hop"], q["diary none none keyword multi-hop"]) {
		t.Error("without an embedder hybrid is not keyword")
	}
	var compared []string
	for _, d := range r.Differences {
		compared = append(compared, d.Data+": "+d.A+" - "+d.B)
		want := q[d.Data+" none none hybrid overall"]["mrr"].Value - q[d.Data+" lexical none hybrid overall"]["mrr"].Value
		if !near(d.Metrics["mrr"].Value, want) {
			t.Errorf("%s: %v, want %v", d.Data, d.Metrics["mrr"].Value, want)
		}
	}
	if diff := cmp.Diff([]string{"diary: hybrid none/none - hybrid lexical/none", "diary#2: hybrid none/none - hybrid lexical/none",
		"all: hybrid none/none - hybrid lexical/none"}, compared); diff != "" {
		t.Error(diff)
	}
	if n := r.Runs[2].Modes[0].Groups[0].N; n != 44 {
		t.Errorf("%d questions together", n)
	}
}

func TestReportFitsTheScreen(t *testing.T) {
	r := measure(t, RetrievalOptions{InMemory: true, Baseline: true, Contexts: Contexts[1:]})
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"diary: 41 turns in 2 conversations; 24 questions, of which 22 count", "hybrid - fts5", "adversarial",
		"diary, against embedder lexical, context speaker", "vector lexical/speaker+date", "tokens of 10 hits"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if err := r.Print(failingWriter{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v of a writer that fails", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// faulty fails once it has embedded a number of texts.
type faulty struct {
	*embedding.Lexical
	left int
}

func (f *faulty) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.left -= len(texts); f.left < 0 {
		return nil, errors.New("gone")
	}
	return f.Lexical.Embed(ctx, texts)
}

// TestRetrievalMeasuresNothingHalf: an embedder that fails must not leave figures behind, since
// those would be figures of keyword search.
func TestRetrievalMeasuresNothingHalf(t *testing.T) {
	quiet := loci.Options{Logger: slog.New(slog.DiscardHandler)}
	// 41 memories are embedded, then the first question is asked twice by vector, then hybrid.
	for left, want := range map[int]string{0: "embedder faulty does not embed all memories", 40: "embedder faulty does not embed all memories", 41: "the embedder does not answer", 44: "hybrid search cannot be measured"} {
		_, err := Retrieval(context.Background(), RetrievalOptions{Dirs: []string{"testdata/diary"}, InMemory: true, Engine: quiet,
			Systems: []System{{Name: "faulty", Embedder: &faulty{embedding.NewLexical(), left}}}})
		if !errors.Is(err, loci.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("after %d texts: error %v", left, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Retrieval(ctx, RetrievalOptions{Dirs: []string{"testdata/diary"}, Systems: []System{lexical}}); err == nil {
		t.Error("a cancelled run has a report")
	}
}

func TestRetrievalRefusesBadOptions(t *testing.T) {
	for want, opts := range map[string]RetrievalOptions{
		"no dataset is named":    {Systems: []System{lexical}},
		"no embedder is named":   {Dirs: []string{"testdata/diary"}},
		`context is "weather"`:   {Dirs: []string{"testdata/diary"}, Systems: []System{lexical}, Contexts: []string{"weather"}},
		"testdata/none/turns.js": {Dirs: []string{"testdata/none"}, Systems: []System{lexical}},
	} {
		_, err := Retrieval(context.Background(), opts)
		if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestContent(t *testing.T) {
	at, _ := parseTime("2026-01-02T23:00:00")
	full := Turn{Text: "Look!", Speaker: "Ines", Caption: "a bowl", at: at}
	for _, c := range []struct {
		turn     Turn
		heading  string
		captions bool
		want     string
	}{
		{full, ContextNone, false, "Look!"},
		{full, ContextNone, true, "Look! [shared: a bowl]"},
		{full, ContextSpeaker, false, "Ines: Look!"},
		{full, ContextSpeakerDate, true, "Ines (2 January 2026): Look! [shared: a bowl]"},
		{Turn{Text: "Look!", Speaker: "Ines"}, ContextSpeakerDate, false, "Ines: Look!"},
		{Turn{Text: "Look!"}, ContextSpeakerDate, false, "Look!"},
		{Turn{Caption: "a bowl", Speaker: "Ines"}, ContextSpeaker, false, ""},
		{Turn{Caption: "a bowl"}, ContextNone, true, "[shared: a bowl]"},
	} {
		if got := c.turn.content(c.heading, c.captions); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestQueryWords(t *testing.T) {
	for query, want := range map[string]string{
		`What's the "rent", in July?`: "rent|july",
		"Who is it?":                  "who|is|it",
		"C++ & naïve café":            "c|naïve|café",
		"?!":                          "",
	} {
		if got := strings.Join(queryWords(query), "|"); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestTurnsKeepTheirOrder: later turns are newer memories, whatever the data
// knows of the time, and the same words said twice are two memories.
func TestTurnsKeepTheirOrder(t *testing.T) {
	said := []string{"", "", "2026-01-02", "2026-01-02", "2026-01-01", "2026-01-03"}
	var lines strings.Builder
	for i, at := range said {
		fmt.Fprintf(&lines, `{"conv":"c","turn":"%d","text":"Salt is in the blue tin.","time":"%s"}`+"\n", i+1, at)
	}
	dir := writeDataset(t, lines.String(), goodQuestion)
	d, err := ReadDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	times := d.times()
	for i := 1; i < len(times); i++ {
		if times[i].Sub(times[i-1]) < time.Millisecond { // the engine's clock knows no shorter time
			t.Errorf("turn %d at %v is not newer than %v", i+1, times[i], times[i-1])
		}
	}
	if want, _ := parseTime("2026-01-03"); !times[5].Equal(want) {
		t.Errorf("turn 6 at %v", times[5])
	}
	run := measure(t, RetrievalOptions{Dirs: []string{dir}, InMemory: true}).Runs[0]
	if run.Memories != len(said) {
		t.Errorf("%d memories of %d turns", run.Memories, len(said))
	}
	// Equal scores: newest first, so that the oldest comes last.
	if mrr := run.Modes[0].Groups[0].Metrics["mrr"].Value; !near(mrr, 1.0/float64(len(said))) {
		t.Errorf("MRR %v", mrr)
	}
}

// TestTurnsHaveNeighbours: turns stand in their sessions, so the share is measured,
// and it concerns hybrid search alone.
func TestTurnsHaveNeighbours(t *testing.T) {
	d := Dataset{Turns: []Turn{{Conv: "a"}, {Conv: "b"}, {Conv: "a"}, {Conv: "b"}, {Conv: "a"}}}
	if diff := cmp.Diff([]int64{0, 0, 1, 1, 2}, d.positions()); diff != "" {
		t.Error(diff)
	}
	with, without := loci.Options{}, loci.Options{}
	with.Search.NeighbourShare, without.Search.NeighbourShare = 0.5, loci.None
	asked := quality(measure(t, RetrievalOptions{InMemory: true, Engine: with}))
	alone := quality(measure(t, RetrievalOptions{InMemory: true, Engine: without}))
	for mode, same := range map[string]bool{"keyword": true, "vector": true, "hybrid": false} {
		group := "diary lexical none " + mode + " overall"
		if maps.Equal(alone[group], asked[group]) != same {
			t.Errorf("%s: %v without, %v with neighbours", mode, alone[group], asked[group])
		}
	}
}
