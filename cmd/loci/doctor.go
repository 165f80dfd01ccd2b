package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/tool"
)

type doctorCmd struct{}

// Help is shown below the usage.
func (*doctorCmd) Help() string {
	return `Each line is a check: ok, warn or fail. The exit code is that of the first failure.

    loci doctor
    loci doctor --json`
}

// A finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warn or fail
	Detail string `json:"detail"`
}

// An examination collects findings.
type examination struct {
	a        *app
	findings []finding
	failed   *loci.Error // the first failure
}

func (x *examination) ok(check, format string, args ...any) {
	x.findings = append(x.findings, finding{check, "ok", fmt.Sprintf(format, args...)})
}

func (x *examination) warn(check, format string, args ...any) {
	x.findings = append(x.findings, finding{check, "warn", fmt.Sprintf(format, args...)})
}

func (x *examination) fail(check string, err error) {
	e := loci.AsError(err)
	detail := e.Error()
	if e.Code == loci.Internal && e.Err != nil {
		detail += ": " + e.Err.Error()
	}
	x.findings = append(x.findings, finding{check, "fail", detail})
	if x.failed == nil {
		x.failed = e
	}
}

// Run checks everything that can be checked without changing a memory.
func (c *doctorCmd) Run(a *app) error {
	x := &examination{a: a}
	v := buildVersion()
	x.ok("version", "%s (%s, %s)", v.Version, v.Go, v.Platform)
	x.examine()
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"ok": x.failed == nil, "checks": x.findings}); err != nil {
			return err
		}
	} else {
		widths := []int{0, 0}
		for _, f := range x.findings {
			widths[0], widths[1] = max(widths[0], len(f.Status)), max(widths[1], len(f.Check))
		}
		for _, f := range x.findings {
			colour := map[string]string{"ok": green, "warn": yellow, "fail": red}[f.Status]
			a.row([]string{a.style(colour, f.Status), f.Check}, widths, f.Detail)
		}
	}
	if x.failed == nil {
		return nil
	}
	return &loci.Error{Code: x.failed.Code, Msg: "something is wrong: see the checks that failed", Recovery: x.failed.Advice()}
}

// examine stops where a check makes the following ones pointless.
func (x *examination) examine() {
	cfg, err := x.a.configure()
	if err != nil {
		x.fail("configuration", err)
		return
	}
	where := "defaults, environment and flags; no file"
	if cfg.File != "" {
		where = cfg.File
	}
	x.ok("configuration", "%s", where)
	if n, err := x.a.namespace(place{}); err != nil {
		x.warn("identity", "no memory of anybody: neither user nor org is set")
	} else {
		x.ok("identity", "tenant %s, namespace %s", cfg.Tenant, n)
	}
	tools := cfg.Tools(x.a.logger())
	if set, err := tool.New(nil, tools); err != nil {
		x.fail("tools", err)
	} else {
		x.ok("tools", "%s%s", strings.Join(offered(tools.Entries), ", "), renamedTools(set))
	}
	x.network(cfg)
	x.certificate(cfg)
	if ids := cfg.Graph.IDs(); len(ids) > 0 {
		x.ok("graph", "agents %s", strings.Join(ids, ", "))
	}
	path, inFiles := storePath(cfg.Store)
	absent := inFiles && missing(path)
	if absent {
		x.absent(path)
		cfg.Store = "memory:" // to open the one that is configured would make it
	}
	if err := x.a.open(); err != nil {
		x.fail("store", err)
		return
	}
	if absent {
		x.embedder()
		x.reranker()
		return
	}
	// Stores open their files when first used: ask for something.
	generations, err := x.a.engine.Generations(x.a.ctx, cfg.Tenant)
	if err != nil {
		x.fail("store", err)
		return
	}
	x.ok("store", "%s", shownURL(cfg.Store))
	if strings.HasPrefix(cfg.Store, "mongodb") {
		x.warn("store", "MongoDB is experimental: Loci was tried with a compatible server alone (docs/mongodb.md)")
	}
	x.permissions()
	x.disk()
	x.erased()
	x.indexes()
	x.damage()
	x.embedder()
	x.reranker()
	x.generations(generations)
}

