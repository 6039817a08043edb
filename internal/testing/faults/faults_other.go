//go:build !linux || (!amd64 && !arm64)

package faults

import "os/exec"

// CheckSupport returns ErrUnsupported where Run cannot watch a process.
func CheckSupport() error { return ErrUnsupported }

// Begin has the process that was started by Run be watched from here on. In any other it does nothing.
func Begin() error { return nil }

// Run starts a command, which calls Begin, and waits for its end.
func Run(*exec.Cmd, Plan) (Outcome, error) { return Outcome{}, ErrUnsupported }
