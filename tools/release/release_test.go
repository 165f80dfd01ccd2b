package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blakesmith/ar"
	"go.yaml.in/yaml/v3"
)

// made is a release for every platform, with small files in place of the programs, which only
// `tests/release/run.sh` builds.
func made(t *testing.T) *release {
	t.Helper()
	r := &release{
		ctx: t.Context(), root: filepath.Join("..", ".."), out: t.TempDir(), version: "1.2.3-rc.4",
		commit: strings.Repeat("ab", 20),
		at:     time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), platforms: platforms, manuals: []item{
			{name: "share/man/man1/loci.1", data: []byte(".TH")}, {name: "share/zsh/site-functions/_loci", data: []byte("#compdef loci")},
		},
	}
	for _, p := range r.platforms {
		path := r.binary(p)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("program of "+p.String()), 0o755))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []func() error{
		r.archives, r.linuxPackages, r.npmPackages, r.wheels, r.image, r.bundles, r.chart, r.manifests, r.notes,
		r.checksums, r.signatures,
	} {
		if err := part(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// built reads all files in the folder of a release.
func built(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The same commit makes the same bytes, in another folder and at another time.
func TestReleaseIsReproducible(t *testing.T) {
	first := built(t, made(t).out)
	time.Sleep(1100 * time.Millisecond) // formats with times have seconds
	second := built(t, made(t).out)
	if names, others := slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)); !slices.Equal(
		names,
		others,
	) {
		t.Fatalf("%v\nand then\n%v", names, others)
	}
	for name, data := range first {
		if second[name] != data {
			t.Errorf("%s differs", name)
		}
	}
}

// Every form of a release is there for each platform that can have it.
func TestReleaseIsWhole(t *testing.T) {
	r := made(t)
	all := built(t, r.out)
	for pattern, want := range map[string]int{
		`^loci_1\.2\.3-rc\.4_\w+_\w+\.tar\.gz$`: 5,
		`^loci_1\.2\.3-rc\.4_windows_\w+\.zip$`: 2, `\.deb$`: 2, `\.rpm$`: 2, `\.apk$`: 2,
		`^loci-memory-cli-(linux|darwin|win32|freebsd)-(x64|arm64)-1\.2\.3-rc\.4\.tgz$`: 7,
		`^loci-memory-cli-1\.2\.3-rc\.4\.tgz$`:                                          1,
		`^loci_memory_cli-1\.2\.3rc4-py3-none-.*\.whl$`:                                 6, `\.mcpb$`: 6, `^image/oci-layout$`: 1,
		`^(loci\.rb|loci\.json|PKGBUILD|server\.json|flake\.nix|compose\.yaml|notes\.md|checksums\.txt)$`: 8,
		`^loci-1\.2\.3-rc\.4\.tgz$`: 1,
	} {
		got := 0
		for name := range all {
			if regexp.MustCompile(pattern).MatchString(name) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d files, not %d", pattern, got, want)
		}
	}
	for line := range strings.Lines(all["checksums.txt"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256([]byte(all[name])); sum != hex.EncodeToString(got[:]) {
			t.Errorf("the checksum of %s is not that of the file", name)
		}
	}
	if strings.Count(all["checksums.txt"], "\n") < 30 || strings.Contains(all["checksums.txt"], "checksums.txt") {
		t.Errorf("checksums:\n%s", all["checksums.txt"])
	}
	for _, name := range []string{"loci.rb", "loci.json", "PKGBUILD", "server.json", "flake.nix", "compose.yaml"} {
		if text := all[name]; !strings.Contains(text, "1.2.3-rc.4") || strings.Contains(text, "{{") ||
			strings.Contains(text, "<no value>") {
			t.Errorf("%s is not filled in:\n%s", name, text)
		}
	}
}

// untar reads a .tgz; a star marks what may be run.
func untar(t *testing.T, data string) map[string]string {
	t.Helper()
	small, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for archive := tar.NewReader(small); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		name := head.Name
		if head.Mode&0o111 != 0 && head.Typeflag == tar.TypeReg {
			name += "*"
		}
		var text bytes.Buffer
		if _, err := io.Copy(&text, archive); err != nil {
			t.Fatal(err)
		}
		found[name] = text.String()
	}
}

// npm installs one program by the names of systems in the packages, and runs no script.
func TestNpmPackages(t *testing.T) {
	all := built(t, made(t).out)
	main := untar(t, all["loci-memory-cli-1.2.3-rc.4.tgz"])
	var about struct {
		Name, MCPName        string
		Bin                  map[string]string
		OptionalDependencies map[string]string
		Scripts              map[string]string
	}
	if err := json.Unmarshal([]byte(main["package/package.json"]), &about); err != nil {
		t.Fatal(err)
	}
	if about.Name != "@loci-memory/cli" || about.MCPName != "io.github.loci-memory/loci" || about.Bin["loci"] != "bin/loci.js" ||
		len(about.OptionalDependencies) != 7 ||
		about.OptionalDependencies["@loci-memory/cli-win32-x64"] != "1.2.3-rc.4" ||
		about.Scripts != nil {
		t.Errorf("%+v", about)
	}
	if !strings.HasPrefix(main["package/bin/loci.js*"], "#!/usr/bin/env node\n") {
		t.Error("the launcher cannot be run")
	}
	windows := untar(t, all["loci-memory-cli-win32-x64-1.2.3-rc.4.tgz"])
	if windows["package/bin/loci.exe*"] != "program of windows/amd64" ||
		!strings.Contains(windows["package/package.json"], `"win32"`) {
		t.Errorf("%v", windows)
	}
}

// pip checks each file of a wheel against RECORD.
func TestWheelsRecordWhatTheyHold(t *testing.T) {
	all := built(t, made(t).out)
	data := all["loci_memory_cli-1.2.3rc4-py3-none-win_amd64.whl"]
	wheel, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range wheel.File {
		f, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[file.Name] = string(text)
	}
	record := texts["loci_memory_cli-1.2.3rc4.dist-info/RECORD"]
	lines := strings.Split(strings.TrimSpace(record), "\n")
	if len(lines) != len(texts) {
		t.Errorf("%d files, and in RECORD %d:\n%s", len(texts), len(lines), record)
	}
	for _, line := range lines {
		fields := strings.Split(line, ",")
		sum := sha256.Sum256([]byte(texts[fields[0]]))
		want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])
		if own := strings.HasSuffix(fields[0], "/RECORD"); !own &&
			(fields[1] != want || fields[2] != strconv.Itoa(len(texts[fields[0]]))) {
			t.Errorf("%s", line)
		}
	}
	if texts["loci_memory_cli-1.2.3rc4.data/scripts/loci.exe"] != "program of windows/amd64" {
		t.Errorf("no program in %v", slices.Sorted(maps.Keys(texts)))
	}
}

