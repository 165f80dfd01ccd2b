package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf is the published schema of server.json; testdata/README.md says where it is from.
const schemaOf = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// server.json is valid by the schema that it names, and has what the schema leaves open: a source
// for each kind of package, and for each bundle the hash of its bytes.
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
	if err := published(t).Validate(document(t, all["server.json"])); err != nil {
		t.Errorf("%v\n%s", err, all["server.json"])
	}
	d := json.NewDecoder(strings.NewReader(all["server.json"]))
	d.DisallowUnknownFields() // the schema permits more, and registries drop it
	if err := d.Decode(&about); err != nil {
		t.Fatal(err)
	}
	for field, ok := range map[string]bool{
		"$schema":     about.Schema == schemaOf,
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

// The schema says no to what a registry would refuse: the test above would notice it.
func TestServerSchemaRefuses(t *testing.T) {
	schema, text := published(t), built(t, made(t).out)["server.json"]
	for _, change := range [][2]string{
		{`"name": "io.github.loci-memory/loci"`, `"name": "loci"`},
		{`"description": "`, `"description": "` + strings.Repeat("long ", 30)},
		{`"type": "stdio"`, `"type": "pipe"`},
		{`"fileSha256": "`, `"fileSha256": "0x`},
		{`"type": "positional", `, ``},
	} {
		bad := strings.Replace(text, change[0], change[1], 1)
		if bad == text {
			t.Errorf("server.json has no %s", change[0])
		} else if schema.Validate(document(t, bad)) == nil {
			t.Errorf("%s may become %s", change[0], change[1])
		}
	}
}

// published compiles the schema from the file of testdata: nothing is asked of a network.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	text := fileOf(t, "tools", "release", "testdata", "server.schema.json")
	if err := compiler.AddResource(schemaOf, document(t, text)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaOf)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func document(t *testing.T, text string) any {
	t.Helper()
	read, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}
