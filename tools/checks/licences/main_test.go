package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDescribeRefuses: a module is refused if it has no licence, one that nobody knows, or one
// that asks for more than notice. A module under a permissive licence is not.
func TestDescribeRefuses(t *testing.T) {
	own, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	mozilla := "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not\n" +
		"distributed with this file, You can obtain one at https://mozilla.org/MPL/2.0/.\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"permissive":  {map[string]string{"LICENSE": string(own)}, ""},
		"none":        {map[string]string{"README.md": string(own)}, "has no licence"},
		"only notice": {map[string]string{"NOTICE": "Copyright somebody"}, "has no licence"},
		"unknown":     {map[string]string{"LICENSE.md": "You may not use this."}, "is no licence that is known"},
		"copyleft":    {map[string]string{"LICENSE": mozilla}, "is refused"},
		"beside":      {map[string]string{"LICENSE": string(own), "COPYING.other": mozilla}, "is refused"},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := module{Path: "example.com/m", Version: "v1.0.0", Dir: dir}.describe(&bytes.Buffer{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
