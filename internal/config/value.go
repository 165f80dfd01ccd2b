package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/token"
	"github.com/loci-memory/loci/observe"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/tool"
)

func notEmpty(v string) error {
	if strings.TrimSpace(v) == "" {
		return fmt.Errorf("must not be empty")
	}
	return nil
}

func setEmbedder(c *Config, v string) error {
	c.Embedding.Spec = v
	err := embedding.CheckSpec(v)
	if err == nil {
		return nil
	}
	kind, _, _ := strings.Cut(v, ":")
	kinds := make([]string, len(embedding.Specs))
	for i, spec := range embedding.Specs {
		kinds[i], _, _ = strings.Cut(spec, ":")
	}
	if near := slices.Index(kinds, spelling.Nearest(kind, kinds)); near >= 0 && kinds[near] != kind {
		return fmt.Errorf("%q is not known: did you mean %s?", v, embedding.Specs[near])
	}
	return err
}

// setVariableName takes the name of an environment variable. What looks like a key
// itself is refused without being shown.
func setVariableName(field *string, v string) error {
	for i, r := range v {
		if r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9' || i == 0) {
			return errors.New("must be the name of a variable, of capital letters, digits and _; " +
				"the key itself does not belong here")
		}
	}
	*field = v
	return notEmpty(v)
}

func setVar(name string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "" {
			return errors.New("must not be empty: leave it out, or say who is meant")
		}
		// A label of a namespace; its limits are those of every variable.
		if err := (loci.Namespace{v}).Validate(); err != nil {
			return err
		}
		c.named[name] = v
		return nil
	}
}

// setAgents takes the names of agents, which become a part of a path.
func setAgents(c *Config, v string) error {
	return setEach(&c.Agents, v, itself(func(name string) error {
		if strings.Trim(name, ".") == "" {
			return fmt.Errorf("%q cannot stand in an address", name)
		}
		return (loci.Namespace{name}).Validate()
	}))
}

func formOfProxy(text string) (string, error) {
	network, err := server.CheckProxy(text)
	return network.String(), err
}

// setListen takes one address or several.
func setListen(c *Config, v string) error {
	if err := notEmpty(v); err != nil {
		return err
	}
	c.Listen = splitList(v)[0]
	return setEach(&c.HTTP.Binding.Addresses, v, formOfAddress)
}

// setAdmin takes addresses for operators. Sockets of systemd say nothing of whom they are for.
func setAdmin(c *Config, v string) error {
	return setEach(&c.HTTP.Admin, v, func(address string) (string, error) {
		if address == "systemd" {
			return "", loci.Errorf(loci.Invalid, "the address of operators cannot be systemd: name a host and a port, or unix:/path")
		}
		return formOfAddress(address)
	})
}

// formOfAddress has no form: [server.Binding.Check] knows which two are one.
func formOfAddress(address string) (string, error) { return "", server.CheckAddress(address) }

func setTLS(c *Config, v string) (err error) {
	c.HTTP.Binding.TLS, err = spelling.OneOf(v, server.TLSOff, server.TLSFiles, server.TLSProxy)
	return err
}

// setPublicURL takes the address of the server, and its host as one that it may be called by.
func setPublicURL(c *Config, v string) error {
	address := strings.TrimSuffix(v, "/")
	if err := server.CheckPublicURL(address); err != nil {
		return err
	}
	c.HTTP.PublicURL = address
	return nil
}

// An elementError is a fault of one element of a list.
type elementError struct {
	at int
	error
}

// Unwrap returns the fault.
func (e *elementError) Unwrap() error { return e.error }

// itself makes a form of a check: an element has one spelling.
func itself(check func(string) error) func(string) (string, error) {
	return func(e string) (string, error) { return e, check(e) }
}

// setEach takes a list whose elements have a form. Two of one form are a mistake; "" is like no other.
func setEach(field *[]string, v string, form func(string) (string, error)) error {
	list, seen := []string{}, map[string]bool{}
	for i, e := range splitList(v) {
		same, err := form(e)
		if err == nil && same != "" && seen[same] {
			err = fmt.Errorf("%q comes twice: name it once", e)
		}
		if err != nil {
			return &elementError{i, err}
		}
		seen[same] = true
		list = append(list, e)
	}
	*field = list
	return nil
}

