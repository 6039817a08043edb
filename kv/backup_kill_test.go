package kv

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const (
	killedVariable = "GRAPHCLEANER_TEST_KILLED_BACKUP" // in the process that is killed: what it does
	killsVariable  = "GRAPHCLEANER_TEST_KILLS"         // how many processes are killed of each form
	fewKills       = 2                                 // without it
)

// killedJobs are what the processes that are killed do in a directory that holds a store and a backup of it.
var killedJobs = map[string]func(t *testing.T, dir string) error{
	"backup": func(t *testing.T, dir string) (err error) {
		s, err := Open(filepath.Join(dir, "store"), Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "new.backup"))
		if err != nil {
			return err
		}
		_, err = s.Backup(t.Context(), f, BackupOptions{})
		return errors.Join(err, f.Close(), s.Close())
	},
	"restore": func(t *testing.T, dir string) error {
		f, err := os.Open(filepath.Join(dir, "full.backup"))
		if err != nil {
			return err
		}
		opt := RestoreOptions{MemoryBudget: minMemoryBudget}
		_, err = Restore(t.Context(), filepath.Join(dir, "restored"), []io.Reader{f}, opt)
		return errors.Join(err, f.Close())
	},
}

// TestKilledBackups kills processes at random moments while they back a store up, and restore it: the store is as it
// was, a backup is whole or says that it is not, there is no store or all of it, and doing it again ends as if nothing
// had been killed.
func TestKilledBackups(t *testing.T) {
	if job := os.Getenv(killedVariable); job != "" {
		if err := killedJobs[job](t, "."); err != nil {
			t.Fatal(err)
		}
		return
	}
	rounds := fewKills
	if asked := os.Getenv(killsVariable); asked != "" {
		var err error
		if rounds, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("%s: %v", killsVariable, err)
		}
	}
	dir := t.TempDir()
	if err := os.Rename(keptPlain(t), filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	s := openKept(t, filepath.Join(dir, "store"))
	track(t, s, []string{LabelColumn}, nil, 0)
	noise := rand.NewChaCha8([32]byte{}) // megabytes that do not compress, so that there are moments to be killed at
	for i := range 60 {
		update(t, s, func(tx *Tx) error {
			body := make([]byte, 120_000)
			if _, err := noise.Read(body); err != nil {
				return err
			}
			return tx.PutDocument("noise", strconv.Itoa(i), body)
		})
	}
	file, _ := backupOf(t, s, nil)
	want := versionedContents(t, s)
	closeStore(t, s)
	if err := os.WriteFile(filepath.Join(dir, "full.backup"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(rounds), 7))
	took := map[string]time.Duration{}
	killed := 0
	for round := range rounds + 1 {
		for _, job := range sortedNames(killedJobs) {
			after := time.Duration(0) // the first is let be
			if round > 0 {
				after = time.Millisecond + time.Duration(r.Int64N(int64(took[job])))
			}
			began := time.Now()
			if runKilledJob(t, dir, job, after) {
				killed++
			}
			if round == 0 {
				took[job] = time.Since(began)
			}
			checkAfterKill(t, dir, job, file, want)
		}
	}
	t.Logf("%d processes of %d were killed", killed, 2*rounds)
}

// runKilledJob does a job in a process of its own, which is killed after some time, unless that is zero.
func runKilledJob(t *testing.T, dir, job string, after time.Duration) (killed bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^TestKilledBackups$")
	c.Dir, c.Env = dir, append(os.Environ(), killedVariable+"="+job)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() {
			if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
		})
		defer timer.Stop()
	}
	err = c.Wait()
	if err != nil && c.ProcessState.Exited() {
		t.Fatalf("%s: %v: %s", job, err, &out)
	}
	return err != nil
}

// checkAfterKill compares what a job left with what it may leave, does it again, and removes what it made.
func checkAfterKill(t *testing.T, dir, job string, file []byte, want map[string]string) {
	t.Helper()
	restored := filepath.Join(dir, "restored")
	switch job {
	case "backup":
		path := filepath.Join(dir, "new.backup")
		got, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		_, err = CheckBackup(t.Context(), readers(got), nil)
		if err == nil != bytes.Equal(got, file) || err != nil && !errors.Is(err, ErrBackup) {
			t.Errorf("of %d of %d bytes: got %v", len(got), len(file), err)
		}
		s := openKept(t, filepath.Join(dir, "store"))
		compareContents(t, versionedContents(t, s), want)
		if again, _ := backupOf(t, s, nil); !bytes.Equal(again, file) {
			t.Error("the backup is another than before")
		}
		closeStore(t, s)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return
	case "restore":
		if _, err := os.Stat(restored); errors.Is(err, fs.ErrNotExist) {
			if err := killedJobs[job](t, dir); err != nil {
				t.Fatalf("restoring again: %v", err)
			}
		}
		s := openKept(t, restored)
		compareContents(t, versionedContents(t, s), want)
		checkClean(t, s)
		closeStore(t, s)
		if err := os.RemoveAll(restored); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(restored + restoreMark); err != nil { // of one killed when the store was in its place
			t.Fatal(err)
		}
	}
}
