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

	"github.com/graphcleaner/graphcleaner/internal/faults"
	"github.com/graphcleaner/graphcleaner/internal/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

// A line is one of the report of a repair.
type line struct{ Done string }

// copyVersion is the version of the copies that repairs of these tests install.
const copyVersion = 7

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
		d.Report(line{"rebuilt"}), d.KeepRecord([]byte{1, 2}, "a record", []byte("value")), d.Install(copyVersion))
}

// repairedStore is a store after a repair, with its files before that and after it.
func repairedStore(t *testing.T) (store string, before, after map[string]string) {
	t.Helper()
	store, before = newStore(t)
	after = maps.Clone(before)
	after["MANIFEST"], after["3.sst"] = "other tables", "rebuilt"
	delete(after, "1.sst")
	must.Do(t, repair(store))
	wantFiles(t, "after the repair", store, after)
	return store, before, after
}

// undo undoes a repair of a store that nobody changed since.
func undo(store string) error {
	return Undo(store, func(version uint64, changed bool) error {
		if version != copyVersion || changed {
			return errors.New("the store is of another version, or was changed")
		}
		return nil
	})
}

// beforeExchange is a store whose repair is complete, but that no file of it has changed places.
func beforeExchange(t *testing.T) (store, path string, before, after map[string]string) {
	t.Helper()
	store, before, after = repairedStore(t)
	path = pathOf(store, 1)
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(path, afterName), storedir.Mode), moveFiles(store, filepath.Join(path, afterName)),
		moveFiles(filepath.Join(path, beforeName), store), os.Remove(filepath.Join(path, beforeName))))
	return store, path, before, after
}

// killedVariable says, in the process that is killed, what it does to the store "store" in its working directory.
const killedVariable = "GRAPHCLEANER_TEST_KILLED_EXCHANGE"

// TestKilledExchange kills a process at every operation on files of a repair, and of its undoing. All files are then as they
// were, or as they would have been, or Check says that they are neither. To finish it comes to the same end.
func TestKilledExchange(t *testing.T) {
	jobs := map[string]func(store string) error{"repair": repair, "undo": undo}
	if job := os.Getenv(killedVariable); job != "" {
		must.Do(t, faults.Begin())
		must.Do(t, jobs[job]("store"))
		return
	}
	if err := faults.CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	for job := range jobs {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			exchanges := 0
			for at := int64(1); ; at++ {
				store, before, after := repairedStore(t)
				if job == "repair" {
					must.Do(t, errors.Join(undo(store), os.RemoveAll(filepath.Join(store, storedir.QuarantineName))))
				}
				child := exec.Command(os.Args[0], "-test.run=^TestKilledExchange$")
				child.Dir, child.Env = filepath.Dir(store), append(os.Environ(), killedVariable+"="+job)
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
				if job == "repair" {
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
				}
				if err := undo(store); err != nil && (job == "repair" || !errors.Is(err, ErrNoRepair)) {
					t.Errorf("killed at %s: undoing: %v", killed.Operation, err)
				}
				wantFiles(t, "undone after "+killed.Operation, store, before)
			}
		})
	}
}

// TestExchangeOverwritesNothing has a file in both places while an exchange is stopped: it is refused, and no file is lost.
func TestExchangeOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, incoming := range []bool{false, true} {
		store, path, _, _ := beforeExchange(t)
		from, to := store, filepath.Join(path, beforeName)
		err := os.Mkdir(to, storedir.Mode)
		if incoming {
			err = errors.Join(err, moveFiles(from, to), os.Rename(filepath.Join(path, afterName), filepath.Join(path, incomingName)))
			from, to = filepath.Join(path, incomingName), store
		}
		const name = "in both"
		must.Do(t, errors.Join(err, os.Rename(filepath.Join(from, "MANIFEST"), filepath.Join(to, "MANIFEST")),
			os.WriteFile(filepath.Join(from, name), []byte("1"), 0o600), os.WriteFile(filepath.Join(to, name), []byte("2"), 0o600)))
		_, finishing := Finish[line](store)
		for job, err := range map[string]error{"finish": finishing, "undo": undo(store)} {
			if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("incoming %t: %s: got %v, want ErrCorrupt that names %q", incoming, job, err, name)
			}
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
		if err := undo(store); err != nil {
			t.Errorf("%s: %v", linked, err)
		}
		wantFiles(t, linked, store, files)
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

// TestExchangeMissesAFile deletes a file from the quarantine after a kill, before it was put in its place.
func TestExchangeMissesAFile(t *testing.T) {
	t.Parallel()
	store, _, _ := repairedStore(t)
	const name = "1.sst"
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(pathOf(store, 1), repairedName), storedir.Mode),
		os.Remove(filepath.Join(pathOf(store, 1), beforeName, name))))
	for range 2 {
		if err := undo(store); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want ErrCorrupt that names %s", err, name)
		}
	}
}
