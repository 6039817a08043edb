//go:build !linux

package atomic

import "errors"

// exchange swaps two names in one step where the system can; this one cannot.
func exchange(_, _ string) error { return errors.ErrUnsupported }

// renameBusy is for what only Linux tells apart.
func renameBusy(string, string) error { return nil }
