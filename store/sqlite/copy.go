package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
)

// A Target is where tenants are copied to: each into a file of its own beside the store,
// which takes its place there once it is whole.
type Target struct {
	path    string
	opts    Options
	ballast *ballast // of the store
	replace bool
}

// OpenTarget prepares a path for tenants that come whole from another store.
func OpenTarget(path string, opts *Options) (*Target, error) {
	s, err := Open(path, opts) // says what is wrong with the path
	if err != nil {
		return nil, err
	}
	c := &Target{path: s.path, opts: s.opts, ballast: s.ballast}
	c.opts.NoReserve = true // a copy needs what room there is, and nobody deletes from it
	return c, s.Close()
}

// Replace lets tenants that are there already give way: each when the copy of it is whole, and not before.
func (c *Target) Replace() { c.replace = true }

// parts is the path of the store in which copies are until they are whole.
func (c *Target) parts() string { return partsOf(c.path) }

// partsOf is where the copies are that are on their way into the store of a path.
func partsOf(path string) string {
	if base, single := strings.CutSuffix(path, ".db"); single {
		return base + ".copying.db"
	}
	return filepath.Join(path, ".copying")
}

// Close removes the place for copies when no copy is in it.
func (c *Target) Close() error {
	if strings.HasSuffix(c.path, ".db") {
		return nil // it was the same directory
	}
	entries, err := os.ReadDir(c.parts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".db") }) {
		return err
	}
	return os.RemoveAll(c.parts()) // with what the store keeps beside its files
}

// copying is a tenant that comes whole from another store.
type copying struct {
	*Store // the one in which it is until it is whole
	to     *Target
	t      loci.Tenant
	head   dump.Head
	at     dump.Place // how far it is
}

// BeginCopy begins to copy a tenant whose head is given, or goes on with it, unless what is
// there was begun with another head: then it begins again. Conflict: the tenant holds
// memories of its own.
func (c *Target) BeginCopy(ctx context.Context, t loci.Tenant, head dump.Head) (_ dump.Copy, err error) {
	if err := c.fits(t); err != nil {
		return nil, err
	}
	found, holds, err := c.place(ctx, c.path, t)
	switch {
	case err != nil:
		return nil, err
	case c.replace:
	case holds && !found.Goes(head, true):
		return nil, dump.NotACopy(t)
	case holds:
		return &copying{to: c, t: t, head: head, at: found}, nil
	}
	if _, err := os.Stat(c.fileName(t)); err == nil { // before the work is done for nothing
		u, err := c.holdAlone(ctx, t)
		if err == nil {
			err = u.release()
		}
		if err != nil {
			return nil, err
		}
	}
	if found, _, err = c.place(ctx, c.parts(), t); err != nil {
		return nil, err
	}
	out := &copying{to: c, t: t, head: head, at: found}
	if found != (dump.Place{}) && !found.Goes(head, false) {
		if err := c.remove(t); err != nil {
			return nil, err
		}
		out.at = dump.Place{}
	}
	if out.Store, err = Open(c.parts(), &c.opts); err != nil {
		return nil, err
	}
	if out.at == (dump.Place{}) {
		if err = out.step(ctx, dump.Begin(head), func(*tx) error { return nil }); err != nil {
			err = errors.Join(err, out.Close())
		}
	}
	return out, err
}

// fits refuses a tenant that the store has no file for.
func (c *Target) fits(t loci.Tenant) error {
	if c.layout().takes(t) {
		return nil
	}
	return loci.Errorf(loci.Unsupported,
		"%s holds the tenant %q alone, and there is %q to copy: name a directory, which has a file for each tenant",
		c.path, DefaultTenant, t)
}

// place is how far the copy of a tenant is that a store has; holds: there is anything of it.
func (c *Target) place(ctx context.Context, path string, t loci.Tenant) (at dump.Place, holds bool, err error) {
	s, err := Open(path, &c.opts)
	if err != nil {
		return at, false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	there, err := s.exists(t)
	if err != nil || !there {
		return at, false, err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return at, false, err
	}
	defer s.release(f)
	var text []byte
	if err := f.readRow(ctx, "SELECT coalesce((SELECT value FROM meta WHERE key = 'copy'), '')", nil, &text); err != nil {
		return at, false, f.translate("begin a copy", err)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &at); err != nil {
			return at, false, &loci.Error{Code: loci.Internal, Op: "begin a copy", Err: err}
		}
	}
	holds, err = s.holdsData(ctx, t)
	return at, holds, err
}

// remove takes away the file of a copy that begins again.
func (c *Target) remove(t loci.Tenant) error {
	s, err := Open(c.parts(), &c.opts)
	if err != nil {
		return err
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if gone := os.Remove(s.fileName(t) + end); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return errors.Join(err, s.Close())
}

// Place implements [dump.Copy].
func (c *copying) Place() dump.Place { return c.at }

// Close implements [dump.Copy].
func (c *copying) Close() error {
	if c.Store == nil {
		return nil
	}
	return c.Store.Close()
}

// step writes a part and how far the copy is then, in one transaction.
func (c *copying) step(ctx context.Context, next dump.Place, do func(*tx) error) error {
	place, err := json.Marshal(next)
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: "copy", Err: err}
	}
	f, err := c.acquire(ctx, c.t)
	if err != nil {
		return err
	}
	defer c.release(f)
	if err := f.write(ctx, func(x *tx) error {
		if err := do(x); err != nil {
			return err
		}
		return x.exec("INSERT INTO meta (key, value) VALUES ('copy', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", place)
	}); err != nil {
		return c.unwritten(f, err)
	}
	c.at = next
	return nil
}