// The image runs as nobody, from nothing, and can be asked whether it is well.
func TestImage(t *testing.T) {
	all := built(t, made(t).out)
	var index struct {
		Manifests []struct {
			Digest   string
			Platform struct{ OS, Architecture string }
		}
	}
	if err := json.Unmarshal([]byte(all["image/index.json"]), &index); err != nil || len(index.Manifests) != 2 {
		t.Fatalf("%v %+v", err, index)
	}
	blob := func(digest string) string { return all["image/blobs/"+strings.Replace(digest, ":", "/", 1)] }
	for _, manifest := range index.Manifests {
		var parts struct {
			Config struct{ Digest string }
			Layers []struct{ Digest string }
		}
		var about struct {
			OS, Architecture string
			Config           struct {
				User        string
				Entrypoint  []string
				Healthcheck struct{ Test []string }
				Volumes     map[string]any
			}
		}
		if err := json.Unmarshal([]byte(blob(manifest.Digest)), &parts); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(blob(parts.Config.Digest)), &about); err != nil {
			t.Fatal(err)
		}
		layer := untar(t, blob(parts.Layers[0].Digest))
		if about.Config.User != "65532:65532" || about.Config.Entrypoint[0] != "/loci" ||
			about.Config.Healthcheck.Test[2] != "health" ||
			about.Architecture != manifest.Platform.Architecture ||
			layer["loci*"] != "program of linux/"+about.Architecture {
			t.Errorf("%+v", about)
		}
		if roots := layer["etc/ssl/certs/ca-certificates.crt"]; strings.Count(roots, "BEGIN CERTIFICATE") < 50 {
			t.Errorf("%d certificates", strings.Count(roots, "BEGIN CERTIFICATE"))
		}
	}
}

// A version or folder that cannot be released is refused before anything is built.
func TestRefusesWhatIsNoRelease(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"-version is":  {"-version", "v1.2"},
		"-only names":  {"-version", "1.2.3", "-only", "plan9/amd64"},
		"is not empty": {"-version", "1.2.3", "-out", full},
		"git log in":   {"-version", "1.2.3", "-root", t.TempDir(), "-out", filepath.Join(t.TempDir(), "x")},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	root, out := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "x")
	refused := func(want string, args ...string) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute) // else it would build
		defer stop()
		err := run(ctx, append(args, "-root", root, "-out", out))
		_, made := os.Stat(out)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(made, fs.ErrNotExist) {
			t.Errorf("%v: %v; the folder: %v", args, err, made)
		}
	}
	refused("set it to 99.0.0", "-version", "99.0.0")
	t.Setenv(keyVariable, "no key")
	refused("is no PEM", "-version", "99.0.0-rc.1", "-only", "linux/amd64")
}

