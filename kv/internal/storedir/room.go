package storedir

import "fmt"

// CheckRoom returns ErrNoSpace unless the file system of dir has want bytes free.
func CheckRoom(dir string, want int64) error {
	free, err := FreeBytes(dir)
	if err != nil {
		return noAnswer(dir, err)
	}
	return enough(dir, free, want)
}

func noAnswer(dir string, err error) error {
	return fmt.Errorf("%s: how much room is left on the disk: %w", dir, err)
}

func enough(dir string, free, want int64) error {
	if free < want {
		return noSpace(dir, free, want)
	}
	return nil
}

func noSpace(dir string, free, want int64) error {
	return fmt.Errorf("%s: %w: %s free, want %s", dir, ErrNoSpace, InMebibytes(free), InMebibytes(want))
}

// InMebibytes is a number of bytes as people read it.
func InMebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
