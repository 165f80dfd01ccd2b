package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

type searchCmd struct {
	Query    []string `arg:"" help:"What to look for, in plain words; - reads it from standard input."`
	Limit    int      `short:"n" default:"10" placeholder:"N" help:"The most results to show, 1 to 1000. Default: 10."`
	Offset   int      `placeholder:"N" help:"How many results to skip."`
	Tag      []string `sep:"none" short:"t" placeholder:"TAG" help:"Only memories with this tag; may be repeated."`
	Filter   string   `placeholder:"JSON" help:"Only memories whose metadata, subject and predicate, or fields match, with operators $eq, $ne, $gt, $gte, $lt and $lte."`
	Mode     string   `placeholder:"MODE" values:"hybrid,keyword,semantic" help:"hybrid, keyword or semantic. Default: hybrid."`
	MinScore float64  `placeholder:"X" help:"Only results with at least this score, 0 to 1. A score is about the chance that the result answers. Default: 0."`
	NoRerank bool     `help:"Do not rerank the results, even if rerank.model is set."`
	Since    string   `placeholder:"TIME" help:"Only what was made at this time or after: a date, a time, or how long ago (7d)."`
	Until    string   `placeholder:"TIME" help:"Only what was made before this time."`
	Explain  bool     `help:"Show how each score came about."`
	In       string   `placeholder:"WHERE" values:"memories,files" default:"memories" help:"memories, or files: passages of text files with their lines. Default: memories."`
	Path     string   `placeholder:"PATH" help:"With --in files: only this file, or below this directory."`
	Kind     []string `sep:"none" placeholder:"KIND" values:"note,fact,rule,episode,item,session,message,file,thread" help:"Only memories of this kind; may be repeated: note, fact, rule, episode, item, session, message, file or thread. Default: all but sessions, messages, files and threads."`
	State    []string `sep:"none" placeholder:"STATE" values:"live,fading,waiting" help:"Only memories in this state; may be repeated: live, fading or waiting. Default: all of these."`
	width
	filePlace
}

// Help is shown below the usage.
func (*searchCmd) Help() string {
	return `In a pipe each result is a line: score, id, time and passage, with tabs between them.

In the query, "words in double quotes" must follow one another in a result, and begin* stands for all words that begin so.

    loci search "where do I like to sit"
    loci search '"window seat" flig*'
    loci search "the budget" --kind note --kind message --kind file
    loci search "the budget" --in files --path /notes
    loci search seats --tag travel --filter '{"year":{"$gte":2025}}' --explain`
}

// A resultJSON is one result as --json shows it.
type resultJSON struct {
	memoryJSON
	Score   float64       `json:"score"`
	Speaker string        `json:"speaker,omitempty"` // who said it, where that is known
	Passage string        `json:"passage"`
	Explain *loci.Explain `json:"explain,omitempty"`
}

// Run searches.
func (c *searchCmd) Run(a *app) error {
	where, err := parseFilter(c.Filter)
	if err != nil {
		return err
	}
	text, err := a.words(c.Query, loci.MaxQueryBytes)
	if err != nil {
		return err
	}
	if err := checkNames("--in", []string{c.In}, "memories", "files"); err != nil {
		return err
	}
	if c.In == "files" && (len(c.Tag) > 0 || c.Filter != "") {
		return loci.Errorf(loci.Invalid, "--tag and --filter are for memories: files have no tags and no metadata")
	}
	if c.In != "files" && (c.Path != "" || c.Memory != "") {
		return loci.Errorf(loci.Invalid, "--path and --memory need --in files")
	}
	if err := checkWhich(c.Kind, c.State); err != nil {
		return err
	}
	if c.In == "files" && len(c.Kind)+len(c.State) > 0 {
		return loci.Errorf(loci.Invalid, "--kind and --state are for memories: leave them out for files")
	}
	if c.Limit < 1 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to %d", c.Limit, loci.MaxSearchLimit)
	}
	created, err := periodOf(c.Since, c.Until, time.Now())
	if err != nil {
		return err
	}
	if c.In == "files" {
		return c.searchFiles(a, text, created)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	q := loci.Query{
		Text:     text,
		Mode:     loci.Mode(c.Mode),
		Limit:    c.Limit,
		Offset:   c.Offset,
		Tags:     c.Tag,
		Where:    where,
		MinScore: c.MinScore,
		Rerank:   unless(c.NoRerank),
		Since:    created.since,
		Until:    created.until,
	}
	result, err := view.Search(a.ctx, m, q, namesOf[loci.Kind](c.Kind), namesOf[view.State](c.State))
	if err != nil {
		return err
	}
	if result.KeywordOnly {
		a.note("the embedder did not answer: these are results by keyword")
	}
	a.notReranked(result.NotReranked)
	c.understood(a, result.Corrections, result.Times)
	if a.json {
		return c.printJSON(a, result)
	}
	return c.print(a, m, result)
}

