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

// version is that of the sources.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "graphcleaner (devel)"
	}
	return "graphcleaner " + info.Main.Version
}

// build is the version of this executable. The tasks of a cluster must have one.
func build() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return buildOf(version(), path)
}

// buildOf is the version of an executable, with a digest where builds of other sources may have the same version. Builds of one release for
// several processors have the same.
func buildOf(version, path string) (build string, err error) {
	if !strings.Contains(version, "(devel)") && !strings.Contains(version, "+dirty") {
		return version, nil
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
	return fmt.Sprintf("%s, SHA-256 %.6x", version, digest.Sum(nil)), nil
}
