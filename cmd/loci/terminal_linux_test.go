package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci/internal/config"
)

// pseudoTerminal opens a pseudo-terminal of 60 columns: what is typed into one end is
// read at the other, and the other way round.
func pseudoTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keyboard, screen
}

// onTerminal runs a command on a terminal and returns what it shows.
func onTerminal(t *testing.T, env config.Environ, typed string, args ...string) (shown string, code int) {
	t.Helper()
	keyboard, screen := pseudoTerminal(t)
	if _, err := io.WriteString(keyboard, typed); err != nil {
		t.Fatal(err)
	}
	code = run(t.Context(), args, screen, screen, screen, env)
	_, _ = io.WriteString(screen, "\nEND\n")
	var b strings.Builder
	buf := make([]byte, 4096)
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(b.String(), "\nEND"); {
		n, err := keyboard.Read(buf)
		b.Write(buf[:n])
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v after %q", err, b.String())
		}
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n"), code
}

func TestTerminal(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "TERM=xterm", "LOCI_STORE=sqlite:" + t.TempDir()}
	plain := append(config.Environ{"NO_COLOR=1"}, env...)
	shown, code := onTerminal(t, env, "", "save", "-t", "x", "A note that is longer than the window of this terminal can show in one line \x1b[31mred")
	if code != 0 {
		t.Fatal(shown)
	}
	id := strings.TrimSpace(strings.TrimSuffix(shown, "\nEND\n"))

	shown, _ = onTerminal(t, env, "", "list")
	if !strings.Contains(shown, "\x1b[1mID\x1b[0m") || !strings.Contains(shown, "…\n") || strings.Contains(shown, "[31m") {
		t.Errorf("list shows %q", shown)
	}
	shown, _ = onTerminal(t, plain, "", "list")
	if strings.Contains(shown, "\x1b") || !strings.HasPrefix(shown, "ID ") || !strings.Contains(shown, "  now  x ") {
		t.Errorf("list without colours shows %q", shown)
	}
	shown, _ = onTerminal(t, append(config.Environ{"TERM=dumb"}, env[0], env[2]), "", "search", "note", "--explain")
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "COSINE") {
		t.Errorf("search shows %q", shown)
	}
	shown, _ = onTerminal(t, plain, "", "get", id)
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, `\x1b[31mred`) {
		t.Errorf("get shows %q", shown)
	}
	shown, _ = onTerminal(t, plain, "", "list", "--json")
	if !strings.Contains(shown, "\n  \"memories\": [") {
		t.Errorf("list --json shows %q", shown)
	}
	if shown, code = onTerminal(t, plain, "", "reindex"); code != 0 || !strings.Contains(shown, "0 memories embedded") {
		t.Errorf("reindex shows %q", shown)
	}

	// Long work shows how far it is, and clears that when it is done.
	file := t.TempDir() + "/out.jsonl"
	if shown, code := onTerminal(t, env, "", "export", file); code != 0 || !strings.Contains(shown, "\rexporting 1\r\x1b[Kexported 1 memories") {
		t.Errorf("export shows %q", shown)
	}
	if shown, code := onTerminal(t, env, "", "import", file); code != 0 || !strings.Contains(shown, "\rimporting 1\r\x1b[K0 memories imported, 1 were there already") {
		t.Errorf("import shows %q", shown)
	}

	// A bulk erase asks, and takes nothing but the number.
	for typed, want := range map[string]int{"y\n": exitConflict, "2\n": exitConflict, "\n": exitConflict} {
		if shown, code := onTerminal(t, env, typed, "erase", "--all"); code != want || !strings.Contains(shown, "This erases 1 memories of user/default for good.") {
			t.Errorf("%q: exit code %d, shows %q", typed, code, shown)
		}
	}
	if shown, code := onTerminal(t, env, "1\n", "erase", "--all"); code != 0 || !strings.Contains(shown, "1 memories erased") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
}