// offered are the families and single tools that agents are offered.
func offered(entries []tool.Instance) (names []string) {
	for _, e := range entries {
		names = append(names, cmp.Or(e.Name, e.Tool, e.Family))
	}
	return names
}

// renamedTools says which tools have another name than their own, since an earlier one has it.
func renamedTools(set *tool.Set) (text string) {
	for _, t := range set.Tools() {
		if t.Renamed {
			text += fmt.Sprintf("; %s of the family %s is named %s", t.Original, t.Family, t.Name)
		}
	}
	return text
}

// network says what leaves the program.
func (x *examination) network(cfg *config.Config) {
	services, traced, counted := cfg.Outside(), cfg.TracedTo(), cfg.CountedTo()
	switch {
	case len(services) > 0:
		x.ok("network", "texts go to %s, and nowhere else", strings.Join(services, ", "))
	case traced == "" && counted == "":
		x.ok("network", "nothing is sent anywhere: store and embedder are in this program")
	default:
		x.ok("network", "no text is sent anywhere: store and embedder are in this program")
	}
	if traced != "" {
		x.ok("network", "traces, without any text of memories, go to the collector at %s", traced)
	}
	if counted != "" {
		x.ok("network", "metrics of loci serve, which are numbers, go to the collector at %s", counted)
	}
}

// certificate looks at the files of TLS, which are not for everybody's eyes.
func (x *examination) certificate(cfg *config.Config) {
	warning, err := server.CheckCertificate(&cfg.HTTP.Binding, time.Now())
	switch {
	case errors.Is(err, fs.ErrPermission):
		x.warn("certificate", "%s: ask as the user of the server", err)
	case err != nil:
		x.fail("certificate", err)
	case warning != "":
		x.warn("certificate", "%s: put a new one there; the server takes it over by itself", warning)
	case cfg.HTTP.Binding.TLS == server.TLSFiles:
		x.ok("certificate", "%s and its key can be used", cfg.HTTP.Binding.Certificate)
	}
}

// absent looks whether a store that is not there could be made: in the first directory above it
// that is there.
func (x *examination) absent(path string) {
	dir := filepath.Dir(path)
	for missing(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	probe, err := os.CreateTemp(dir, ".loci-doctor-")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		x.fail("store", fileError(dir, err))
		return
	}
	x.ok("store", "%s is not there yet; the first memory makes it", shownURL(x.a.cfg.Store))
}

// permissions looks at who else may read a store in files.
func (x *examination) permissions() {
	path, ok := storePath(x.a.cfg.Store)
	if !ok || runtime.GOOS == "windows" {
		return
	}
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Stat(p)
		if err != nil {
			x.warn("permissions", "%s: %v", p, err)
			return
		}
		// A directory that others may list is fine as long as the data in it is closed.
		if mode := info.Mode().Perm(); p == path && mode&0o077 != 0 {
			x.warn("permissions", "%s has mode %04o: others may read it; chmod go= closes it", p, mode)
			return
		} else if p != path && mode&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			x.warn("permissions", "%s has mode %04o: others may put files in it; chmod go-w closes it", p, mode)
			return
		}
	}
	x.ok("permissions", "%s is closed to others", path)
}

// disk passes on what a store in files says of the room it has.
func (x *examination) disk() {
	s, ok := x.a.store.(interface {
		Warnings(ctx context.Context) ([]string, error)
	})
	if !ok {
		return
	}
	found, err := s.Warnings(x.a.ctx)
	if err != nil {
		x.fail("disk", err)
		return
	}
	for _, sentence := range found {
		x.warn("disk", "%s", sentence)
	}
	if len(found) == 0 {
		x.ok("disk", "there is room to delete")
	}
}

// erased passes on what a database says of the bytes of what was erased.
func (x *examination) erased() {
	s, ok := x.a.store.(interface {
		Remains(ctx context.Context) (string, error)
	})
	if !ok {
		return
	}
	switch found, err := s.Remains(x.a.ctx); {
	case err != nil:
		x.fail("erased", err)
	case found != "":
		x.warn("erased", "%s", found)
	default:
		x.ok("erased", "no dead rows are left in the tables; the log, copies and backups of the database are not looked at")
	}
}

