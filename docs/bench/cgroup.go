package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A memoryGroup is a control group of Linux that limits the memory of a command and counts it, of version 1 or 2.
type memoryGroup struct {
	dir     string
	version int
}

// newMemoryGroup makes a group below that of this process, or, in version 2, where a group with processes cannot
// have others, beside it: the limits of the groups above stay in force. A limit of 0 only counts. It fails where
// the system has no such groups or this user may not make one.
func newMemoryGroup(limit int64) (*memoryGroup, error) {
	parents, version, err := memoryParents("/proc/self/cgroup", "/sys/fs/cgroup")
	if err != nil {
		return nil, err
	}
	var failed error
	for _, parent := range parents {
		g := &memoryGroup{dir: filepath.Join(parent, fmt.Sprintf("graphcleaner-bench-%d", os.Getpid())), version: version}
		if err := os.Mkdir(g.dir, 0o755); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		err := g.limit(limit)
		if err == nil {
			return g, nil
		}
		failed = errors.Join(failed, err, os.Remove(g.dir))
	}
	return nil, failed
}

// memoryParents are the directories in which a group may be made, the better one first.
func memoryParents(membership, root string) (parents []string, version int, err error) {
	text, err := os.ReadFile(membership)
	if err != nil {
		return nil, 0, errors.New("this system has no control groups")
	}
	unified := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		switch {
		case len(fields) == 3 && strings.Contains(","+fields[1]+",", ",memory,"):
			return []string{filepath.Join(root, "memory", fields[2])}, 1, nil
		case len(fields) == 3 && fields[1] == "":
			unified = fields[2]
		}
	}
	if unified == "" {
		return nil, 0, errors.New("this system has no control group of memory")
	}
	own := filepath.Join(root, unified)
	return []string{own, filepath.Dir(own)}, 2, nil
}

// limit sets the limit, of memory and of memory with swap. In both versions the file must be there even where no
// limit is asked, or the group does not count memory.
func (g *memoryGroup) limit(bytes int64) error {
	memory, swap, unlimited, swapLimit := "memory.max", "memory.swap.max", "max", "0"
	if g.version == 1 {
		memory, swap, unlimited = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "-1"
		swapLimit = strconv.FormatInt(bytes, 10)
	}
	value := unlimited
	if bytes > 0 {
		value = strconv.FormatInt(bytes, 10)
	}
	if err := os.WriteFile(filepath.Join(g.dir, memory), []byte(value), 0); err != nil || bytes == 0 {
		return err
	}
	err := os.WriteFile(filepath.Join(g.dir, swap), []byte(swapLimit), 0)
	if errors.Is(err, os.ErrNotExist) { // a kernel that does not count swap
		return nil
	}
	return err
}

// enter is a command line that runs another one inside the group.
func (g *memoryGroup) enter(command []string) []string {
	shell := []string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs")}
	return append(shell, command...)
}

// read is the text of one of the group's files, by its name in version 1 and in version 2; empty where there is none.
func (g *memoryGroup) read(first, second string) string {
	name := second
	if g.version == 1 {
		name = first
	}
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// processes are the ids of the processes in the group.
func (g *memoryGroup) processes() []int { return parseIDs(g.read("cgroup.procs", "cgroup.procs")) }

// peak is the most memory in bytes that was charged to the group, cached file pages included; zero where the
// kernel does not keep it.
func (g *memoryGroup) peak() int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(g.read("memory.max_usage_in_bytes", "memory.peak")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// anonymous is the memory of the group in bytes that no file backs. The two versions name it differently.
func (g *memoryGroup) anonymous() int64 {
	text := g.read("memory.stat", "memory.stat")
	if g.version == 1 {
		return field(text, "rss")
	}
	return field(text, "anon")
}

// kills counts the processes of the group that the kernel killed for want of memory.
func (g *memoryGroup) kills() int64 {
	return field(g.read("memory.oom_control", "memory.events"), "oom_kill")
}

// remove takes the group away. Processes that have ended leave it a moment later.
func (g *memoryGroup) remove() error {
	var err error
	for range 100 {
		if err = os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// field is the number that follows a name on a line of its own; zero where there is none.
func field(text, name string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

func parseIDs(text string) []int {
	var ids []int
	for word := range strings.FieldsSeq(text) {
		if id, err := strconv.Atoi(word); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
