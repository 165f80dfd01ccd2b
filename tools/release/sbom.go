package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// boms writes for each platform what its program is made of, for other programs (CycloneDX).
// They have no time and no serial number, so two builds have the same.
func (r *release) boms() error {
	for _, p := range r.platforms {
		program, err := filepath.Abs(r.binary(p))
		if err != nil {
			return err
		}
		name := fmt.Sprintf("loci_%s_%s_%s.cdx.json", r.version, p.os, p.arch)
		list := exec.CommandContext(r.ctx, "go", "run", "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod",
			"bin", "-json", "-std", "-noserial", "-notimestamp", "-version", "v"+r.version,
			"-output", filepath.Join(r.out, name), program)
		list.Dir = r.file("tools", "checks") // which pins the version of the tool
		if said, err := list.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", p, err, said)
		}
	}
	return nil
}
