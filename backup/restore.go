package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store"
)

// A Restoration says what is restored, and how.
type Restoration struct {
	Only    []loci.Tenant // these tenants; none: all of the backup
	Replace bool          // tenants that are there give way

	// Erased are files of what was erased since the backup, as [Erased] writes them, or URLs
	// of stores that went on since, which are compared with the backup.
	Erased []string

	DryRun bool // do everything but change the store
}

// A Report says what became of a restoration.
type Report struct {
	Manifest Manifest   `json:"backup"`
	Tenants  []Restored `json:"tenants"`
	DryRun   bool       `json:"dry_run"`
}

// Restored is what became of one tenant.
type Restored struct {
	Name   string    `json:"tenant"`
	System bool      `json:"system,omitzero"`
	Rows   int64     `json:"records"`
	Events int64     `json:"events"`
	Head   loci.Hash `json:"head"`           // of its log after the restoration
	Erased int64     `json:"erased"`         // records that were erased again
	Gone   bool      `json:"gone,omitzero"`  // the whole tenant was erased since, and is not restored
	Note   string    `json:"note,omitempty"` // what else is to be known
}

// Label is the tenant for a person.
func (r *Restored) Label() string { return (&Tenant{Name: r.Name, System: r.System}).Label() }

// Check reads a backup whole: the digests of its files, and in a copy of each tenant what
// loci doctor looks for, the chain of its log, and that nothing is missing.
func Check(ctx context.Context, dir string, opts Options) (m Manifest, err error) {
	w, m, err := unpack(ctx, dir, os.TempDir(), nil, opts)
	if err != nil {
		return m, err
	}
	return m, w.close()
}

// unpack reads a backup, or some of its tenants, into a workshop beside something, and
// checks all of it.
func unpack(
	ctx context.Context, dir, beside string, only []loci.Tenant, opts Options,
) (w *workshop, m Manifest, err error) {
	digests, err := readSums(dir)
	if err != nil {
		return nil, m, err
	}
	o, err := opts.Keys.opener(dir, digests)
	if err != nil {
		return nil, m, err
	}
	if err := o.read(manifestName, func(r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		m, err = decodeManifest(dir, data)
		return err
	}); err != nil {
		return nil, m, err
	}
	if err := o.covers(&m, digests); err != nil {
		return nil, m, err
	}
	if m.Tenants, err = m.choose(dir, only); err != nil {
		return nil, m, err
	}
	if w, err = newWorkshop(beside, beside, opts); err != nil {
		return nil, m, err
	}
	for i := range m.Tenants {
		if err = w.unpackTenant(ctx, o, &m.Tenants[i]); err != nil {
			return nil, m, errors.Join(err, w.close())
		}
	}
	return w, m, nil
}

// choose are those tenants of a backup that are wanted.
func (m *Manifest) choose(dir string, only []loci.Tenant) (out []Tenant, err error) {
	if len(only) == 0 {
		return m.Tenants, nil
	}
	for _, want := range only {
		i := slices.IndexFunc(m.Tenants, func(t Tenant) bool {
			have, err := t.tenant()
			return err == nil && have == want
		})
		if i < 0 {
			return nil, missing("loci backup check shows those that it has.", "the backup %s has no tenant %q", dir, want)
		}
		out = append(out, m.Tenants[i])
	}
	return out, nil
}

// unpackTenant reads one tenant into the workshop and compares it with the manifest.
func (w *workshop) unpackTenant(ctx context.Context, o *opener, t *Tenant) error {
	name, err := t.tenant()
	if err != nil {
		return err
	}
	err = o.read(t.File, func(r io.Reader) error {
		digest, err := writeFile(w.inside, store.FileName(name), r)
		if err == nil && digest != t.SHA256 {
			err = damaged(o.dir, "the file of the tenant %q is not the one of its manifest", t.Label())
		}
		return err
	})
	if err != nil {
		return err
	}
	is := *t
	if err := w.describe(ctx, &is); err != nil {
		return err
	}
	if is.Hash != t.Hash || is.Head != t.Head || is.Events != t.Events {
		return damaged(o.dir, "the tenant %q does not have the rows of its manifest", t.Label())
	}
	return nil
}

