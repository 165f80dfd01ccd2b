package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// registryName is what the MCP registry calls Loci; the npm package, the Python package and
// the image repeat it, which proves that they are ours.
const registryName = "io.github.loci-memory/loci"

// dataFolder is where the data of a user's programs are, below the home.
var dataFolder = map[string]string{
	"linux":   ".local/share",
	"darwin":  "Library/Application Support",
	"windows": "AppData/Local",
}

// bundles writes an .mcpb for each platform of desktop clients.
func (r *release) bundles() error {
	papers, err := r.papers()
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		if p.os == "freebsd" {
			continue
		}
		program, err := read(r.binary(p), "server/"+p.program(), true)
		if err != nil {
			return err
		}
		about, err := r.fill(r.file("packaging", "mcpb", "manifest.json"), map[string]any{
			"Program": p.program(), "Platform": nodeOS[p.os], "Data": dataFolder[p.os],
		})
		if err != nil {
			return err
		}
		data, err := zipped(append([]item{{name: "manifest.json", data: about}, program}, papers[:2]...), r.at)
		if err != nil {
			return err
		}
		if err := r.write(r.bundle(p), data); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) bundle(p platform) string {
	return fmt.Sprintf("loci-%s-%s-%s.mcpb", r.version, nodeOS[p.os], p.arch)
}

// fill makes a file from a template. JSON is checked: a template with a stray comma would
// be found by whoever installs it.
func (r *release) fill(path string, more map[string]any) ([]byte, error) {
	shape, err := template.New(filepath.Base(path)).Option("missingkey=error").Funcs(template.FuncMap{
		"sha256": func(name string) (string, error) { return hashOf(filepath.Join(r.out, name)) },
		"archive": func(os, arch string) string {
			ending := ".tar.gz"
			if os == "windows" {
				ending = ".zip"
			}
			return fmt.Sprintf("loci_%s_%s_%s%s", r.version, os, arch, ending)
		},
		"bundle": func(os, arch string) string { return r.bundle(platform{os, arch}) },
		"url":    func(name string) string { return homepage + "/releases/download/v" + r.version + "/" + name },
	}).ParseFiles(path)
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Version":       r.version,
		"PythonVersion": pythonVersion(r.version),
		"Registry":      registryName,
		"Summary":       summary,
		"Homepage":      homepage,
	}
	for name, value := range more {
		values[name] = value
	}
	var out bytes.Buffer
	if err := shape.Execute(&out, values); err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".json") && !json.Valid(out.Bytes()) {
		return nil, fmt.Errorf("%s is no JSON when it is filled in:\n%s", path, out.String())
	}
	return out.Bytes(), nil
}

// manifests writes what package managers and registries read, with the hashes of the files
// that they name. They name every platform, so a part of a release has none.
func (r *release) manifests() error {
	if len(r.platforms) != len(platforms) {
		return nil
	}
	for template, name := range map[string]string{
		"homebrew/loci.rb": "loci.rb", "scoop/loci.json": "loci.json", "aur/PKGBUILD": "PKGBUILD",
		"registry/server.json": "server.json", "nix/flake.nix": "flake.nix", "compose/compose.yaml": "compose.yaml",
	} {
		data, err := r.fill(r.file("packaging", filepath.FromSlash(template)), nil)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// plugins refuses a release whose plugins say another version: clients read them from the
// repository, so they cannot be filled in here.
func (r *release) plugins() error {
	paths, err := filepath.Glob(r.file("plugins", "*", ".*-plugin", "plugin.json"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s has no plugins", r.root)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var about struct {
			Version string `json:"version"`
		}
		if err := json.Unmarshal(data, &about); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		release, _, candidate := strings.Cut(r.version, "-")
		if about.Version != release && !candidate { // clients get a candidate only by asking for it
			return fmt.Errorf("%s says version %q: set it to %s in a commit before the release", path, about.Version, r.version)
		}
	}
	return nil
}
