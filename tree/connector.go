package tree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// A Placement says where [Connect] puts a memory among messages.
type Placement string

// The placements there are.
const (
	AfterSystem Placement = "after_system" // right after the first system message; without one, first of all
	LastMessage Placement = "last_message" // at the end
)

// A ConnectorContent says what [Connect] tells of a memory.
type ConnectorContent string

// The contents there are.
const (
	ContentTree ConnectorContent = "tree" // the names at the root
	ContentFull ConnectorContent = "full" // every file with its content
)

// Limits of [ConnectorOptions].
const (
	DefaultConnectorChars = 4000
	MaxConnectorChars     = 20_000
)

// ConnectorOptions say what of a tree of files goes into a conversation. The zero
// value of each field means its default.
type ConnectorOptions struct {
	Tree   string // its name; default [DefaultName]
	Thread string // whose tree; one without files gives way to the shared tree. Empty: the shared tree

	Placement Placement        // default AfterSystem
	Content   ConnectorContent // default ContentTree
	MaxChars  int              // characters of the text after its heading, 1 to 20,000; default 4000
}

// Validate reports what is wrong with the options.
func (o ConnectorOptions) Validate() error { return o.complete() }

func (o *ConnectorOptions) complete() error {
	o.Placement = cmp.Or(o.Placement, AfterSystem)
	o.Content = cmp.Or(o.Content, ContentTree)
	o.MaxChars = cmp.Or(o.MaxChars, DefaultConnectorChars)
	switch {
	case o.Placement != AfterSystem && o.Placement != LastMessage:
		return loci.OneOf("placement", string(o.Placement), AfterSystem, LastMessage)
	case o.Content != ContentTree && o.Content != ContentFull:
		return loci.OneOf("content", string(o.Content), ContentTree, ContentFull)
	case o.MaxChars < 1 || o.MaxChars > MaxConnectorChars:
		return loci.Errorf(loci.Invalid, "max_chars is %d; it must be 1 to %d", o.MaxChars, MaxConnectorChars)
	}
	return nil
}

// connectorHeading begins the message.
const connectorHeading = "Memory\n"

// Connect returns the messages with a system message that tells of the memory, or
// as they are where there is nothing to tell. The messages themselves are not
// changed. See [ConnectorText] for what the message says.
func Connect(ctx context.Context, m *loci.Memory, messages []ChatMessage, o ConnectorOptions) ([]ChatMessage, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	text, err := ConnectorText(ctx, m, o)
	if err != nil || text == "" {
		return messages, err
	}
	at := len(messages)
	if o.Placement == AfterSystem {
		at = 1 + slices.IndexFunc(messages, func(c ChatMessage) bool { return c.System() })
	}
	said, err := systemMessage(text, messages)
	if err != nil {
		return nil, err
	}
	return slices.Insert(slices.Clone(messages), at, said), nil
}

// ConnectorText returns what [Connect] adds: "Memory", and on the next lines
// the tree or all of it; "" where there is nothing to tell.
//
// The tree is "/" and a line for each immediate child, "[D] name" or "[F] name", in
// order of name; one too long ends at a line with "… N more". In full, each file is
// a line of its path and its content as a JSON string, in order of path; more than
// MaxChars is told as the tree instead. Nothing stored can begin a line: names have
// safe characters only, and contents are strings in which whatever cannot be seen is
// escaped.
func ConnectorText(ctx context.Context, m *loci.Memory, o ConnectorOptions) (string, error) {
	if err := o.complete(); err != nil {
		return "", err
	}
	tree, err := Of(m, o.Tree, o.Thread)
	if err != nil {
		return "", err
	}
	n, bytes, err := tree.Totals(ctx)
	if err == nil && o.Thread != "" && n == (Counts{}) {
		if tree, err = Of(m, o.Tree, ""); err == nil {
			n, bytes, err = tree.Totals(ctx)
		}
	}
	if err != nil || n == (Counts{}) {
		return "", err
	}
	if o.Content == ContentFull {
		text, fits, err := tree.full(ctx, n, bytes, o.MaxChars)
		if err != nil || fits {
			return headed(text), err
		}
	}
	text, err := tree.outline(ctx, o.MaxChars)
	return headed(text), err
}

func headed(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return connectorHeading + text
}

// full writes every file as a line; fits is false when that is more than limit
// characters. It reads no more than could fit.
func (t *Tree) full(ctx context.Context, n Counts, bytes int64, limit int) (text string, fits bool, err error) {
	// A character has at most four bytes, a line at least the characters of `/a: ""`.
	if bytes > 4*int64(limit) || n.Files*6 > int64(limit)+6 {
		return "", false, nil
	}
	var files []FileInfo
	err = t.Walk(ctx, "/", func(f FileInfo) bool {
		if !f.Dir {
			files = append(files, f)
		}
		return true
	})
	if err != nil {
		return "", false, err
	}
	slices.SortFunc(files, func(a, b FileInfo) int { return cmp.Compare(a.Path, b.Path) })
	var lines []string
	chars := -1 // the first line has no line end before it
	for _, f := range files {
		content, err := t.Read(ctx, f.Path)
		if ErrnoOf(err) == ENOENT {
			continue // deleted since
		}
		if err != nil {
			return "", false, err
		}
		quoted, err := loci.MarshalJSON(loci.Redact(t.m, content))
		if err != nil {
			return "", false, &loci.Error{Code: loci.Internal, Op: "connect", Err: err}
		}
		line := f.Path + ": " + escapeHidden(string(quoted))
		if chars += 1 + utf8.RuneCountInString(line); chars > limit {
			return "", false, nil
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), true, nil
}

// outline writes the names at the root, in at most limit characters.
func (t *Tree) outline(ctx context.Context, limit int) (string, error) {
	root, err := t.entry(ctx, "/")
	if err != nil || root == nil {
		return "", err
	}
	// No name is shorter than a line of five characters, so a page is enough.
	list, next, err := t.ListPage(ctx, "/", loci.Page{Limit: min(1000, limit/5+2)})
	for page := (loci.Page{Limit: 1000}); err == nil && next != "" && len(list) < limit/5+2; {
		var more []FileInfo
		page.Cursor = next
		more, next, err = t.ListPage(ctx, "/", page)
		list = append(list, more...)
	}
	if err != nil {
		return "", err
	}
	lines := []string{"/"}
	for _, f := range list {
		kind := "[F] "
		if f.Dir {
			kind = "[D] "
		}
		lines = append(lines, kind+f.Name)
	}
	return cutOutline(lines, int(max(root.body.Children, int64(len(list)))), limit), nil
}

// cutOutline joins lines, of which the first is the root's, and cuts them to a
// number of characters; children is how many there are in all.
func cutOutline(lines []string, children, limit int) string {
	chars := utf8.RuneCountInString
	whole := strings.Join(lines, "\n")
	if len(lines) == children+1 && chars(whole) <= limit {
		return whole
	}
	shown := min(len(lines), children)
	for ; shown > 0; shown-- {
		text := strings.Join(lines[:shown], "\n") + fmt.Sprintf("\n… %d more", children+1-shown)
		if chars(text) <= limit {
			return text
		}
	}
	// Not even the root's line fits.
	text := []rune(fmt.Sprintf("… %d more", children))
	return string(text[:min(len(text), limit)])
}

// escapeHidden escapes what cannot be seen or turns the direction of writing inside
// of JSON strings. The joiners that scripts and emoji need stay.
func escapeHidden(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < 0x80, r == 0x200C, r == 0x200D,
			!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point,
				unicode.Other_Default_Ignorable_Code_Point, unicode.Zl, unicode.Zp):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
