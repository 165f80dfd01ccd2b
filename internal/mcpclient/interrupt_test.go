package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
)

// atHome names the home in which this program connects and disconnects until it is killed.
const atHome = "LOCI_TEST_SETUP_HOME"

func TestMain(m *testing.M) {
	home := os.Getenv(atHome)
	if home == "" {
		os.Exit(m.Run())
	}
	fmt.Println("at work")
	for {
		for _, s := range []Setup{{}, {Remove: true}} {
			if r := cursorIn(home, s); r.Err != nil {
				fmt.Fprintln(os.Stderr, r.Error)
				os.Exit(1)
			}
		}
	}
}

// cursorIn connects or disconnects the client of one file.
func cursorIn(home string, s Setup) Result {
	cursor := clients[slices.IndexFunc(clients, func(c Client) bool { return c.ID == "cursor" })]
	sys := System{OS: "linux", Get: func(name string) string { return map[string]string{"HOME": home}[name] }}
	return s.Connect(context.Background(), sys, cursor, Target{Command: "/bin/loci", Args: []string{"mcp"}})
}

// A setup that is killed at any step leaves the old file or the new one, and the old one
// beside the new one. The next one, whichever way, finishes at once and leaves nothing else.
func TestSetupIsKilled(t *testing.T) {
	const own, kills = "{\n  \"mine\": 1, // a comment\n}\n", 6
	for what, before := range map[string]map[string]string{
		"a file of theirs": {"mcp.json": own}, "no file": {},
	} {
		t.Run(what, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, ".cursor")
			after := maps.Clone(before)
			for name, text := range before {
				write(t, filepath.Join(dir, name), text)
				after[name+".before-loci"] = text
			}
			if r := cursorIn(home, Setup{}); r.Outcome != Connected {
				t.Fatalf("%+v", r)
			}
			after["mcp.json"] = read(t, filepath.Join(dir, "mcp.json"))
			if r := cursorIn(home, Setup{Remove: true}); r.Outcome != Removed {
				t.Fatalf("%+v", r)
			}

			for round, met := 0, 0; met < kills; round++ {
				if round == 100*kills {
					t.Fatalf("only %d of %d kills met a setup at work", met, round)
				}
				killAtWork(t, dir)
				left := filesOf(t, dir)
				if !maps.Equal(left, before) && !maps.Equal(left, after) {
					met++
				}
				now, there := left["mcp.json"]
				copied, kept := left["mcp.json.before-loci"]
				old, had := before["mcp.json"]
				switch {
				case there == had && now == old:
				case now != after["mcp.json"]:
					t.Fatalf("a kill left %q", left)
				case had && !kept:
					t.Fatalf("a kill left no copy: %q", left)
				}
				if kept && copied != old {
					t.Fatalf("a kill left another copy: %q", left)
				}
				for _, next := range []struct {
					Setup
					want map[string]string
				}{{Setup{}, after}, {Setup{Remove: true}, before}}[round%2:] {
					if r := cursorIn(home, next.Setup); r.Err != nil {
						t.Fatalf("after %q: %v", left, r.Err)
					}
					if now := filesOf(t, dir); !maps.Equal(now, next.want) {
						t.Fatalf("%q became %q", left, now)
					}
				}
			}
		})
	}
}

// killAtWork kills a setup when it has made one of the files that it makes.
func killAtWork(t *testing.T, dir string) {
	t.Helper()
	signs := []string{".loci-setup", ".loci-new", ".before-loci.loci-new", ".before-loci", ""}
	if len(filesOf(t, dir)) == 0 {
		signs = []string{".loci-setup", ".loci-new", ""} // there is nothing to copy
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	run := exec.CommandContext(t.Context(), program)
	run.Env, run.Stderr = append(os.Environ(), atHome+"="+filepath.Dir(dir)), &said
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	for sign := filepath.Join(dir, "mcp.json"+signs[rand.IntN(len(signs))]); ; { //nolint:gosec // any of them will do
		if _, err := os.Lstat(sign); err == nil {
			break
		}
	}
	if err := run.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = run.Wait() // it was killed
	if said.Len() > 0 {
		t.Fatalf("before it was killed: %s", &said)
	}
}

// filesOf is what the files of a directory say.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return all
}

