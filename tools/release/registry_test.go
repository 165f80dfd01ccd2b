package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"
)

// server.json keeps what the schema of 2025-12-11 says of the fields that it has: lengths,
// forms, and what each kind of package must name. Each hash is that of the bundle.
func TestServerJSON(t *testing.T) {
	type argument struct{ Type, Name, Value, Description string }
	var about struct {
		Schema                            string `json:"$schema"`
		Name, Title, Description, Version string
		Repository                        struct{ URL, Source string }
		Packages                          []struct {
			RegistryType, Identifier, Version, RuntimeHint, FileSHA256 string
			Transport                                                  struct{ Type string }
			PackageArguments, RuntimeArguments                         []argument
		}
	}
	all := built(t, made(t).out)
	d := json.NewDecoder(strings.NewReader(all["server.json"]))
	d.DisallowUnknownFields() // the schema permits more, and registries drop it
	if err := d.Decode(&about); err != nil {
		t.Fatal(err)
	}
	for field, ok := range map[string]bool{
		"$schema":     about.Schema == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        len(about.Name) <= 200 && regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(about.Name),
		"title":       about.Title != "" && len(about.Title) <= 100,
		"description": about.Description != "" && len(about.Description) <= 100,
		"version":     versionForm.MatchString(about.Version),
		"repository":  strings.HasPrefix(about.Repository.URL, "https://") && about.Repository.Source == "github",
	} {
		if !ok {
			t.Errorf("%s is not as the schema wants it:\n%s", field, all["server.json"])
		}
	}
	kinds := map[string]int{}
	for _, p := range about.Packages {
		kinds[p.RegistryType]++
		if p.Identifier == "" || p.Transport.Type != "stdio" || p.Version == "latest" || strings.ContainsAny(p.Version, "^~<>*") {
			t.Errorf("%+v", p)
		}
		if len(p.RuntimeArguments) > 0 && p.RuntimeHint == "" {
			t.Errorf("%s has arguments for a program that it does not name", p.Identifier)
		}
		for _, a := range append(p.PackageArguments, p.RuntimeArguments...) {
			if a.Type == "positional" && a.Value == "" || a.Type == "named" && a.Name == "" ||
				a.Type != "positional" && a.Type != "named" {
				t.Errorf("%s: the argument %+v", p.Identifier, a)
			}
		}
		if p.RegistryType == "mcpb" {
			sum := sha256.Sum256([]byte(all[path.Base(p.Identifier)]))
			if all[path.Base(p.Identifier)] == "" || p.FileSHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%s is no file of the release, or its hash is another one", p.Identifier)
			}
		}
	}
	if kinds["npm"] != 1 || kinds["pypi"] != 1 || kinds["oci"] != 1 || kinds["mcpb"] != 6 {
		t.Errorf("packages: %v", kinds)
	}
}
