//go:build !unix

package server

import "math"

// mayOpen is how many files the process may have open: nobody knows of a limit.
func mayOpen() int { return math.MaxInt }
