package shell

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// A versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset is called by kong where the flag is set.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, build())
	app.Exit(exitDone)
	return nil
}

// build is the version of this executable as Go has stamped it: a release, a commit, or (devel) of sources outside a repository.
func build() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return "graphcleaner " + cmp.Or(version, "(devel)")
}
