package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/config"
)

type configCmd struct {
	Reference referenceCmd `cmd:"" help:"Print the reference of all settings in Markdown."`
}

type referenceCmd struct{}

// Run prints the reference.
func (*referenceCmd) Run(a *app) error { return config.WriteReference(a.out) }

// manCmd prints the manual for packages: all commands on one page, as git does for its
// options, so that one file and one search find everything.
type manCmd struct {
	Date string `arg:"" optional:"" help:"The date of the page."`
}

// Run prints the page in the language of man (groff_man(7)).
func (c *manCmd) Run(a *app) error {
	var whole cli
	parser, err := newParser(&whole, a)
	if err != nil {
		return err
	}
	a.printf(".TH LOCI 1 %q %q %q\n", c.Date, "Loci "+buildVersion().Version, "Loci")
	a.printf(
		".SH NAME\nloci \\- the memory of AI agents\n.SH SYNOPSIS\n.B loci\n.I command\n[arguments] [flags]\n.SH DESCRIPTION\n",
	)
	a.printf("%s", manText(description+"\n\n"+exitCodesHelp))
	a.printf(".SH COMMANDS\n")
	for _, node := range parser.Model.Leaves(true) {
		a.printf(".SS %s\n%s\n", manWord(node.FullPath()), manText(node.Help))
		if node.Detail != "" {
			a.printf(".PP\n%s", manText(node.Detail))
		}
		for _, arg := range node.Positional {
			a.printf(".TP\n.I %s\n%s\n", manWord(arg.Summary()), manText(arg.Help))
		}
		for _, flag := range node.Flags {
			manFlag(a, flag)
		}
	}
	a.printf(".SH FLAGS OF EVERY COMMAND\n")
	for _, flag := range parser.Model.Flags {
		manFlag(a, flag)
	}
	a.printf(".SH FILES\n.TP\n.I ~/.config/loci/loci.yaml\nThe configuration, if there is one.\n" +
		".TP\n.I ~/.local/share/loci/loci.db\nThe memory, unless \\-\\-store says otherwise.\n")
	return nil
}

func manFlag(a *app, flag *kong.Flag) {
	if flag.Hidden {
		return
	}
	name := "\\-\\-" + manWord(flag.Name)
	if flag.Short != 0 {
		name += fmt.Sprintf(", \\-%c", flag.Short)
	}
	if !flag.IsBool() {
		name += " \\fI" + manWord(flag.FormatPlaceHolder()) + "\\fR"
	}
	a.printf(".TP\n\\fB%s\\fR\n%s\n", name, manText(flag.Help))
}

// manText makes paragraphs of a text; lines that are indented stay as they are.
func manText(text string) string {
	var out strings.Builder
	verbatim := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "    "); indented != verbatim && line != "" {
			out.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			verbatim = indented
		}
		if line == "" {
			line = ".PP"
		} else {
			line = manWord(line)
		}
		out.WriteString(line + "\n")
	}
	if verbatim {
		out.WriteString(".fi\n")
	}
	return out.String()
}

// manWord keeps a text from being taken for a command of the page.
func manWord(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
