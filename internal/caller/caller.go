// Package caller decides whom a request is about: what its credential says, and what it
// chooses itself.
package caller

import (
	"maps"
	"math"
	"slices"
)

// The variables that are known. An operator may add others.
const (
	User    = "user_id"
	Org     = "org_id"
	Agent   = "agent_id"
	Butler  = "butler"
	Thread  = "thread_id"
	Session = "session_id"
)

// Names lists the variables that are set, sorted.
func Names(vars map[string]string) (names []string) {
	for name, value := range vars {
		if value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Copy returns variables of a caller's own; never nil.
func Copy(vars map[string]string) map[string]string {
	own := make(map[string]string, len(vars))
	maps.Copy(own, vars)
	return own
}

// Texts are names of a type of their own as plain texts.
func Texts[T ~string](names []T) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return texts
}

// breadth orders the variables: one with a smaller number is about more than those with a
// greater one. A variable that an operator added counts as narrow as a user.
func breadth(name string) int {
	switch name {
	case Org:
		return 0
	case Agent:
		return 1
	case Butler:
		return 2
	case Thread, Session:
		return 4
	}
	return 3
}

// A Refusal says which variable a request may not choose.
type Refusal struct {
	Name    string
	LeftOut bool // it must be named, and the request leaves it out
}

// Choose returns the variables of a request that chooses some itself. own are those of
// the credential, named what the request has named so far, chosen what it names now;
// every chosen variable has a value.
//
// Besides its own value a choice replaces every variable of the credential that is
// narrower and that the request does not name; a butler replaces no other. A thread and a
// session may always be chosen. Any other choice needs free, unless the request is still
// about exactly the same caller as the credential.
func Choose(own map[string]string, named []string, chosen map[string]string, free bool) (map[string]string, *Refusal) {
	mayChoose := func(name string) bool { return name == Thread || name == Session || free }
	names := slices.Sorted(maps.Keys(chosen))
	vars, broadest := map[string]string{}, math.MaxInt
	for _, name := range names {
		if chosen[name] != own[name] && !mayChoose(name) {
			return nil, &Refusal{Name: name}
		}
		vars[name] = chosen[name]
		if name != Butler {
			broadest = min(broadest, breadth(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		switch {
		case vars[name] != "" || own[name] == "":
		case slices.Contains(named, name) || breadth(name) <= broadest:
			vars[name] = own[name]
		case !mayChoose(name):
			return nil, &Refusal{Name: name, LeftOut: true}
		}
	}
	return vars, nil
}
