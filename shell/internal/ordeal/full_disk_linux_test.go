package ordeal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/faults"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

const (
	disksAsked = "GRAPHCLEANER_TEST_DISKS" // how many sizes of disk each job is done on
	ampleRoom  = 256 << 20                 // for any job
)

// A smallDisk is a file system in memory of a size.
type smallDisk struct{ dir string }

// newSmallDisk mounts one with what a job begins with and room for so many bytes more.
func newSmallDisk(t *testing.T, tr *trial, room int64) *smallDisk {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	d := &smallDisk{dir: dir}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", ampleRoom)); err != nil {
		t.Skipf("a disk of few bytes cannot be mounted: %v", err)
	}
	t.Cleanup(func() { must.Do(t, d.unmount()) })
	must.Do(t, os.CopyFS(dir, os.DirFS(templateDir(t, tr.begin))))
	must.Do(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	var used unix.Statfs_t
	must.Do(t, unix.Statfs(dir, &used))
	d.resize(t, int64(used.Blocks-used.Bfree)*used.Bsize+room)
	return d
}

func (d *smallDisk) resize(t *testing.T, size int64) {
	t.Helper()
	must.Do(t, unix.Mount("tmpfs", d.dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
}

func (d *smallDisk) unmount() error {
	if d.dir == "" {
		return nil
	}
	dir := d.dir
	d.dir = ""
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// TestFullDisk does jobs on disks that are too small for them, and on some that are not: a job ends with a message
// about room, what was there can be read, and with more room the same job comes to its end.
func TestFullDisk(t *testing.T) {
	disks := asked(t, disksAsked, longtest.Of(1, 2))
	templateDir(t, "files") // as in disturb
	t.Parallel()
	for _, name := range jobsOf(2, disksAsked) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := trialOf(t, name)
			enough := tr.enoughRoom(t)
			r := rand.New(rand.NewPCG(uint64(disks), 5))
			survived := 0
			for range disks {
				room := r.Int64N(enough)
				if wrong := tr.onSmallDisk(t, room); len(wrong) > 0 {
					t.Errorf("%d bytes of room: %s", room, strings.Join(wrong, "\n"))
				} else {
					survived++
				}
			}
			reportSurvived(t, "full disks", name, survived, disks)
		})
	}
}

// enoughRoom is a power of two of bytes on which the job comes to its end.
func (tr *trial) enoughRoom(t *testing.T) int64 {
	t.Helper()
	for room := int64(1 << 20); room < ampleRoom; room *= 2 {
		d := newSmallDisk(t, tr, room)
		got := tr.run(t, d.dir, faults.Plan{})
		must.Do(t, d.unmount())
		if got.err == nil {
			return room
		}
	}
	t.Fatalf("%s does not come to its end with %d bytes of room", tr.name, ampleRoom)
	return 0
}

// onSmallDisk does the job with so many bytes of room, and says what is wrong.
func (tr *trial) onSmallDisk(t *testing.T, room int64) (wrong []string) {
	t.Helper()
	d := newSmallDisk(t, tr, room)
	got := tr.run(t, d.dir, faults.Plan{})
	if got.err != nil && !strings.Contains(got.text, "not enough room on disk") &&
		!strings.Contains(got.text, unix.ENOSPC.Error()) {
		wrong = append(wrong, "no word of the room on disk")
	}
	if state := contents(t, filepath.Join(d.dir, tr.db)); !slices.Contains(tr.states, state) {
		wrong = append(wrong, fmt.Sprintf("on the full disk: %.200s", state))
	}
	d.resize(t, ampleRoom)
	wrong = append(wrong, tr.judge(t, d.dir, got)...)
	if len(wrong) > 0 {
		wrong = append(wrong, "the process said: "+got.text)
	}
	must.Do(t, d.unmount())
	return wrong
}