// unless is what a search is told about its re-ranker: no, or nothing.
func unless(not bool) *bool {
	if not {
		return new(false)
	}
	return nil
}

// notReranked says why the order of results is the first one.
func (a *app) notReranked(why string) {
	if why != "" {
		a.note("%s: these results are in the order they had before", why)
	}
}

// understood says what a query was taken for: words that nobody has, names, and times.
func (c *searchCmd) understood(a *app, corrections []loci.Correction, times []loci.NamedTime) {
	for _, x := range corrections {
		if x.SearchedFor[0] == x.Word {
			a.note("also searched for: %s (who %q is, as memories say)", strings.Join(x.SearchedFor[1:], ", "), x.Word)
			continue
		}
		a.note("searched for: %s (no memory has %q)", strings.Join(x.SearchedFor, ", "), x.Word)
	}
	for _, t := range times {
		if c.Explain {
			a.note("understood: %q is %s", t.Text, showTimes(t))
		}
	}
}

// showTimes shows a time that a query names; without a year it may be any.
func showTimes(t loci.NamedTime) string {
	shown := ""
	if !t.Since.IsZero() {
		shown = "from " + jsonform.Time(t.Since)
	}
	if !t.Until.IsZero() {
		shown = strings.TrimSpace(shown + " until " + jsonform.Time(t.Until))
	}
	if t.Yearly {
		shown += ", or another year"
	}
	return shown
}

// A fileMatchJSON is a passage of a file as --json shows it.
type fileMatchJSON struct {
	Path    string        `json:"path"`
	First   int64         `json:"first_line"`
	Last    int64         `json:"last_line"`
	Score   float64       `json:"score"`
	Passage string        `json:"passage"`
	Explain *loci.Explain `json:"explain,omitempty"`
}

