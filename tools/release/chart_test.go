package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"go.yaml.in/yaml/v3"
)

// The chart can be read without Helm: its templates parse, they include what is defined, and
// they ask for values that there are. `make deploy-test` renders it with Helm itself.
func TestChartTemplates(t *testing.T) {
	values, schema := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(fileOf(t, "packaging", "helm", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(fileOf(t, "packaging", "helm", "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	known(t, "values.yaml", values, schema)

	paths, err := filepath.Glob(filepath.Join("..", "..", "packaging", "helm", "templates", "*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d templates: %v", len(paths), err)
	}
	defined, texts := map[string]*parse.Tree{}, map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		texts[name] = fileOf(t, "packaging", "helm", "templates", name)
		tree := parse.New(name)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(texts[name], "", "", defined); err != nil {
			t.Error(err)
		}
	}
	include := regexp.MustCompile(`(?:include|template) "([^"]+)"`)
	value := regexp.MustCompile(`\.Values((?:\.\w+)+)`)
	asked := 0
	for name, text := range texts {
		for _, m := range include.FindAllStringSubmatch(text, -1) {
			if defined[m[1]] == nil {
				t.Errorf("%s includes %q, which nothing defines", name, m[1])
			}
		}
		for _, m := range value.FindAllStringSubmatch(text, -1) {
			asked++
			if path := strings.Split(m[1], ".")[1:]; !has(values, path) && !allows(schema, path) {
				t.Errorf("%s asks for %s, which is in neither values.yaml nor the schema", name, m[0])
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d values are asked for", asked)
	}
}

// has reports whether values have something at a path; an empty object may hold anything.
func has(values map[string]any, path []string) bool {
	next, found := values[path[0]]
	inner, object := next.(map[string]any)
	if len(path) == 1 || !object {
		return found
	}
	return len(inner) == 0 || has(inner, path[1:])
}

// allows reports whether a schema names what is at a path.
func allows(schema map[string]any, path []string) bool {
	properties, _ := schema["properties"].(map[string]any)
	next, ok := properties[path[0]].(map[string]any)
	if !ok || len(path) == 1 {
		return ok
	}
	return next["properties"] == nil || allows(next, path[1:])
}

// known says which values the schema does not name.
func known(t *testing.T, where string, values, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		next, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s.%s is not in the schema", where, name)
			continue
		}
		if inner, object := values[name].(map[string]any); object {
			known(t, where+"."+name, inner, next)
		}
	}
}
