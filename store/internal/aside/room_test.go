package aside

import "testing"

// Sizes are told in whole megabytes, never too few.
func TestMegabytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 MB", 1: "1 MB", 1 << 20: "1 MB", 1<<20 + 1: "2 MB", 256 << 20: "256 MB"} {
		if got := megabytes(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
