package loci

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/label"
	"github.com/loci-memory/loci/internal/seal"
)

// Limits on a [Namespace].
const (
	MaxLabels     = 16  // labels in a namespace
	MaxLabelBytes = 256 // bytes in a label, and in a tenant's name
)

// A Tenant is the hard wall: no query, statistic or id reaches across it. Only authentication and the operator's
// configuration make one; the zero Tenant is refused by every store.
type Tenant struct{ name string }

// NewTenant checks a tenant's name: 1 to 256 bytes of valid UTF-8 without NUL. Names compare byte for byte.
func NewTenant(name string) (Tenant, error) {
	if err := CheckLabel("tenant", name); err != nil {
		return Tenant{}, err
	}
	return Tenant{name}, nil
}

// SystemTenant is for what the program keeps for itself, such as keys: no name means it.
func SystemTenant() Tenant { return Tenant{"\x00loci"} }

// String returns the name.
func (t Tenant) String() string { return t.name }

// IsZero reports whether t names no tenant.
func (t Tenant) IsZero() bool { return t.name == "" }

// CheckLabel refuses what cannot be a label: empty, over [MaxLabelBytes], not UTF-8, with NUL.
func CheckLabel(field, s string) error {
	if err := label.Check(field, s, MaxLabelBytes); err != nil {
		return Errorf(Invalid, "%s", err)
	}
	return nil
}

// A Namespace is a place inside a tenant: a tuple of labels such as ("user", "u-123"). It contains itself and every
// namespace that extends it by whole labels. Labels compare byte for byte: no case folding, no normalisation.
type Namespace []string

// Validate checks the limits: at most 16 labels, each 1 to 256 bytes of valid
// UTF-8 without NUL. The empty namespace is the tenant itself and is valid.
func (n Namespace) Validate() error {
	if len(n) > MaxLabels {
		return Errorf(Invalid, "namespace has %d labels; the limit is %d", len(n), MaxLabels)
	}
	for i, l := range n {
		if err := CheckLabel(fmt.Sprintf("namespace label %d", i+1), l); err != nil {
			return err
		}
	}
	return nil
}

// Contains reports whether other is n or lies below it.
func (n Namespace) Contains(other Namespace) bool {
	return len(other) >= len(n) && slices.Equal(n, other[:len(n)])
}

// Equal reports whether both have the same labels.
func (n Namespace) Equal(other Namespace) bool { return slices.Equal(n, other) }

// Child returns a new namespace with labels appended; n is not changed.
func (n Namespace) Child(labels ...string) Namespace {
	return append(slices.Clip(slices.Clone(n)), labels...)
}

// Key returns a collision-free byte string for n: every label followed by NUL, which no label may contain. Key order
// puts a namespace right before everything below it, so "contains" is "has the prefix".
func (n Namespace) Key() string {
	return label.Key(n)
}

// NamespaceFromKey is the inverse of [Namespace.Key].
func NamespaceFromKey(key string) Namespace { return label.FromKey(key) }

// String joins the labels with "/", escaping "/" and "%" inside them.
func (n Namespace) String() string { return label.Join(n) }

// ParseNamespace reads the form [Namespace.String] writes. The empty string is the empty namespace.
func ParseNamespace(text string) (Namespace, error) {
	labels, err := label.Split(text)
	if err != nil {
		return nil, Errorf(Invalid, "%s", err)
	}
	n := Namespace(labels)
	return n, n.Validate()
}

// What a feature keeps for itself inside a namespace lies behind the empty label,
// which no caller can name: no choice of labels meets it.
const innerLabel = ""

// Inner returns a place inside n of a feature's own, which no caller can name. Its
// labels do not count against the limit of a namespace.
func (n Namespace) Inner(labels ...string) Namespace {
	return n.Child(append([]string{innerLabel}, labels...)...)
}

// Owner returns the namespace in which a feature made the place n; of any other namespace, itself.
func (n Namespace) Owner() Namespace {
	if i := slices.Index(n, innerLabel); i >= 0 {
		return n[:i]
	}
	return n
}

// CheckPlace is Validate for what a store holds: a namespace of callers, or a place
// that a feature made inside one. Its own labels do not count against the limit.
func (n Namespace) CheckPlace() error {
	owner := n.Owner()
	if err := owner.Validate(); err != nil || len(owner) == len(n) {
		return err
	}
	own := n[len(owner)+1:]
	if len(own) == 0 {
		return n.Validate()
	}
	return own.Validate()
}

// former is the namespace without the label that no caller can name, as it was before there was one.
func (n Namespace) former() Namespace {
	owner := n.Owner()
	if len(owner) == len(n) {
		return n
	}
	return owner.Child(n[len(owner)+1:]...)
}

// A NameKey makes the marks of a tenant's namespaces. Each tenant has its own, which is erased with the tenant.
type NameKey []byte

// NewNameKey makes a key at random.
func NewNameKey() NameKey { return seal.NewKey() }

// A Mark stands for a namespace whose name is not to be kept: [MarkBytes] for each
// label. A mark begins with the mark of every namespace that contains its own.
type Mark string

// MarkBytes are the bytes of a [Mark] for each label.
const MarkBytes = seal.MarkBytes

// Mark returns the mark of a namespace.
func (k NameKey) Mark(n Namespace) Mark {
	prefixes := make([]string, len(n))
	for i := range n {
		prefixes[i] = n[:i+1].Key()
	}
	return Mark(seal.Mark(k, prefixes...))
}

// Shown returns how to show a namespace whose name is gone: the longest of the given
// namespaces that contains it, which the reader named, followed by the rest of the mark.
func (k NameKey) Shown(m Mark, known []Namespace) Namespace {
	var longest Namespace
	for _, n := range known {
		if len(n) >= len(longest) && strings.HasPrefix(string(m), string(k.Mark(n))) {
			longest = n
		}
	}
	if rest := m[MarkBytes*len(longest):]; rest != "" {
		return longest.Inner("erased", hex.EncodeToString([]byte(rest)))
	}
	return slices.Clone(longest)
}

// A Template is a namespace whose labels may be variables: a label that is exactly "{name}" stands for the caller's
// variable of that name. The nil Template means the default place: ("user", user_id), else ("org", org_id, agent_id),
// else ("org", org_id).
type Template []string

// ParseTemplate checks the labels of a template.
func ParseTemplate(labels []string) (Template, error) {
	for _, l := range labels {
		if name, ok := label.IsVariable(l); ok && name == "" {
			return nil, Errorf(Invalid, "namespace template has an empty variable {}")
		}
	}
	return Template(slices.Clone(labels)), Namespace(labels).Validate()
}

// Resolve fills the variables from vars. A variable that is not set is a [*ConfigurationError]. So is an empty one: it
// must not lead to somebody else's default place.
func (t Template) Resolve(vars Vars) (Namespace, error) {
	if t == nil {
		_, user := vars[VarUser]
		_, org := vars[VarOrg]
		_, agent := vars[VarAgent]
		switch {
		case user || !org:
			t = Template{"user", "{user_id}"}
		case agent:
			t = Template{"org", "{org_id}", "{agent_id}"}
		default:
			t = Template{"org", "{org_id}"}
		}
	}
	labels, missing := label.Fill(t, vars)
	if missing != "" {
		return nil, &ConfigurationError{Key: missing, Available: vars.Names()}
	}
	n := Namespace(labels)
	return n, n.Validate()
}
