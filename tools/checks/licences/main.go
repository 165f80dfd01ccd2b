// Command licences names the licences of everything in the program and of what the
// clients need, and refuses those it does not know and those that ask more than notice:
//
//	licences DIRECTORY          compares DIRECTORY/NOTICE with what is true
//	licences -write DIRECTORY   writes it
//
// DIRECTORY is that of the module github.com/loci-memory/loci.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// permissive are the licences that ask for notice and nothing more.
var permissive = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "ISC", "MIT", "MIT-0", "Unlicense",
	"CC0-1.0", "BlueOak-1.0.0", "Zlib", "0BSD", "PSF-2.0", "Python-2.0", unicodeLicence,
}

// unicodeLicence is that of data of Unicode, which the scanner does not know yet.
const unicodeLicence = "Unicode-3.0"

// excused are files of modules that are not what they seem, with the reason. One that
// excuses nothing is an error.
var excused = map[string]string{
	"github.com/modelcontextprotocol/go-sdk LICENSE CC-BY-4.0": "of its documentation, which is not in the program",
	"modernc.org/memory LICENSE-LOGO":                          "of a picture, which is not in the program",
	"modernc.org/sqlite LICENSE-SQLITE":                        "says that SQLite is in the public domain",
	"modernc.org/libc LICENSE-3RD-PARTY.md":                    "a table with several licences, each of which is looked at",
	"modernc.org/sqlite LICENSE-3RD-PARTY.md":                  "a table with several licences, each of which is looked at",
	"modernc.org/sqlite LICENSE-3RD-PARTY.md MPL-2.0":          "of a module in the graph that nothing is compiled from",
}

// platforms are those that the program is built for; each has modules of its own.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

// least is how much of a file, in percent, a known licence must make up.
const least = 75

func main() {
	write := flag.Bool("write", false, "write NOTICE")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: licences [-write] DIRECTORY")
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, write bool) error {
	modules, err := inProgram(ctx, root)
	if err != nil {
		return err
	}
	modules = append(modules, module{"Unicode CLDR, names of emoji (cldr-annotations-modern)", "45.0.0",
		filepath.Join(root, "internal", "retrieval", "testdata", "cldr")})
	vocabularies, err := dataOf(ctx, root, "github.com/tiktoken-go/tokenizer") // internal/token/*.tokens
	if err != nil {
		return err
	}
	modules = append(modules, vocabularies)
	notice, refused := &bytes.Buffer{}, []error{}
	fmt.Fprint(
		notice,
		"Loci is under the Apache License 2.0 (LICENSE). The program contains, besides, what is named here with\n"+
			"its licences, for each platform that it is built for. Written by `make notice`.\n",
	)
	for _, m := range modules {
		if err := m.describe(notice); err != nil {
			refused = append(refused, err)
		}
	}
	for what := range excused {
		if !used[what] {
			refused = append(refused, fmt.Errorf("%s needs no excuse: remove it", what))
		}
	}
	if err := errors.Join(refused...); err != nil {
		return err
	}
	file := filepath.Join(root, "NOTICE")
	if write {
		return os.WriteFile(file, notice.Bytes(), 0o644)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, notice.Bytes()) {
		return fmt.Errorf("%s does not say what is in the program: run make notice, and review the difference", file)
	}
	fmt.Printf("%d modules in the program have licences that ask for notice alone\n", len(modules))
	return nil
}

// A module is a part of the program.
type module struct{ Path, Version, Dir string }

// inProgram returns the modules of the program, and the standard library.
func inProgram(ctx context.Context, root string) ([]module, error) {
	found := map[string]module{}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		cmd := exec.CommandContext(
			ctx, "go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/loci",
		)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", cmd.Args, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) == 3 {
				found[f[0]] = module{f[0], f[1], f[2]}
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the program has no modules: is this its directory?")
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	standard := module{"the standard library of Go", "", strings.TrimSpace(string(goroot))}
	return append(
		[]module{standard},
		slices.SortedFunc(maps.Values(found), func(a, b module) int { return strings.Compare(a.Path, b.Path) })...), nil
}

// dataOf is a module whose data is in the program, and nothing that is compiled.
func dataOf(ctx context.Context, root, path string) (m module, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Version}}\t{{.Dir}}", path)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return m, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	f := strings.Fields(string(out))
	if len(f) != 3 {
		return m, fmt.Errorf("%v says %q: go mod download brings the module", cmd.Args, out)
	}
	return module{"vocabularies of " + f[0], f[1], f[2]}, nil
}

// named are the files that say on what terms a module comes.
var named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([-._].*)?$`)

// describe writes the licences of a module. An error: it has none, or one that is
// refused.
func (m module) describe(w *bytes.Buffer) error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	licensed := false
	fmt.Fprintf(w, "\n%s\n%s %s\n", strings.Repeat("=", 80), m.Path, m.Version)
	for _, e := range entries {
		if e.IsDir() || !named.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return err
		}
		ids, known := identify(text)
		switch notice := strings.HasPrefix(strings.ToUpper(e.Name()), "NOTICE"); {
		case !notice && known:
			licensed = true
		case !notice && !excuse(m.Path, e.Name()):
			return fmt.Errorf("%s %s: %s is no licence that is known", m.Path, m.Version, e.Name())
		}
		for _, id := range ids {
			if !slices.Contains(permissive, id) && !excuse(m.Path, e.Name(), id) {
				return fmt.Errorf("%s %s: %s has %s, which is refused", m.Path, m.Version, e.Name(), id)
			}
		}
		fmt.Fprintf(
			w, "\n%s: %s\n\n%s\n", e.Name(), strings.Join(ids, ", "),
			bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))),
		)
	}
	if !licensed {
		return fmt.Errorf("%s %s has no licence", m.Path, m.Version)
	}
	return nil
}

var used = map[string]bool{}

func excuse(what ...string) bool {
	key := strings.Join(what, " ")
	used[key] = used[key] || excused[key] != ""
	return used[key]
}

// identify returns the licences in a text, and whether they are most of it.
func identify(text []byte) (ids []string, known bool) {
	if bytes.HasPrefix(text, []byte("UNICODE LICENSE V3\n")) {
		return []string{unicodeLicence}, true
	}
	coverage := licensecheck.Scan(text)
	for _, m := range coverage.Match {
		if !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids, coverage.Percent >= least
}
