package main

import (
	"encoding/json"
	"fmt"
)

// What npm calls systems and architectures.
var (
	nodeOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32", "freebsd": "freebsd"}
	nodeArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

func (p platform) npmName() string {
	return "@loci-memory/cli-" + nodeOS[p.os] + "-" + nodeArch[p.arch]
}

// npmPackages writes the package that people name and one with the program for each
// platform, of which npm installs the one that fits. None has an install script.
func (r *release) npmPackages() error {
	papers, err := r.papers()
	if err != nil {
		return err
	}
	readme, err := read(r.file("packaging", "npm", "README.md"), "README.md", false)
	if err != nil {
		return err
	}
	optional := map[string]string{}
	for _, p := range r.platforms {
		optional[p.npmName()] = r.version
		program, err := read(r.binary(p), "bin/"+p.program(), true)
		if err != nil {
			return err
		}
		about := r.npmAbout(p.npmName(), fmt.Sprintf("The program of @loci-memory/cli for %v", p))
		about["os"], about["cpu"] = []string{nodeOS[p.os]}, []string{nodeArch[p.arch]}
		about["preferUnplugged"] = true
		if err := r.npmPackage(p.npmName(), about, append(papers[:2:2], program)); err != nil {
			return err
		}
	}
	launcher, err := read(r.file("packaging", "npm", "loci.js"), "bin/loci.js", true)
	if err != nil {
		return err
	}
	about := r.npmAbout("@loci-memory/cli", summary)
	about["bin"] = map[string]string{"loci": "bin/loci.js"}
	about["mcpName"] = registryName
	about["optionalDependencies"] = optional
	about["engines"] = map[string]string{"node": ">=18"}
	about["keywords"] = []string{"mcp", "memory", "agents", "llm"}
	return r.npmPackage("@loci-memory/cli", about, append(papers[:2:2], readme, launcher))
}

// npmAbout is what every package.json of ours says.
func (r *release) npmAbout(name, description string) map[string]any {
	return map[string]any{
		"name": name, "version": r.version, "description": description, "license": "Apache-2.0", "homepage": homepage,
		"repository":    map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
		"publishConfig": map[string]any{"access": "public", "provenance": true},
	}
}

func (r *release) npmPackage(name string, about map[string]any, items []item) error {
	data, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	all := append([]item{{name: "package.json", data: append(data, '\n')}}, items...)
	for i := range all {
		all[i].name = "package/" + all[i].name
	}
	packed, err := targz(all, r.at)
	if err != nil {
		return err
	}
	return r.write(npmFile(name, r.version), packed)
}

// npmFile is what npm pack would call a package.
func npmFile(name, version string) string {
	return "loci-memory-" + name[len("@loci-memory/"):] + "-" + version + ".tgz"
}
