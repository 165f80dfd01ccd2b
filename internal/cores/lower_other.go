//go:build !linux

package cores

// Elsewhere threads have no priority of their own that a program without rights may lower by the standard library.
const supported = false

func lower() {}

func lowered() bool { return false }
