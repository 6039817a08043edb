//go:build !linux

package machine

// memory is taken as 4 GiB: the system is not asked, and a budget that is given says better.
func memory() int64 { return 4 << 30 }
