package main

import (
	"fmt"
	"strings"
)

// onCall is the service that a socket starts: that of its folder, which takes the socket over.
// The two never run at once.
const onCall = "loci-on-call.service"

// units are those of systemd, for the machine and for each user: the service, and the socket
// that waits for the first caller.
func (r *release) units() (all []item, err error) {
	for _, folder := range []struct{ from, to string }{{"", "lib/systemd/system/"}, {"user", "lib/systemd/user/"}} {
		from, to := folder.from, folder.to
		service, err := read(r.file("packaging", "systemd", from, "loci.service"), to+"loci.service", false)
		if err != nil {
			return nil, err
		}
		socket, err := read(r.file("packaging", "systemd", "loci.socket"), to+"loci.socket", false)
		if err != nil {
			return nil, err
		}
		called, err := calledService(string(service.data))
		if err != nil {
			return nil, err
		}
		waiting, err := once(string(socket.data), "[Socket]\n", "[Socket]\nService="+onCall+"\n")
		if err != nil {
			return nil, err
		}
		socket.data = []byte(waiting)
		all = append(all, service, socket, item{name: to + onCall, data: []byte(called)})
	}
	return all, nil
}

// calledService is a service as the socket starts it.
func calledService(text string) (string, error) {
	text, _, installs := strings.Cut(text, "\n[Install]\n")
	_, start, found := strings.Cut(text, "\nExecStart=")
	command, _, whole := strings.Cut(start, "\n")
	if !installs || !found || !whole || strings.Contains(start, "\nExecStart=") {
		return "", fmt.Errorf("a unit of systemd has no line ExecStart, or no section Install")
	}
	text, err := once(text, "\nExecStart="+command+"\n", "\nExecStart="+command+" --listen systemd\n")
	if err != nil {
		return "", err
	}
	return once(text, "[Unit]\n", "[Unit]\nConflicts=loci.service\nRequires=loci.socket\n")
}

// once replaces what must be there exactly once.
func once(text, old, with string) (string, error) {
	if strings.Count(text, old) != 1 {
		return "", fmt.Errorf("a unit of systemd has %q not once", old)
	}
	return strings.Replace(text, old, with, 1), nil
}
