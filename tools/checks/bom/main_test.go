package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A list is held against the schema of the version that it names; faults are said with the file.
func TestListsKeepTheirSchema(t *testing.T) {
	list := `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"components": [{"type": "library", "name": "modernc.org/sqlite", "version": "v1.0.0"}]}`
	for name, one := range map[string]struct{ text, want string }{
		"good":               {list, ""},
		"without a name":     {strings.Replace(list, `"name"`, `"nick"`, 1), "nick"},
		"of another kind":    {strings.Replace(list, "library", "shelf", 1), "components/0/type"},
		"of another form":    {strings.Replace(list, "CycloneDX", "SPDX", 1), "bomFormat"},
		"of another version": {strings.Replace(list, "1.6", "9.9", 1), `specVersion is "9.9"`},
		"no list":            {"[]", `specVersion is ""`},
	} {
		path := filepath.Join(t.TempDir(), "bom.json")
		if err := os.WriteFile(path, []byte(one.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := run([]string{path})
		told := err != nil && strings.Contains(err.Error(), one.want) && strings.Contains(err.Error(), path)
		if one.want == "" && err != nil || one.want != "" && !told {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := run(nil); err == nil {
		t.Error("nothing is nothing wrong")
	}
}
