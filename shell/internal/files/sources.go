package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// Names are the files, directories and patterns that one table is read from, in their order. Those without a name are none.
type Names []string

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }

// Given says whether there are any.
func (n Names) Given() bool { return n.String() != "" }

// only is the one name; empty: there are several, or none.
func (n Names) only() string {
	if len(n) != 1 {
		return ""
	}
	return n[0]
}

// Sources are the files that the name of a table stands for; none if there are none.
func Sources(ctx context.Context, path string) []string {
	parts, err := table.FindParts(ctx, path)
	if err != nil {
		return nil // reading it says so
	}
	return parts.Paths()
}

// Fingerprint tells files from others, and from themselves once they are changed. Of one that is not there, which its opening
// tells, there is no more than the name.
func Fingerprint(ctx context.Context, tables ...Names) (string, error) {
	var b strings.Builder
	for _, names := range tables {
		for _, path := range names {
			if path == "" {
				continue
			}
			absolute, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%q", absolute)
			if path == stream.Input {
				fmt.Fprintf(&b, " %d %d", os.Getpid(), time.Now().UnixNano()) // nothing tells what will come from what came
				continue
			}
			for _, path := range Sources(ctx, path) {
				if info, err := stream.Stat(ctx, path); err == nil {
					fmt.Fprintf(&b, " %q %d %d", filepath.Base(path), info.Size(), info.ModTime().UnixNano())
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
