package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/terminal"
)

// A fileReader reads a configuration file into a config. It walks the YAML nodes
// itself, so that every fault has its line and column.
type fileReader struct {
	c    *Config
	path string
	last int // the number of the file's last line, or more
	bad  *faults
}

// parseFile reads the text of a configuration file.
func (c *Config) parseFile(path string, data []byte, bad *faults) {
	last := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
	r := &fileReader{c: c, path: path, last: last, bad: bad}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	for first := true; err == nil; first = false {
		var document yaml.Node
		if err = loader.Load(&document); err != nil {
			break
		}
		if !first {
			r.fault(&document, "a second document begins here: one file holds one configuration")
			return
		}
		for _, n := range document.Content {
			if !isNull(n) {
				r.section(n, "")
			}
		}
	}
	if err != io.EOF { //nolint:errorlint // the loader's own sign of the end
		r.syntax(err)
	}
}

// syntax reports what the YAML parser refuses.
func (r *fileReader) syntax(err error) {
	var e *yaml.LoadError
	if errors.As(err, &e) {
		mark := e.Mark
		message := e.Message
		if mark.Line == 0 {
			mark = e.ContextMark
		}
		if message == "" {
			message = err.Error()
		}
		r.bad.add(r.position(mark.Line, mark.Column), errors.New("not YAML: "+message))
		return
	}
	r.bad.add(r.path+":1:1", fmt.Errorf("not YAML: %w", err))
}

func (r *fileReader) at(n *yaml.Node) string {
	return r.position(n.Line, n.Column)
}

// position names a place of the file. The parser reports what is missing at the end in a
// line of its own, and uses line 0 where it knows no place.
func (r *fileReader) position(line, column int) string {
	return fmt.Sprintf("%s:%d:%d", r.path, min(max(1, line), r.last), max(1, column))
}

func (r *fileReader) fault(n *yaml.Node, format string, args ...any) {
	r.bad.add(r.at(n), fmt.Errorf(format, args...))
}

// fields calls visit for each key of a mapping; it reports keys that come twice.
func (r *fileReader) fields(n *yaml.Node, name string, visit func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be a mapping of names to values, not %s", name, describe(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			r.fault(k, "a name must be a text, not %s", describe(k))
			continue
		}
		if line, twice := seen[k.Value]; twice {
			r.fault(k, "%s is set twice, in line %d first: remove one of them", k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		visit(k.Value, k, v)
	}
}

// section reads the settings whose keys begin with prefix.
func (r *fileReader) section(n *yaml.Node, prefix string) {
	name := strings.TrimSuffix(prefix, ".")
	if name == "" {
		name = "the configuration"
	}
	r.fields(n, name, func(key string, k, v *yaml.Node) {
		full := prefix + key
		if s := findSetting(full); s != nil {
			r.value(s, v)
			return
		}
		if slices.Contains(namesBelow(prefix), key) {
			r.section(v, full+".")
			return
		}
		r.unknown(k, full, namesBelow(prefix))
	})
}

