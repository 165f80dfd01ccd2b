package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/loci-memory/loci/internal/config"
)

// TestSettingsHaveFlags: the table and the command line name the same flags.
func TestSettingsHaveFlags(t *testing.T) {
	var c cli
	k, err := newParser(&c, &app{})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Model.Flags {
		flags[f.Name] = f
	}
	for _, s := range config.Settings() {
		if s.Flag == "" {
			continue
		}
		f := flags[s.Flag]
		if f == nil {
			t.Errorf("--%s is missing", s.Flag)
			continue
		}
		if !strings.Contains(f.Help, s.Help) || !strings.Contains(f.Help, "$"+s.Env()) {
			t.Errorf("--%s: help is %q", s.Flag, f.Help)
		}
		value := "x"
		f.Target.Set(reflect.ValueOf(&value))
		if given := c.given(); given[s.Key] != "x" || len(given) != 1 {
			t.Errorf("--%s is not read: %v", s.Flag, given)
		}
		f.Target.SetZero()
	}
}
