package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	return watch(t, env, typed, args, func(screen *os.File, env config.Environ) int {
		return run(t.Context(), args, screen, screen, screen, env)
	})
}

// asProcess is onTerminal for a command that starts the program again, which a test is not.
func asProcess(t *testing.T, env config.Environ, typed string, args ...string) (shown string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "loci")
	if err := os.Link(self, program); err != nil { // another file system
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return watch(t, env, typed, args, func(screen *os.File, env config.Environ) int {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, screen, screen, screen
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	})
}

// watch returns what a command shows on a terminal.
func watch(
	t *testing.T, env config.Environ, typed string, args []string, command func(*os.File, config.Environ) int,
) (shown string, code int) {
	t.Helper()
	if _, set := env.Lookup("PAGER"); !set {
		env = append(slices.Clip(env), "PAGER=cat")
	}
	keyboard, screen := pseudoTerminal(t)
	if _, err := io.WriteString(keyboard, typed); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() { // meanwhile: the terminal holds only so much
		var b strings.Builder
		buf := make([]byte, 4096)
		for !lastLine.MatchString(b.String()) {
			n, err := keyboard.Read(buf)
			if b.Write(buf[:n]); err != nil {
				break
			}
		}
		read <- b.String()
	}()
	code = command(screen, env)
	_, _ = io.WriteString(screen, "\nEND\n")
	select {
	case shown = <-read:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%v: nothing more is shown", args)
	}
	return lastLine.ReplaceAllString(strings.ReplaceAll(shown, "\r\n", "\n"), ""), code
}

// lastLine follows all that a command shows. Its line break is part of it, since one read of a
// terminal may end before that; what was typed and never read may be echoed behind it.
var lastLine = regexp.MustCompile(`\nEND\r?\n`)

// TestTerminal: on a terminal lists are cut to its width and coloured, long work shows how far
// it is, and a bulk erase asks for the number.
func TestTerminal(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "TERM=xterm", "LOCI_STORE=sqlite:" + t.TempDir()}
	plain := append(config.Environ{"NO_COLOR=1"}, env...)
	shown, code := onTerminal(t, env, "", "save", "-t", "x", "A note that is longer than the window of this terminal can show in one line \x1b[31mred")
	if code != 0 {
		t.Fatal(shown)
	}
	id := strings.TrimSpace(shown)

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
	if shown, code := onTerminal(t, env, "", "export", file); code != 0 || !strings.Contains(shown, "\rexporting 1\r\x1b[Kexported 1 memory") {
		t.Errorf("export shows %q", shown)
	}
	if shown, code := onTerminal(t, env, "", "export"); code != 0 || strings.Contains(shown, "exporting") || !strings.HasPrefix(shown, `{"type":"header"`) {
		t.Errorf("export to the terminal itself shows %q", shown)
	}
	if shown, code := onTerminal(t, env, "", "import", file); code != 0 || !strings.Contains(shown, "\rimporting 1\r\x1b[K0 memories imported, 1 was there already") {
		t.Errorf("import shows %q", shown)
	}

	// A bulk erase asks, and takes nothing but the number.
	const other, nothing = "nothing was erased: you typed something else", "nothing was erased: you typed nothing"
	for typed, want := range map[string]string{"y\n": other, "2\n": other, "\n": nothing, "  \n": nothing, "\x04": nothing} {
		shown, code := onTerminal(t, env, typed, "erase", "--all")
		if code != exitConflict || !strings.Contains(shown, "This erases 1 memory of user/default for good.") ||
			!strings.Contains(shown, want) || !strings.Contains(shown, "type 1 if you mean all of them") {
			t.Errorf("%q: exit code %d, shows %q", typed, code, shown)
		}
		if typed == "\x04" && !strings.Contains(shown, "to go on: \nloci: ") {
			t.Errorf("%q: the error has no line of its own: %q", typed, shown)
		}
	}
	if shown, code := onTerminal(t, env, "1\n", "erase", "--all"); code != 0 || !strings.Contains(shown, "1 memory erased") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
	if shown, code := onTerminal(t, env, "", "erase", "--all"); code != 0 || !strings.Contains(shown, "0 memories erased") {
		t.Errorf("nothing to erase: exit code %d, shows %q", code, shown)
	}
}

// TestNextPage: the next page of a list on a terminal is one word away, with the flags of
// the first.
func TestNextPage(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "NO_COLOR=1", "LOCI_STORE=sqlite:" + t.TempDir()}
	for _, text := range []string{"one", "two", "three"} {
		if shown, code := onTerminal(t, env, "", "save", "-t", "n", "number "+text); code != 0 {
			t.Fatal(shown)
		}
	}
	if shown, code := onTerminal(t, env, "", "save", "not a number"); code != 0 {
		t.Fatal(shown)
	}
	var found []string
	for page, args := range [][]string{{"list", "-n", "1", "--tag", "n"}, {"list", "--next"}, {"list", "--next"}} {
		shown, code := onTerminal(t, env, "", args...)
		list, remark, more := strings.Cut(shown, "there are more: ")
		if code != 0 || more != (page < 2) || more && !strings.HasPrefix(remark, "loci list --next\n") {
			t.Errorf("%v: exit code %d, shows %q", args, code, shown)
		}
		fields := strings.Fields(list)
		found = append(found, fields[len(fields)-1])
	}
	if want := []string{"three", "two", "one"}; !slices.Equal(found, want) {
		t.Errorf("the pages show %q, want %q", found, want)
	}
	if shown, code := onTerminal(t, env, "", "list", "--next"); code != exitNotFound || !strings.Contains(shown, "List first: loci list.") {
		t.Errorf("after the end: exit code %d, shows %q", code, shown)
	}
}

