package server

import "github.com/loci-memory/loci"

// Settings that a fault of a binding may be of, as a configuration calls them.
const (
	keyListen      = "listen"
	keyTLS         = "http.tls"
	keyCertificate = "http.tls_cert"
	keyKey         = "http.tls_key"
	keyClientCA    = "http.tls_client_ca"
	keyProxies     = "http.proxies"
)

// A SettingError says which setting of a configuration is at fault.
type SettingError struct {
	Key string
	Err error
}

// Error says what is wrong with it.
func (s *SettingError) Error() string { return s.Err.Error() }

// Unwrap returns what is wrong with it.
func (s *SettingError) Unwrap() error { return s.Err }

func wrongSetting(key, format string, args ...any) error {
	return &SettingError{key, loci.Errorf(loci.Invalid, format, args...)}
}
