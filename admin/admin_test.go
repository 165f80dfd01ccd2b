package admin_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

var by = admin.By{Actor: "operator", RequestID: "r-1"}

// A scene is a store with two tenants, a key for each, and a canary in each.
type scene struct {
	*admin.API
	t      *testing.T
	store  loci.Store
	keys   *auth.Keys
	engine *loci.Engine
	clock  *locitest.Clock
	tokens map[string]string
	waited []time.Duration
	wait   func() error // what waiting comes to
}

func setUp(t *testing.T, s loci.Store) *scene {
	t.Helper()
	sc := &scene{t: t, store: s, clock: locitest.NewClock(), tokens: map[string]string{}}
	sc.wait = func() error { return nil }
	var err error
	if sc.keys, err = auth.OpenKeys(s, auth.Options{Now: sc.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sc.keys.Close)
	sc.engine = locitest.NewEngine(t, s, loci.Options{Now: sc.clock.Now, Features: locitest.Features()})
	sc.API, err = admin.New(admin.Options{Store: s, Engine: sc.engine, Keys: sc.keys,
		Wait: func(_ context.Context, d time.Duration) error {
			sc.waited = append(sc.waited, d)
			return sc.wait()
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"acme", "globex"} {
		if _, err := sc.Create(t.Context(), by, name); err != nil {
			t.Fatal(err)
		}
		_, token, err := sc.CreateKey(t.Context(), by, name, admin.NewKey{
			Vars: loci.Vars{loci.VarUser: "alice"}, Scopes: []loci.Scope{loci.ScopeRead}, Note: "canary of " + name})
		if err != nil {
			t.Fatal(err)
		}
		sc.tokens[name] = token
		for _, user := range []string{"alice", "bob"} {
			locitest.Save(t, sc.memory(name, user), "The canary of "+name+" is "+user+"'s.")
		}
	}
	return sc
}

func (sc *scene) memory(tenant, user string) *loci.Memory {
	return locitest.BindView(sc.t, sc.engine, loci.View{
		Tenant: locitest.Tenant(sc.t, tenant), Namespace: loci.Namespace{"user", user}, Actor: user,
	})
}

// copyOf is what an export of a tenant says.
func (sc *scene) copyOf(name string) string {
	sc.t.Helper()
	var out bytes.Buffer
	if _, err := sc.Export(sc.t.Context(), by, name, &out, nil); err != nil {
		sc.t.Fatal(err)
	}
	return out.String()
}

// TestEraseOfATenant: a tenant goes with its memories, its log and its keys, after every server has
// closed it, and the other one keeps everything.
func TestEraseOfATenant(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		before := sc.copyOf("globex")
		locitest.WantCode(t, sc.Erase(t.Context(), by, "acme", "globex"), loci.Invalid)
		locitest.WantCode(t, sc.Erase(t.Context(), by, "acme", ""), loci.Invalid)
		locitest.WantCode(t, sc.Erase(t.Context(), by, "nobody", "nobody"), loci.NotFound)
		if len(sc.waited) > 0 {
			t.Fatal("it went on without being sure")
		}
		sc.wait = func() error {
			tenant, _, err := sc.Show(t.Context(), "acme")
			if err != nil || tenant.State != admin.StateClosed || tenant.Use.Records == 0 {
				t.Errorf("while servers follow: %+v, %v", tenant, err)
			}
			return nil
		}
		if err := sc.Erase(t.Context(), by, "acme", "acme"); err != nil {
			t.Fatal(err)
		}
		if len(sc.waited) != 1 || sc.waited[0] <= auth.MaxStale {
			t.Errorf("it waited for %v; servers follow within %v", sc.waited, auth.MaxStale)
		}
		_, _, err := sc.Show(t.Context(), "acme")
		locitest.WantCode(t, err, loci.NotFound)
		for tenant := range s.Tenants(t.Context()) {
			if tenant.String() == "acme" {
				t.Error("the tenant still holds data")
			}
		}
		if _, err := sc.keys.Verify(t.Context(), sc.tokens["acme"]); err == nil {
			t.Error("its key is good")
		}
		if _, err := sc.keys.Verify(t.Context(), sc.tokens["globex"]); err != nil {
			t.Errorf("the key of another tenant: %v", err)
		}
		if after := sc.copyOf("globex"); locitest.CountLines(after, "canary of globex") != 2 ||
			strings.Count(after, "\n") != strings.Count(before, "\n") {
			t.Errorf("another tenant changed:\n%s\n---\n%s", before, after)
		}
		everything := loci.EventFilter{Within: []loci.Namespace{{}}}
		events, _, err := s.Events(t.Context(), loci.SystemTenant(), everything, loci.Page{Limit: 1000})
		text, _ := loci.MarshalJSON(events)
		if err != nil || !strings.Contains(string(text), `"change":"erased","tenant":"acme"`) || strings.Contains(string(text), "alice") {
			t.Errorf("the system's log: %v %s", err, text)
		}
		locitest.LogIsWhole(t, sc.engine, loci.SystemTenant())
	})
}

// TestEraseThatStops half way leaves the tenant closed, and another call ends it. Whoever
// opens it meanwhile keeps it.
func TestEraseThatStops(t *testing.T) {
	sc := setUp(t, locitest.OpenMemory())
	stopped := errors.New("stopped")
	sc.wait = func() error { return stopped }
	if err := sc.Erase(t.Context(), by, "acme", "acme"); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	tenant, _, err := sc.Show(t.Context(), "acme")
	if err != nil || tenant.State != admin.StateClosed || tenant.Use.Records == 0 {
		t.Fatalf("%+v, %v", tenant, err)
	}
	sc.wait = func() error {
		_, err := sc.Resume(t.Context(), by, "acme")
		return err
	}
	locitest.WantCode(t, sc.Erase(t.Context(), by, "acme", "acme"), loci.Conflict)
	tenant, _, err = sc.Show(t.Context(), "acme")
	if err != nil || tenant.State != admin.StateActive || tenant.Use.Records == 0 {
		t.Fatalf("%+v, %v", tenant, err)
	}
	sc.wait = func() error { return nil }
	if err := sc.Erase(t.Context(), by, "acme", "acme"); err != nil {
		t.Fatal(err)
	}
	_, _, err = sc.Show(t.Context(), "acme")
	locitest.WantCode(t, err, loci.NotFound)
}

// racing is a store in which something happens behind the erasing of a tenant.
type racing struct {
	loci.Store
	then func()
}

func (r *racing) EraseTenant(ctx context.Context, t loci.Tenant) error {
	err := r.Store.EraseTenant(ctx, t)
	if then := r.then; then != nil {
		r.then = nil
		then()
	}
	return err
}

// TestErasedTwiceAtOnce: of two operators who erase a tenant, the slower one does not take the tenant that was made
// in its place meanwhile, neither before nor behind the erasing of what it held.
func TestErasedTwiceAtOnce(t *testing.T) {
	s := &racing{Store: locitest.OpenMemory()}
	sc := setUp(t, s)
	again := func() {
		sc.clock.Advance(time.Minute)
		if err := sc.Erase(t.Context(), by, "acme", "acme"); err != nil {
			t.Error(err)
		}
		if _, err := sc.Create(t.Context(), by, "acme"); err != nil {
			t.Error(err)
		}
		if _, err := sc.Suspend(t.Context(), by, "acme", admin.StateClosed, "not yet"); err != nil {
			t.Error(err)
		}
	}
	s.then = again
	locitest.WantCode(t, sc.Erase(t.Context(), by, "acme", "acme"), loci.Conflict)
	sc.wait = func() error {
		sc.wait = func() error { return nil }
		again()
		return nil
	}
	locitest.WantCode(t, sc.Erase(t.Context(), by, "acme", "acme"), loci.Conflict)
	if tenant, _, err := sc.Show(t.Context(), "acme"); err != nil || tenant.State != admin.StateClosed {
		t.Errorf("the new tenant: %+v, %v", tenant, err)
	}
	s.then = func() {
		if err := sc.Erase(t.Context(), by, "acme", "acme"); err != nil {
			t.Error(err)
		}
	}
	if err := sc.Erase(t.Context(), by, "acme", "acme"); err != nil {
		t.Errorf("somebody else has ended it: %v", err)
	}
}

// TestExportOfATenant has the memories of all users of one tenant, and both logs say who took it.
func TestExportOfATenant(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		text := sc.copyOf("acme")
		for _, want := range []string{"canary of acme is alice's", "canary of acme is bob's", `"type":"end"`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		if strings.Contains(text, "globex") {
			t.Errorf("another tenant's: %s", text)
		}
		for _, tenant := range []loci.Tenant{locitest.Tenant(t, "acme"), loci.SystemTenant()} {
			events, _, err := s.Events(t.Context(), tenant, loci.EventFilter{
				Within: []loci.Namespace{{}}, Types: []loci.EventType{loci.EventElevated}}, loci.Page{Limit: 10})
			if err != nil || len(events) != 1 || events[0].Actor != "operator" || events[0].RequestID != "r-1" ||
				!strings.Contains(string(events[0].Payload), "export_tenant") {
				t.Errorf("%q: %+v, %v", tenant, events, err)
			}
		}
		_, err := sc.Export(t.Context(), by, "nobody", &bytes.Buffer{}, nil)
		locitest.WantCode(t, err, loci.NotFound)
		// An operator who cannot be put on record gets nothing.
		broken := &noLog{Store: s}
		api, err := admin.New(admin.Options{
			Store: s, Engine: sc.engine, Keys: must(auth.OpenKeys(broken, auth.Options{Now: sc.clock.Now})),
		})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := api.Export(t.Context(), by, "acme", &out, nil); !errors.Is(err, loci.ErrUnavailable) || out.Len() > 0 {
			t.Errorf("%d bytes, %v", out.Len(), err)
		}
	})
}

