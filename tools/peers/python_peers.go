package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

//go:embed peers.py
var script string

// measurePython measures what is written for Python, in a process of its own.
func measurePython(ctx context.Context, s *set, python string) (rows []row, err error) {
	if python == "" {
		return nil, nil
	}
	exact, err := json.Marshal(s.exact)
	if err == nil {
		err = os.WriteFile(s.dir+"/exact.json", exact, 0o600)
	}
	if err != nil {
		return nil, err
	}
	//nolint:gosec // whoever runs this names the program
	cmd := exec.CommandContext(ctx, python, "-c", script, s.dir, strconv.Itoa(best))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	return rows, nil
}