// TestWelcome: loci alone says what there is and what to do next, and makes no store.
func TestWelcome(t *testing.T) {
	store := filepath.Join(t.TempDir(), "loci.db")
	env := config.Environ{"HOME=" + t.TempDir(), "NO_COLOR=1", "LOCI_STORE=sqlite:" + store}
	shown, code := onTerminal(t, env, "")
	if code != 0 || !strings.Contains(shown, "\nNothing is remembered yet.\n"+store+"\n") || !strings.Contains(shown, "\n  loci demo\n") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
	if _, err := os.Stat(store); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was made: %v", err)
	}
	for _, args := range [][]string{{"save", "I like window seats."}, {"session", "append", "trip", "Where do I sit?"}} {
		if shown, code := onTerminal(t, env, "", args...); code != 0 {
			t.Fatal(shown)
		}
	}
	shown, code = onTerminal(t, env, "")
	if code != 0 || !strings.Contains(shown, "\n1 memory, 1 conversation, 1 message.\nuser/default, "+store+"\n") ||
		!strings.Contains(shown, "\n  loci setup\n") || !strings.Contains(shown, "\n  loci search \"where do I like to sit\"\n") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
}

// TestDemoOnATerminal: the demo shows what a person would see, within the window.
func TestDemoOnATerminal(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	shown, code := onTerminal(t, env, "", "demo", "--fast")
	if code != 0 {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
	found := regexp.MustCompile(`\n    SCORE  ID        AGE  PASSAGE\n    0\.\d+  [0-9a-f]{8}  now  I like window seats`)
	if !found.MatchString(shown) {
		t.Errorf("no row of a search in %q", shown)
	}
	for line := range strings.Lines(shown) {
		printed := strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "    head\t") // which is one word, for copying
		if printed && (utf8.RuneCountInString(line) > 61 || strings.Contains(line, "\t")) {
			t.Errorf("%q is not for a window of 60 columns", line)
		}
		if !strings.HasPrefix(line, "    head\t") && utf8.RuneCountInString(line) > 81 {
			t.Errorf("%q is not for a window of 80 columns", line)
		}
	}
}

// TestWelcomeNamesConnectedAgents: once an agent is connected, loci alone does not ask for it.
func TestWelcomeNamesConnectedAgents(t *testing.T) {
	home := t.TempDir()
	env := config.Environ{"HOME=" + home, "NO_COLOR=1", "PATH=" + os.Getenv("PATH"), "LOCI_STORE=sqlite:" + filepath.Join(home, "loci.db")}
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := []byte(`{"mcpServers": {"loci": {"command": "/usr/bin/loci", "args": ["mcp"]}}}`)
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), entry, 0o600); err != nil {
		t.Fatal(err)
	}
	shown, code := onTerminal(t, env, "")
	if code != 0 || !strings.Contains(shown, "\nConnected: Cursor.\n") || !strings.Contains(shown, "\n  loci doctor\n") ||
		strings.Contains(shown, "loci setup") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
}

// TestStatsForPeople: columns and rounded sizes on a terminal, exact ones in a pipe.
func TestStatsForPeople(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "NO_COLOR=1", "LOCI_STORE=sqlite:" + t.TempDir()}
	if shown, code := onTerminal(t, env, "", "save", strings.Repeat("word ", 1000)); code != 0 {
		t.Fatal(shown)
	}
	shown, _ := onTerminal(t, env, "", "stats")
	if !strings.Contains(shown, "\ntenant           default\n") || !strings.Contains(shown, "\nnotes and facts  1, of which 1 live; ") || !strings.Contains(shown, ", 4.9 KiB of") {
		t.Errorf("shows %q", shown)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"stats"}, strings.NewReader(""), &out, &out, env); code != 0 ||
		!strings.Contains(out.String(), "\ntenant\tdefault\n") || !strings.Contains(out.String(), ", 5000 bytes of text\n") {
		t.Errorf("exit code %d, prints %q", code, out.String())
	}
}

