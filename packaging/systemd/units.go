// Package systemd holds the units that packages install, so that the program can install
// them, too, where it came without a package.
package systemd

import _ "embed"

// System is the unit of the machine's own service.
//
//go:embed loci.service
var System string

// User is the unit of a service that each user has for themselves.
//
//go:embed user/loci.service
var User string

// Socket is the unit that listens in the place of either, and starts it with the first caller.
//
//go:embed loci.socket
var Socket string
