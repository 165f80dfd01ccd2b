package mongotest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// requirements are the packages of the server, each with its hashes, as
// `uv pip compile --universal --python-version 3.11 --generate-hashes` wrote them.
//
//go:embed requirements.txt
var requirements []byte

// python is a program with the packages of the server.
type python struct {
	program  string
	packages string // the directory in which they are
}

// find looks for a Python that can run the server, and installs the server's packages into
// the user's cache when they are not there.
func find(ctx context.Context) (python, error) {
	var missing error
	for _, name := range []string{"python3", "python"} {
		program, err := exec.LookPath(name)
		if err != nil {
			missing = err
			continue
		}
		const version = "import sys; assert sys.version_info >= (3, 11), sys.version; print(sys.implementation.cache_tag)"
		out, err := exec.CommandContext(ctx, program, "-c", version).CombinedOutput()
		if err != nil {
			missing = fmt.Errorf("%s: %w: %s", program, err, out)
			continue
		}
		packages, err := install(ctx, program, strings.TrimSpace(string(out)))
		if err == nil {
			return python{program, packages}, nil
		}
		missing = err
	}
	return python{}, fmt.Errorf(`there is no MongoDB to test with: %w
Do one of these: install Python 3.11 or newer with pip, which fetches a compatible server; set %s to the URL of a
replica set on which databases may be made and dropped, such as mongodb://127.0.0.1:27017/?replicaSet=rs0`, missing, Variable)
}

// install returns the directory of the packages in the user's cache, where pip puts them
// when they are missing.
func install(ctx context.Context, program, tag string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(cache, "loci", "mongodb", strings.Join(
		[]string{hex.EncodeToString(sum[:8]), runtime.GOOS, runtime.GOARCH, tag}, "-"))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	// A folder of its own: several tests may install at once, and each renames a whole one.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }() // it was renamed if all went well
	list := filepath.Join(fresh, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o600); err != nil {
		return "", err
	}
	packages := filepath.Join(fresh, "packages")
	out, err := exec.CommandContext(ctx, program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-deps", "--only-binary=:all:", "--require-hashes", "--target", packages, "--requirement", list).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s -m pip: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(packages, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // else another one was quicker
			return "", errors.Join(err, there)
		}
	}
	return dir, nil
}