// While one setup changes a file, a second one is told to come again, and has done nothing.
func TestSetupIsAtWork(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".cursor", "mcp.json")
	write(t, path, "{}")
	lock := flock.New(path + ".loci-setup")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r := cursorIn(home, Setup{})
	if r.Outcome != Failed || loci.AsError(r.Err).Code != loci.Conflict || !strings.Contains(r.Error, "another setup is changing") ||
		read(t, path) != "{}" {
		t.Errorf("%+v leaves %q", r, read(t, path))
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if r := cursorIn(home, Setup{}); r.Outcome != Connected {
		t.Errorf("%+v", r)
	}

	// Where there is nothing to do, nobody has to come again.
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if r := cursorIn(home, Setup{}); r.Outcome != Unchanged || r.Err != nil {
		t.Errorf("%+v", r)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}

// What an editor, or the client itself, saves after setup has read a file is not written over.
func TestFileChangesMeanwhile(t *testing.T) {
	for what, c := range map[string]struct {
		before string // empty: there is no file
		save   func(path string) error
		after  string
	}{
		"it is written again": {"{}", func(p string) error { return os.WriteFile(p, []byte("{\n}"), 0o600) }, "{\n}"},
		"another takes its place": {"{}", func(p string) error {
			return errors.Join(os.WriteFile(p+"~", []byte("[]"), 0o600), os.Rename(p+"~", p))
		}, "[]"},
		"it goes":  {"{}", os.Remove, ""},
		"it comes": {"", func(p string) error { return os.WriteFile(p, []byte("{}"), 0o600) }, "{}"},
	} {
		for _, take := range []string{"replaces", "restores", "keeps"} {
			if take == "keeps" && c.before == "" {
				continue // there is nothing to keep
			}
			t.Run(what+" before setup "+take+" it", func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "mcp.json")
				if c.before != "" {
					write(t, path, c.before)
				}
				f, err := readFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.save(path); err != nil {
					t.Fatal(err)
				}
				switch take {
				case "replaces":
					err = f.replace([]byte("ours"), true)
				case "restores":
					err = f.restore(&file{}, nil)
				case "keeps":
					err = f.keep()
				}
				if loci.AsError(err).Code != loci.Conflict || !strings.Contains(err.Error(), "changed meanwhile") {
					t.Errorf("%v", err)
				}
				want := map[string]string{}
				if c.after != "" {
					want["mcp.json"] = c.after
				}
				if left := filesOf(t, filepath.Dir(path)); !maps.Equal(left, want) {
					t.Errorf("it left %q", left)
				}
			})
		}
	}
}

// What editors keep beside a file that is open in one stays as it is, also where its link leads
// nowhere, and keeps nobody from connecting and disconnecting.
func TestFileIsOpenInAnEditor(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".cursor")
	const own = "{\"mine\": 1}\n"
	before := map[string]string{
		"mcp.json": own, ".mcp.json.swp": "b0VIM 9.0", "mcp.json~": "{}", "#mcp.json#": "{\"mine\": 2}", ".mcp.json.kate-swp": "k",
	}
	for name, text := range before {
		write(t, filepath.Join(dir, name), text)
	}
	lock := filepath.Join(dir, ".#mcp.json") // Emacs says in it who edits the file
	if err := os.Symlink("ada@host.4711:1", lock); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Setup{{DryRun: true}, {}, {Replace: true}, {Remove: true}} {
		if r := cursorIn(home, s); r.Err != nil {
			t.Fatalf("%+v", r)
		}
		if to, err := os.Readlink(lock); err != nil || to != "ada@host.4711:1" {
			t.Fatalf("after %+v the lock of the editor says %q, %v", s, to, err)
		}
		if err := os.Remove(lock); err != nil { // it cannot be read as a file
			t.Fatal(err)
		}
		left := filesOf(t, dir)
		if err := os.Symlink("ada@host.4711:1", lock); err != nil {
			t.Fatal(err)
		}
		if s.Remove || s.DryRun {
			if !maps.Equal(left, before) {
				t.Errorf("%+v leaves %q", s, left)
			}
			continue
		}
		if left["mcp.json.before-loci"] != own || !strings.Contains(left["mcp.json"], "/bin/loci") {
			t.Errorf("%+v leaves %q", s, left)
		}
		delete(left, "mcp.json.before-loci")
		left["mcp.json"] = own
		if !maps.Equal(left, before) {
			t.Errorf("%+v changed what is not its own: %q", s, left)
		}
	}

	// The person saves what the editor has, which was read before setup wrote: setup is not in it.
	if r := cursorIn(home, Setup{}); r.Outcome != Connected {
		t.Fatalf("%+v", r)
	}
	const saved = "{\"mine\": 3}\n"
	write(t, filepath.Join(dir, "mcp.json"), saved)
	if r := cursorIn(home, Setup{}); r.Outcome != Connected {
		t.Errorf("%+v", r)
	}
	if r := cursorIn(home, Setup{Remove: true}); r.Outcome != Removed || read(t, filepath.Join(dir, "mcp.json")) != saved {
		t.Errorf("%+v leaves %q", r, read(t, filepath.Join(dir, "mcp.json")))
	}
}