// unwritten says why a step was not written. A row that breaks a rule of the file came without another one
// that it belongs to, or twice: the source has changed between them.
func (c *copying) unwritten(f *file, err error) error {
	switch {
	case isFull(err):
		return &loci.Error{
			Code: loci.Unavailable, Op: "copy", Err: err,
			Msg:      fmt.Sprintf("the disk that holds %s is full; the tenant %q is not copied whole, and not in the store yet", f.path, c.t),
			Recovery: "Free some space there and copy again: it goes on where it stopped.",
		}
	case primary(err) == sqlite3.SQLITE_CONSTRAINT:
		return dump.Changed(c.t, err)
	}
	return f.translate("copy", err)
}

// copyInto add a row each; those of a record find it by its id.
var copyInto = map[dump.Table]string{
	dump.Namespaces: "INSERT INTO namespace (n, mark, key) VALUES (?, ?, ?)",
	dump.Spaces:     "INSERT INTO space (n, model, dims) VALUES (?, CAST(? AS TEXT), ?)",
	dump.Records: `INSERT INTO record (seq, id, namespace, slot, version, created_at, updated_at, expires_at, uses, used_at, ends_at, due_at,
		position, passage_count, confidence, decay_rate, decay_from, live, kind, scope, status, sequence, heading, passages, tags,
		attributes, body, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT),
		CAST(? AS TEXT), ?, ?, ?, CAST(? AS TEXT), ?, ?, ?)`,
	dump.Revisions: `INSERT INTO revision (record, version, updated_at, replaced_at, text, tags, attributes)
		VALUES ((SELECT n FROM record WHERE id = ?), ?, ?, ?, ?, CAST(? AS TEXT), ?)`,
	dump.Vectors: "INSERT INTO vector (record, space, data) VALUES ((SELECT n FROM record WHERE id = ?), ?, ?)",
	dump.Links:   "INSERT INTO link (from_id, type, to_id, created_at, n) VALUES (?, CAST(? AS TEXT), ?, ?, ?)",
	dump.Events: `INSERT INTO event (seq, id, namespace, occurred_at, type, kind, entity, actor, request_id, digest, sealed, nonce, payload,
		former) VALUES (?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?, ?)`,
	dump.Replies: "INSERT INTO reply (key, at, expires_at, record, fingerprint, value) VALUES (?, ?, ?, ?, ?, ?)",
}

// neverNull are the columns of bytes that a file never lacks.
var neverNull = map[dump.Table][]int{
	dump.Namespaces: {1, 2}, dump.Spaces: {1}, dump.Records: {17, 22, 26}, dump.Revisions: {4}, dump.Vectors: {2},
	dump.Links: {1}, dump.Events: {4, 5, 6, 7, 8}, dump.Replies: {0, 3, 4, 5},
}

// Take implements [dump.Copy].
func (c *copying) Take(ctx context.Context, rows []dump.Row, cursor string) error {
	table := dump.Tables[c.at.Table]
	return c.step(ctx, c.at.Next(len(rows), cursor), func(x *tx) error {
		seq, err := x.nextSeq()
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := x.takeRow(table, row, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeRow adds a row.
func (t *tx) takeRow(table dump.Table, row dump.Row, seq int64) error {
	args := make([]any, len(row))
	for i, column := range row {
		if b, ok := column.([]byte); ok && len(b) == 0 {
			column = nil
		}
		args[i] = column
	}
	for _, i := range neverNull[table] {
		if args[i] == nil {
			args[i] = []byte{}
		}
	}
	switch table {
	case dump.Namespaces:
		return t.takeNamespace(row, args)
	case dump.Records:
		args = append([]any{seq}, args...)
	}
	return t.exec(copyInto[table], args...)
}

// takeNamespace adds a namespace and the shards of its kinds.
func (t *tx) takeNamespace(row dump.Row, args []any) error {
	key := dump.Bytes(row[3])
	if row[2] != int64(1) {
		key = append([]byte(unnamed), dump.Bytes(row[1])...)
	}
	if key == nil {
		key = []byte{}
	}
	if err := t.exec(copyInto[dump.Namespaces], row[0], args[1], key); err != nil {
		return err
	}
	for _, kind := range dump.KindList(dump.Bytes(row[4])) {
		if err := t.exec("INSERT INTO shard (namespace, kind) VALUES (?, ?)", row[0], kind); err != nil {
			return err
		}
	}
	return nil
}

// Finish implements [dump.Copy]: the file takes its place in the store.
func (c *copying) Finish(ctx context.Context) error {
	next := c.at
	next.Done = true
	if err := c.step(ctx, next, func(x *tx) error {
		x.headKnown = false // the next event reads it
		for key, value := range map[string]any{
			"chain_head": c.head.Chain[:], "chain_start": c.head.ChainStart, "active_space": c.head.Active,
			"name_key": c.head.NameKey[:],
		} {
			if err := x.exec("UPDATE meta SET value = ? WHERE key = ?", value, key); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	from := c.fileName(c.t)
	if err := c.Store.Close(); err != nil { // which brings all of it into the file
		return err
	}
	if _, err := os.Lstat(from + "-wal"); !errors.Is(err, fs.ErrNotExist) { // unless there is no room for that
		return c.unwritten(&file{path: from}, errors.Join(syscall.ENOSPC, err))
	}
	return c.to.takePlace(ctx, from, c.t)
}
