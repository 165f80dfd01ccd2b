package torture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// nounsEnv makes the child do everything that can be done to checkpoints, sessions, trees and
// items.
const nounsEnv = "LOCI_TORTURE_NOUNS"

func nounsChild(url string) error {
	_, m, err := openMemory(url)
	if err != nil {
		return err
	}
	for {
		fmt.Print(".")
		if err := anyNoun(context.Background(), m); err != nil {
			return err
		}
	}
}

// anyNoun does one thing, chosen at random. Its target may be gone: an earlier child was
// killed, or an earlier step erased it.
func anyNoun(ctx context.Context, m *loci.Memory) (err error) {
	thread, id := fmt.Sprint("t", rand.IntN(3)), fmt.Sprint("c", rand.IntN(4))
	typed := checkpoint.Typed{Type: "json", Data: []byte(fmt.Sprint(rand.IntN(1000)))}
	c, s := checkpoint.Of(m), session.Of(m)
	switch rand.IntN(12) {
	case 0, 1:
		err = c.Put(ctx, checkpoint.Checkpoint{
			Thread:   thread,
			ID:       id,
			State:    typed,
			Versions: map[string]string{"ch": string(typed.Data)},
			Values:   map[string]checkpoint.Typed{"ch": typed},
		})
	case 2, 3:
		err = c.PutWrites(ctx, thread, "", id, []checkpoint.Write{{Task: string(typed.Data), Channel: "ch", Value: typed},
			{Task: "error", Index: -1, Channel: "ch", Value: typed}})
	case 4:
		_, err = c.DeleteThread(ctx, thread)
	case 5:
		_, err = c.Prune(ctx, []string{thread}, checkpoint.KeepLatest)
	case 6:
		_, err = c.CopyThread(ctx, thread, "copy of "+thread)
		if err == nil {
			_, err = c.DeleteThread(ctx, "copy of "+thread)
		}
	case 7:
		var messages []session.Message
		if messages, err = session.ParseMessages([]byte(`[{"role":"user","content":"a"},{"role":"user","content":"b"}]`)); err == nil {
			_, err = s.Append(ctx, thread, messages)
		}
	case 8:
		var export bytes.Buffer
		if _, err = m.Export(ctx, &export, nil); err == nil {
			_, err = s.ClearAll(ctx)
		}
		if err == nil {
			_, err = m.Import(ctx, &export, nil) // messages that have events of their own
		}
	case 9:
		_, err = s.Trim(ctx, thread, 1)
	case 10:
		err = item.Of(m).Put(ctx, append(m.View().Namespace, "x"), id, []byte(`{"a":1}`), nil)
		if err == nil {
			err = item.Of(m).Delete(ctx, append(m.View().Namespace, "x"), id)
		}
	case 11:
		var files *tree.Tree
		if files, err = tree.Of(m, "files", ""); err == nil {
			_, err = files.Write(ctx, "/"+thread+"/"+id, strings.Repeat(string(typed.Data), 500), nil)
		}
		if err == nil && rand.IntN(3) == 0 {
			_, err = files.Delete(ctx, "/"+thread)
		}
	}
	if code := loci.AsError(err); err != nil && (code.Code == loci.NotFound || code.Code == loci.Conflict) {
		return nil
	}
	return err
}

// TestKilledWritersLeaveAWholeLog kills a process that does everything to every noun. Each time
// the log and the file accuse nobody.
func TestKilledWritersLeaveAWholeLog(t *testing.T) {
	dir := t.TempDir()
	for i := range max(10, *cycles/5) {
		url := "sqlite:" + filepath.Join(dir, fmt.Sprint(i/20, ".db")) // so that no log gets long
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+url, nounsEnv+"=1")
		var failure bytes.Buffer
		cmd.Stderr = &failure
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(pipe, make([]byte, 1+rand.IntN(60))); err != nil { // so many steps, and a part of one
			t.Fatal(err, failure.String())
		}
		time.Sleep(rand.N(10 * time.Millisecond))
		_ = cmd.Process.Signal(syscall.SIGKILL)
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the child was not killed: %v %s", err, failure.String())
		}
		s, m, err := openMemory(url)
		if err != nil {
			t.Fatal(err)
		}
		logIsWhole(t, s)
		if findings, err := s.Check(t.Context(), m.View().Tenant); err != nil || len(findings) > 0 {
			t.Errorf("cycle %d: check: %v %v", i, findings, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
