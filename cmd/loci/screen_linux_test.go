package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/terminal"
)

var updateScreens = flag.Bool("update-screens", false, "write testdata/screens again")

// screens are commands whose output people read; the first ones of a home in which nothing is yet.
var (
	emptyScreens = [][]string{{}, {"list"}, {"search", "seats"}, {"events"}, {"stats"}, {"session", "list"}, {"setup"}}
	fullScreens  = [][]string{
		{}, {"list"}, {"search", "window", "seats"}, {"events"}, {"stats"}, {"doctor"}, {"session", "list"}, {"--help"},
		{"help", "list"}, {"setup"}, {"setup", "cursor", "--dry-run"}, {"tenant", "list"}, {"get", "nothing"},
	}
)

// varying is what differs from run to run, and what stands for it, as wide as that.
var varying = [][2]string{
	{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "IDIDIDID-IDID-IDID-IDID-IDIDIDIDIDID"},
	{`(?m)(^|[ #]|\x1b\[2m)[0-9a-f]{8}\b`, "${1}IDIDIDID"},
	{`\d{3} KiB`, "### KiB"},
	{`\d\.\d{3}\b`, "#.###"},
	{`go1\.[0-9.a-z]+`, "GO"},
	{`(?m)^Loci \S+,`, "Loci VERSION,"},
	{`/(amd|arm)64`, "/ARCH"},
	{`"/[^"]*loci\.test"`, `"/usr/local/bin/loci"`},
}

// What may be wider than the terminal, since it means something else when it is broken: a word
// such as a path, lines of a file and of its difference, and what help shows as it is: examples,
// exit codes, the one word of a narrow column.
var unbreakable = regexp.MustCompile(`^\s*\S+$|\S{24}|^  \S.*   \S+$|^[ +-] *["{}]|^    \S|^(---|\+\+\+|@@) `)

// Screens are kept as testdata and looked at when they change: at 40, 80 and 120 columns, with
// the colours of a dark and of a light terminal, and without. No line is wider than the
// terminal, except what cannot be broken.
func TestScreens(t *testing.T) {
	for _, columns := range []uint16{40, 80, 120} {
		kept := map[string]string{}
		all := map[string]config.Environ{
			"dark": {"TERM=xterm-256color", "COLORFGBG=15;0"}, "light": {"TERM=xterm-256color", "COLORFGBG=0;15"},
			"NO_COLOR": {"TERM=xterm-256color", "NO_COLOR=1"}, "dumb": {"TERM=dumb"},
		}
		if columns != 80 {
			delete(all, "light")
			delete(all, "NO_COLOR")
		}
		for name, env := range all {
			kept[name] = recorded(t, columns, env)
		}
		if columns == 80 && (kept["dark"] != kept["light"] || kept["NO_COLOR"] != kept["dumb"]) {
			t.Errorf("at %d columns the terminal's own colours count, or two ways to have none differ", columns)
		}
		if plain := colourForm.ReplaceAllString(kept["dark"], ""); plain != kept["dumb"] {
			t.Errorf("at %d columns colours change the text:\n%s\nand without\n%s", columns, plain, kept["dumb"])
		}
		for line := range strings.SplitSeq(kept["dumb"], "\n") {
			if terminal.Columns(line) > int(columns) && !unbreakable.MatchString(line) && !strings.HasPrefix(line, "$ ") {
				t.Errorf("%d columns of %d: %q", terminal.Columns(line), columns, line)
			}
		}
		for _, kind := range []string{"dark", "dumb"} {
			path := filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", kind, columns))
			shown := strings.ReplaceAll(kept[kind], "\x1b", "␛")
			if *updateScreens {
				if err := os.WriteFile(path, []byte(shown), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != shown {
				t.Errorf("%s (%v) is not what is shown now; look at it, then: go test ./cmd/loci -run Screens -update-screens\n%s",
					path, err, shown)
			}
		}
	}
}

// colourForm is a style that any terminal has, whatever its background: bold, dim and three
// colours of its own palette.
var colourForm = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33)m")

// recorded is what the commands show on a terminal, one after the other.
func recorded(t *testing.T, columns uint16, env config.Environ) string {
	t.Helper()
	// As long as what stands for it, so that nothing is cut elsewhere.
	home := "/tmp/loci-" + rand.Text()[:10]
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	env = append(env, "HOME="+home, "PATH=/nowhere", "LOCI_STORE=sqlite:"+filepath.Join(home, "loci.db"),
		"PAGER=cat", "LOCI_EMBEDDER=none")
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	show := func(args []string) {
		shown := sized(t, columns, env, args)
		if slices.Contains(args, "setup") {
			shown = strings.Replace(shown, "none\n", "", 1) // what was typed
		}
		shown = strings.ReplaceAll(shown, home, "/home/reader/of/loci")
		for _, v := range varying {
			shown = regexp.MustCompile(v[0]).ReplaceAllString(shown, v[1])
		}
		fmt.Fprintf(&out, "$ %s\n%s\n", strings.Join(append([]string{"loci"}, args...), " "), shown)
	}
	for _, args := range emptyScreens {
		show(args)
	}
	for _, args := range [][]string{
		{"save", "-t", "travel", "I like window seats on the left side of the train, where the sun does not shine in the morning."},
		{"save", "-t", "travel", "-t", "food", "Vegetarian meals on flights, ordered a day before."},
		{"save", "記憶宮殿の窓側の席が好きです 🚂 and a paragraph that goes on\nin a second line"},
		{"session", "append", "trip-to-the-sea", "Where do I sit?"},
	} {
		if shown, code := onTerminal(t, env, "", args...); code != 0 {
			t.Fatal(shown)
		}
	}
	for _, args := range fullScreens {
		show(args)
	}
	return out.String()
}

// sized runs a command on a terminal that is as wide as that.
func sized(t *testing.T, columns uint16, env config.Environ, args []string) string {
	t.Helper()
	typed := ""
	if slices.Contains(args, "setup") {
		typed = "none\n"
	}
	shown, _ := watch(t, env, typed, args, func(screen *os.File, env config.Environ) int {
		size := unix.Winsize{Row: 200, Col: columns}
		if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &size); err != nil {
			t.Fatal(err)
		}
		return run(t.Context(), args, screen, screen, screen, env)
	})
	return shown
}
