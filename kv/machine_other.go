//go:build !linux

package kv

// machineMemory is taken as 4 GiB if the system is not asked: a default for Options.MemoryBudget, which says better.
func machineMemory() int64 { return 4 << 30 }