func must(k *auth.Keys, err error) *auth.Keys {
	if err != nil {
		panic(err)
	}
	return k
}

// noLog is a store that takes no changes.
type noLog struct{ loci.Store }

func (*noLog) Apply(context.Context, loci.Tenant, loci.Change) error {
	return loci.Errorf(loci.Unavailable, "the disk is full")
}

// TestListOfTenants goes through all tenants in order: those that were made, and those of old stores.
func TestListOfTenants(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		locitest.Save(t, sc.memory("an old one", "carol"), "Likes tea.")
		if _, err := sc.Suspend(t.Context(), by, "globex", admin.StateReadOnly, "why"); err != nil {
			t.Fatal(err)
		}
		var names []string
		for after := ""; ; {
			list, next, err := sc.List(t.Context(), after, 2)
			if err != nil || len(list) > 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			for _, one := range list {
				names = append(names, one.Name+" "+string(one.State))
			}
			if after = next; next == "" {
				break
			}
		}
		if want := []string{"acme active", "an old one active", "globex read_only"}; !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
		_, err := sc.Suspend(t.Context(), by, "globex", admin.StateActive, "")
		locitest.WantCode(t, err, loci.Invalid)
		tenant, events, err := sc.Show(t.Context(), "globex")
		if err != nil || tenant.Reason != "why" || tenant.Use.Records != 2 || tenant.Use.Bytes == 0 || len(events) != 2 {
			t.Errorf("%+v %+v, %+v, %v", tenant, tenant.Use, events, err)
		}
	})
}
