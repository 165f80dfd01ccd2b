package main

import (
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/view"
)

// which are the flags that choose memories.
type which struct {
	Kind  []string `sep:"none" placeholder:"KIND" values:"note,fact,rule,episode,item,session,message,file,thread" help:"Only memories of this kind; may be repeated: note, fact, rule, episode, item, session, message, file or thread. Default: all but messages."`
	State []string `sep:"none" placeholder:"STATE" values:"live,fading,waiting,superseded,forgotten,expired" help:"Only memories in this state; may be repeated: live, fading, waiting, superseded, forgotten or expired. Default: live, fading and waiting."`
}

// checkWhich refuses kinds and states that there are not.
func checkWhich(kinds, states []string) error {
	err := checkNames("--kind", kinds, "note", "fact", "rule", "episode", "item", "session", "message", "file", "thread")
	if err != nil {
		return err
	}
	return checkNames("--state", states, textsOf(view.States)...)
}

// checkNames refuses a name that a flag does not take.
func checkNames(flag string, given []string, allowed ...string) error {
	for _, name := range given {
		if _, err := spelling.OneOf(name, allowed...); err != nil {
			return loci.Errorf(loci.Invalid, "%s: %v", flag, err)
		}
	}
	return nil
}

func (w *which) kinds() []loci.Kind   { return namesOf[loci.Kind](w.Kind) }
func (w *which) states() []view.State { return namesOf[view.State](w.State) }

// namesOf makes names of texts.
func namesOf[T ~string](texts []string) (names []T) {
	for _, text := range texts {
		names = append(names, T(text))
	}
	return names
}

// textsOf makes texts of names.
func textsOf[T ~string](names []T) (texts []string) {
	for _, name := range names {
		texts = append(texts, string(name))
	}
	return texts
}

type listCmd struct {
	Tag     []string `sep:"none" short:"t" placeholder:"TAG" help:"Only memories with this tag; may be repeated."`
	Filter  string   `placeholder:"JSON" help:"Only memories whose metadata, subject and predicate, or fields match."`
	AsOf    string   `placeholder:"TIME" help:"The facts and notes that were believed at this time, in their words of that time: a date, a time, or how long ago (7d)."`
	Limit   *int     `short:"n" placeholder:"N" help:"The most to show, 1 to 1000. Default: 50."`
	All     bool     `help:"List all of them, however many."`
	History bool     `help:"Memories in every state: superseded, forgotten and expired ones, too."`
	Long    bool     `short:"l" help:"Also show kind, state, namespace and who saved it."`
	which
	width
	following
	place
}

// Help is shown below the usage.
func (*listCmd) Help() string {
	return `In a pipe each memory is a line: id, time, tags and content, with tabs between them; with --long kind, state,
namespace and source (who saved it, with which program and tool) are in front of the content.

    loci list --tag travel
    loci list --kind rule --kind episode --long
    loci list --state forgotten
    loci list --all --json`
}

// Run lists memories of every kind.
func (c *listCmd) Run(a *app) error {
	page := loci.Page{Limit: 50, Cursor: c.Cursor}
	switch {
	case c.All && c.Limit != nil:
		return loci.Errorf(loci.Invalid, "--all lists every memory, and --limit some: leave one of them out")
	case c.All:
		page.Limit = 500
	case c.Limit != nil:
		page.Limit = *c.Limit
	}
	if page.Limit < 1 || page.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --all or --cursor", page.Limit)
	}
	if err := checkWhich(c.Kind, c.State); err != nil {
		return err
	}
	q, err := c.query(time.Now())
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	out := listing{Memories: []memoryJSON{}}
	for {
		entries, next, err := view.List(a.ctx, m, q, page)
		if err != nil {
			return err
		}
		for i := range entries {
			out.Memories = append(out.Memories, entryJSON(&entries[i]))
		}
		page.Cursor, out.NextCursor = next, next
		if next == "" || !c.All {
			break
		}
		if !a.json && !isTerminal(a.rawOut) { // lines can go out as they come
			c.print(a, out)
			out.Memories = nil
		}
	}
	if a.json {
		return a.printJSON(out)
	}
	c.print(a, out)
	if len(out.Memories) == 0 && c.Cursor == "" && !c.All {
		a.note("%s", c.whyEmpty())
	}
	a.more(out.NextCursor)
	return nil
}

// query is what the flags select.
func (c *listCmd) query(now time.Time) (q view.Query, err error) {
	q = view.Query{Tags: c.Tag, Kinds: c.kinds(), States: c.states()}
	if q.Where, err = parseFilter(c.Filter); err != nil {
		return q, err
	}
	if q.AsOf, err = parseTime("--as-of", c.AsOf, now); err != nil {
		return q, err
	}
	if c.History && len(q.States) == 0 && q.AsOf.IsZero() {
		q.States = view.States
	}
	return q, nil
}

// whyEmpty says what to do about an empty list.
func (c *listCmd) whyEmpty() string {
	if len(c.Tag)+len(c.Kind)+len(c.State) > 0 || c.Filter != "" || c.AsOf != "" {
		return "nothing fits; loci list without flags shows all"
	}
	return nothingYet
}

const nothingYet = "nothing yet; try: loci save \"I like window seats.\""

func (c *listCmd) print(a *app, out listing) {
	t := table{wide: c.Wide, head: []string{"ID", "AGE", "TAGS", "CONTENT"}}
	if c.Long {
		t.head = []string{"ID", "AGE", "TAGS", "KIND", "STATE", "NAMESPACE", "SOURCE", "CONTENT"}
	}
	for i := range out.Memories {
		m := &out.Memories[i]
		row := []string{a.shortID(m.ID, c.Wide), a.when(m.CreatedAt), tagList(m.Tags)}
		if c.Long {
			row = append(row, string(m.Type), string(m.State), m.Namespace.String(), m.savedBy())
		}
		t.add(append(row, m.said())...)
	}
	t.print(a)
}
