package server

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// TestWhyItCannotListen: what would help is said, which is another thing for each cause.
func TestWhyItCannotListen(t *testing.T) {
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, recovery := range map[string]string{
		taken.Addr().String():                             "End the program that uses the address",
		"unix:" + filepath.Join(t.TempDir(), "none", "s"): "Make the directory",
		"192.0.2.1:0":                                     "Choose an address of this machine",
	} {
		if runtime.GOOS == "windows" && !strings.HasPrefix(address, "127.") {
			continue // its errors have other numbers
		}
		b := &Binding{Addresses: []string{address}, Asks: true, TLS: TLSProxy, Proxies: []string{"10.0.0.7"}}
		_, _, err := b.Listen(t.Context())
		var refused *loci.Error
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Recovery, recovery) ||
			!strings.Contains(refused.Msg, address) {
			t.Errorf("%s: %v (%s)", address, err, refused.Recovery)
		}
	}
}

// TestLongestSocketPath: the operating system would say "invalid argument".
func TestLongestSocketPath(t *testing.T) {
	err := CheckAddress("unix:/" + strings.Repeat("x", 200))
	if err == nil || !strings.Contains(err.Error(), "has 201 bytes; the limit is 10") {
		t.Error(err)
	}
	if err := CheckAddress("unix:/" + strings.Repeat("x", 102)); err != nil {
		t.Error(err)
	}
}
