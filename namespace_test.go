package loci_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// anyLabel draws labels with everything that might be taken for syntax.
func anyLabel() *rapid.Generator[string] {
	odd := []string{"a", "A", "/", "%", "%2F", "%25", "%2f", "%252F", ":", "a:b", "a/b", ".", "..", "*", "_", "{user_id}",
		" ", "\t", "é", "e\u0301", "\x01", "\x7f", "\u202e", "𝒳", "\ufffd", "user"}
	part := rapid.OneOf(rapid.SampledFrom(odd), rapid.StringN(1, 4, 16))
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.ReplaceAll(strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), ""), "\x00", "0")
		return strings.ToValidUTF8(s, "?")
	})
}

func anyNamespace() *rapid.Generator[loci.Namespace] {
	return rapid.Custom(func(t *rapid.T) loci.Namespace {
		return rapid.SliceOfN(anyLabel(), 0, 4).Draw(t, "labels")
	})
}

func TestNamespaceTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := anyNamespace().Draw(t, "namespace")
		back, err := loci.ParseNamespace(n.String())
		if err != nil || !back.Equal(n) {
			t.Fatalf("%q reads back as %q, %v", n.String(), []string(back), err)
		}
		if key := loci.NamespaceFromKey(n.Key()); !key.Equal(n) {
			t.Fatalf("key of %q reads back as %q", []string(n), []string(key))
		}
	})
}

func TestContainsIsKeyPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyNamespace().Draw(t, "a"), anyNamespace().Draw(t, "b")
		if rapid.Bool().Draw(t, "extend") {
			b = a.Child(b...)
		}
		if got, want := strings.HasPrefix(b.Key(), a.Key()), a.Contains(b); got != want {
			t.Fatalf("%q contains %q: %v, but key prefix: %v", []string(a), []string(b), want, got)
		}
		if (a.Key() == b.Key()) != a.Equal(b) || (a.String() == b.String()) != a.Equal(b) {
			t.Fatalf("%q and %q collide", []string(a), []string(b))
		}
	})
}

func TestChildDoesNotShareMemory(t *testing.T) {
	base := append(make(loci.Namespace, 0, 8), "user")
	one, two := base.Child("a"), base.Child("b")
	if one[1] != "a" || two[1] != "b" {
		t.Errorf("children share memory: %q, %q", one, two)
	}
}

func TestNamespaceLimits(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		n    loci.Namespace
		want string
	}{
		{nil, ""},
		{slices.Repeat(loci.Namespace{"x"}, 16), ""},
		{loci.Namespace{long[:256]}, ""},
		{slices.Repeat(loci.Namespace{"x"}, 17), "namespace has 17 labels; the limit is 16"},
		{loci.Namespace{"a", ""}, "namespace label 2 must not be empty"},
		{loci.Namespace{long}, "namespace label 1 is 257 bytes long; the limit is 256: shorten it"},
		{loci.Namespace{"a\xff"}, "namespace label 1 is not valid UTF-8"},
		{loci.Namespace{"user\x00"}, "namespace label 1 must not contain a NUL character"},
	} {
		err := c.n.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%.40q: error %v, want %q", []string(c.n), err, c.want)
		}
	}
}

// What a store holds lies in a namespace of callers, or in a place of a feature inside one. Both
// parts of such a place have the limits of a namespace.
func TestPlacesHaveLimits(t *testing.T) {
	most := slices.Repeat(loci.Namespace{"x"}, 16)
	for name, c := range map[string]struct {
		n    loci.Namespace
		fits bool
	}{
		"a namespace":              {loci.Namespace{"u"}, true},
		"no label":                 {nil, true},
		"a place":                  {loci.Namespace{"u"}.Inner("s"), true},
		"a place above all":        {loci.Namespace{}.Inner("s"), true},
		"both as long as may be":   {most.Inner(most...), true},
		"too long a namespace":     {most.Child("x"), false},
		"a place in such a one":    {most.Child("x").Inner("s"), false},
		"too long a place":         {loci.Namespace{"u"}.Inner(most.Child("x")...), false},
		"a place without labels":   {loci.Namespace{"u"}.Inner(), false},
		"a place in a place":       {loci.Namespace{"u"}.Inner("s").Inner("t"), false},
		"a label that is no text":  {loci.Namespace{"u"}.Inner("a\xff"), false},
		"a namespace that is none": {loci.Namespace{"a\xff"}.Inner("s"), false},
	} {
		if err := c.n.CheckPlace(); (err == nil) != c.fits {
			t.Errorf("%s: %v; fits %v", name, err, c.fits)
		}
	}
}