func scopeNames() (names []string) {
	for _, s := range loci.Scopes {
		names = append(names, string(s))
	}
	return names
}

func setTokenizer(c *Config, v string) error {
	name, err := spelling.OneOf(v, token.Names...)
	if err != nil {
		return err
	}
	c.engine.Tokenizer, err = token.Open(name)
	return err
}

func setScopes(c *Config, v string) error {
	var names []string
	err := setEach(&names, v, itself(func(name string) error {
		if _, err := loci.ParseScope(name); err != nil {
			return spelling.Unknown(name, scopeNames()...)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	c.Scopes = []loci.Scope{}
	for _, name := range names {
		c.Scopes = append(c.Scopes, loci.Scope(name))
	}
	return nil
}

func setTools(c *Config, v string) error {
	tools := []toolEntry{}
	for _, name := range splitList(v) {
		family, err := spelling.OneOf(name, familyNames()...)
		if err != nil {
			return err
		}
		tools = append(tools, toolEntry{Instance: tool.Instance{Family: family}})
	}
	c.tools = tools
	return nil
}

func setLogLevel(c *Config, v string) error {
	name, err := spelling.OneOf(v, "debug", "info", "warn", "error")
	if err != nil {
		return err
	}
	return c.LogLevel.UnmarshalText([]byte(name))
}

// splitList takes a comma-separated list apart; empty elements are passed over.
func splitList(v string) (elements []string) {
	for e := range strings.SplitSeq(v, ",") {
		if e = strings.TrimSpace(e); e != "" {
			elements = append(elements, e)
		}
	}
	return elements
}

// setShare takes a number from 0 to 1.
func setShare(field *float64, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1 {
		return fmt.Errorf("%q must be a number from 0 to 1", v)
	}
	*field = n
	return nil
}

func setRate(field *float64, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1_000_000 {
		return fmt.Errorf("%q must be a number from 0 to 1000000", v)
	}
	*field = n
	return nil
}

func setTraces(c *Config, v string) (err error) {
	c.Traces.Endpoint, err = observe.TraceURL(v)
	return err
}

func setMetrics(c *Config, v string) (err error) {
	c.Metrics.Endpoint, err = observe.MetricsURL(v)
	return err
}

func setMetricsEvery(c *Config, v string) error {
	return setDurationFrom(&c.Metrics.Every, v, time.Second, time.Hour)
}

// setCosine reads a cosine; empty is zero.
func setCosine(field *float64, v string) error {
	if *field = 0; v == "" {
		return nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= -1 && n <= 1) {
		return fmt.Errorf("%q must be a number from -1 to 1", v)
	}
	*field = n
	return nil
}

func setInt(field *int, v string, least, most int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%q must be a whole number from %d to %d", v, least, most)
	}
	*field = n
	return nil
}

func setInt64(field *int64, v string, least, most int64) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%q must be a whole number from %d to %d", v, least, most)
	}
	*field = n
	return nil
}

func setBool(field *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1":
		*field = true
	case "false", "0":
		*field = false
	default:
		return fmt.Errorf("%q must be true or false", v)
	}
	return nil
}

// setSessionTimeout takes a duration, or 0 for none. A session's own is in seconds, too: less
// would have every conversation expired once it is written.
func setSessionTimeout(field *time.Duration, v string) error {
	if d, err := time.ParseDuration(v); err == nil && d == 0 {
		*field = 0
		return nil
	}
	return setDurationFrom(field, v, time.Second, 10*366*24*time.Hour)
}

func setDuration(field *time.Duration, v string, most time.Duration) error {
	return setDurationFrom(field, v, time.Millisecond, most)
}

func setDurationFrom(field *time.Duration, v string, least, most time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("%q must be a duration such as 15s, 10m or 24h", v)
	}
	if d < least || d > most {
		return fmt.Errorf("%q must be from %s to %s", v, least, short(most))
	}
	*field = d
	return nil
}

// short is a duration as people write it: 1h, where Go writes 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
