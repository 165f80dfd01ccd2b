package postgres

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const certificateRemedy = "Name this machine's certificate and its key in the URL: sslcert=FILE&sslkey=FILE, of an authority that the server trusts (ssl_ca_file)."

// faultOfTLS says why a connection could not be made secret, and what helps; "" for another
// reason. An error of the file system or the network is none of it.
func faultOfTLS(err error) (msg, recovery string) {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "the certificate of the database server is of an authority that nobody here knows",
			"Name the authority's certificate in the URL: sslrootcert=FILE."
	case errors.As(err, &host):
		return "the certificate of the database server names another host",
			"Write the host into the URL as the certificate names it, or have one made for this host."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of the database server has expired, or is not valid yet",
			"Renew it on the server, and look at the clock of this machine."
	case errors.As(err, &invalid):
		return "the certificate of the database server is not valid: " + invalid.Error(), "Renew it on the server."
	case errors.As(err, &alert):
		return "the database server refuses the certificate of this machine: " + alert.Error(), certificateRemedy
	case strings.Contains(err.Error(), "server refused TLS connection") && !mayBePlain(err):
		return "the database server has no TLS",
			"Turn it on there (ssl = on); sslmode=disable is for a server on the same machine."
	}
	return "", ""
}

// mayBePlain reports whether a connection was asked for without TLS, too.
func mayBePlain(err error) bool {
	var connecting *pgconn.ConnectError
	plain := func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil }
	return errors.As(err, &connecting) && slices.ContainsFunc(connecting.Config.Fallbacks, plain)
}

// options are what a URL may say that is refused before anybody is asked.
var options = map[string]string{
	"pool_max_conns":          "a whole number from 1",
	"connect_timeout":         "a whole number of seconds",
	"default_query_exec_mode": "cache_statement or exec",
	"target_session_attrs":    "any, read-write, read-only, primary, standby or prefer-standby",
}

// faultOfOptions says which option of a URL is refused; "" for another part.
func faultOfOptions(err error) string {
	_, said, _ := strings.Cut(err.Error(), "`: ") // behind the URL
	for name, may := range options {
		if strings.Contains(said, name) {
			return name + " in the store's URL must be " + may
		}
	}
	return ""
}

// faultOfFiles says what is wrong with the part of a URL that is about TLS; "" for another
// part. The URL itself, which may hold a password, is not in it.
func faultOfFiles(err error) (msg, recovery string) {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) || !strings.Contains(err.Error(), "failed to configure TLS") {
		return "", ""
	}
	cause := errors.Unwrap(parse)
	var file *fs.PathError
	if errors.As(cause, &file) {
		return "the file " + file.Path + ", which the store's URL names, cannot be read: " + file.Err.Error(),
			"sslrootcert, sslcert and sslkey are files in PEM, of which the key belongs to the user that runs Loci."
	}
	return "the part of the store's URL that is about TLS cannot be used: " + cause.Error(),
		"sslmode is disable, prefer, require, verify-ca or verify-full; sslrootcert, sslcert and sslkey are files in PEM."
}

// loginRemedy is what helps where a server refuses a role before it looks at a password.
func loginRemedy(err error) string {
	var refusal *pgconn.PgError
	switch {
	case errors.As(err, &refusal) && strings.Contains(refusal.Message, "client certificate"),
		errors.As(err, &refusal) && strings.Contains(refusal.Message, "certificate authentication failed"):
		return certificateRemedy
	case errors.As(err, &refusal) && strings.Contains(refusal.Message, "no encryption"):
		return "The server may want TLS: put sslmode=verify-full into the URL; or look at its pg_hba.conf."
	}
	return "Check both, and pg_hba.conf of the server."
}
