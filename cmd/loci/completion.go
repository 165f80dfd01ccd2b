package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/terminal"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown below the usage.
func (*completionCmd) Help() string {
	return `Writes the script to standard output. Put it where your shell looks for completions, and open a new shell.

    loci completion bash > ~/.local/share/bash-completion/completions/loci
    loci completion zsh > "${fpath[1]}/_loci"
    loci completion fish > ~/.config/fish/completions/loci.fish`
}

// The scripts ask the program itself, so that they never have to be made again.
// Where it has nothing to offer, the shell completes the names of files.
var completionScripts = map[string]string{
	"bash": `_loci() {
    local IFS=$'\n'
    COMPREPLY=($(loci __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _loci loci
`,
	"zsh": `#compdef loci
_loci() {
    local line
    local -a found
    for line in "${(@f)$(loci __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( $#found )); then _describe loci found; else _files; fi
}
if [ "$funcstack[1]" = "_loci" ]; then _loci "$@"; else compdef _loci loci; fi
`,
	"fish": `function __loci_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (loci __complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c loci -f -a '(__loci_complete)'
`,
}

// Run prints a script.
func (c *completionCmd) Run(a *app) error {
	a.printf("%s", completionScripts[c.Shell])
	return nil
}

type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words after the program's name; the last one is completed."`
}

// Run prints what the last word can become: a line each, a tab, what it means.
func (c *completeCmd) Run(a *app, k *kong.Kong) error {
	for _, line := range completions(k.Model.Node, c.Words) {
		a.printf("%s\t%s\n", line.word, terminal.Clean(line.help, false))
	}
	return nil
}

type candidate struct{ word, help string }

// A walk is how far a command line is written.
type walk struct {
	node          *kong.Node
	pending       *kong.Flag // waits for its value; nil: none does
	position      int        // of the next positional argument
	onlyArguments bool       // behind --
}

// step takes one word in.
func (w *walk) step(word string) {
	switch {
	case w.pending != nil:
		if word != "=" { // bash takes --flag=value apart
			w.pending = nil
		}
	case w.onlyArguments:
		w.position++
	case word == "--":
		w.onlyArguments = true
	case strings.HasPrefix(word, "-") && word != "-":
		if f := findFlag(w.node, word); f != nil && !f.IsBool() && !strings.Contains(word, "=") {
			w.pending = f
		}
	default:
		if child := findChild(w.node, word); child != nil {
			w.node, w.position = child, 0
		} else {
			w.position++
		}
	}
}

// completions are what the last word can become, behind the words before it.
func completions(node *kong.Node, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	last, words := words[len(words)-1], words[:len(words)-1]
	w := walk{node: node}
	for _, word := range words {
		w.step(word)
	}
	switch name, value, joined := strings.Cut(last, "="); {
	case w.pending != nil:
		return matching(flagValues(w.pending), strings.TrimPrefix(last, "="), "")
	case strings.HasPrefix(last, "-") && joined && !w.onlyArguments:
		if f := findFlag(w.node, name); f != nil {
			return matching(flagValues(f), value, name+"=")
		}
		return nil
	case strings.HasPrefix(last, "-") && !w.onlyArguments:
		return matching(flagNames(w.node), last, "")
	case len(w.node.Children) > 0:
		return matching(childNames(w.node), last, "")
	}
	return matching(argumentValues(w.node, w.position), last, "")
}

func matching(all []candidate, prefix, before string) (out []candidate) {
	for _, c := range all {
		if strings.HasPrefix(c.word, prefix) {
			out = append(out, candidate{before + c.word, c.help})
		}
	}
	return out
}

func findChild(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func childNames(node *kong.Node) (out []candidate) {
	for _, child := range node.Children {
		if !child.Hidden {
			out = append(out, candidate{child.Name, child.Help})
		}
	}
	return out
}

func findFlag(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, f := range slices.Concat(node.AllFlags(false)...) {
		if name == "--"+f.Name || f.Short != 0 && name == fmt.Sprintf("-%c", f.Short) {
			return f
		}
	}
	return nil
}

func flagNames(node *kong.Node) (out []candidate) {
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		out = append(out, candidate{"--" + f.Name, f.Help})
	}
	return out
}

// flagValues are the values of a flag, if they are a short list.
func flagValues(f *kong.Flag) (out []candidate) {
	for _, v := range listed(f.Tag.Get("values")) {
		out = append(out, candidate{v, ""})
	}
	for _, s := range config.Settings() {
		if s.Flag == f.Name {
			for _, v := range s.Values {
				out = append(out, candidate{v, ""})
			}
		}
	}
	return out
}

// listed are the values in a tag, between commas.
func listed(tag string) []string {
	return strings.FieldsFunc(tag, func(r rune) bool { return r == ',' || r == ' ' })
}

// argumentValues are the values of a positional argument, if they are a short list.
func argumentValues(node *kong.Node, position int) (out []candidate) {
	if position >= len(node.Positional) {
		return nil
	}
	names := listed(node.Positional[position].Enum)
	if node.Name == "call" && position == 0 {
		names = config.ToolNames()
	}
	for _, name := range names {
		out = append(out, candidate{name, ""})
	}
	return out
}
