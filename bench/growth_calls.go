package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// A page that a list is asked for, and what a call on it may cost.
const (
	growthPage = 20
	listGoal   = 1e6
	eraseGoal  = 5e6
)

func (g *grown) lists() error {
	m, page := g.memory, loci.Page{Limit: growthPage}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"list, first page", func() error { _, _, err := m.Facts(g.ctx, loci.FactQuery{}, page); return err }},
		{"list with history, first page", func() error {
			_, _, err := m.Facts(g.ctx, loci.FactQuery{History: true}, page)
			return err
		}},
		{"empty search", func() error { _, err := m.Search(g.ctx, loci.Query{Limit: growthPage}); return err }},
		{"as_of", func() error { _, _, err := view.AsOf(g.ctx, m, view.AsOfQuery{}, page); return err }},
		{"every kind", func() error { _, _, err := view.List(g.ctx, m, view.Query{}, page); return err }},
		{"episodes", func() error { _, _, err := m.Episodes(g.ctx, loci.EpisodeQuery{}, page); return err }},
		{"rules", func() error { _, _, err := m.Rules(g.ctx, loci.RuleQuery{}, page); return err }},
		{"events", func() error { _, _, err := m.Events(g.ctx, loci.EventFilter{}, page); return err }},
		{"stats", func() error { _, err := m.Stats(g.ctx); return err }},
		{"stats of vectors", func() error { _, err := g.engine.Generations(g.ctx, m.View().Tenant); return err }},
		{"lifecycle stats", func() error { _, err := view.Lifecycle(g.ctx, m, ""); return err }},
	} {
		if err := g.measure(c.name, listGoal, c.run); err != nil {
			return err
		}
	}
	return g.measure("get by id", 0, func() error { _, err := m.Fact(g.ctx, g.ids[0]); return err })
}

func (g *grown) searches() error {
	queries := newCorpus(5)
	search := func(q loci.Query) func() error {
		return func() error {
			q.Text = queries.query(g.notes.at(queries.rng.IntN(g.size)))
			_, err := g.memory.Search(g.ctx, q)
			return err
		}
	}
	var goal float64
	switch { // that of the size, or of the next one above
	case g.size <= 10_000:
		goal = 3e6
	case g.size <= 100_000:
		goal = 10e6
	default:
		goal = 60e6
	}
	if err := g.once("first search of a new file", 0, search(loci.Query{})); err != nil {
		return err
	}
	if err := g.reopen(); err != nil {
		return err
	}
	start := 220e6 // 50 ms of a core
	if err := g.once("first search after start", start, search(loci.Query{})); err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		goal  float64
		query loci.Query
	}{
		{"hybrid search", goal, loci.Query{}},
		{"keyword search", 0, loci.Query{Mode: loci.Keyword}},
		{"search with a tag that few have", 1.2 * goal, loci.Query{Tags: []string{rareTag}}},
	} {
		if err := g.measure(c.name, c.goal, search(c.query)); err != nil {
			return err
		}
	}
	return g.measure("a context", 10e6, func() error {
		prompt := queries.query(g.notes.at(queries.rng.IntN(g.size)))
		_, err := g.memory.Context(g.ctx, loci.ContextQuery{Prompt: prompt, Agent: "bench"})
		return err
	})
}

func (g *grown) writes() error {
	source := newCorpus(6)
	fresh := make([]string, 20_000)
	for i := range fresh {
		fresh[i] = source.note()
	}
	for _, callers := range []int{1, 64} {
		name := fmt.Sprintf("save, callers: %d", callers)
		if err := g.measureMany(name, 0.7e6, callers, func(i int) error {
			_, err := g.memory.StoreFact(g.ctx, loci.NewFact{Content: fmt.Sprint(fresh[i%len(fresh)], callers, i)})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// bounded saves under a quota, each time after another process has saved, which is counted
// along.
func (g *grown) bounded() (err error) {
	const name = "save under a quota beside another process"
	if !g.opts.wants(name) {
		return nil
	}
	quota := func(context.Context, loci.Tenant) (loci.Quota, error) { return loci.Quota{Records: 1 << 40}, nil }
	other, err := openLociWith(g.ctx, g.dir, loci.Options{Quota: quota})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.store.Close()) }()
	source := newCorpus(7)
	return g.measure(name, 0, func() error {
		for _, m := range []*loci.Memory{g.memory, other.memory} {
			if _, err := m.StoreFact(g.ctx, loci.NewFact{Content: source.note()}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (g *grown) sessions() error {
	s := session.Of(g.memory)
	say := func(i int) []session.Message {
		return []session.Message{{Type: session.MessageHuman, Data: fmt.Appendf(nil, `{"content":"message %d"}`, i)}}
	}
	for _, c := range []struct {
		id   string
		most int
		name string
		goal float64
	}{{"open", 0, "append to a session", 0}, {"full", 50, "append to a full session", eraseGoal}} {
		if !g.opts.wants(c.name) {
			continue
		}
		if _, err := s.Create(g.ctx, session.New{ID: c.id, MaxMessages: c.most}); err != nil {
			return err
		}
		for i := range 50 {
			if _, err := s.Append(g.ctx, c.id, say(i)); err != nil {
				return err
			}
		}
		if err := g.measure(c.name, c.goal, func() error {
			_, err := s.Append(g.ctx, c.id, say(0))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (g *grown) files() error {
	t, err := tree.Of(g.memory, "", "")
	if err != nil {
		return err
	}
	fill := func(dir string, n int) error {
		files := make([]tree.FileContent, 0, 500)
		for i := range n {
			path := fmt.Sprintf("/%s/%07d.md", dir, i)
			files = append(files, tree.FileContent{Path: path, Content: "a line\na line\na line\n"})
			if len(files) == cap(files) || i == n-1 {
				if _, err := t.WriteAll(g.ctx, files, nil); err != nil {
					return err
				}
				files = files[:0]
			}
		}
		return nil
	}
	if g.opts.wants("list a directory") {
		if err := fill("thousand", 1000); err != nil {
			return err
		}
		if err := g.measure("list a directory of 1,000 files", 3e6, func() error {
			_, err := t.List(g.ctx, "/thousand")
			return err
		}); err != nil {
			return err
		}
	}
	if g.opts.wants("move a directory") || g.opts.wants("delete a directory") {
		if err := fill("many", min(g.size, tree.DefaultMaxDirEntries)); err != nil {
			return err
		}
		if err := g.once("move a directory of as many files", 0, func() error {
			return t.Rename(g.ctx, "/many", "/moved")
		}); err != nil {
			return err
		}
		return g.once("delete a directory of as many files", 0, func() error {
			_, err := t.Delete(g.ctx, "/moved")
			return err
		})
	}
	return nil
}

// erases deletes notes, while another caller saves some.
func (g *grown) erases() error {
	return g.measure("delete of a note", eraseGoal, func() error {
		id := g.ids[len(g.ids)-1]
		g.ids = g.ids[:len(g.ids)-1]
		return g.memory.Erase(g.ctx, id)
	})
}
