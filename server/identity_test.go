package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

func principal(t *testing.T, scopes ...loci.Scope) loci.Principal {
	t.Helper()
	tenant, err := loci.NewTenant("home")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loci.NewPrincipal(tenant, "operator", loci.Vars{loci.VarUser: "alice", loci.VarAgent: "bot"}, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestIdentify: what headers choose, and what they may not.
func TestIdentify(t *testing.T) {
	plain := []loci.Scope{loci.ScopeRead}
	delegate := []loci.Scope{loci.ScopeDelegate}
	operator := []loci.Scope{loci.ScopeAdmin, loci.ScopeElevate}
	for _, c := range []struct {
		scopes  []loci.Scope
		headers []string
		want    string // tenant, user, org, agent, thread, session; or the code of an error
	}{
		{plain, nil, "home alice - bot - -"},
		{plain, []string{"Loci-Thread: t", "Loci-Session: s"}, "home alice - bot t s"},
		{plain, []string{"Loci-User: alice", "Loci-Agent: bot"}, "home alice - bot - -"}, // its own
		{plain, []string{"Loci-User: bob"}, "forbidden"},
		{plain, []string{"Loci-User: Alice"}, "forbidden"},
		{plain, []string{"Loci-Org: acme"}, "forbidden"},
		{plain, []string{"Loci-Agent: other"}, "forbidden"},
		{plain, []string{"Loci-Butler: other"}, "forbidden"},
		{plain, []string{"Loci-Tenant: home"}, "forbidden"},
		{plain, []string{"Loci-Tenant: " + strings.Repeat("x", 300)}, "forbidden"},
		{delegate, []string{"Loci-User: bob", "Loci-Org: acme", "Loci-Agent: other"}, "home bob acme other - -"},
		{delegate, []string{"Loci-User: bob"}, "home bob - bot - -"},
		{delegate, []string{"Loci-Org: acme"}, "home - acme - - -"}, // and no user of the credential
		{delegate, []string{"Loci-Agent: other"}, "home - - other - -"},
		{delegate, []string{"Loci-Org: acme", "Loci-Agent: other", "Loci-Thread: t"}, "home - acme other t -"},
		{delegate, []string{"Loci-Org: acme", "Loci-User: alice"}, "home alice acme - - -"},
		{delegate, []string{"Loci-Butler: other"}, "home alice - bot - -"},
		{plain, []string{"Loci-Agent: bot"}, "forbidden"}, // it would no longer be about alice
		{delegate, []string{"Loci-Tenant: away"}, "forbidden"},
		{delegate, []string{"Loci-User: " + strings.Repeat("x", 257)}, "invalid"},
		{delegate, []string{"Loci-User: \xff"}, "invalid"},
		{operator[:1], []string{"Loci-Tenant: away"}, "forbidden"},
		{operator[1:], []string{"Loci-Tenant: away"}, "forbidden"},
		{operator, []string{"Loci-Tenant: away"}, "away<home alice - bot - -"},
		{operator, []string{"Loci-Tenant: " + strings.Repeat("x", 257)}, "invalid"},
		{operator, []string{"Loci-Tenant: away", "Loci-User: bob"}, "forbidden"},
		{delegate, []string{"Loci-User: "}, "invalid"},
		{delegate, []string{"Loci-User: a", "Loci-User: b"}, "invalid"},
		// As it is, unless the request says that it is encoded.
		{delegate, []string{"Loci-User: Зоя 100%"}, "home Зоя 100% - bot - -"},
		{delegate, []string{"Loci-User: a%20b"}, "home a%20b - bot - -"},
		{delegate, []string{"Loci-User: a%20b", "Loci-Thread: %F0%9F%9A%80+%2541", "Loci-Encoding: percent"}, "home a b - bot 🚀+%41 -"},
		{plain, []string{"Loci-Session: s", "Loci-Encoding: percent"}, "home alice - bot - s"},
		{plain, []string{"Loci-Encoding: percent"}, "home alice - bot - -"},
		{delegate, []string{"Loci-User: 100%", "Loci-Encoding: percent"}, "invalid"},
		{delegate, []string{"Loci-User: Зоя", "Loci-Encoding: percent"}, "invalid"},
		{delegate, []string{"Loci-User: %FF", "Loci-Encoding: percent"}, "invalid"},
		{delegate, []string{"Loci-User: %00", "Loci-Encoding: percent"}, "invalid"},
		{plain, []string{"Loci-User: %62ob", "Loci-Encoding: percent"}, "forbidden"},
		{operator, []string{"Loci-Tenant: aw%61y", "Loci-Encoding: percent"}, "away<home alice - bot - -"},
		{operator, []string{"Loci-Tenant: away%", "Loci-Encoding: percent"}, "invalid"},
		{plain, []string{"Loci-User: alice", "Loci-Encoding: base64"}, "invalid"},
		{delegate, []string{"Loci-Usr: bob"}, "invalid"},
		{delegate, []string{"loci-user-id: bob"}, "invalid"},
		{plain, []string{"Loci-Request-Id: x"}, "invalid"},
	} {
		h := http.Header{}
		for _, line := range c.headers {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		p, err := Identify(principal(t, c.scopes...), h)
		var got string
		if err != nil {
			got = string(loci.AsError(err).Code)
		} else {
			got = p.Tenant().String()
			if from := p.ElevatedFrom(); !from.IsZero() {
				got += "<" + from.String()
			}
			for _, name := range []string{loci.VarUser, loci.VarOrg, loci.VarAgent, loci.VarThread, loci.VarSession} {
				value := p.Var(name)
				if value == "" {
					value = "-"
				}
				got += " " + value
			}
		}
		if got != c.want {
			t.Errorf("%v with %v: %s (%v), want %s", c.headers, c.scopes, got, err, c.want)
		}
	}
}

// TestHeadersAreChecked before any surface is asked, also by one that does not identify.
func TestHeadersAreChecked(t *testing.T) {
	s, _ := newServer(t, Options{})
	for _, header := range []string{"Loci-Usr: bob", "Loci-User: ", "Loci-Request-Id: x", "Loci-Encoding: utf-8"} {
		if w := ask(s, "POST", "/mcp", "", header); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":"invalid"`) {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}

// A method that nothing here takes is refused as such, whatever the headers are.
func TestUnknownMethodsAreRefusedFirst(t *testing.T) {
	s, _ := newServer(t, Options{})
	for _, method := range []string{"TRACE", "CONNECT", "PURGE"} {
		if w := ask(s, method, "/healthz", "", "Loci-Encoding: utf-8"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v %s", method, w.Code, w.Header(), w.Body)
		}
	}
}
