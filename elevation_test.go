package loci_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/caller"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestElevationEnds: a credential acts in another tenant until its time is over, to the
// millisecond, and not after that. Both logs say who, for whom and until when, without the name
// of a person; what is refused is in neither. One without an end has none.
func TestElevationEnds(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	end := c.Now().Truncate(time.Millisecond).Add(time.Hour)
	p, err := loci.NewPrincipal(locitest.Tenant(t, "home"), "key:1", nil, loci.ScopeAdmin, loci.ScopeElevate, loci.ScopeDelegate)
	if err != nil {
		t.Fatal(err)
	}
	act := func(p loci.Principal) error {
		t.Helper()
		p, err := p.Elevate(locitest.Tenant(t, "acme"))
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.With(loci.Vars{loci.VarUser: "alice@example.com"}); err != nil {
			t.Fatal(err)
		}
		return e.RecordElevation(t.Context(), p, "r1", "get_note")
	}
	told := func(tenant string) (all []loci.Event) {
		t.Helper()
		m := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, tenant), Actor: "auditor"})
		all, _, err := m.Events(t.Context(), loci.EventFilter{Types: []loci.EventType{loci.EventElevated}}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	c.Set(end.Add(-time.Millisecond))
	if err := act(p.WithElevationUntil(end)); err != nil {
		t.Errorf("before the end: %v", err)
	}
	c.Set(end)
	err = act(p.WithElevationUntil(end))
	locitest.WantCode(t, err, loci.Forbidden)
	if !strings.Contains(err.Error(), "may act in other tenants ended at "+end.UTC().Format(time.RFC3339)) {
		t.Errorf("at the end: %v", err)
	}
	for _, tenant := range []string{"home", "acme"} {
		events := told(tenant)
		if len(events) != 1 {
			t.Fatalf("%s: %d events", tenant, len(events))
		}
		text := string(events[0].Payload)
		for _, want := range []string{`"from":"home"`, `"to":"acme"`, `"operation":"get_note"`,
			`"until":"` + end.UTC().Format(time.RFC3339), `"user_id":"` + caller.Digest("acme", "alice@example.com")} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s lacks %s", tenant, text, want)
			}
		}
		if events[0].Actor != "key:1" || strings.Contains(text, "alice") {
			t.Errorf("%s: %s by %s", tenant, text, events[0].Actor)
		}
	}
	if err := act(p); err != nil {
		t.Errorf("without an end: %v", err)
	}
	if events := told("acme"); len(events) != 2 || strings.Contains(string(events[0].Payload), "until") {
		t.Errorf("%d events, %s", len(events), events[0].Payload)
	}
}
