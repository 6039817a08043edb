//go:build !unix

package query

import "io/fs"

// allocated is the length of a file in bytes.
func allocated(info fs.FileInfo) int64 { return info.Size() }
