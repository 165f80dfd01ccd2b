package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A workflow is what is looked at of a file for GitHub's runners.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Name, Uses, Run string
			Env             map[string]string
			With            map[string]any
		}
	}
}

func fileOf(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The job of a release asks for nothing that it does not need: one secret, for the step that
// signs, and what it may do is said for each job.
func TestReleaseWorkflow(t *testing.T) {
	text := fileOf(t, ".github", "workflows", "release.yaml")
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	if w.Permissions == nil || len(w.Permissions) != 0 {
		t.Errorf("every job may %v", w.Permissions)
	}
	var runs, uses []string
	for name, job := range w.Jobs {
		for scope, level := range job.Permissions {
			if !slices.Contains([]string{"contents", "id-token", "attestations"}, scope) || level != "write" {
				t.Errorf("the job %s asks for %s: %s", name, scope, level)
			}
		}
		for _, step := range job.Steps {
			uses, runs = append(uses, step.Uses), append(runs, step.Run)
			if strings.Contains(step.Run, "${{") {
				t.Errorf("%q puts an expression into a shell", step.Name)
			}
			builds := strings.HasPrefix(step.Run, "make release ")
			if secret := step.Env[keyVariable]; (secret != "") != builds || builds && secret != "${{ secrets."+keyVariable+" }}" {
				t.Errorf("%q has the key %q", step.Name, secret)
			}
			if sums, ok := step.With["subject-checksums"]; ok && sums != "dist/checksums.txt" {
				t.Errorf("%q attests %v", step.Name, sums)
			}
		}
	}
	if secrets := regexp.MustCompile(`secrets\.\w+`).FindAllString(text, -1); len(secrets) != 1 {
		t.Errorf("it asks for %v", secrets)
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\buses:.*$`).FindAllString(text, -1) {
		if !regexp.MustCompile(`uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(line) {
			t.Errorf("an action is not named by a commit and its version: %s", line)
		}
	}
	for _, action := range []string{"actions/checkout@", "actions/setup-go@", "sigstore/cosign-installer@", "actions/attest-build-provenance@"} {
		if !slices.ContainsFunc(uses, func(name string) bool { return strings.HasPrefix(name, action) }) {
			t.Errorf("no step uses %s: %q", action, uses)
		}
	}
	all := strings.Join(runs, "\n")
	for _, part := range []string{"make release VERSION=", "cosign sign-blob ", "dist/checksums.txt.sigstore.json", "--draft"} {
		if !strings.Contains(all, part) {
			t.Errorf("no step runs %s", part)
		}
	}
	targets(t, "the job of a release", all, 2)
}

// Every target that the job of a release and the checks of a change name is one of the Makefile.
func TestChecksNameTargets(t *testing.T) {
	targets(t, ".ci/run", fileOf(t, ".ci", "run"), 10)
}

func targets(t *testing.T, who, script string, least int) {
	t.Helper()
	makefile, found := fileOf(t, "Makefile"), 0
	for line := range strings.SplitSeq(strings.ReplaceAll(script, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "make" {
			continue
		}
		for _, target := range words[1:] {
			if words[0] == "make" && found > 0 && strings.Contains(target, "=") {
				continue // a variable
			}
			if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(target) {
				continue
			}
			found++
			if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(makefile) {
				t.Errorf("%s names %s, which is no target", who, target)
			}
		}
	}
	if found < least {
		t.Errorf("%s names only %d targets", who, found)
	}
}