// Restore brings the tenants of a backup into a store, whatever kind it is, and erases again
// what was erased since. Conflict: a tenant is there already, and not to be replaced. Nobody
// may write to the store meanwhile.
func Restore(ctx context.Context, dir, to string, what Restoration, opts Options) (report Report, err error) {
	w, m, err := unpack(ctx, dir, beside(to), what.Only, opts)
	report = Report{Manifest: m, Tenants: []Restored{}, DryRun: what.DryRun}
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	var tenants []loci.Tenant
	for i := range m.Tenants {
		t, err := m.Tenants[i].tenant()
		if err != nil {
			return report, err
		}
		tenants = append(tenants, t)
	}
	there, err := present(ctx, to, tenants, len(what.Only) == 0, opts)
	if err != nil {
		return report, err
	}
	if len(there) > 0 && !what.Replace {
		return report, &loci.Error{
			Code: loci.Conflict, Msg: "the store is not empty: it holds the tenant " + quoted(there[0]),
			Recovery: "Restore into another store with --to, or let the backup replace the tenants that are in both with --replace.",
		}
	}
	sources := slices.Clone(what.Erased)
	if len(there) > 0 {
		sources = append(sources, to)
	}
	e := newEraser(w, &m, to)
	for _, source := range sources {
		if err := e.learn(ctx, source); err != nil {
			return report, err
		}
	}
	left, err := e.apply(ctx, tenants, &report)
	if err != nil || what.DryRun {
		return report, err
	}
	return report, w.deliver(ctx, to, left, there, &report)
}

func quoted(t loci.Tenant) string {
	if t == loci.SystemTenant() {
		return "(system)"
	}
	return `"` + t.String() + `"`
}

// beside is where a workshop for a store is: on the disk of a store in files.
func beside(to string) string {
	path, files := strings.CutPrefix(to, "sqlite:")
	if !files {
		return os.TempDir()
	}
	return filepath.Dir(filepath.Clean(path))
}

// present lists those of some tenants that a store holds, and with all every one of its own.
func present(
	ctx context.Context, to string, tenants []loci.Tenant, all bool, opts Options,
) (held []loci.Tenant, err error) {
	s, err := store.Open(ctx, to, &opts.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	held, err = store.Held(ctx, s, tenants)
	if err != nil || !all {
		return held, err
	}
	for t, err := range s.Tenants(ctx) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(held, t) {
			held = append(held, t)
		}
	}
	return held, nil
}

// deliver copies the tenants that are left into the store, in the place of those there, one after the other.
// Whatever ends the work: in files each is as it was, or restored; in a database one may be there in part.
func (w *workshop) deliver(ctx context.Context, to string, tenants, there []loci.Tenant, report *Report) error {
	done := 0
	for _, t := range tenants {
		copyOne := store.CopyTenants
		if slices.Contains(there, t) {
			copyOne = store.ReplaceTenants
		}
		err := copyOne(ctx, w.url(), to, &w.opts.Store, []loci.Tenant{t}, report.delivered)
		if err == nil {
			err = w.used(t)
		}
		if err != nil {
			return unfinished(fmt.Errorf("the tenant %s: %w", quoted(t), err), to, done, len(tenants))
		}
		done++
	}
	return nil
}

// used takes away the file of a tenant that is restored: the next one may need the room.
func (w *workshop) used(t loci.Tenant) error {
	path := filepath.Join(w.inside, store.FileName(t))
	if err := os.Remove(path); err != nil {
		return refused("the file "+path+" cannot be removed", err)
	}
	return nil
}

// delivered takes down what became of a tenant.
func (r *Report) delivered(c store.CopyReport) error {
	for i := range r.Tenants {
		one := &r.Tenants[i]
		if c.Tenant == one.Name || one.System && c.Tenant == loci.SystemTenant().String() {
			one.Rows, one.Events, one.Head = c.Rows["record"], c.Rows["event"], c.Head
		}
	}
	return nil
}

// unfinished says how far a restoration came, and what helps.
func unfinished(err error, to string, whole, of int) error {
	why := loci.AsError(err)
	rest := "one may be there in part"
	if strings.HasPrefix(to, "sqlite:") {
		rest = "the others are as they were"
	}
	return &loci.Error{
		Code: why.Code, Err: err, Msg: fmt.Sprintf("%d of %d tenants are restored, and %s: %v", whole, of, rest, err),
		Recovery: "Stop the servers of the store, mend what the message says, and give the same command again with --replace.",
	}
}