func TestParseNamespaceRefuses(t *testing.T) {
	for _, text := range []string{"/", "a//b", "/a", "a/", "%", "a%2", "a%zz", "50%", "a\x00", strings.Repeat("a/", 16) + "a"} {
		if n, err := loci.ParseNamespace(text); err == nil {
			t.Errorf("%q is read as %q", text, []string(n))
		}
	}
}

// TestTemplates: a template becomes a namespace only if all of its variables are set and
// allowed; anything else would end in the wrong memory.
func TestTemplates(t *testing.T) {
	missing := "ConfigurationError: Missing key in 'configurable' field: "
	for _, c := range []struct {
		template loci.Template
		vars     loci.Vars
		want     loci.Namespace
		err      string
	}{
		{nil, loci.Vars{"user_id": "u-123"}, loci.Namespace{"user", "u-123"}, ""},
		{nil, loci.Vars{"user_id": "u", "org_id": "acme"}, loci.Namespace{"user", "u"}, ""},
		{nil, loci.Vars{"org_id": "acme", "agent_id": "alpha"}, loci.Namespace{"org", "acme", "alpha"}, ""},
		{nil, loci.Vars{"org_id": "acme"}, loci.Namespace{"org", "acme"}, ""},
		{nil, nil, nil, missing + "user_id. Available keys: []"},
		{nil, loci.Vars{"thread_id": "t", "agent_id": "a", "user_id": ""}, nil, missing + "user_id. Available keys: ['agent_id', 'thread_id']"},
		{loci.Template{"{user_id}", "memories"}, loci.Vars{"user_id": "u"}, loci.Namespace{"u", "memories"}, ""},
		{loci.Template{"{user_id}"}, loci.Vars{"org_id": "o"}, nil, missing + "user_id. Available keys: ['org_id']"},
		{loci.Template{"x{user_id}", "{user_id}x", "{", "}"}, nil, loci.Namespace{"x{user_id}", "{user_id}x", "{", "}"}, ""},
		{loci.Template{"{user_id}"}, loci.Vars{"user_id": "{org_id}", "org_id": "o"}, loci.Namespace{"{org_id}"}, ""},
		{loci.Template{"{user_id}"}, loci.Vars{"user_id": "a\x00b"}, nil, "namespace label 1 must not contain a NUL character"},
		{loci.Template{"team", "{project}"}, loci.Vars{"project": "a/b"}, loci.Namespace{"team", "a/b"}, ""},
	} {
		got, err := c.template.Resolve(c.vars)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q with %v: error %v, want %q", c.template, c.vars, err, c.err)
			}
			if advice := loci.AsError(err).Advice(); strings.HasPrefix(c.err, missing) && !strings.Contains(advice, "Loci-User") {
				t.Errorf("who left a key out is told to %q, and not where a request names it", advice)
			}
			continue
		}
		if err != nil || !got.Equal(c.want) {
			t.Errorf("%q with %v: %q, %v; want %q", c.template, c.vars, got, err, c.want)
		}
	}
	if _, err := loci.ParseTemplate([]string{"a", "{}"}); err == nil {
		t.Error("an empty variable is accepted")
	}
	labels := []string{"{user_id}"}
	parsed, err := loci.ParseTemplate(labels)
	if err != nil {
		t.Fatal(err)
	}
	labels[0] = "{org_id}"
	if n, err := parsed.Resolve(loci.Vars{"user_id": "u"}); err != nil || !n.Equal(loci.Namespace{"u"}) {
		t.Errorf("a template follows its caller's slice: %q, %v", n, err)
	}
}

