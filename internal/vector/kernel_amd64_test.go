package vector

// eachKernel calls a function with each kernel that this machine has.
func eachKernel(run func(name string)) {
	run("the best")
	best := hasAVX512
	defer func() { hasAVX512 = best }()
	hasAVX512 = false
	run("AVX2")
}
