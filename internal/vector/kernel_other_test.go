//go:build !amd64

package vector

// eachKernel calls a function with each kernel that this machine has.
func eachKernel(run func(name string)) { run("portable") }
