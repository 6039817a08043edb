package shell

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestBuildOf wants a version that names the sources: by a release, by a commit, or by the bytes of the executable, as Go or the file says.
func TestBuildOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graphcleaner")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		commit = "3af9cdf75c0ae1b2d4f60718293a4b5c6d7e8f90"
		pseudo = "v0.0.0-20261125164100-3af9cdf75c0a"
		digest = ", SHA-256 ba7816bf8f01"
	)
	for _, c := range []struct{ version, revision, modified, want string }{
		{"v1.2.3", "", "", "v1.2.3"},                    // go install of a release
		{"v1.2.3", commit, "false", "v1.2.3"},           // an archive of the same release
		{"v1.3.0-rc.1", commit, "false", "v1.3.0-rc.1"}, // one before a release
		{pseudo, commit, "false", pseudo},               // a commit without a tag
		{pseudo, "", "", pseudo},                        // go install of that commit
		{"(devel)", "", "", "(devel)" + digest},         // sources outside a repository
		{"", "", "", "(devel)" + digest},                // no information
		{pseudo + "+dirty", commit, "true", pseudo + "+dirty" + digest},
		{"v1.2.3+dirty", commit, "true", "v1.2.3+dirty, commit 3af9cdf75c0a" + digest},
		{"(devel)", commit, "false", "(devel), commit 3af9cdf75c0a" + digest},
		{"(devel)", commit, "true", "(devel), commit 3af9cdf75c0a, changed" + digest},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}}
		if c.revision != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.revision}, {Key: "vcs.modified", Value: c.modified}}
		}
		if got, err := buildOf(info, path); got != "graphcleaner "+c.want || err != nil {
			t.Errorf("%+v: got %s, %v", c, got, err)
		}
	}
	part := strings.Repeat("a", 20)
	id := part + "/" + part + "/" + part + "/-_cdefghijklmnopqrst"
	for _, c := range []struct{ head, want string }{
		{"\x7fELF\x04\x00\x00\x00\x53\x00\x00\x00\x04\x00\x00\x00Go\x00\x00" + id + "behind it", "build ID -_cdefghijkl"}, // a note
		{"\xcf\xfa\xed\xfe\xff Go build ID: \"" + id + "\"\n \xff behind it", "build ID -_cdefghijkl"},                    // Mach-O, PE
		{"\xff Go build ID: \"chosen\"\n \xff", "SHA-256 370c10643d07"},
	} {
		if err := os.WriteFile(path, []byte(c.head), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := buildOf(&debug.BuildInfo{}, path); got != "graphcleaner (devel), "+c.want || err != nil {
			t.Errorf("%.5q: got %s, %v, want %s", c.head, got, err, c.want)
		}
	}
	if _, err := buildOf(&debug.BuildInfo{}, path+"-none"); !os.IsNotExist(err) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
}
