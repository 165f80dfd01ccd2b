// Package backup writes what a store holds into a directory that can be checked and restored,
// while others go on writing to the store.
//
// A backup is a directory with a file for each tenant, which is a memory file whatever the
// store was, a manifest, and the digests of all in the form of sha256sum. It appears under
// its name when it is whole and was read back.
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store"
)

// Options say how backups are made and read.
type Options struct {
	Store  store.Options // of every store that is opened
	Engine loci.Options  // its features know which parts of a record go with it
	Keys   Keys          // of backups that are encrypted
	MadeBy string        // the version of the program
}

// Create writes a backup of a store, of the tenants that are chosen or of all, as a
// directory that must not be there yet. Each tenant is as it was at one moment.
func Create(ctx context.Context, from, dir string, only []loci.Tenant, opts Options) (m Manifest, err error) {
	seal, err := opts.Keys.sealer()
	if err != nil {
		return m, err
	}
	if err := checkFree(dir); err != nil {
		return m, err
	}
	kind, _, _ := strings.Cut(from, ":")
	m = Manifest{
		Format: format, Version: version, MadeAt: time.Now().UTC().Truncate(time.Millisecond), MadeBy: opts.MadeBy,
		Store: kind, Whole: len(only) == 0,
	}
	place := filepath.Dir(filepath.Clean(dir))
	inside := place
	if seal != nil { // nothing that can be read comes to where the backup goes
		inside = beside(from)
	}
	w, err := newWorkshop(inside, place, opts)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := store.Snapshot(ctx, from, w.inside, &opts.Store, only, func(t loci.Tenant, file string) error {
		one := Tenant{File: file}
		if one.System = t == loci.SystemTenant(); !one.System {
			one.Name = t.String()
		}
		m.Tenants = append(m.Tenants, one)
		return nil
	}); err != nil {
		return m, err
	}
	if m.Tenants, err = w.describeAll(ctx, &m); err != nil {
		return m, err
	}
	if len(m.Tenants) == 0 {
		return m, missing("Check --store.", "there is nothing to back up: the store holds no tenant")
	}
	if err := w.pack(&m, seal); err != nil {
		return m, err
	}
	return m, w.publish(dir)
}

