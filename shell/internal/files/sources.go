package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Sources are the files that the name of a table stands for; none if there are none.
func Sources(path string) []string {
	if isOGB(path) {
		if set, err := openOGB(filepath.Clean(path), path, ""); err == nil {
			return set.sources()
		}
	}
	parts, err := table.FindParts(path)
	if err != nil {
		return nil // reading it says so
	}
	return parts.Paths()
}

// Fingerprint tells files from others, and from themselves once they are changed. Of one that is not there, which its opening
// tells, there is no more than the name.
func Fingerprint(paths ...string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		if path == "" {
			b.WriteByte('\n')
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%q", absolute)
		if path == stream.Input {
			fmt.Fprintf(&b, " %d %d", os.Getpid(), time.Now().UnixNano()) // nothing tells what will come from what came
		} else {
			for _, path := range Sources(path) {
				if info, err := os.Stat(path); err == nil {
					fmt.Fprintf(&b, " %q %d %d", filepath.Base(path), info.Size(), info.ModTime().UnixNano())
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
