package mcp_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
)

// soon is how quickly a server must be gone once nobody needs it: at once, on a machine
// that does ten other things.
const soon = 20 * time.Second

const parentVariable = "LOCI_TEST_PARENT"

// TestMain is also the program that starts a server and is killed: see
// TestServerEndsWhenItsParentIsKilled.
func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		os.Exit(parent(os.Args[1:]))
	}
	code := m.Run()
	if binaryDir != "" {
		_ = os.RemoveAll(binaryDir)
	}
	os.Exit(code)
}

// parent starts a command, greets it, and waits to be killed.
func parent(command []string) int {
	c := exec.Command(command[0], command[1:]...)
	c.Stdout = os.Stdout
	in, err := c.StdinPipe()
	if err != nil || c.Start() != nil {
		return 1
	}
	if _, err := io.WriteString(in, greeting); err != nil {
		return 1
	}
	time.Sleep(time.Minute)
	return 1
}

const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"

var (
	build     sync.Once
	binaryDir string
	buildErr  error
)

// binary builds the program, once.
func binary(t *testing.T) string {
	t.Helper()
	build.Do(func() {
		if binaryDir, buildErr = os.MkdirTemp("", "loci-test-"); buildErr != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(binaryDir, "loci"), "../cmd/loci")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build: the race detector needs the other for its tests
		out, err := cmd.CombinedOutput()
		if buildErr = err; err != nil {
			t.Logf("%s", out)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return filepath.Join(binaryDir, "loci")
}

func command(t *testing.T, path string) []string {
	return []string{binary(t), "mcp", "--store", "sqlite:" + path, "--user", "alice", "--tools", "facts,notes"}
}

// launch starts the program and connects the official Go client to it.
func launch(t *testing.T, path string) *client {
	t.Helper()
	line := command(t, path)
	c := sdk.NewClient(&sdk.Implementation{Name: "go-client", Version: "1"}, nil)
	program := &sdk.CommandTransport{Command: exec.Command(line[0], line[1:]...)}
	session, err := c.Connect(context.Background(), program, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &client{t, session}
}

// TestOfficialGoClientDrivesTheProgram: both families and a second process.
func TestOfficialGoClientDrivesTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	first, second := launch(t, path), launch(t, path)
	if n := len(first.schemas()); n != 6 {
		t.Errorf("%d tools", n)
	}
	fact := first.ask("manage_memory", args{"content": "The zebra deployment is on Tuesday."}).id("id")
	if got := second.ask("search_memory", args{"query": "zebra"}).list(); len(got) != 1 || got[0]["key"] != fact {
		t.Errorf("the second process finds %v", got)
	}
	second.ask("manage_memory", args{"action": "update", "id": fact, "content": "The zebra deployment is on Friday."}).want("updated memory " + fact)
	if got := first.ask("search_memory", args{"query": "zebra"}).list(); len(got) != 1 || property(t, got[0], "value", "content") != "The zebra deployment is on Friday." {
		t.Errorf("after the update: %v", got)
	}
	first.ask("manage_memory", args{"action": "delete", "id": fact}).want("Deleted memory " + fact)
	second.ask("manage_memory", args{"action": "delete", "id": fact}).refused(loci.NotFound, `no memory with id "`+fact+`"`)

	note := first.ask("memory_save", args{"content": "User likes chocolates."}).id("note_id")
	hits := second.ask("memory_search", args{"query": "chocolates"}).list()
	if len(hits) != 1 || hits[0]["note_id"] != note {
		t.Errorf("the second process finds %v", hits)
	}
	second.ask("memory_update", args{"note_id": note, "content": "User is allergic to chocolates."})
	first.ask("memory_delete", args{"note_id": note})
	second.ask("memory_search", args{"query": "chocolates"}).want("[]")
}

// start runs the program raw and reads its first reply.
func start(t *testing.T, line []string, env ...string) (c *exec.Cmd, in io.WriteCloser, out *os.File) {
	t.Helper()
	c = exec.Command(line[0], line[1:]...)
	c.Env = append(os.Environ(), env...)
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = stdout
	if in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close()
	if len(env) == 0 {
		if _, err := io.WriteString(in, greeting); err != nil {
			t.Fatal(err)
		}
	}
	if reply, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(reply, `"loci"`) {
		t.Fatalf("%q, %v", reply, err)
	}
	return c, in, out
}

// gone waits until every holder of the other end of out has ended.
func gone(t *testing.T, out *os.File) {
	t.Helper()
	if err := out.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatalf("still running: %v", err)
	}
}

// TestServerEndsWhenItsInputEnds and leaves no lock.
func TestServerEndsWhenItsInputEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	c, in, out := start(t, command(t, path))
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	if err := c.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	launch(t, path).ask("memory_save", args{"content": "Still writable."}).id("note_id")
}

// TestServerEndsWhenItsParentIsKilled: an agent that crashes leaves nothing behind.
func TestServerEndsWhenItsParentIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, _, out := start(t, append([]string{self}, command(t, path)...), parentVariable+"=1")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	_ = c.Wait() // it was killed
	launch(t, path).ask("memory_save", args{"content": "Still writable."}).id("note_id")
}

// TestServerEndsOnTheTerminationSignal, with success.
func TestServerEndsOnTheTerminationSignal(t *testing.T) {
	c, _, out := start(t, command(t, filepath.Join(t.TempDir(), "loci.db")))
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	if err := c.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// BenchmarkProgramStart is the time from starting the program to its first reply.
func BenchmarkProgramStart(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "loci")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/loci").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for b.Loop() {
		c := exec.Command(program, "mcp", "--store", "sqlite:"+filepath.Join(dir, "loci.db"), "--user", "alice")
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(in, greeting); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = in.Close()
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
