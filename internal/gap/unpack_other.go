//go:build !amd64 || purego

package gap

// unpack decodes len(dst) numbers from data into dst, plus one each, and returns how many there were before the data
// ended or were damaged, and how many bytes these take.
func unpack(dst []uint32, data []byte) (numbers, bytes int) { return unpackPlain(dst, data) }