// checkFree refuses a place where something is.
func checkFree(dir string) error {
	_, err := os.Lstat(dir)
	switch {
	case dir == "": // it would be written beside the working directory, and be found to have no name then
		return loci.Errorf(loci.Invalid, "the directory of the backup must not be empty: name it")
	case err == nil:
		return loci.Errorf(loci.Conflict, "%s exists already: name a new directory for the backup", dir)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return refused("the place "+dir+" cannot be used", err)
}

// A workshop is a directory in which a backup is made or taken apart: nothing in it looks
// like a backup, and it goes when the work is over.
type workshop struct {
	inside  string // where the tenants are, as a store in files
	outside string // what becomes the backup
	rooms   []*room
	opts    Options
}

// newWorkshop makes one in two directories: what is in the first can be read.
func newWorkshop(inside, outside string, opts Options) (w *workshop, err error) {
	w = &workshop{opts: opts}
	w.opts.Store.NoReserve = true // it would be a part of what the work needs
	for to, place := range map[*string]string{&w.inside: inside, &w.outside: outside} {
		r, err := newRoom(place)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		*to, w.rooms = r.dir, append(w.rooms, r)
	}
	return w, nil
}

func (w *workshop) url() string { return "sqlite:" + w.inside }

func (w *workshop) close() error {
	var err error
	for _, r := range w.rooms {
		err = errors.Join(err, r.close())
	}
	return err
}

// describeAll describes the tenants of a backup. One that was erased meanwhile is no part of
// a backup of all.
func (w *workshop) describeAll(ctx context.Context, m *Manifest) (there []Tenant, err error) {
	for i := range m.Tenants {
		t := &m.Tenants[i]
		err := w.describe(ctx, t)
		if m.Whole && codeOf(err) == loci.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		there = append(there, *t)
	}
	return there, nil
}

// open opens the store of the workshop, with an engine over it.
func (w *workshop) open(ctx context.Context) (loci.Store, *loci.Engine, error) {
	s, err := store.Open(ctx, w.url(), &w.opts.Store)
	if err != nil {
		return nil, nil, err
	}
	opts := w.opts.Engine
	opts.Embedder, opts.Quota = nil, nil
	e, err := loci.New(s, &opts)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, e, nil
}

// describe says what a tenant in the workshop consists of, once it was found to be sound.
func (w *workshop) describe(ctx context.Context, t *Tenant) error {
	name, err := t.tenant()
	if err != nil {
		return err
	}
	if err := store.Sums(ctx, w.url(), &w.opts.Store, []loci.Tenant{name}, func(s store.Sum) error {
		t.Events, t.Head, t.Rows, t.Hash = s.Events, s.Head, s.Rows, s.Hash
		return nil
	}); err != nil {
		return err
	}
	return w.sound(ctx, t)
}

// sound requires that a tenant in the workshop is free of damage and that its log is whole.
func (w *workshop) sound(ctx context.Context, t *Tenant) (err error) {
	name, err := t.tenant()
	if err != nil {
		return err
	}
	s, e, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := s.Check(ctx, name)
	if err == nil && len(found) > 0 { // what a check repairs, it finds no more
		found, err = s.Check(ctx, name)
	}
	if err != nil {
		return err
	}
	report, err := e.VerifyEvents(ctx, name, t.Head)
	if err != nil {
		return err
	}
	if found = append(found, report.Problems...); len(found) > 0 {
		return &loci.Error{
			Code: loci.Internal, Msg: fmt.Sprintf("the copy of the tenant %q is damaged: %.500q", t.Label(), found[0]),
			Recovery: "If loci doctor finds that in the store, too, mend it or restore it first; or use another backup.",
		}
	}
	return nil
}

// pack puts the tenants of the workshop, sealed if they are to be, the manifest and the
// digests of all into the parcel.
func (w *workshop) pack(m *Manifest, seal *sealer) (err error) {
	digests := map[string]string{}
	put := func(name string, from io.Reader) error {
		digest, err := seal.write(w.outside, name, from)
		digests[seal.name(name)] = digest
		return err
	}
	for i := range m.Tenants {
		t := &m.Tenants[i]
		path := filepath.Join(w.inside, t.File)
		if t.SHA256, t.Bytes, err = digestOf(path); err != nil {
			return err
		}
		if seal != nil { // names of tenants are in the manifest alone
			t.File = fmt.Sprintf("%06d.db", i+1)
		}
		f, err := os.Open(path)
		if err != nil {
			return refused("the file "+path+" cannot be read", err)
		}
		if err := errors.Join(put(t.File, f), f.Close(), os.Remove(path)); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := put(manifestName, strings.NewReader(string(data)+"\n")); err != nil {
		return err
	}
	if seal != nil && len(seal.key) > 0 {
		if digests[keyName], err = writeFile(w.outside, keyName, strings.NewReader(string(seal.key))); err != nil {
			return err
		}
	}
	_, err = writeFile(w.outside, sumsName, strings.NewReader(string(sums(digests))))
	return err
}

// publish gives the parcel its name, once it was read back.
func (w *workshop) publish(dir string) error {
	if _, err := readSums(w.outside); err != nil {
		return err
	}
	if err := syncDir(w.outside); err != nil {
		return err
	}
	if err := checkFree(dir); err != nil { // a rename would take an empty directory away
		return err
	}
	if err := os.Rename(w.outside, dir); err != nil {
		return refused("the backup cannot be moved to "+dir, err)
	}
	return syncDir(filepath.Dir(filepath.Clean(dir)))
}
