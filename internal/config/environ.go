package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

// An Environ is the environment in the form of os.Environ.
type Environ []string

// Lookup returns a variable. If it is set twice, the last one counts, as in shells.
func (e Environ) Lookup(name string) (value string, ok bool) {
	for _, line := range e {
		if rest, found := strings.CutPrefix(line, name+"="); found {
			value, ok = rest, true
		}
	}
	return value, ok
}

// Get returns the value of a variable; empty where it is not set.
func (e Environ) Get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// dataDir is where a user's data lives; configDir, a user's configuration. Both
// follow the XDG variables where they are set to an absolute path, and what the
// platform does elsewhere. Without a home they are "": the working directory may be
// somebody else's project, and a memory in it would be another one in each directory.
func dataDir(env Environ) string {
	home := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		return userDir(env, "XDG_DATA_HOME", env.Get("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local"))
	case "darwin", "ios":
		return userDir(env, "XDG_DATA_HOME", filepath.Join(home, "Library", "Application Support"))
	}
	return userDir(env, "XDG_DATA_HOME", filepath.Join(home, ".local", "share"))
}

func configDir(env Environ) string {
	home := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		return userDir(env, "XDG_CONFIG_HOME", env.Get("APPDATA"), filepath.Join(home, "AppData", "Roaming"))
	case "darwin", "ios":
		return userDir(env, "XDG_CONFIG_HOME", filepath.Join(home, "Library", "Application Support"))
	}
	return userDir(env, "XDG_CONFIG_HOME", filepath.Join(home, ".config"))
}

// StateDir is where what a program may forget lives, such as where a list ended; "" without a home.
func StateDir(env Environ) string {
	home := homeDir(env)
	switch runtime.GOOS {
	case "windows":
		return userDir(env, "XDG_STATE_HOME", env.Get("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local"))
	case "darwin", "ios":
		return userDir(env, "XDG_STATE_HOME", filepath.Join(home, "Library", "Application Support"))
	}
	return userDir(env, "XDG_STATE_HOME", filepath.Join(home, ".local", "state"))
}

func userDir(env Environ, variable string, others ...string) string {
	for _, dir := range append([]string{env.Get(variable)}, others...) {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}

func homeDir(env Environ) string {
	if runtime.GOOS == "windows" {
		return env.Get("USERPROFILE")
	}
	return env.Get("HOME")
}
