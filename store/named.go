package store

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/plainfile"
)

// maxNamed bounds a file that a URL names, in bytes: all authorities that systems trust take a quarter of it.
const maxNamed = 1 << 20

// namedFiles are the options of URLs that name files, in small letters as MongoDB does not tell them apart.
var namedFiles = []string{
	"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile",
	"tlscafile", "tlscertificatekeyfile", "tlscertificatefile", "tlsprivatekeyfile",
	"sslcertificateauthorityfile", "sslclientcertificatekeyfile",
}

// checkFiles refuses a URL that names something which is no file or too large: the drivers read
// whatever it is to its end, without a limit of time. What is not there they say themselves.
func checkFiles(text string) error {
	_, query, _ := strings.Cut(text, "?")
	values, _ := url.ParseQuery(query) // of what cannot be read the drivers say so
	for name, paths := range values {
		if !slices.Contains(namedFiles, strings.ToLower(name)) {
			continue
		}
		for _, path := range paths {
			err := plainfile.Check(path, maxNamed)
			if _, unfit := errors.AsType[*plainfile.UnfitError](err); unfit && path != os.DevNull {
				return &loci.Error{Code: loci.Invalid, Msg: name + " in the store's URL names " + path +
					", which is not a file of at most 1 MiB", Recovery: "Name such a file, or leave the option out."}
			}
		}
	}
	return nil
}
