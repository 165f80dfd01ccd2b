package postgres_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// Calls that nothing else ends do not wait for a server for ever that hangs, neither on a
// connection nor for one; a statement that takes longer than that is left alone.
func TestServerThatSaysNothing(t *testing.T) {
	postgres.Impatient(t, 200*time.Millisecond)
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	p := newProxy(t, pgtest.Shared(t).Address())
	s := openWith(t, changed(t, d.Server, func(u *url.URL) { u.Host = p.listener.Addr().String() }),
		&postgres.Options{PoolWait: time.Second})
	tn := locitest.Tenant(t, "silent")
	id := loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	for name, call := range map[string]func() error{
		"read":  func() error { _, err := s.Count(ctx, tn, anywhere); return err },
		"use":   func() error { return s.Touch(ctx, tn, []loci.Touch{{ID: id, At: time.Now()}}) },
		"erase": func() error { return s.EraseTenant(ctx, tn) },
	} {
		p.set(hangs)
		began := time.Now()
		late := time.AfterFunc(10*time.Second, func() { p.set(down) }) // or it would never end
		err := call()
		late.Stop()
		if e := loci.AsError(err); e == nil || e.Code != loci.Unavailable {
			t.Errorf("a %s of a server that hangs: %v", name, err)
		}
		if took := time.Since(began); took > 3*time.Second { // one wait, not five
			t.Errorf("a %s of a server that hangs took %v", name, took)
		}
		p.set(down)
		p.set(passes)
	}
	p.set(down)
	if _, err := s.Count(ctx, tn, anywhere); err == nil { // and no connection is left
		t.Error("a read of a server that is gone worked")
	}
	p.set(hangs)
	began := time.Now()
	err := s.Apply(ctx, tn, creation(loci.NewID()))
	if e := loci.AsError(err); e == nil || e.Code != loci.Unavailable {
		t.Errorf("a write to a server that hangs: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a write to a server that hangs took %v", took)
	}
	p.set(down)
	p.set(passes)
	execute(t, d.Super, `CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$;
		CREATE TRIGGER pause BEFORE INSERT ON loci.record FOR EACH ROW EXECUTE FUNCTION pause()`)
	defer execute(t, d.Super, "DROP TRIGGER pause ON loci.record; DROP FUNCTION pause()")
	took := p.took.Load()
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Errorf("a statement that takes long: %v", err)
	}
	if p.took.Load() == took {
		t.Error("nobody looked whether the server is there")
	}
}
