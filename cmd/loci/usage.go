package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci"
)

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
	return &loci.Error{Code: loci.Invalid, Msg: plainly(node, err.Error()), Err: err, Recovery: recovery}
}

// pathOf is how a command is called, without its other names: "session list"; "" for the program.
func pathOf(node *kong.Node) string {
	if node.Parent == nil {
		return ""
	}
	return strings.TrimSpace(pathOf(node.Parent) + " " + node.Name)
}

// noInteger is what the parser says of a text where it wants a number.
var noInteger = regexp.MustCompile(`expected a valid \d+ bit u?int but got (".*")$`)

// plainly says what the parser says in words for people who write commands, not grammars.
func plainly(node *kong.Node, fault string) string {
	command, root := pathOf(node), node.Parent == nil
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
	return noInteger.ReplaceAllString(fault, "$1 is no whole number")
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
