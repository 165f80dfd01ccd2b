package background

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"

	"github.com/loci-memory/loci"
)

// job is the name of the job.
const job = "io.github.loci-memory.loci"

// launchd makes a property list: launchd.plist(5).
func (sys System) launchd(s *Service) (*Plan, error) {
	if s.Address != "" {
		return nil, loci.Errorf(loci.Invalid, "a socket that waits for the first caller is installed for systemd alone: leave out --socket")
	}
	if s.Machine {
		return nil, loci.Errorf(loci.Invalid, "a service for the machine is installed for systemd alone, where it can be shut in: leave out --machine")
	}
	library, err := sys.place(false, "", "Library")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(library, "LaunchAgents", job+".plist")
	domain := fmt.Sprintf("gui/%d", sys.UID)
	name := domain + "/" + job
	end := []string{"launchctl", "bootout", name}
	return &Plan{
		Files: []File{{path, propertyList(append([]string{s.Program}, s.Args...), filepath.Join(library, "Logs", "loci.log")), end}},
		Clear: [][]string{end},
		Start: [][]string{{"launchctl", "bootstrap", domain, path}},
		State: []string{"launchctl", "print", name},
	}, nil
}

func propertyList(command []string, log string) []byte {
	var b bytes.Buffer
	text := func(s string) string {
		var out bytes.Buffer
		_ = xml.EscapeText(&out, []byte(s)) // a buffer takes everything
		return out.String()
	}
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!-- ` + mark + ` -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + job + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, word := range command {
		b.WriteString("\t\t<string>" + text(word) + "</string>\n")
	}
	b.WriteString(`	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ExitTimeOut</key>
	<integer>60</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardErrorPath</key>
	<string>` + text(log) + `</string>
	<key>StandardOutPath</key>
	<string>` + text(log) + `</string>
</dict>
</plist>
`)
	return b.Bytes()
}
