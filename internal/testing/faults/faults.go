// Package faults runs a process, and lets one of its operations on files fail, or kills it at that operation. So tests
// can try every moment of a job at which the disk or the power may fail.
//
// The faults are real: they come from the kernel, whoever asks, a library, the runtime or a C program. The process that
// is watched calls Begin, before it works; the one that watches calls Run, which counts the operations under a
// directory and has the plan's fault meet one of them. A test goes on from the first operation until one that is no
// longer reached.
//
// What is written through a mapping is no operation, but making it durable is one, and so is making the file it maps.
package faults

import (
	"errors"
	"time"
)

// ErrUnsupported says that the system cannot watch a process: it takes Linux 5.19 with seccomp, on amd64 or arm64.
var ErrUnsupported = errors.New("faults: this system cannot watch the operations of a process")

// ErrHung is the Err of an Outcome of a process that did not end in time, and was killed for it.
var ErrHung = errors.New("faults: the process does not end")

// A Kind names the fault that an operation meets.
type Kind string

const (
	// Count has nothing happen; every operation counts.
	Count Kind = "count"

	// Kill kills the process before the operation is made; every operation counts.
	Kill Kind = "kill"

	// Power kills the process before the operation is made, and leaves on the disk what was synced; every operation
	// counts. Where the process makes fewer than the plan says, the power fails once it has ended.
	Power Kind = "power failure"

	// NoSpace fails what takes room on a disk with ENOSPC: writes, growth, and the making of files and directories.
	NoSpace Kind = "no space"

	// IO fails writes, syncs, renames, and the making of files and directories with EIO.
	IO Kind = "i/o error"
)

// A Plan says which operation is met.
type Plan struct {
	// Dir is the directory under which operations count, without symbolic links.
	Dir string

	Kind Kind

	// At is the operation of its kind that is met, from 1. Where the process makes fewer, none is.
	At int64

	// Lasting has all that count after it fail as well, as they do on a disk that is full.
	Lasting bool

	// Torn, if not zero, has a power failure leave some of what was not synced as well, by chance: it is the seed.
	Torn uint64

	// Most bounds how long the process may take after the fault. Zero means a minute.
	Most time.Duration
}

// An Outcome is how a watched process ended.
type Outcome struct {
	Operations int64  // that counted
	Operation  string // the operation that was met, such as "fsync /a/b"; empty where none was
	Err        error  // of the process, as exec.Cmd.Wait has it, or ErrHung
}

// variable names, in the environment, the file over which Begin hands on the process.
const variable = "GRAPHCLEANER_FAULTS_SOCKET"