// searchFiles searches a tree of files.
func (c *searchCmd) searchFiles(a *app, text string, created period) error {
	files, err := a.tree(c.filePlace, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	result, err := files.Search(a.ctx, tree.Query{
		Text:     text,
		Mode:     loci.Mode(c.Mode),
		Limit:    c.Limit,
		Offset:   c.Offset,
		Path:     c.Path,
		MinScore: c.MinScore,
		Rerank:   unless(c.NoRerank),
		Since:    created.since,
		Until:    created.until,
	})
	if err != nil {
		return err
	}
	if result.KeywordOnly {
		a.note("the embedder did not answer: these are results by keyword")
	}
	a.notReranked(result.NotReranked)
	c.understood(a, result.Corrections, result.Times)
	out := []fileMatchJSON{}
	t := table{wide: c.Wide, head: []string{"SCORE", "FILE", "LINES", "PASSAGE"}}
	for i := range result.Matches {
		match := &result.Matches[i]
		shown := fileMatchJSON{
			Path:    match.File.Path,
			First:   match.First,
			Last:    match.Last,
			Score:   match.Score,
			Passage: match.Passage,
		}
		if c.Explain {
			shown.Explain = &match.Explain
		}
		out = append(out, shown)
		t.add(fmt.Sprintf("%.3f", match.Score), match.File.Path, fmt.Sprintf("%d-%d", match.First, match.Last), match.Passage)
	}
	if a.json {
		return a.printJSON(struct {
			Results     []fileMatchJSON `json:"results"`
			KeywordOnly bool            `json:"keyword_only"`
			NotReranked string          `json:"not_reranked,omitempty"`

			Corrections []loci.Correction `json:"corrections,omitempty"`
			Times       []loci.NamedTime  `json:"times,omitempty"`
		}{out, result.KeywordOnly, result.NotReranked, result.Corrections, result.Times})
	}
	if len(t.rows) == 0 {
		a.note("nothing found")
	}
	t.print(a)
	return nil
}

func (c *searchCmd) printJSON(a *app, result view.Results) error {
	out := struct {
		Results     []resultJSON      `json:"results"`
		KeywordOnly bool              `json:"keyword_only"`
		NoWords     bool              `json:"no_words,omitzero"`
		NotReranked string            `json:"not_reranked,omitempty"`
		Corrections []loci.Correction `json:"corrections,omitempty"`
		Times       []loci.NamedTime  `json:"times,omitempty"`
	}{[]resultJSON{}, result.KeywordOnly, result.NoWords, result.NotReranked, result.Corrections, result.Times}
	for i := range result.Results {
		found := &result.Results[i]
		r := resultJSON{memoryJSON: entryJSON(&found.Entry), Score: found.Score,
			Speaker: found.Speaker, Passage: found.Passage}
		if c.Explain {
			r.Explain = found.Explain
		}
		out.Results = append(out.Results, r)
	}
	return a.printJSON(out)
}

func (c *searchCmd) print(a *app, m *loci.Memory, result view.Results) error {
	t := table{wide: c.Wide, head: []string{"SCORE", "ID", "AGE", "PASSAGE"}}
	if c.Explain {
		t.head = []string{"SCORE", "KEYWORD", "VECTOR", "BEFORE", "TIME", "BM25", "COSINE", "RANKS", "ID", "AGE", "PASSAGE"}
	}
	for i := range result.Results {
		found := &result.Results[i]
		m := entryJSON(&found.Entry)
		row := []string{fmt.Sprintf("%.3f", found.Score)}
		if e := found.Explain; c.Explain {
			row = append(row, fmt.Sprintf("%.3f", e.KeywordPart), fmt.Sprintf("%.3f", e.VectorPart),
				fmt.Sprintf("%.3f", e.ContextPart+e.NeighbourPart+e.SignerPart),
				fmt.Sprintf("%.3f", e.TimePart), fmt.Sprintf("%.3f", e.Keyword),
				cosine(*e), fmt.Sprintf("%s/%s", rank(e.KeywordRank), rank(e.VectorRank)))
		}
		t.add(append(row, a.shortID(m.ID, c.Wide), a.when(m.CreatedAt), whose(&found.Entry)+found.Passage)...)
	}
	t.print(a)
	if len(t.rows) > 0 {
		return nil
	}
	totals, err := view.Totals(a.ctx, m)
	if err != nil {
		return err
	}
	if remembered(totals.Counts) == "" {
		a.note("%s", nothingYet)
	} else {
		a.note("%s", nothing(result.NoWords))
	}
	return nil
}

// whose says what a passage is of, when the passage alone does not tell.
func whose(e *view.Entry) string {
	switch e.Kind {
	case tree.KindFile, session.Kind:
		return e.Key + ": "
	case session.KindMessage:
		return fmt.Sprintf("%s %v: ", e.Details["session_id"], e.Details["seq"])
	}
	return fence.Key(e.Subject, e.Predicate)
}

// nothing says why a result is empty.
func nothing(noWords bool) string {
	if noWords {
		return "nothing found: the query has no word"
	}
	return "nothing found"
}

func cosine(e loci.Explain) string {
	if !e.Embedded {
		return "-"
	}
	return fmt.Sprintf("%.3f", e.Similarity)
}

// rank shows a rank; "-" means not among the candidates.
func rank(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
