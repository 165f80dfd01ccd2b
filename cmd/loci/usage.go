package main

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/internal/terminal"
)

// maxFault bounds what is said of a command line, in columns: it repeats what was written.
const maxFault = 400

// usageError is Invalid for arguments that do not fit the command line.
func usageError(err error) error {
	if errors.Is(err, errHelp) {
		return err
	}
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil {
		return &loci.Error{Code: loci.Invalid, Msg: err.Error(), Err: err, Recovery: "See \"loci --help\"."}
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parse.Context.Model.Node
	}
	recovery := "See \"" + strings.TrimSpace("loci "+pathOf(node)) + " --help\"."
	if pathOf(node) == "erase" && strings.HasPrefix(err.Error(), "unexpected argument") {
		recovery = "To erase one memory: loci delete ID. " + recovery
	}
	said := terminal.Truncate(plainly(node, err.Error()), maxFault)
	return &loci.Error{Code: loci.Invalid, Msg: said, Err: err, Recovery: recovery}
}

// areText refuses bytes that are no UTF-8: the parser would put others in their place, and what
// is stored, or whose memory it is, would not be what was written.
func areText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return loci.Errorf(loci.Invalid, "argument %d, %q, is not valid UTF-8", i+1, arg)
		}
	}
	return nil
}

// maxFlags bounds the flags of one call: the parser looks at all of those before for each.
const maxFlags = 1000

// areFew refuses more flags than any call needs. A text may have any number of words.
func areFew(args []string) error {
	n := 0
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if len(arg) > 1 && arg[0] == '-' {
			n++
		}
	}
	if n > maxFlags {
		return loci.Errorf(loci.TooLarge, "the command has %d flags; the limit is %d: leave some out, or write -- before a text with words that begin with -", n, maxFlags)
	}
	return nil
}

// pathOf is how a command is called, without its other names: "session list"; "" for the program.
func pathOf(node *kong.Node) string {
	if node.Parent == nil {
		return ""
	}
	return strings.TrimSpace(pathOf(node.Parent) + " " + node.Name)
}

// sayings are what the parser says of values, and how we say it: what it got first, and then what to write.
var sayings = []struct {
	parsers *regexp.Regexp
	ours    string
}{
	{regexp.MustCompile(`expected a valid \d+ bit u?int but got "=(.*)"$`), `"=$1" is no whole number: write no = after the short form of a flag`},
	{regexp.MustCompile(`expected a valid \d+ bit u?int but got (".*")$`), `$1 is no whole number: write digits alone, such as 20`},
	{regexp.MustCompile(`expected an? (?:valid )?float but got (".*") \(.*\)$`), `$1 is no number: write one such as 0.5`},
	{regexp.MustCompile(`expected duration but got (".*?")(?:: .*)?$`), `$1 is no duration: write one such as 90m or 12h`},
	{regexp.MustCompile(`bool value must be .* but got (".*")$`), `$1 is neither true nor false: write the flag alone for true`},
	{regexp.MustCompile(`^(--[^:]+): expected \S+ value but got "EOL" .*$`), `$1 needs a value, and nothing comes after it`},
	{regexp.MustCompile(`^(--[^:]+): expected \S+ value but got "(.*)" \((?:short|long) flag\).*$`), `$1 needs a value; if $2 is meant as one, write $1=$2`},
	{regexp.MustCompile(`missing value, expecting "<arg>.*"$`), `a value is missing after it`},
}

// plainly says what the parser says in words for people who write commands, not grammars.
func plainly(node *kong.Node, fault string) string {
	command, root := pathOf(node), node.Parent == nil
	fault = nearAlone(fault)
	if strings.HasPrefix(fault, "expected one of ") || fault == `expected "`+only(node)+`"` {
		if root {
			return "a command is missing"
		}
		return command + " needs one of its commands: " + strings.Join(commandsBelow(node), ", ")
	}
	if what, ok := strings.CutPrefix(fault, `expected "`); ok {
		return command + " needs " + strings.TrimSuffix(what, `"`)
	}
	if what, ok := strings.CutPrefix(fault, "unexpected argument "); ok && root {
		return "there is no command " + what
	} else if ok && len(node.Children) > 0 {
		return command + " has no command " + what
	}
	for _, s := range sayings {
		if s.parsers.MatchString(fault) {
			return s.parsers.ReplaceAllString(fault, s.ours)
		}
	}
	return fault
}

// suggestion is how the parser ends when a name is like others.
var suggestion = regexp.MustCompile(`^(.* -{0,2})([^ ]+), did you mean (?:one of )?(.*)\?$`)

// nearAlone leaves of the names that the parser suggests those that are near: to it "tag" is like
// "bad", since it allows two slips in a name of any length.
func nearAlone(fault string) string {
	parts := suggestion.FindStringSubmatch(fault)
	if parts == nil {
		return fault
	}
	var near []string
	for _, quoted := range strings.Split(parts[3], ", ") {
		name := strings.TrimLeft(strings.Trim(quoted, `"`), "-")
		if strings.HasPrefix(name, parts[2]) || spelling.Nearest(parts[2], []string{name}) != "" {
			near = append(near, quoted)
		}
	}
	switch said := parts[1] + parts[2]; len(near) {
	case 0:
		return said
	case 1:
		return said + ", did you mean " + near[0] + "?"
	default:
		return said + ", did you mean one of " + strings.Join(near, ", ") + "?"
	}
}

// only is the one command below another.
func only(node *kong.Node) string {
	if below := commandsBelow(node); len(below) == 1 {
		return below[0]
	}
	return ""
}

// commandsBelow are the commands below another that are not hidden.
func commandsBelow(node *kong.Node) (names []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}
