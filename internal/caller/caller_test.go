package caller

import (
	"maps"
	"testing"
)

type vars = map[string]string

// TestChoose: a request that names somebody is about that one alone, not also about whomever
// the credential names.
func TestChoose(t *testing.T) {
	own := vars{Org: "acme", Agent: "helper", Butler: "health", User: "ada", Thread: "t", Session: "s", "team": "red"}
	without := func(names ...string) vars {
		out := maps.Clone(own)
		for _, name := range names {
			delete(out, name)
		}
		return out
	}
	with := func(v, more vars) vars {
		out := maps.Clone(v)
		maps.Copy(out, more)
		return out
	}
	for name, c := range map[string]struct {
		named  []string
		chosen vars
		want   vars
	}{
		"nothing":                       {nil, nil, own},
		"an organisation":               {nil, vars{Org: "other"}, vars{Org: "other"}},
		"an agent":                      {nil, vars{Agent: "other"}, vars{Org: "acme", Agent: "other"}},
		"a butler":                      {nil, vars{Butler: "other"}, with(own, vars{Butler: "other"})},
		"a user":                        {nil, vars{User: "bob"}, with(without(Thread, Session), vars{User: "bob"})},
		"a variable of one's own":       {nil, vars{"team": "blue"}, with(without(Thread, Session), vars{"team": "blue"})},
		"a thread":                      {nil, vars{Thread: "u"}, with(own, vars{Thread: "u"})},
		"a session":                     {nil, vars{Session: "u"}, with(own, vars{Session: "u"})},
		"an unknown variable":           {nil, vars{"new": "x"}, with(without(Thread, Session), vars{"new": "x"})},
		"two":                           {nil, vars{Org: "other", User: "bob"}, vars{Org: "other", User: "bob"}},
		"an organisation, after a user": {[]string{User}, vars{Org: "other"}, vars{Org: "other", User: "ada"}},
	} {
		got, refused := Choose(own, c.named, c.chosen, true)
		if refused != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, refused %+v; want %v", name, got, refused, c.want)
		}
	}
}

// TestChooseWithoutPermission: only a thread and a session may differ, and what the
// credential says may not be dropped either.
func TestChooseWithoutPermission(t *testing.T) {
	own := vars{Org: "acme", User: "ada", Thread: "t"}
	for name, c := range map[string]struct {
		chosen vars
		want   vars
		refuse Refusal
	}{
		"a thread":           {vars{Thread: "u"}, vars{Org: "acme", User: "ada", Thread: "u"}, Refusal{}},
		"a session":          {vars{Session: "s"}, vars{Org: "acme", User: "ada", Thread: "t", Session: "s"}, Refusal{}},
		"the same user":      {vars{User: "ada"}, vars{Org: "acme", User: "ada"}, Refusal{}},
		"another user":       {vars{User: "bob"}, nil, Refusal{Name: User}},
		"one more":           {vars{Agent: "a"}, nil, Refusal{Name: Agent}},
		"less":               {vars{Org: "acme"}, nil, Refusal{User, true}},
		"the first by name":  {vars{User: "bob", Agent: "a"}, nil, Refusal{Name: Agent}},
		"all that is narrow": {vars{Org: "acme", User: "ada"}, vars{Org: "acme", User: "ada"}, Refusal{}},
	} {
		got, refused := Choose(own, nil, c.chosen, false)
		if refused == nil {
			refused = &Refusal{}
		}
		if *refused != c.refuse || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, refused %+v; want %v, %+v", name, got, refused, c.want, c.refuse)
		}
	}
}

// TestChooseLeavesOutEmptyValues: an empty value names nobody.
func TestChooseLeavesOutEmptyValues(t *testing.T) {
	own := vars{Org: "", User: "ada"}
	got, refused := Choose(own, nil, nil, false)
	if refused != nil || !maps.Equal(got, vars{User: "ada"}) {
		t.Errorf("%v, refused %+v", got, refused)
	}
	if len(own) != 2 {
		t.Errorf("the credential became %v", own)
	}
}
