package background

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/packaging/systemd"
)

// unit is the name of the service.
const unit = "loci"

// systemd makes the units that packages bring fit this program and these flags.
func (sys System) systemd(s *Service) (*Plan, error) {
	control := []string{"systemctl", "--user"}
	text := systemd.User
	if s.Machine {
		control, text = control[:1], systemd.System
	}
	dir, err := sys.place(s.Machine, "/etc/systemd/system", ".config", "systemd", "user")
	if err != nil {
		return nil, err
	}
	if own := sys.Get("XDG_CONFIG_HOME"); !s.Machine && strings.HasPrefix(own, "/") {
		dir = own + "/systemd/user"
	}
	say := func(words ...string) []string { return append(control[:len(control):len(control)], words...) }
	started := unit + ".service"
	p := &Plan{Apart: dir + "/" + unit + ".socket"}
	if s.Address != "" {
		socket, err := with(systemd.Socket, "ListenStream=", s.Address)
		if err != nil {
			return nil, err
		}
		started, p.Apart = unit+".socket", ""
		p.Files = append(p.Files, File{dir + "/" + started, socket, say("disable", "--now", started)})
	}
	var words []string
	for _, word := range append([]string{s.Program}, s.Args...) {
		words = append(words, quoted(word))
	}
	service, err := with(text, "ExecStart=", strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	p.Files = append(p.Files, File{dir + "/" + unit + ".service", service, say("disable", "--now", unit+".service")})
	p.Start = [][]string{say("daemon-reload"), say("enable", "--now", started), say("try-restart", unit+".service")}
	p.After = [][]string{say("daemon-reload")}
	p.State = say("is-active", "--quiet", unit+".socket", unit+".service") // 0 if one of them is
	return p, nil
}

// with is a unit with another value on the one line that begins with a key, and the mark.
func with(text, key, value string) ([]byte, error) {
	before, after, found := strings.Cut(text, "\n"+key)
	_, rest, whole := strings.Cut(after, "\n")
	if !found || !whole {
		return nil, loci.Errorf(loci.Internal, "a unit of systemd has no line %s", key)
	}
	return []byte("# " + mark + "\n" + before + "\n" + key + value + "\n" + rest), nil
}

// quoted is a word as systemd reads it in a command: without specifiers, variables and escapes
// of its own (systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting").
func quoted(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(word)
	if word != "" && !strings.ContainsAny(word, " \t'\"\\;") {
		return word
	}
	return `"` + word + `"`
}
