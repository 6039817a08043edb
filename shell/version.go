package shell

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
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
// other sources may have the same version, the text has the commit, if the version does not name it, and what tells the executable from
// others: the hash of its content that Go wrote into it, or a digest of the file where a linker was told to leave that out.
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
	head := make([]byte, longestHead)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if id := contentID(head[:n]); id != "" {
		return build + ", build ID " + id[:min(12, len(id))], nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, SHA-256 %.6x", build, digest.Sum(nil)), nil
}

// longestHead is within how many bytes of its beginning an executable has its build ID.
const longestHead = 32 << 10

// contentID is the last part of the build ID in the first bytes of an executable, as "go tool buildid" prints it; "" if there is none.
func contentID(head []byte) string {
	// The type and the name of a note of ELF, which follow the length of the text.
	const note = "\x04\x00\x00\x00Go\x00\x00"
	var id []byte
	if at := bytes.Index(head, []byte(note)); at >= 4 {
		length, text := binary.LittleEndian.Uint32(head[at-4:]), head[at+len(note):]
		id = text[:min(int64(length), int64(len(text)))]
	} else if _, text, ok := bytes.Cut(head, []byte("\xff Go build ID: \"")); ok {
		id, _, _ = bytes.Cut(text, []byte("\""))
	}
	if bytes.Count(id, []byte("/")) != 3 {
		return "" // somebody chose it: it may be that of any sources
	}
	return string(id[bytes.LastIndexByte(id, '/')+1:])
}