// longID is an id as it is shown where there is room.
var longID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// A list on a terminal shows the end of an id, which every command takes for the whole, and
// so has room for the text; --wide shows all of both, and a pipe does anyway.
func TestShortIDs(t *testing.T) {
	env := config.Environ{"HOME=" + t.TempDir(), "TERM=dumb", "LOCI_STORE=sqlite:" + t.TempDir()}
	const text = "A sentence that is longer than the window of this terminal can show"
	var ids []string
	for _, content := range []string{text, "Prefers window seats."} {
		saved, code := onTerminal(t, env, "", "save", content)
		if code != 0 {
			t.Fatal(saved)
		}
		id := strings.TrimPrefix(strings.Fields(saved)[0], "note-")
		ids = append(ids, id)
	}
	end := func(id string) string { return id[len(id)-8:] }
	for _, command := range [][]string{{"list"}, {"search", "sentence"}, {"recall", "sentence"}, {"events"}} {
		shown, _ := onTerminal(t, env, "", command...)
		if !strings.Contains(shown, end(ids[0])) || strings.Contains(shown, ids[0]) {
			t.Errorf("%v shows %q; want %s alone of the id", command, shown, end(ids[0]))
		}
		if shown, _ = onTerminal(t, env, "", append(command, "--wide")...); !strings.Contains(shown, ids[0]) {
			t.Errorf("%v --wide shows %q; want %s", command, shown, ids[0])
		}
	}
	if shown, _ := onTerminal(t, env, "", "list"); !strings.Contains(shown, text[:37]) || strings.Contains(shown, text) {
		t.Errorf("list shows %q; want 38 of the 60 columns for the text", shown)
	}
	if shown, _ := onTerminal(t, env, "", "list", "--wide"); !strings.Contains(shown, text) {
		t.Errorf("list --wide shows %q; want the whole text", shown)
	}
	for _, short := range []string{end(ids[0]), strings.ToUpper(end(ids[0])), "note-" + end(ids[0]), ids[0][9:], ids[0][:24]} {
		if shown, code := onTerminal(t, env, "", "get", short); code != 0 || !strings.Contains(shown, text[:20]) {
			t.Errorf("get %s: %d, %q", short, code, shown)
		}
	}
	// Both were made in the same minute: their beginnings, which are times, are alike.
	both := ids[0][:4]
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"get", both}, "may be note-" + ids[1]},
		{[]string{"delete", end(ids[1]), both}, "note-" + ids[0]},
		{[]string{"get", "abcd1234abcd"}, "no id here begins or ends with abcd1234abcd"},
		{[]string{"get", "abc"}, "is not an id"},
		{[]string{"get", "window"}, "is not an id"},
	} {
		shown, code := onTerminal(t, env, "", c.args...)
		if code == 0 || !strings.Contains(strings.Join(strings.Fields(shown), " "), c.says) {
			t.Errorf("%v: %d, %q; want %q", c.args, code, shown, c.says)
		}
	}
	if shown, code := onTerminal(t, env, "", "update", end(ids[0]), "Shorter."); code != 0 || !strings.Contains(shown, ids[0]) {
		t.Errorf("update: %d, %q", code, shown)
	}
	if shown, code := onTerminal(t, env, "", "link", end(ids[0]), "supports", end(ids[1])); code != 0 {
		t.Errorf("link: %d, %q", code, shown)
	}
	// The table of one memory's past, links and origin does so, too.
	if shown, code := onTerminal(t, env, "", "supersede", end(ids[1]), "Prefers aisle seats."); code != 0 {
		t.Fatal(shown)
	}
	for _, c := range []struct {
		command, id string
		flags       []string
	}{
		{"history", ids[0], nil}, {"history", ids[1], nil}, {"links", ids[0], nil}, {"provenance", ids[1], nil},
		{"get", ids[0], []string{"--links"}},
	} {
		args := append([]string{c.command, c.id}, c.flags...)
		shown, code := onTerminal(t, env, "", args...)
		if _, rows, cut := strings.Cut(shown, "FROM"); cut { // below the details of a memory
			shown = rows
		}
		names := c.command == "provenance" || strings.Contains(shown, end(c.id))
		if code != 0 || longID.MatchString(shown) || strings.Contains(shown, "\t") || !names {
			t.Errorf("%v: %d, %q; want short ids alone", args, code, shown)
		}
		if c.command == "get" || c.command == "provenance" {
			continue // a whole id is the first thing it shows; there is none
		}
		if shown, code := onTerminal(t, env, "", append(args, "--wide")...); code != 0 || !strings.Contains(shown, c.id) {
			t.Errorf("%v --wide: %d, %q; want whole ids", args, code, shown)
		}
	}
	if shown, _ := onTerminal(t, env, "", "history", ids[1]); !strings.Contains(shown, "superseded  now") {
		t.Errorf("history shows %q; want when it ended as an age", shown)
	}
	shown, code := onTerminal(t, env, "", "delete", end(ids[0]), end(ids[1]))
	if code != 0 || !strings.Contains(shown, "note-"+ids[0]) || !strings.Contains(shown, "note-"+ids[1]) {
		t.Errorf("delete: %d, %q; want both ids as other commands show them", code, shown)
	}
	if shown, _ := onTerminal(t, env, "", "list"); strings.Contains(shown, end(ids[1])) {
		t.Errorf("after the delete: %q", shown)
	}
}
