package quarantine

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// A line is one of the report of a repair.
type line struct{ Done string }

// newStore makes a directory with files that a store could have, one of them mostly zeros.
func newStore(t *testing.T) (store string, files map[string]string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "store")
	files = map[string]string{"MANIFEST": "tables", "1.sst": "records", "log": strings.Repeat("\x00", 1<<20) + "end", "deep/2.sst": "more"}
	for name, text := range files {
		path := filepath.Join(store, name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), storedir.Mode), os.WriteFile(path, []byte(text), 0o600),
			os.Chmod(path, 0o640)))
	}
	return store, files
}

// filesOf are the files of a store with their contents.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := must.Get(storedir.Files(dir))(t)
	files := map[string]string{}
	for _, name := range names {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		files[name] = string(text)
	}
	return files
}

// wantFiles compares the files of a directory with others.
func wantFiles(t *testing.T, when, dir string, want map[string]string) {
	t.Helper()
	if got := filesOf(t, dir); !maps.Equal(got, want) {
		t.Errorf("%s: %s has the files %q, want %q", when, dir, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// repair changes a file of a store, removes one, and adds one.
func repair(store string) error {
	d, err := Begin(store)
	if err != nil {
		return err
	}
	if err := d.Fill(0, func(int64, int64) {}); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(d.Copy(), "MANIFEST"), []byte("other tables"), 0o600), os.Remove(filepath.Join(d.Copy(), "1.sst")),
		os.WriteFile(filepath.Join(d.Copy(), "3.sst"), []byte("rebuilt"), 0o600),
		d.Report(line{"rebuilt"}), d.KeepRecord([]byte{1, 2}, "a record", []byte("value")), d.Install())
}

// repaired are the files that repair makes of those of a store.
func repaired(files map[string]string) map[string]string {
	after := maps.Clone(files)
	after["MANIFEST"], after["3.sst"] = "other tables", "rebuilt"
	delete(after, "1.sst")
	return after
}

// TestRepair keeps every file as it was, with its mode, and what the repair told of.
func TestRepair(t *testing.T) {
	t.Parallel()
	store, before := newStore(t)
	must.Do(t, repair(store))
	path := pathOf(store, 1)
	wantFiles(t, "repaired", store, repaired(before))
	wantFiles(t, "repaired", filepath.Join(path, beforeName), before)
	for name := range before {
		if info, err := os.Stat(filepath.Join(path, beforeName, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: got mode %v, %v, want 0640", name, info.Mode(), err)
		}
	}
	for name, want := range map[string]string{
		reportName:  `{"Done":"rebuilt"}` + "\n",
		recordsName: `{"key":"0102","record":"a record","value":"dmFsdWU="}` + "\n",
	} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
	}
}

// killedVariable is set in the process that is killed, which repairs the store "store" in its working directory.
const killedVariable = "GRAPHCLEANER_TEST_KILLED_EXCHANGE"

// TestKilledExchange kills a process at every operation on files of a repair. All files are then as they were, or as they
// would have been, or Check says that they are neither. The next repair comes to the same end.
func TestKilledExchange(t *testing.T) {
	if os.Getenv(killedVariable) != "" {
		must.Do(t, errors.Join(faults.Begin(), repair("store")))
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	exchanges := 0
	for at := int64(1); ; at++ {
		store, before := newStore(t)
		after := repaired(before)
		child := exec.Command(os.Args[0], "-test.run=^TestKilledExchange$")
		child.Dir, child.Env = filepath.Dir(store), append(os.Environ(), killedVariable+"=1")
		killed := must.Get(faults.Run(child, faults.Plan{Dir: store, Kind: faults.Kill, At: at}))(t)
		if killed.Operation == "" {
			if killed.Err != nil || at < 20 || exchanges < 10 {
				t.Errorf("%v after %d operations, of which %d change places", killed.Err, at, exchanges)
			}
			return
		}
		switching, now := Check(store) != nil, filesOf(t, store)
		if switching {
			exchanges++
		} else if !maps.Equal(now, before) && !maps.Equal(now, after) {
			t.Errorf("killed at %s: the files are neither those before nor those after", killed.Operation)
		}
		report, err := Finish[line](store)
		if err != nil || switching != slices.Equal(report, []line{{"rebuilt"}}) {
			t.Errorf("killed at %s: finishing returns the report %v, %v", killed.Operation, report, err)
		}
		if !switching && maps.Equal(now, before) {
			if err := repair(store); err != nil {
				t.Errorf("killed at %s: repairing again: %v", killed.Operation, err)
			}
		}
		wantFiles(t, "repaired after "+killed.Operation, store, after)
		kept, err := filepath.Glob(filepath.Join(store, storedir.QuarantineName, "*", beforeName))
		if err != nil || len(kept) != 1 {
			t.Fatalf("killed at %s: got the files of %v, %v, want those of one repair", killed.Operation, kept, err)
		}
		wantFiles(t, "kept after "+killed.Operation, kept[0], before)
	}
}

// stoppedExchange is a store whose repair was stopped when its files began to change places; incoming says that those that
// the store had are all in the quarantine.
func stoppedExchange(t *testing.T, incoming bool) (store string) {
	t.Helper()
	store, _ = newStore(t)
	d, err := Begin(store)
	must.Do(t, err)
	before := filepath.Join(d.path, beforeName)
	err = errors.Join(d.Fill(0, func(int64, int64) {}), d.report.Close(), d.records.Close(), os.Mkdir(before, storedir.Mode))
	if incoming {
		err = errors.Join(err, moveFiles(store, before), os.Rename(d.Copy(), filepath.Join(d.path, incomingName)))
	}
	must.Do(t, err)
	return store
}

// TestExchangeOverwritesNothing has a file in both places while an exchange is stopped: it is refused, and no file is lost.
func TestExchangeOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, incoming := range []bool{false, true} {
		store := stoppedExchange(t, incoming)
		from, to := store, filepath.Join(pathOf(store, 1), beforeName)
		if incoming {
			from, to = filepath.Join(pathOf(store, 1), incomingName), store
		}
		const name = "in both"
		must.Do(t, errors.Join(os.Rename(filepath.Join(from, "MANIFEST"), filepath.Join(to, "MANIFEST")),
			os.WriteFile(filepath.Join(from, name), []byte("1"), 0o600), os.WriteFile(filepath.Join(to, name), []byte("2"), 0o600)))
		if _, err := Finish[line](store); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("incoming %t: got %v, want ErrCorrupt that names %q", incoming, err, name)
		}
		if there, here := filesOf(t, to)[name], filesOf(t, from)[name]; there != "2" || here != "1" {
			t.Errorf("incoming %t: got %q and %q, want both files as they were", incoming, here, there)
		}
	}
}

