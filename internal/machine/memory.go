// Package machine says how much memory there is.
package machine

import "sync"

// LeastBudget is the least memory budget, in bytes, that a store works with.
const LeastBudget = 64 << 20

// MemoryBudget is a quarter of the memory of the machine, or of the control group this process is in, when it is first
// asked for, and at least LeastBudget.
func MemoryBudget() int64 { return memoryBudget() }

var memoryBudget = sync.OnceValue(func() int64 { return max(memory()/4, LeastBudget) })
