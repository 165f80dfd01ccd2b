// Command release builds everything that a release of Loci consists of, from one
// checkout and into one folder: programs, archives, packages of Linux, npm and Python
// packages, an image, bundles for desktop clients, a Helm chart, manifests of package
// managers, checksums and, with a key, signatures. It publishes nothing.
//
//	go run . -root ../.. -out ../../dist -version 1.2.3
//
// Two runs over one commit write the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A platform is what a program is built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the name of the file that is run.
func (p platform) program() string {
	if p.os == "windows" {
		return "loci.exe"
	}
	return "loci"
}

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"}, {"freebsd", "amd64"},
}

// A release is one run.
type release struct {
	ctx       context.Context
	root, out string
	version   string    // 1.2.3 or 1.2.3-rc.1, without a v
	commit    string    // the whole hash
	at        time.Time // of the commit: the time of every file inside
	platforms []platform
	manuals   []item // made once
}

// binary is where the program of a platform was built.
func (r *release) binary(p platform) string {
	return filepath.Join(r.out, "bin", p.os+"_"+p.arch, p.program())
}

// file is a path in the checkout.
func (r *release) file(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A version is that of a release of semantic versioning, without build metadata, which no
// registry takes.
var versionForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-rc\.(0|[1-9]\d*))?$`)

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "the checkout")
	out := flags.String("out", "dist", "the folder for what is built; it must be empty or missing")
	version := flags.String("version", "", "the version, such as 1.2.3 or 1.2.3-rc.1")
	only := flags.String("only", "", "platforms such as linux/amd64,darwin/arm64; all without it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !versionForm.MatchString(*version) {
		return fmt.Errorf("-version is %q; it must be such as 1.2.3 or 1.2.3-rc.1", *version)
	}
	r := &release{ctx: ctx, root: *root, version: *version, platforms: platforms}
	if *only != "" {
		r.platforms = nil
		for _, name := range strings.Split(*only, ",") {
			i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
			if i < 0 {
				return fmt.Errorf("-only names %q; it must be one of %v", name, platforms)
			}
			r.platforms = append(r.platforms, platforms[i])
		}
	}
	var err error
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if old, err := os.ReadDir(r.out); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty: remove it first", r.out)
	}
	if err := r.describe(); err != nil {
		return err
	}
	if err := r.ready(); err != nil {
		return err
	}
	return r.make()
}

// ready refuses what would end the release after it has built for an hour: plugins of another version, and a
// key that cannot sign. A part of a release has no plugins, as it has no manifests.
func (r *release) ready() error {
	if key := os.Getenv(keyVariable); key != "" {
		if _, err := readKey(key); err != nil {
			return err
		}
	}
	if len(r.platforms) != len(platforms) {
		return nil
	}
	return r.plugins()
}

// describe asks git what is released.
func (r *release) describe() error {
	for _, ask := range []struct {
		format string
		set    func(string) error
	}{
		{"%H", func(s string) error { r.commit = s; return nil }},
		{"%ct", func(s string) error {
			seconds, err := strconv.ParseInt(s, 10, 64)
			r.at = time.Unix(seconds, 0).UTC()
			return err
		}},
	} {
		said, err := exec.CommandContext(r.ctx, "git", "-C", r.root, "log", "-1", "--format="+ask.format).Output()
		if err != nil {
			return fmt.Errorf("git log in %s: %w", r.root, err)
		}
		if err := ask.set(strings.TrimSpace(string(said))); err != nil {
			return err
		}
	}
	return nil
}

// make builds each part. The order counts: what names others by their hash comes last.
func (r *release) make() error {
	for _, part := range []struct {
		name string
		make func() error
	}{
		{"programs", r.programs},
		{"lists of what is inside", r.boms},
		{"archives", r.archives},
		{"packages of Linux", r.linuxPackages},
		{"npm packages", r.npmPackages},
		{"wheels", r.wheels},
		{"image", r.image},
		{"bundles for desktop clients", r.bundles},
		{"Helm chart", r.chart},
		{"manifests", r.manifests},
		{"notes", r.notes},
		{"checksums", r.checksums},
		{"signatures", r.signatures},
	} {
		start := time.Now()
		if err := part.make(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Printf("%-28s %5.1f s\n", part.name, time.Since(start).Seconds())
	}
	return nil
}

// programs builds the binaries. Nothing of this machine goes into them: no path, no user,
// no build id.
func (r *release) programs() error {
	for _, p := range r.platforms {
		build := exec.CommandContext(
			r.ctx,
			"go",
			"build",
			"-trimpath",
			"-buildvcs=false",
			"-ldflags",
			strings.Join([]string{
				"-s -w -buildid=", "-X main.version=" + r.version, "-X main.commit=" + r.commit,
				"-X main.date=" + r.at.Format(time.RFC3339),
			}, " "),
			"-o",
			r.binary(p),
			"./cmd/loci",
		)
		build.Dir = r.root
		build.Env = append(
			os.Environ(),
			"CGO_ENABLED=0",
			"GOFLAGS=",
			"GOOS="+p.os,
			"GOARCH="+p.arch,
			"GOAMD64=v1",
			"GOARM64=v8.0",
		)
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", p, err, said)
		}
	}
	return nil
}

// notes writes the section of the changelog that this version has, else the unreleased one.
func (r *release) notes() error {
	text, err := os.ReadFile(r.file("CHANGELOG.md"))
	if err != nil {
		return err
	}
	sections := strings.Split(string(text), "\n## ")
	for _, name := range []string{r.version, "[" + r.version + "]", "Unreleased"} {
		for _, section := range sections[1:] {
			if title, body, _ := strings.Cut(section, "\n"); title == name || strings.HasPrefix(title, name+" ") {
				return os.WriteFile(filepath.Join(r.out, "notes.md"), []byte(strings.TrimSpace(body)+"\n"), 0o644)
			}
		}
	}
	return errors.New("CHANGELOG.md has no section of this version, and none that is unreleased")
}

// checksums writes what sha256sum -c reads, over everything that is published.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		sum, err := hashOf(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		lines.WriteString(sum + "  " + entry.Name() + "\n")
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(lines.String()), 0o644)
}

// hashOf is the SHA-256 of a file, in hexadecimal digits.
func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // read only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
