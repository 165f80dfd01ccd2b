package main

import (
	"runtime"
	"runtime/debug"
)

// What the linker sets in a release: the version, the commit, and its time in RFC 3339.
var version, commit, date string

type versionCmd struct{}

type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, if the build knows it
	Date     string `json:"date,omitempty"`     // of the revision, in a release
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run shows the version.
func (*versionCmd) Run(a *app) error {
	v := buildVersion()
	if a.json {
		return a.printJSON(v)
	}
	a.printf("loci %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return nil
}

// buildVersion is the version of the release, else of the module, else "devel".
func buildVersion() versionJSON {
	v := versionJSON{Version: version, Revision: commit, Date: date, Go: runtime.Version()}
	v.Platform = runtime.GOOS + "/" + runtime.GOARCH
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if v.Version == "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	if v.Version == "" {
		v.Version = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Revision == "" {
			v.Revision = s.Value
		}
	}
	return v
}
