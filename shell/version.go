package shell

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"
)

// A versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset is called by kong where the flag is set.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	build, err := build()
	if err != nil {
		return err
	}
	fmt.Fprintln(app.Stdout, build)
	app.Exit(exitDone)
	return nil
}

// build is the version of this executable. The tasks of a cluster must have one.
func build() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, path)
}

// unversioned is the version that Go gives to sources outside a repository.
const unversioned = "(devel)"

// buildOf is the version of an executable: that of its module. Builds of one release for several processors have the same. Where builds of
// other sources may have the same version, the text has the commit, if the version does not name it, and a digest of the executable.
func buildOf(info *debug.BuildInfo, path string) (build string, err error) {
	version := info.Main.Version
	if version == "" {
		version = unversioned
	}
	build = "graphcleaner " + version
	revision, modified := "", false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if version != unversioned && !strings.Contains(version, "+dirty") && !modified {
		return build, nil
	}
	if short := revision[:min(12, len(revision))]; !strings.Contains(version, short) {
		build += ", commit " + short
	}
	if modified && !strings.Contains(version, "+dirty") {
		build += ", changed"
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, SHA-256 %.6x", build, digest.Sum(nil)), nil
}
