// Command bom checks lists of what a program is made of against the schema of CycloneDX that
// they name. The schemas are those of the module cyclonedx-go, of the version that go.sum pins.
//
//	go run ./bom FILE...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// home is where the schemas say they are.
const home = "http://cyclonedx.org/schema/"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bom:", err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	if len(paths) == 0 {
		return errors.New("name the files to check")
	}
	said, err := exec.Command("go", "mod", "download", "-json", "github.com/CycloneDX/cyclonedx-go").Output()
	var module struct{ Dir, Error string }
	if e := json.Unmarshal(said, &module); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("finding the schemas of CycloneDX: %w %s", err, module.Error)
	}
	folder := filepath.Join(module.Dir, "schema")
	for _, path := range paths {
		if err := check(folder, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// check reads a list and the schema of its version.
func check(folder, path string) error {
	list, err := document(path)
	if err != nil {
		return err
	}
	about, _ := list.(map[string]any)
	version, _ := about["specVersion"].(string)
	compiler := jsonschema.NewCompiler()
	name := "bom-" + filepath.Base(version) + ".schema.json"
	for file, address := range map[string]string{
		name: home + name, "spdx.schema.json": home + "spdx.schema.json", "jsf-0.82.schemax.json": home + "jsf-0.82.schema.json",
	} {
		schema, err := document(filepath.Join(folder, file))
		if err != nil {
			return fmt.Errorf("specVersion is %q, for which there is no schema: %w", version, err)
		}
		if err := compiler.AddResource(address, schema); err != nil {
			return err
		}
	}
	schema, err := compiler.Compile(home + name)
	if err != nil {
		return err
	}
	return schema.Validate(list)
}

func document(path string) (any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	return jsonschema.UnmarshalJSON(f)
}