// TestPrincipalRules: which identity a caller may choose with which scopes. A wrong yes lets
// one user act as another.
func TestPrincipalRules(t *testing.T) {
	home, other := locitest.Tenant(t, "home"), locitest.Tenant(t, "other")
	make1 := func(scopes ...loci.Scope) loci.Principal {
		p, err := loci.NewPrincipal(home, "key-1", loci.Vars{"user_id": "u"}, scopes...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		scopes []loci.Scope
		chosen loci.Vars
		code   loci.Code
	}{
		{"a thread", nil, loci.Vars{"thread_id": "t1", "session_id": "s1"}, ""},
		{"the own value", nil, loci.Vars{"user_id": "u"}, ""},
		{"nothing", nil, loci.Vars{}, ""},
		{"an empty user", nil, loci.Vars{"user_id": ""}, loci.Invalid},
		{"an empty thread", nil, loci.Vars{"thread_id": ""}, loci.Invalid},
		{"an empty user by delegation", []loci.Scope{loci.ScopeDelegate}, loci.Vars{"user_id": "", "org_id": "o"}, loci.Invalid},
		{"another user", nil, loci.Vars{"user_id": "v"}, loci.Forbidden},
		{"another user as admin", []loci.Scope{loci.ScopeAdmin, loci.ScopeElevate}, loci.Vars{"user_id": "v"}, loci.Forbidden},
		{"an org where none is set", nil, loci.Vars{"org_id": "o"}, loci.Forbidden},
		{"another letter case", nil, loci.Vars{"user_id": "U"}, loci.Forbidden},
		{"another user by delegation", []loci.Scope{loci.ScopeDelegate}, loci.Vars{"user_id": "v"}, ""},
		{"a bad value", []loci.Scope{loci.ScopeDelegate}, loci.Vars{"user_id": "v\x00"}, loci.Invalid},
		{"a bad thread", nil, loci.Vars{"thread_id": strings.Repeat("x", 257)}, loci.Invalid},
	} {
		p := make1(c.scopes...)
		before := p.Vars()
		q, err := p.With(c.chosen)
		switch {
		case c.code != "":
			locitest.WantCode(t, err, c.code)
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		default:
			for name, value := range c.chosen {
				if q.Var(name) != value {
					t.Errorf("%s: %s is %q", c.name, name, q.Var(name))
				}
			}
		}
		if !reflect.DeepEqual(p.Vars(), before) {
			t.Errorf("%s changed the principal itself", c.name)
		}
	}
	if _, err := (loci.Principal{}).With(loci.Vars{"thread_id": "t"}); err != nil {
		t.Errorf("the zero principal cannot choose a thread: %v", err)
	}
	for _, scopes := range [][]loci.Scope{nil, {loci.ScopeAdmin},
		{loci.ScopeElevate}, {loci.ScopeDelegate, loci.ScopeWrite}} {
		_, err := make1(scopes...).Elevate(other)
		locitest.WantCode(t, err, loci.Forbidden)
	}
	admin := make1(loci.ScopeAdmin, loci.ScopeElevate)
	if _, err := admin.Elevate(loci.Tenant{}); err == nil {
		t.Error("elevation to no tenant is accepted")
	}
	up, err := admin.Elevate(other)
	if err != nil || up.Tenant() != other || up.ElevatedFrom() != home ||
		admin.Tenant() != home || !admin.ElevatedFrom().IsZero() {
		t.Errorf("elevated: %v from %v (%v); the original is in %v", up.Tenant(), up.ElevatedFrom(), err, admin.Tenant())
	}
	if err := admin.Require(loci.ScopeAdmin); err != nil {
		t.Error(err)
	}
	err = admin.Require(loci.ScopeWrite)
	locitest.WantCode(t, err, loci.Forbidden)
	if want := `this credential lacks the scope "write"`; err == nil || err.Error() != want {
		t.Errorf("message %v, want %s", err, want)
	}
}

// TestWhoARequestIsAbout: a request that names somebody drops whom the credential adds,
// except what is broader. Only the scope delegate may name anybody else.
func TestWhoARequestIsAbout(t *testing.T) {
	all := "user_id=u org_id=o agent_id=a butler=b thread_id=t session_id=s project=p"
	const forbidden = "forbidden"
	for _, c := range []struct{ own, chosen, delegate, plain string }{
		{all, "", all, all},
		{all, "thread_id=T", "user_id=u org_id=o agent_id=a butler=b thread_id=T session_id=s project=p", "user_id=u org_id=o agent_id=a butler=b thread_id=T session_id=s project=p"},
		{all, "user_id=U", "user_id=U org_id=o agent_id=a butler=b project=p", forbidden},
		{all, "user_id=u", "user_id=u org_id=o agent_id=a butler=b project=p", "user_id=u org_id=o agent_id=a butler=b project=p"},
		{all, "project=P", "user_id=u org_id=o agent_id=a butler=b project=P", forbidden},
		{all, "butler=B", "user_id=u org_id=o agent_id=a butler=B thread_id=t session_id=s project=p", forbidden},
		{all, "agent_id=A", "org_id=o agent_id=A", forbidden},
		{all, "org_id=O", "org_id=O", forbidden},
		// Naming one's own is naming somebody: the memory of an organisation is not that of its user.
		{all, "org_id=o", "org_id=o", forbidden},
		{all, "agent_id=a", "org_id=o agent_id=a", forbidden},
		{"user_id=u org_id=o agent_id=a", "org_id=o agent_id=a user_id=u", "org_id=o agent_id=a user_id=u", "org_id=o agent_id=a user_id=u"},
		{"org_id=o", "org_id=o", "org_id=o", "org_id=o"},
		{"org_id=o agent_id=a thread_id=t", "org_id=o agent_id=a", "org_id=o agent_id=a", "org_id=o agent_id=a"},
		{"user_id=default", "org_id=O agent_id=A", "org_id=O agent_id=A", forbidden},
		{"user_id=default", "org_id=O user_id=U", "org_id=O user_id=U", forbidden},
		{all, "org_id=O session_id=S", "org_id=O session_id=S", forbidden},
	} {
		for want, scopes := range map[*string][]loci.Scope{
			&c.delegate: {loci.ScopeDelegate},
			&c.plain:    {loci.ScopeAdmin, loci.ScopeElevate},
		} {
			p, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "s", pairs(c.own), scopes...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.With(pairs(c.chosen))
			switch {
			case *want == forbidden:
				locitest.WantCode(t, err, loci.Forbidden)
			case err != nil || !reflect.DeepEqual(got.Vars(), pairs(*want)):
				t.Errorf("%s with %s (%v): %v, %v", c.own, c.chosen, scopes, got.Vars(), err)
			}
			if !reflect.DeepEqual(p.Vars(), pairs(c.own)) {
				t.Errorf("%s changed the principal itself", c.chosen)
			}
		}
	}
}

func pairs(text string) loci.Vars {
	vars := loci.Vars{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return vars
}

// TestOneRequestNamesInSeveralSteps: what an earlier step named, and the agent of the
// address, stay; another request of the same credential knows nothing of it.
func TestOneRequestNamesInSeveralSteps(t *testing.T) {
	p, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "s", pairs("user_id=u agent_id=a"), loci.ScopeDelegate)
	if err != nil {
		t.Fatal(err)
	}
	at, err := p.AtAgent("planner")
	if err != nil || !reflect.DeepEqual(at.Vars(), pairs("user_id=u agent_id=planner")) || p.Var("agent_id") != "a" {
		t.Fatalf("%v, %v; the credential: %v", at.Vars(), err, p.Vars())
	}
	for _, c := range []struct {
		of    loci.Principal
		steps []string
		want  string
	}{
		{p, []string{"user_id=U", "org_id=O"}, "user_id=U org_id=O"},
		{p, []string{"org_id=O", "user_id=U"}, "user_id=U org_id=O"},
		{p, []string{"org_id=O", "agent_id=A"}, "agent_id=A org_id=O"},
		{p, []string{"agent_id=A", "org_id=O"}, "agent_id=A org_id=O"},
		{p, []string{"org_id=O"}, "org_id=O"},
		{at, []string{"org_id=O"}, "org_id=O agent_id=planner"},
		{at, []string{"user_id=U"}, "user_id=U agent_id=planner"},
		{at, []string{"agent_id=A"}, "agent_id=A"},
		{at, []string{"thread_id=T"}, "user_id=u agent_id=planner thread_id=T"},
	} {
		got := c.of
		for _, step := range c.steps {
			if got, err = got.With(pairs(step)); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got.Vars(), pairs(c.want)) {
			t.Errorf("%v: %v, want %s", c.steps, got.Vars(), c.want)
		}
	}
	if _, err := p.AtAgent(""); !errors.Is(err, loci.ErrInvalid) {
		t.Errorf("an address of no agent: %v", err)
	}
}

// TestEmptyVariableIsNobody: it neither makes a principal nor leads to the memory of
// whoever comes next.
func TestEmptyVariableIsNobody(t *testing.T) {
	for _, name := range []string{"user_id", "org_id", "agent_id", "butler", "thread_id", "session_id", "project"} {
		_, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "s", loci.Vars{"user_id": "u", "org_id": "o", name: ""})
		if locitest.WantCode(t, err, loci.Invalid); err != nil && !strings.HasPrefix(err.Error(), name+" must not be empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		vars loci.Vars
		key  string
	}{
		{loci.Vars{"user_id": "", "org_id": "o", "agent_id": "a"}, "user_id"},
		{loci.Vars{"org_id": "o", "agent_id": ""}, "agent_id"},
		{loci.Vars{"org_id": ""}, "org_id"},
	} {
		var missing *loci.ConfigurationError
		if n, err := loci.Template(nil).Resolve(c.vars); !errors.As(err, &missing) || missing.Key != c.key {
			t.Errorf("%v leads to %q, %v", c.vars, n, err)
		}
	}
}

func TestPrincipalIsImmutable(t *testing.T) {
	vars, scopes := loci.Vars{"user_id": "u"}, []loci.Scope{loci.ScopeRead}
	p, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "s", vars, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	vars["user_id"], scopes[0] = "v", loci.ScopeAdmin
	p.Vars()["user_id"] = "w"
	if p.Var("user_id") != "u" || p.May(loci.ScopeAdmin) || !p.May(loci.ScopeRead) {
		t.Errorf("principal changed from outside: %v", p)
	}
}

func TestViewIsImmutable(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		labels, also := loci.Namespace{"user", "a"}, []loci.Namespace{{"shared", "a"}}
		m := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: labels, Also: also, Actor: "x"})
		locitest.Save(t, locitest.Bind(t, e, "user", "b"), "secret of b")
		locitest.Save(t, locitest.Bind(t, e, "shared", "b"), "shared of b")
		labels[1], also[0][1] = "b", "b"
		view := m.View()
		view.Namespace[1], view.Also[0][1] = "b", "b"
		if facts := locitest.AllFacts(t, m); len(facts) > 0 {
			t.Errorf("a bound handle was moved: %v", facts)
		}
	})
}

// TestSourcesAreBounded: what a client says of itself goes into every record and
// event, so it cannot be a book, nor break the text around it.
func TestSourcesAreBounded(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		long := strings.Repeat("é", 300) + "\x00\xff"
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.BindView(t, e, loci.View{
			Tenant:    locitest.Tenant(t, "default"),
			Namespace: loci.Namespace{"user", "u"},
			Actor:     "a",
			RequestID: long,
			Source:    loci.Source{Client: long},
		})
		f := locitest.Fact(t, m, locitest.Save(t, m, "Likes tea."))
		events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{f.Source.Client, events[0].RequestID} {
			if len(text) != 256 || !utf8.ValidString(text) {
				t.Errorf("%d bytes are kept: %q", len(text), text)
			}
		}
		_, err = e.Memory(loci.View{Tenant: locitest.Tenant(t, "default"), Actor: long})
		locitest.WantCode(t, err, loci.Invalid)
	})
}
