package item

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// A path picks texts out of a JSON value: "a.b" by key, "a[0]" and "a[-1]" by
// index, "a[*]" every element, "a.*" every value, "a.{b,c}" several keys, "$" the
// whole value.
type path []step

// A step of a path: names to descend into, or an index, or everything.
type step struct {
	names []string // by key
	index *int     // by index; negative counts from the end
	all   bool     // every element or value
}

type pathList []path

// MaxIndexPaths and MaxIndexPathBytes bound what one item may ask to be searched, and with it
// the text that comes of it: each path picks any part of the value once at most.
const (
	MaxIndexPaths     = 64   // paths
	MaxIndexPathBytes = 1024 // bytes of one
)

func parsePaths(sources []string) (pathList, error) {
	if len(sources) > MaxIndexPaths {
		return nil, loci.Errorf(loci.TooLarge, "index has %d paths; the limit is %d: leave some out", len(sources), MaxIndexPaths)
	}
	var list pathList
	for _, source := range sources {
		p, err := parsePath(source)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func parsePath(source string) (path, error) {
	bad := loci.Errorf(loci.Invalid, "index path %q: write names joined by periods, [0], [*], * or {a,b}", source)
	if source == "" || len(source) > MaxIndexPathBytes {
		return nil, bad
	}
	if source == "$" {
		return path{}, nil
	}
	var p path
	for rest := strings.TrimPrefix(source, "$."); rest != ""; {
		switch rest[0] {
		case '[':
			inside, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, bad
			}
			if inside == "*" {
				p = append(p, step{all: true})
			} else {
				n, err := strconv.Atoi(inside)
				if err != nil {
					return nil, bad
				}
				p = append(p, step{index: &n})
			}
			rest = after
		case '{':
			inside, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return nil, bad
			}
			var names []string
			for _, name := range strings.Split(inside, ",") {
				if name = strings.TrimSpace(name); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			p = append(p, step{names: names})
			rest = after
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, bad
			}
			if name := rest[:end]; name == "*" {
				p = append(p, step{all: true})
			} else {
				p = append(p, step{names: []string{name}})
			}
			rest = rest[end:]
		}
		if strings.HasPrefix(rest, ".") {
			if rest = rest[1:]; rest == "" {
				return nil, bad
			}
		}
	}
	return p, nil
}

// text joins what the paths pick, one text a line, up to the path with which it has more than
// most bytes.
func (l pathList) text(value any, most int) string {
	var text strings.Builder
	for _, p := range l {
		for _, line := range p.collect(value, nil) {
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(line)
		}
		if text.Len() > most {
			break
		}
	}
	return text.String()
}

func (p path) collect(value any, lines []string) []string {
	if len(p) == 0 {
		if text := loci.Flatten(value); text != "" {
			lines = append(lines, text)
		}
		return lines
	}
	s, rest := p[0], p[1:]
	switch v := value.(type) {
	case map[string]any:
		names := s.names
		if s.all {
			names = slices.Sorted(maps.Keys(v))
		}
		for _, name := range names {
			if sub, ok := v[name]; ok {
				lines = rest.collect(sub, lines)
			}
		}
	case []any:
		switch {
		case s.all:
			for _, sub := range v {
				lines = rest.collect(sub, lines)
			}
		case s.index != nil:
			i := *s.index
			if i < 0 {
				i += len(v)
			}
			if i >= 0 && i < len(v) {
				lines = rest.collect(v[i], lines)
			}
		}
	}
	return lines
}