// namesBelow lists the names a section may have.
func namesBelow(prefix string) (names []string) {
	for i := range settings {
		if rest, ok := strings.CutPrefix(settings[i].Key, prefix); ok {
			if name, _, _ := strings.Cut(rest, "."); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unknown reports a name that is no setting, with what was probably meant:
// the right name in the wrong place, or one that is spelt much like it.
func (r *fileReader) unknown(k *yaml.Node, full string, names []string) {
	if len(*r.bad) >= maxFaults { // nobody is told of it: it is counted
		r.fault(k, "%s is not a setting", terminal.Word(full))
		return
	}
	for i := range settings {
		if strings.HasSuffix("."+settings[i].Key, "."+k.Value) && k.Value != "" {
			r.fault(k, "%s is not a setting: did you mean %s?", terminal.Word(full), settings[i].Key)
			return
		}
	}
	if near := spelling.Nearest(k.Value, names); near != "" {
		r.fault(k, "%s is not a setting: did you mean %s?", terminal.Word(full), near)
		return
	}
	r.fault(k, "%s is not a setting: it must be one of %s", terminal.Word(full), strings.Join(names, ", "))
}

// value reads the value of one setting.
func (r *fileReader) value(s *Setting, n *yaml.Node) {
	before := len(*r.bad)
	r.read(s, n)
	r.c.faulty[s.Key] = len(*r.bad) > before
}

func (r *fileReader) read(s *Setting, n *yaml.Node) {
	if s.Key == "tools" {
		r.c.written[s.Key] = nodeText(n)
		r.tools(s, n)
		return
	}
	if s.Key == issuersKey {
		r.c.written[s.Key] = nodeText(n)
		r.c.origin[s.Key] = r.at(n)
		r.issuers(n)
		return
	}
	if s.Key == "graph" && n.Kind == yaml.MappingNode {
		r.c.written[s.Key] = nodeText(n)
		r.graph(s, n)
		return
	}
	text, ok := r.scalarOrList(s, n)
	if !ok {
		return
	}
	if s.Form == Text && text == "" && !s.emptyCounts() {
		r.fault(n, "%s must not be empty: give a value or remove the line", s.Key)
		return
	}
	if err := r.c.write(s, text); err != nil {
		var element *elementError
		if errors.As(err, &element) && n.Kind == yaml.SequenceNode && element.at < len(n.Content) {
			n = n.Content[element.at]
		}
		r.fault(n, "%s: %w", s.Key, err)
		return
	}
	r.c.origin[s.Key] = r.at(n)
}

// nodeText is a node as one text, the same wherever it stands in a file.
func nodeText(n *yaml.Node) string {
	var b strings.Builder
	writeNode(&b, n)
	return b.String()
}

// writeNode writes each part once: a count of what follows stands for the brackets around it.
func writeNode(b *strings.Builder, n *yaml.Node) {
	fmt.Fprintf(b, "%d %q %d ", n.Kind, n.Value, len(n.Content))
	for _, c := range n.Content {
		writeNode(b, c)
	}
}

// scalarOrList returns the text of a value that has the form of its setting.
func (r *fileReader) scalarOrList(s *Setting, n *yaml.Node) (text string, ok bool) {
	if s.Form == List {
		elements, ok := r.texts(n, s.Key)
		for i, e := range elements {
			if err := s.checkElement(e); err != nil {
				r.fault(n.Content[i], "%s: %w", s.Key, err)
				ok = false
			}
		}
		return strings.Join(elements, ","), ok
	}
	if r.empty(n, s.Key) {
		return "", false
	}
	tags := map[Form][]string{
		Text: {"!!str"}, Integer: {"!!int"}, Number: {"!!int", "!!float"},
		Boolean: {"!!bool"}, Duration: {"!!str"},
	}[s.Form]
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
		r.fault(n, "%s must be %s, not %s%s", s.Key, article(s.Form), describe(n), remedy(s.Form, n))
		return "", false
	}
	return n.Value, true
}

// checkElement refuses an element of a list that the setting cannot have, or that
// would be two where lists are written with commas.
func (s *Setting) checkElement(e string) error {
	if len(s.Values) > 0 {
		_, err := spelling.OneOf(e, s.Values...)
		return err
	}
	if strings.Contains(e, ",") || strings.TrimSpace(e) != e || e == "" {
		return fmt.Errorf("%q must not be empty, begin or end with a space, or contain a comma", e)
	}
	return nil
}

// texts reads a list of texts.
func (r *fileReader) texts(n *yaml.Node, name string) (elements []string, ok bool) {
	if r.empty(n, name) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s must be a list, not %s: write it as [one, two]", name, describe(n))
		return nil, false
	}
	ok, elements = true, []string{} // an empty list is not the same as none
	for _, e := range n.Content {
		if e.Kind != yaml.ScalarNode || e.ShortTag() != "!!str" {
			r.fault(e, "each element of %s must be a text, not %s%s", name, describe(e), remedy(Text, e))
			ok = false
			continue
		}
		elements = append(elements, e.Value)
	}
	return elements, ok
}

func (r *fileReader) empty(n *yaml.Node, name string) bool {
	if !isNull(n) {
		return false
	}
	r.fault(n, "%s has no value: give one or remove the line", name)
	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (aliases are not read here: write the value out)"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + terminal.Word(n.Value)
	case "!!bool":
		return "the truth value " + terminal.Word(n.Value)
	case "!!null":
		return "nothing"
	case "!!str":
		return fmt.Sprintf("the text %q", n.Value)
	case "!!timestamp":
		return "the date " + terminal.Word(n.Value)
	}
	return "a value with the tag " + terminal.Word(n.Tag)
}

func article(f Form) string {
	switch f {
	case Integer:
		return "a whole number"
	case Boolean:
		return "true or false"
	case Duration:
		return "a duration such as 15s, 10m or 24h"
	}
	return "a " + string(f)
}

// remedy says how to write a scalar that YAML takes for something else.
func remedy(f Form, n *yaml.Node) string {
	if f == Text && n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return fmt.Sprintf(": put it in quotes, as in %q", n.Value)
	}
	return ""
}
