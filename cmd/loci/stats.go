package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/view"
)

type statsCmd struct {
	place
}

// Help is shown below the usage.
func (*statsCmd) Help() string {
	return `Counts what the namespace holds, how large it is, and how much of it can be found by meaning.

    loci stats
    LOCI_SCOPES=read,admin loci stats --namespace "" --json`
}

// statsJSON is what stats shows.
type statsJSON struct {
	Store     string         `json:"store"`
	SizeBytes *int64         `json:"size_bytes,omitempty"` // on disk, of a store in files
	Tenant    string         `json:"tenant"`
	Namespace loci.Namespace `json:"namespace"`
	Facts     loci.Counts    `json:"facts"`
	Items     loci.Counts    `json:"items"`
	Sessions  loci.Counts    `json:"sessions"`
	Messages  loci.Counts    `json:"messages"`

	Counts map[loci.Kind]int64 `json:"counts"` // memories of every kind, in every state; notes count as facts
	States view.LifecycleStats `json:"states"` // of facts, rules and episodes

	Embedder string   `json:"embedder"` // empty: none
	Dims     int      `json:"dims,omitempty"`
	Coverage *float64 `json:"vector_coverage,omitempty"` // of live memories by what is searched, 0 to 1

	Generations []loci.Generation `json:"generations"` // of vectors, in the whole tenant

	At time.Time `json:"at"`
}

// Run counts.
func (c *statsCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	s, err := m.Stats(a.ctx)
	if err != nil {
		return err
	}
	generations, err := a.engine.Generations(a.ctx, a.principal.Tenant())
	if err != nil {
		return err
	}
	space := a.engine.Space()
	out := statsJSON{
		Store:       shownURL(a.cfg.Store),
		Tenant:      a.principal.Tenant().String(),
		Namespace:   m.View().Namespace,
		Facts:       s.Facts,
		Items:       s.Features[item.Kind],
		Sessions:    s.Features[session.Kind],
		Messages:    s.Features[session.KindMessage],
		Embedder:    space.Model,
		Dims:        space.Dims,
		Generations: generations,
		At:          s.At,
	}
	totals, err := view.Totals(a.ctx, m)
	if err != nil {
		return err
	}
	out.Counts = totals.Counts
	if out.States, err = view.Lifecycle(a.ctx, m, ""); err != nil {
		return err
	}
	if size, ok := storeSize(a.cfg.Store); ok {
		out.SizeBytes = &size
	}
	if live := out.Facts.Live + out.Items.Live; space.Dims > 0 && live > 0 {
		coverage := 1 - float64(out.Facts.Unembedded+out.Items.Unembedded)/float64(live)
		out.Coverage = &coverage
	}
	if a.json {
		return a.printJSON(out)
	}
	a.showStats(m, &out, space)
	if remembered(out.Counts) == "" {
		if err := a.out.Flush(); err != nil {
			return fileError("standard output", err)
		}
		a.note("%s", nothingYet)
	}
	return nil
}

// showStats prints counts for people.
func (a *app) showStats(m *loci.Memory, out *statsJSON, space loci.Space) {
	t := fields{}
	t.add("store", out.Store)
	if out.SizeBytes != nil {
		t.add("size", a.bytes(*out.SizeBytes))
	}
	t.add("tenant", out.Tenant)
	t.add("namespace", out.Namespace.String())
	t.add("notes and facts", a.countsText(out.Facts))
	t.add("items", a.countsText(out.Items))
	for _, k := range view.Kinds(m) {
		n := out.Counts[k]
		if n > 0 && k != loci.KindFact && k != item.Kind && k != session.Kind && k != session.KindMessage {
			t.add(string(k)+"s", fmt.Sprint(n))
		}
	}
	if f := out.States.Facts; f.Fading+f.Superseded+f.Expired+f.Retracted > 0 {
		t.add("states", fmt.Sprintf("of facts and notes %d live, %d fading, %d superseded, %d forgotten, %d expired",
			f.Active, f.Fading, f.Superseded, f.Retracted, f.Expired))
	}
	t.add("sessions", fmt.Sprintf("%d, with %s, %s of text", out.Sessions.Records,
		number(out.Messages.Records, "message", "messages"), a.bytes(out.Messages.Bytes)))
	switch {
	case space.IsZero():
		t.add("embedder", "none")
	case space.Dims == 0:
		t.add("embedder", space.Model+", which did not answer")
	default:
		t.add("embedder", fmt.Sprintf("%s, %d dimensions", space.Model, space.Dims))
	}
	if out.Coverage != nil {
		t.add("vectors", fmt.Sprintf("%.1f%% of live memories", 100**out.Coverage))
	}
	if all := out.Generations; len(all) > 1 || len(all) == 1 && !all[0].Wanted {
		for _, g := range all {
			t.add("generation", fmt.Sprintf("%s: %s; vectors of %s, %d lack them",
				g.Space, generationState(g), memories(g.Vectors), g.Lacking))
		}
	}
	t.print(a)
}

// generationState says what a generation of vectors is for.
func generationState(g loci.Generation) string {
	switch {
	case g.Active:
		return "searched"
	case g.Wanted:
		return "to come"
	}
	return "left over"
}

func (a *app) countsText(c loci.Counts) string {
	return fmt.Sprintf("%d, of which %d live; %s, %s of text", c.Records, c.Live,
		number(c.Passages, "passage", "passages"), a.bytes(c.Bytes))
}

// shownURL is a store's URL without a password.
func shownURL(text string) string {
	scheme, _, hasScheme := strings.Cut(text, "://")
	u, err := url.Parse(text)
	switch {
	case err != nil && hasScheme: // where its password ends cannot be told
		return scheme + "://…"
	case err != nil || u.User == nil && !u.Query().Has("password"):
		return text
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// storePath returns the file or directory of an SQLite store.
func storePath(storeURL string) (path string, ok bool) {
	return strings.CutPrefix(storeURL, "sqlite:")
}

// storeSize is how much room a store in files takes, its journal included.
func storeSize(storeURL string) (size int64, ok bool) {
	path, ok := storePath(storeURL)
	if !ok {
		return 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	if !info.IsDir() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(path + suffix); err == nil {
				size += info.Size()
			}
		}
		return size, true
	}
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil { // a journal may vanish meanwhile
			size += info.Size()
		}
		return nil
	})
	return size, err == nil
}
