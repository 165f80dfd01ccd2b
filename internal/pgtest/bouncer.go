package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/child"
)

// A Bouncer is a PgBouncer in transaction mode before a server: each transaction may get
// another connection of it, which others had before.
type Bouncer struct {
	Version string // as it says itself

	dir     string
	address string
	process *child.Process
}

// Bouncer starts one with so many connections to the server a database and role, which knows
// nothing of prepared statements.
func (s *Server) Bouncer(ctx context.Context, conns int) (_ *Bouncer, err error) {
	b := &Bouncer{}
	if b.dir, err = os.MkdirTemp("", "loci-pgbouncer-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Stop())
		}
	}()
	if err := reachable(b.dir); err != nil {
		return nil, err
	}
	program, libs, err := bouncer(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(s.Address())
	if err != nil {
		return nil, err
	}
	own, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	b.address = fmt.Sprintf("127.0.0.1:%d", own)
	var major, minor int
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
		cmd.Dir, cmd.SysProcAttr = b.dir, unprivileged()
		cmd.Env = append(os.Environ(), "LC_ALL=C", "LD_LIBRARY_PATH="+libs)
		return cmd
	}
	out, err := command("--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", program, err)
	}
	b.Version, _, _ = strings.Cut(string(out), "\n")
	plain := "" // before 1.21 it knew nothing of them anyway
	if _, err := fmt.Sscanf(b.Version, "PgBouncer %d.%d", &major, &minor); err != nil {
		return nil, fmt.Errorf("pgbouncer says %q: %w", b.Version, err)
	} else if major > 1 || minor >= 21 {
		plain = "max_prepared_statements = 0"
	}
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 1000
%s
`, host, port, own, filepath.Join(b.dir, "users"), conns, plain)
	var users strings.Builder
	for _, role := range []string{"postgres", ownerRole, serverRole} {
		fmt.Fprintf(&users, "%q %q\n", role, password)
	}
	for name, text := range map[string]string{"config": config, "users": users.String(), "log": ""} {
		path := filepath.Join(b.dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), giveAway(path)); err != nil {
			return nil, err
		}
	}
	if err := giveAway(b.dir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := command("config")
	cmd.Stdout, cmd.Stderr = log, log
	b.process, err = child.Start(cmd)
	if err = errors.Join(err, log.Close()); err != nil { // the process has its own
		return nil, err
	}
	return b, b.wait(ctx)
}

// wait returns when it takes connections.
func (b *Bouncer) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-b.process.Ended:
			log, _ := os.ReadFile(filepath.Join(b.dir, "log")) // what there is
			return fmt.Errorf("pgbouncer ended: %w: %s", b.process.Err, log)
		case <-ctx.Done():
			return fmt.Errorf("pgbouncer does not answer: %w", err)
		}
	}
}

// URL is the URL of a server's database through it.
func (b *Bouncer) URL(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // of a Database
	}
	u.Host = b.address
	return u.String()
}

// Stop ends it and removes its files.
func (b *Bouncer) Stop() (err error) {
	if b.process != nil {
		err = b.process.End(quit) // nothing of it is kept
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// bouncer finds the program: the system's, or the package of a Debian or Ubuntu, which apt
// fetches and checks without any right, unpacked below dir and never installed.
func bouncer(ctx context.Context, dir string) (program, libs string, err error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, "", nil
		}
	}
	packages, err := debs(ctx)
	if err != nil {
		return "", "", fmt.Errorf(`there is no PgBouncer to test with: %w
Install it: apt-get install pgbouncer, dnf install pgbouncer or brew install pgbouncer`, err)
	}
	for _, file := range packages {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", file, dir).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("dpkg-deb -x %s: %w: %s", file, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "usr", "lib", "*-linux-*"))
	return filepath.Join(dir, "usr", "sbin", "pgbouncer"), strings.Join(found, ":"), err
}

// debs are the package and the libraries that it needs, from the user's cache.
func debs(ctx context.Context) (files []string, err error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("there is no apt-get")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "loci", "pgbouncer")
	if files, err := filepath.Glob(filepath.Join(dir, "*.deb")); err != nil || len(files) > 0 {
		return files, err
	}
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", "--important", "pgbouncer").Output()
	if err != nil {
		return nil, fmt.Errorf("apt-cache: %w", err)
	}
	names := []string{"download", "pgbouncer"}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name, depends := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Depends: ")
		if depends && strings.HasPrefix(name, "lib") && name != "libc6" { // which comes with the system's loader
			names = append(names, name)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	// A folder of its own: several tests may fetch at once, and one of them gives it its name.
	fetched, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fetched) //nolint:errcheck // what is left of it is in a cache
	cmd := exec.CommandContext(ctx, "apt-get", names...)
	cmd.Dir = fetched
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("apt-get download: %w: %s", err, out)
	}
	if err := os.Rename(fetched, dir); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.deb"))
}
