package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// memoryOf sums over processes the memory in bytes that is theirs alone and backed by no file (RssAnon), that they
// share (RssShmem), and all that is resident. A process that has ended counts nothing.
func memoryOf(processes []int) (anonymous, shared, resident int64) {
	for _, id := range processes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
		if err != nil {
			continue
		}
		text := string(status)
		anonymous += field(text, "RssAnon:") << 10
		shared += field(text, "RssShmem:") << 10
		resident += field(text, "VmRSS:") << 10
	}
	return anonymous, shared, resident
}

// descendants are a process and all that it and they have started.
func descendants(process int) []int {
	all := []int{process}
	for i := 0; i < len(all); i++ {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil {
			continue
		}
		for _, list := range lists {
			if text, err := os.ReadFile(list); err == nil {
				all = append(all, parseIDs(string(text))...)
			}
		}
	}
	return all
}
