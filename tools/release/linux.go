package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the formats register themselves
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	summary    = "Memory for AI agents: remember, search, correct and forget"
	homepage   = "https://github.com/loci-memory/loci"
	maintainer = "The Loci authors <packages@loci-memory.dev>"
)

// linuxPackages writes a .deb, an .rpm and an .apk for each architecture. They bring the
// program, its manual and the units of systemd, and start nothing.
func (r *release) linuxPackages() error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.linuxPackage(p, format); err != nil {
				return fmt.Errorf("%s for %v: %w", format, p, err)
			}
		}
	}
	return nil
}

func (r *release) linuxPackage(p platform, format string) error {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "loci", Arch: p.arch, Platform: "linux", Version: r.version, Section: "utils", Priority: "optional",
		Maintainer:  maintainer,
		Description: summary + ".\nOne program that agents start as an MCP server; everything stays in one file.",
		Homepage:    homepage, License: "Apache-2.0", MTime: r.at,
	})
	contents, err := r.linuxFiles(p)
	if err != nil {
		return err
	}
	if format == "deb" {
		info.License = "" // no field of Debian's: the copyright file says it
		if contents, err = r.debianFiles(info, contents); err != nil {
			return err
		}
	}
	info.Contents = contents
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), out.Bytes())
}

// linuxFiles lists what goes where, from files in the folder of the release.
func (r *release) linuxFiles(p platform) (files.Contents, error) {
	manual, err := r.manual()
	if err != nil {
		return nil, err
	}
	contents := files.Contents{
		{Source: r.binary(p), Destination: "/usr/bin/loci", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		// Said apart, or rpm leaves it behind.
		{Destination: "/usr/share/doc/loci", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.at}},
	}
	papers := []item{}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		paper, err := read(r.file(name), "share/doc/loci/"+name, false)
		if err != nil {
			return nil, err
		}
		papers = append(papers, paper)
	}
	units, err := r.units()
	if err != nil {
		return nil, err
	}
	for _, i := range append(append(papers, units...), manual...) {
		if strings.HasPrefix(i.name, "share/man/") {
			if i, err = compressed(i); err != nil {
				return nil, err
			}
		}
		content, err := r.linuxFile(i)
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// linuxFile is a file of a package below /usr; packagers read it from the folder of the release.
func (r *release) linuxFile(i item) (*files.Content, error) {
	path := filepath.Join(r.out, "bin", "share", filepath.FromSlash(i.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return &files.Content{
		Source: path, Destination: "/usr/" + i.name, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.at},
	}, os.WriteFile(path, i.data, 0o644)
}

// debianFiles are the files of a .deb: others', and what Debian's policy wants beside them.
func (r *release) debianFiles(info *nfpm.Info, contents files.Contents) (files.Contents, error) {
	for _, c := range contents {
		// Its shells read completions of packages there.
		c.Destination = strings.Replace(c.Destination, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
	}
	version := strings.Replace(info.Version, "-", "~", 1) // before the version itself
	if info.Prerelease != "" {
		version = info.Version + "~" + info.Prerelease
	}
	changes, err := compressed(item{name: "share/doc/loci/changelog", data: fmt.Appendf(nil,
		"loci (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of %s.\n\n -- %s  %s\n",
		version, homepage, maintainer, r.at.UTC().Format(time.RFC1123Z))})
	if err != nil {
		return nil, err
	}
	for _, i := range []item{
		changes,
		{name: "share/doc/loci/copyright", data: fmt.Appendf(nil, `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Loci
Source: %s

Files: *
Copyright: 2026 The Loci authors
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0. What the program is made of besides
 has the notices in /usr/share/doc/loci/NOTICE.
`, homepage)},
		{name: "share/lintian/overrides/loci", data: []byte(
			"# Go programs without C are linked so, and hold what they need.\nloci: statically-linked-binary [usr/bin/loci]\n")},
	} {
		content, err := r.linuxFile(i)
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// compressed is a file as gzip keeps it, without name and time, so that equal files stay equal.
func compressed(i item) (item, error) {
	var out bytes.Buffer
	small, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return item{}, err
	}
	if _, err := small.Write(i.data); err != nil {
		return item{}, err
	}
	if err := small.Close(); err != nil {
		return item{}, err
	}
	return item{name: i.name + ".gz", data: out.Bytes()}, nil
}
