package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

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
	contents, err := r.linuxFiles(p)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "loci", Arch: p.arch, Platform: "linux", Version: r.version, Section: "utils", Priority: "optional",
		Maintainer:  maintainer,
		Description: summary + ".\nOne program that agents start as an MCP server; everything stays in one file.",
		Homepage:    homepage, License: "Apache-2.0", MTime: r.at, Overridables: nfpm.Overridables{Contents: contents},
	})
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
	}
	papers := []item{}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		paper, err := read(r.file(name), "share/doc/loci/"+name, false)
		if err != nil {
			return nil, err
		}
		papers = append(papers, paper)
	}
	unit, err := read(r.file("packaging", "systemd", "loci.service"), "lib/systemd/system/loci.service", false)
	if err != nil {
		return nil, err
	}
	user, err := read(
		r.file("packaging", "systemd", "user", "loci.service"),
		"lib/systemd/user/loci.service",
		false,
	)
	if err != nil {
		return nil, err
	}
	for _, i := range append(append(papers, unit, user), manual...) {
		path := filepath.Join(r.out, "bin", "share", filepath.FromSlash(i.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, i.data, 0o644); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{
			Source: path, Destination: "/usr/" + i.name, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.at},
		})
	}
	return contents, nil
}