// Setup writes beside the file alone: what it makes elsewhere could not take the place of a
// file on another volume in one step.
func TestSetupWritesBesideTheFile(t *testing.T) {
	home, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, elsewhere)
	}
	write(t, filepath.Join(home, ".cursor", "mcp.json"), "{}")
	for _, s := range []Setup{{}, {Remove: true}} {
		if r := cursorIn(home, s); r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
}

// Whatever a setup that was killed has left, the next one takes away, also where the file is
// as it should be already.
func TestSetupTakesAwayWhatIsLeft(t *testing.T) {
	const own = "{\"mine\": 1}\n"
	dir := filepath.Join(t.TempDir(), ".cursor")
	path := filepath.Join(dir, "mcp.json")
	write(t, path, own)
	left := []string{".before-loci.loci-new", ".loci-new", ".loci-setup"}
	take := func(s Setup, outcome string, copies ...string) {
		t.Helper()
		for _, suffix := range left {
			write(t, path+suffix, "half of i")
		}
		if r := cursorIn(filepath.Dir(dir), s); r.Outcome != outcome {
			t.Fatalf("%+v", r)
		}
		want := append([]string{""}, copies...)
		if s.DryRun {
			want = append(want, left...)
		}
		var now []string
		for name := range filesOf(t, dir) {
			now = append(now, strings.TrimPrefix(name, "mcp.json"))
		}
		if slices.Sort(now); !slices.Equal(now, want) {
			t.Errorf("%+v leaves %q, not %q", s, now, want)
		}
	}
	take(Setup{}, Connected, ".before-loci")
	take(Setup{DryRun: true}, Unchanged, ".before-loci")
	take(Setup{}, Unchanged, ".before-loci")
	take(Setup{Remove: true}, Removed)
	take(Setup{Remove: true}, Unchanged)

	// It was killed between the two steps of taking the entry out.
	write(t, path+".before-loci", own)
	take(Setup{Remove: true, DryRun: true}, Unchanged, ".before-loci")
	take(Setup{Remove: true}, Unchanged)
	write(t, path+".before-loci", "{\"mine\": 2}")
	take(Setup{Remove: true}, Unchanged, ".before-loci")
}

// A file that cannot be kept is not changed.
func TestNothingWithoutACopy(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".cursor", "mcp.json")
	write(t, path, "{}")
	write(t, filepath.Join(path+".before-loci", "mine"), "")
	if r := cursorIn(home, Setup{}); r.Err == nil || !strings.Contains(r.Error, "before-loci") {
		t.Errorf("%+v", r)
	}
	if read(t, path) != "{}" {
		t.Errorf("%q", read(t, path))
	}
}

// A client that reads its file meanwhile sees all of the old or all of the new.
func TestReadersMeetSetup(t *testing.T) {
	home := t.TempDir()
	path, own := filepath.Join(home, ".cursor", "mcp.json"), "{\"mine\": 1}\n"
	write(t, path, own)
	cursorIn(home, Setup{})
	ours := read(t, path)
	done := make(chan error)
	go func() {
		var err error
		for range 50 {
			err = errors.Join(err, cursorIn(home, Setup{Remove: true}).Err, cursorIn(home, Setup{}).Err)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if now := read(t, path); now != own && now != ours {
				t.Fatalf("a reader saw %q", now)
			}
		}
	}
}

// A folder that somebody else has made, with a link where setup puts its lock, does not lead
// setup elsewhere.
func TestSetupFollowsNoLinkOfOthers(t *testing.T) {
	for _, suffix := range []string{".loci-setup", ".loci-new", ".before-loci", ".before-loci.loci-new"} {
		home := t.TempDir()
		path, elsewhere := filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(home, "elsewhere")
		write(t, path, "{}")
		link := path + suffix
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
		r := cursorIn(home, Setup{})
		if refused := suffix == ".loci-setup"; refused != (r.Err != nil) ||
			refused && (loci.AsError(r.Err).Code != loci.Invalid || !strings.Contains(r.Error, "does not follow")) {
			t.Errorf("%s: %+v", suffix, r)
		}
		if _, err := os.Lstat(elsewhere); err == nil {
			t.Errorf("setup has followed %s", link)
		}
	}
}