// TestForgedExchange has links to directories elsewhere in a quarantine: nothing of those moves.
func TestForgedExchange(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{beforeName, incomingName} {
		store, files := newStore(t)
		victim, path := t.TempDir(), pathOf(store, 1)
		err := errors.Join(os.WriteFile(filepath.Join(victim, "file"), nil, 0o600), os.MkdirAll(path, 0o700))
		for _, name := range []string{beforeName, incomingName} {
			if name == linked {
				err = errors.Join(err, os.Symlink(victim, filepath.Join(path, name)))
			} else {
				err = errors.Join(err, os.Mkdir(filepath.Join(path, name), 0o700))
			}
		}
		must.Do(t, err)
		if report, err := Finish[line](store); err != nil || report != nil {
			t.Errorf("%s: got %v, %v", linked, report, err)
		}
		if err := repair(store); err != nil {
			t.Errorf("%s: %v", linked, err)
		}
		wantFiles(t, linked, victim, map[string]string{"file": ""})
		wantFiles(t, linked, store, repaired(files))
	}
}

// TestQuarantineElsewhere has the quarantine on another file system, to which files cannot move: nothing is changed.
func TestQuarantineElsewhere(t *testing.T) {
	t.Parallel()
	store, files := newStore(t)
	elsewhere, err := os.MkdirTemp(".", "quarantine")
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("the source is another user's")
	}
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	if elsewhere, err = filepath.Abs(elsewhere); err != nil {
		t.Fatal(err)
	}
	if os.Rename(filepath.Join(store, "MANIFEST"), filepath.Join(elsewhere, "MANIFEST")) == nil {
		t.Skip("there is one file system")
	}
	if err := os.Symlink(elsewhere, filepath.Join(store, storedir.QuarantineName)); err != nil { // as a mount would be
		t.Fatal(err)
	}
	if err := repair(store); err == nil ||
		!strings.Contains(err.Error(), "do not move between it and its directory quarantine") {
		t.Errorf("got %v, want an error that says that files do not move", err)
	}
	wantFiles(t, "elsewhere", store, files)
}

// TestDiscard discards a repair: nothing is left of it. The next repair also removes the copy of one that was killed.
func TestDiscard(t *testing.T) {
	t.Parallel()
	store, files := newStore(t)
	d, err := Begin(store)
	if err == nil {
		err = errors.Join(d.Fill(0, func(int64, int64) {}), d.Discard())
	}
	must.Do(t, err)
	if _, err := os.Stat(filepath.Join(store, storedir.QuarantineName)); err == nil {
		t.Error("the quarantine is still there")
	}
	killed, err := Begin(store)
	if err == nil {
		err = errors.Join(killed.Fill(0, func(int64, int64) {}), killed.report.Close(), killed.records.Close())
	}
	must.Do(t, errors.Join(err, repair(store)))
	wantFiles(t, "repaired", store, repaired(files))
	if numbers, err := repairs(store); err != nil || len(numbers) != 1 {
		t.Errorf("got repairs %v, %v, want one", numbers, err)
	}
}

// TestFillOfFullDisk asks for more room than any disk has.
func TestFillOfFullDisk(t *testing.T) {
	t.Parallel()
	if !storedir.HasLocks {
		t.Skip("how much room is free is not known")
	}
	store, files := newStore(t)
	d := must.Get(Begin(store))(t)
	if err := d.Fill(1<<62, func(int64, int64) {}); !errors.Is(err, storedir.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if err := d.Discard(); err != nil {
		t.Error(err)
	}
	wantFiles(t, "full", store, files)
}
