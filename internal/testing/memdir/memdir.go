// Package memdir keeps the temporary files of tests in memory. They make and remove thousands of small stores, and on
// some file systems making a file takes the longer, the more were just removed. What they show of crashes and faults
// does not depend on where the files are: processes are killed and system calls fail, the power stays on.
//
// It also has the garbage collector run less often. Each opening of a store takes megabytes, and most tests are short.
package memdir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// A Runner runs tests, as testing.M does.
type Runner interface{ Run() int }

// Tests is m with TMPDIR in memory, where the system has a file system there with room, and a heap that may grow. A
// TMPDIR or GOGC that is set is left.
func Tests(m Runner) Runner { return tests{m} }

type tests struct{ m Runner }

// leastRoom is the room that all packages together may take at a time.
const leastRoom = 4 << 30

const prefix = "graphcleaner-tests-"

func (t tests) Run() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("TMPDIR") != "" || room() < leastRoom {
		return t.m.Run()
	}
	removeRemains()
	dir, err := os.MkdirTemp(memory, prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return t.m.Run()
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return t.m.Run()
}

// removeRemains removes the directories of tests that were killed.
func removeRemains() {
	entries, err := os.ReadDir(memory)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	for _, entry := range entries {
		name, ours := strings.CutPrefix(entry.Name(), prefix)
		if !ours {
			continue
		}
		process, _, _ := strings.Cut(name, "-")
		if _, err := os.Stat(filepath.Join("/proc", process)); os.IsNotExist(err) {
			if err := os.RemoveAll(filepath.Join(memory, entry.Name())); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
}
