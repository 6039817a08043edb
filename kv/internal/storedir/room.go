package storedir

import "fmt"

// CheckRoom returns ErrNoSpace unless the file system of dir has want bytes free.
func CheckRoom(dir string, want int64) error {
	free, err := FreeBytes(dir)
	if err != nil {
		return fmt.Errorf("%s: how much room is left on the disk: %w", dir, err)
	}
	if free < want {
		return fmt.Errorf("%s: %w: %s free, want %s", dir, ErrNoSpace, inMebibytes(free), inMebibytes(want))
	}
	return nil
}

// inMebibytes is a number of bytes as people read it.
func inMebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