// indexes passes on what a database says of the search indexes that it keeps.
func (x *examination) indexes() {
	s, ok := x.a.store.(interface {
		Pending(ctx context.Context) ([]string, error)
	})
	if !ok {
		return
	}
	found, err := s.Pending(x.a.ctx)
	if err != nil {
		x.fail("indexes", err)
		return
	}
	for _, sentence := range found {
		x.warn("indexes", "%s", sentence)
	}
	if len(found) == 0 {
		x.ok("indexes", "no search index that the database keeps holds what was erased")
	}
}

// damage asks the store to check each tenant's data.
func (x *examination) damage() {
	tenants, damaged := 0, 0
	for t, err := range x.a.store.Tenants(x.a.ctx) {
		if err != nil {
			x.fail("integrity", err)
			return
		}
		tenants++
		found, err := x.a.store.Check(x.a.ctx, t)
		if err != nil {
			x.fail("integrity", err)
			return
		}
		log, err := x.a.engine.VerifyEvents(x.a.ctx, t, loci.Hash{})
		if err != nil {
			x.fail("integrity", err)
			return
		}
		for _, sentence := range append(found, log.Problems...) {
			damaged++
			x.fail("integrity", loci.Errorf(loci.Internal, "tenant %s: %s", t, sentence))
		}
	}
	if damaged == 0 {
		x.ok("integrity", "no damage in %s", number(tenants, "tenant", "tenants"))
	}
}

// embedder asks for one vector twice. The first answer may include loading a model;
// the second says how fast it is.
func (x *examination) embedder() {
	if x.a.embedder == nil {
		x.ok("embedder", "none: search is by keyword only")
		return
	}
	ctx, cancel := context.WithTimeout(x.a.ctx, 20*time.Second)
	defer cancel()
	var took [2]time.Duration
	for i := range took {
		start := time.Now()
		if _, err := x.a.embedder.Embed(ctx, []string{"Does the embedder answer?"}); err != nil {
			x.fail("embedder", err)
			return
		}
		took[i] = time.Since(start)
	}
	space := x.a.engine.Space()
	x.ok("embedder", "%s, %d dimensions, answers in %s, at first in %s", space.Model, space.Dims, rounded(took[1]), rounded(took[0]))
}

// reranker asks for one chance twice, as embedder does for a vector.
func (x *examination) reranker() {
	if x.a.reranker == nil {
		return
	}
	var took [2]time.Duration
	for i := range took {
		start := time.Now()
		if _, err := x.a.reranker.Rerank(x.a.ctx, "Does it answer?", []string{"The re-ranker answers."}); err != nil {
			x.fail("re-ranker", err)
			return
		}
		took[i] = time.Since(start)
	}
	x.ok("re-ranker", "%s, answers in %s, at first in %s", x.a.reranker.Model(), rounded(took[1]), rounded(took[0]))
}

// generations looks at which vectors there are and which are missing.
func (x *examination) generations(all []loci.Generation) {
	if x.a.embedder == nil {
		return
	}
	for _, g := range all {
		switch {
		case g.Active && !g.Wanted:
			if _, err := x.a.cfg.Embedding.ForSpace(g.Space); err != nil {
				x.warn("vectors", "search has those of %s, whose embedder is not available: it is by keyword only until loci reindex has run", g.Space)
				continue
			}
			x.warn("vectors", "search uses those of %s, not of the configured embedder; %s: run loci reindex", g.Space,
				number(g.Lacking, "memory has none", "memories have none"))
		case g.Wanted && g.Lacking > 0:
			x.warn("vectors", "%s of %s: run loci reindex", number(g.Lacking, "memory has none", "memories have none"), g.Space)
		case g.Wanted:
			x.ok("vectors", "%s", number(g.Vectors, "memory has its own", "memories have theirs"))
		default:
			x.warn("vectors", "%s of %s, which no search uses: loci reindex drops them",
				number(g.Vectors, "memory has some", "memories have some"), g.Space)
		}
	}
}

// rounded leaves three digits or so.
func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