// The chart is what helm package makes: Chart.yaml is filled in, the templates are Helm's.
func TestChart(t *testing.T) {
	files := untar(t, built(t, made(t).out)["loci-1.2.3-rc.4.tgz"])
	var about struct {
		Version, Description string
		AppVersion           string `yaml:"appVersion"`
	}
	err := yaml.Unmarshal([]byte(files["loci/Chart.yaml"]), &about)
	if err != nil || about.Version != "1.2.3-rc.4" || about.AppVersion != "1.2.3-rc.4" || about.Description != summary {
		t.Errorf("Chart.yaml says %+v (%v):\n%s", about, err, files["loci/Chart.yaml"])
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		want, err := os.ReadFile(filepath.Join("..", "..", "packaging", "prometheus", name))
		if err != nil || files["loci/files/"+name] != string(want) {
			t.Errorf("%s is not the file of packaging/prometheus: %v", name, err)
		}
	}
	if !strings.Contains(files["loci/templates/workload.yaml"], "{{") || files["loci/values.schema.json"] == "" {
		t.Errorf("%v", slices.Sorted(maps.Keys(files)))
	}
}

// A package brings the socket that starts the server with the first caller, for the machine and
// for each user, and the service that takes the socket over.
func TestSocketUnits(t *testing.T) {
	units, err := made(t).units()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, unit := range units {
		texts[unit.name] = string(unit.data)
	}
	for folder, store := range map[string]string{"system": " --store sqlite:/var/lib/loci/loci.db", "user": ""} {
		dir := "lib/systemd/" + folder + "/"
		called := texts[dir+onCall]
		if !strings.Contains(called, "\nExecStart=/usr/bin/loci serve"+store+" --listen systemd\n") ||
			!strings.Contains(called, "\nConflicts=loci.service\n") || strings.Contains(called, "[Install]") {
			t.Errorf("%s:\n%s", folder, called)
		}
		if socket := texts[dir+"loci.socket"]; !strings.Contains(socket, "\nService="+onCall+"\n") {
			t.Errorf("%s:\n%s", folder, socket)
		}
		if service := texts[dir+"loci.service"]; strings.Contains(service, "systemd\n") {
			t.Errorf("%s:\n%s", folder, service)
		}
	}
	for _, text := range []string{"[Unit]\n[Install]\n", "[Unit]\nExecStart=a\nExecStart=a\n\n[Install]\n", "ExecStart=a\n"} {
		if got, err := calledService(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A .deb has what Debian's policy wants of one, and completions where its shells look for them.
func TestDebianPackage(t *testing.T) {
	files := map[string]string{}
	for parts := ar.NewReader(strings.NewReader(built(t, made(t).out)["loci_1.2.3~rc.4_amd64.deb"])); ; {
		head, err := parts.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(parts)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(strings.TrimRight(head.Name, "/ "), ".tar.gz") {
			maps.Copy(files, untar(t, string(part)))
		}
	}
	plain := func(name string) string {
		small, err := gzip.NewReader(strings.NewReader(files[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(small)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(text)
	}
	doc := "./usr/share/doc/loci/"
	changes := plain(doc + "changelog.gz")
	if !strings.HasPrefix(changes, "loci (1.2.3~rc.4) unstable; ") || !strings.Contains(changes, "\n -- "+maintainer+"  Sun, 22 Nov 2026 ") {
		t.Errorf("the changelog:\n%s", changes)
	}
	if manual := plain("./usr/share/man/man1/loci.1.gz"); manual == "" {
		t.Error("the manual is empty")
	}
	if strings.Contains(files["./control"], "License") || !strings.Contains(files[doc+"copyright"], "License: Apache-2.0") {
		t.Errorf("%s\n%s", files["./control"], files[doc+"copyright"])
	}
	for _, name := range []string{"./usr/bin/loci*", doc + "NOTICE", "./usr/lib/systemd/system/loci.socket", "./usr/lib/systemd/user/" + onCall, "./usr/share/zsh/vendor-completions/_loci", "./usr/share/lintian/overrides/loci"} {
		if files[name] == "" {
			t.Errorf("no %s among %v", name, slices.Sorted(maps.Keys(files)))
		}
	}
}
