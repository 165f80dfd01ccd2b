package background

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A desk is a home, and a program in the place of systemctl or launchctl that notes what it is
// asked and fails where a file says so.
type desk struct {
	t    *testing.T
	home string
	sys  System
}

func newDesk(t *testing.T, system string) *desk {
	t.Helper()
	d := &desk{t: t, home: filepath.Join(t.TempDir(), "ünd spaces")}
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>'" + d.home + "/asked'\n" +
		"if grep -qx -- \"$*\" '" + d.home + "/fails' 2>/dev/null; then echo 'there is no bus' >&2; exit 3; fi\n"
	for _, name := range []string{"systemctl", "launchctl"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(d.home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	get := func(name string) string { return map[string]string{"HOME": d.home}[name] }
	d.sys = System{OS: system, Get: get, UID: 501, Root: filepath.Join(d.home, "root")}
	return d
}

func (d *desk) plan(s *Service) *Plan {
	d.t.Helper()
	p, err := d.sys.For(s)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// asked are the commands that were run since the last look.
func (d *desk) asked() []string {
	text, err := os.ReadFile(filepath.Join(d.home, "asked"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(d.home, "asked"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (d *desk) fails(commands ...string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.home, "fails"), []byte(strings.Join(commands, "\n")+"\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var serve = &Service{Program: "/opt/l o/loci", Args: []string{"serve", "--user", `50%$x"\`, "--tools", "all"}}

func TestServiceOfAUser(t *testing.T) {
	d := newDesk(t, "linux")
	p := d.plan(serve)
	path := filepath.Join(d.home, ".config/systemd/user/loci.service")
	if changed, err := p.Install(t.Context(), false, false); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	unit := read(t, path)
	for _, line := range []string{`ExecStart="/opt/l o/loci" serve --user "50%%$$x\"\\" --tools all`, "NoNewPrivileges=yes", "WantedBy=default.target"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, unit)
		}
	}
	want := []string{"systemctl --user daemon-reload", "systemctl --user enable --now loci.service", "systemctl --user try-restart loci.service"}
	if got := d.asked(); !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}
	if changed, err := p.Install(t.Context(), false, true); err != nil || changed {
		t.Errorf("again: %v, %v", changed, err)
	}
	if files, runs, err := p.Status(t.Context()); err != nil || !runs || !slices.Equal(files, []string{path}) {
		t.Errorf("status %q, %v, %v", files, runs, err)
	}
	d.fails("--user is-active --quiet loci.socket loci.service")
	if _, runs, err := p.Status(t.Context()); err != nil || runs {
		t.Errorf("ended: %v, %v", runs, err)
	}
	d.asked()
	if found, err := p.Remove(t.Context()); err != nil || !found {
		t.Errorf("remove: %v, %v", found, err)
	}
	if got := d.asked(); !slices.Equal(got, []string{"systemctl --user disable --now loci.service", "systemctl --user daemon-reload"}) {
		t.Errorf("asked %q", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unit is there: %v", err)
	}
	if found, err := p.Remove(t.Context()); err != nil || found {
		t.Errorf("again: %v, %v", found, err)
	}
}

func TestServiceOfTheMachineWithASocket(t *testing.T) {
	d := newDesk(t, "linux")
	p := d.plan(&Service{Program: "/usr/local/bin/loci", Args: []string{"serve", "--listen", "systemd"}, Machine: true, Address: "127.0.0.1:8000"})
	if _, err := p.Install(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(d.home, "root/etc/systemd/system")
	if unit := read(t, filepath.Join(dir, "loci.socket")); !strings.Contains(unit, "\nListenStream=127.0.0.1:8000\n") {
		t.Error(unit)
	}
	unit := read(t, filepath.Join(dir, "loci.service"))
	if !strings.Contains(unit, "\nExecStart=/usr/local/bin/loci serve --listen systemd\n") || !strings.Contains(unit, "\nDynamicUser=yes\n") {
		t.Error(unit)
	}
	if got := d.asked(); !slices.Contains(got, "systemctl enable --now loci.socket") {
		t.Errorf("asked %q", got)
	}
	if _, err := p.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestInstallNeedsTheSocketGone: a socket of an earlier installation holds the address that the
// new service would listen on.
func TestInstallNeedsTheSocketGone(t *testing.T) {
	d := newDesk(t, "linux")
	withSocket := d.plan(&Service{Program: "/loci", Args: []string{"serve"}, Address: "127.0.0.1:8000"})
	if _, err := withSocket.Install(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	d.asked()
	without := d.plan(&Service{Program: "/loci", Args: []string{"serve", "--tools", "all"}})
	_, err := without.Install(t.Context(), true, false)
	if loci.AsError(err).Code != loci.Conflict || !strings.Contains(err.Error(), "loci.socket") {
		t.Errorf("the socket is there: %v", err)
	}
	if unit := read(t, without.Files[0].Path); strings.Contains(unit, "--tools") || d.asked()[0] != "" {
		t.Errorf("half of it was done: %s", unit)
	}
	if _, err := withSocket.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := without.Install(t.Context(), false, false); err != nil {
		t.Errorf("the socket is gone: %v", err)
	}
}

// TestPropertyList: every word of the command is one string, whatever it holds.
func TestPropertyList(t *testing.T) {
	d := newDesk(t, "darwin")
	s := &Service{Program: "/opt/loci", Args: []string{"serve", "--user", `<a & "b">`}}
	p := d.plan(s)
	if _, err := p.Install(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.home, "Library/LaunchAgents", job+".plist")
	var words []string
	for x := xml.NewDecoder(strings.NewReader(read(t, path))); ; {
		token, err := x.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "string" {
			var text string
			if err := x.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			words = append(words, text)
		}
	}
	log := filepath.Join(d.home, "Library/Logs/loci.log")
	if want := append([]string{job, s.Program}, append(s.Args, log, log)...); !slices.Equal(words, want) {
		t.Errorf("got %q, want %q", words, want)
	}
	want := []string{"launchctl bootout gui/501/" + job, "launchctl bootstrap gui/501 " + path}
	if got := d.asked(); !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}
}

// TestInstallLeavesWhatIsNotOurs: a file of somebody else's stays. A service that cannot be
// started leaves what was there before it.
func TestInstallLeavesWhatIsNotOurs(t *testing.T) {
	d := newDesk(t, "linux")
	p := d.plan(serve)
	path := p.Files[0].Path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("mine")
	if _, err := p.Install(t.Context(), false, false); loci.AsError(err).Code != loci.Conflict || read(t, path) != "mine" {
		t.Errorf("install: %v", err)
	}
	if _, err := p.Remove(t.Context()); loci.AsError(err).Code != loci.Conflict || read(t, path) != "mine" {
		t.Errorf("remove: %v", err)
	}
	d.fails("--user enable --now loci.service")
	_, err := p.Install(t.Context(), true, false)
	if loci.AsError(err).Code != loci.Unavailable || !strings.Contains(err.Error(), "there is no bus") || read(t, path) != "mine" {
		t.Errorf("not started: %v, %q", err, read(t, path))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Install(t.Context(), false, false); loci.AsError(err).Code != loci.Unavailable {
		t.Errorf("not started: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of it stays: %v", err)
	}
	elsewhere := filepath.Join(d.home, "elsewhere")
	if err := errors.Join(os.WriteFile(elsewhere, []byte("# "+mark), 0o600), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	_, err = p.Install(t.Context(), true, true)
	if loci.AsError(err).Code != loci.Conflict || read(t, elsewhere) != "# "+mark {
		t.Errorf("a link: %v", err)
	}
}

func TestServicesThatCannotBe(t *testing.T) {
	home := func(string) string { return "/home/a" }
	none := func(string) string { return "" }
	for name, c := range map[string]struct {
		sys System
		s   Service
	}{
		"windows":             {System{OS: "windows", Get: home}, Service{Program: `C:\loci.exe`}},
		"no home":             {System{OS: "linux", Get: none}, Service{Program: "/loci"}},
		"no home on macOS":    {System{OS: "darwin", Get: none}, Service{Program: "/loci"}},
		"a line break":        {System{OS: "linux", Get: home}, Service{Program: "/loci", Args: []string{"a\nExecStop=/bin/rm"}}},
		"a socket of launchd": {System{OS: "darwin", Get: home}, Service{Program: "/loci", Address: "127.0.0.1:1"}},
		"a machine's on mac":  {System{OS: "darwin", Get: home}, Service{Program: "/loci", Machine: true}},
	} {
		if _, err := c.sys.For(&c.s); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, s := range map[string]Service{
		`C:\loci.exe serve --user ada`: {Program: `C:\loci.exe`, Args: []string{"serve", "--user", "ada"}},
		"each logon: loci serve":       {Program: "/loci"}, // one that is looked for
	} {
		if _, err := (System{OS: "windows", Get: home}).For(&s); !strings.HasSuffix(loci.AsError(err).Recovery, want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
