package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Damage is a part of a journal that cannot be read.
type Damage struct {
	Path string
	What string

	// The commits from First to Last may have been there; none if First > Last. Data may be lost beside them.
	First, Last uint64

	// Open says that nothing readable follows, so that nobody knows whether there was more than Last.
	Open bool

	// Changed says that the damage is of the last frame, which is as long as it was: nothing follows it.
	Changed bool
}

// Contents are what a scan has found.
type Contents struct {
	Segments []Segment
	Damage   []Damage

	// Torn says that the journal ends with a frame that was not written to its end: it is cut short, or sectors of it are
	// zeros. It was never synced, unless the store has its commit. What one sync was to make durable counts as one frame. Zeros after
	// the last frame are reserved for more, and no frame.
	Torn bool
}

// Base is the number of the last commit before the journal.
func (c *Contents) Base() uint64 { return c.Segments[0].Base }

// Last is the number of its last commit.
func (c *Contents) Last() uint64 { return c.Segments[len(c.Segments)-1].Last }

// Size is the number of bytes of its frames.
func (c *Contents) Size() (bytes int64) {
	for _, s := range c.Segments {
		bytes += s.End - int64(segmentHead)
	}
	return bytes
}

// Scan reads a journal, and calls visit, if not nil, with each whole frame, in order. The frame is borrowed. A journal
// that is not there has no segments. Damage is no error: what follows it is visited too.
func Scan(dir, name string, visit func(Frame) error) (*Contents, error) {
	segments, err := list(dir, name)
	if err != nil {
		return nil, err
	}
	s := scan{c: &Contents{}, visit: visit}
	for i := range segments {
		if err := s.segment(&segments[i], i == len(segments)-1); err != nil {
			return nil, err
		}
	}
	return s.c, nil
}

type scan struct {
	c     *Contents
	visit func(Frame) error

	number uint64 // of the last commit met
	known  bool   // that number is known

	bad  *Damage // the damage that is being skipped; its Last is not known yet
	head [frameHead]byte
	buf  []byte
}

// damage begins what cannot be read.
func (s *scan) damage(path, format string, args ...any) {
	if s.bad == nil {
		s.bad = &Damage{Path: path, What: fmt.Sprintf(format, args...)}
		if s.known {
			s.bad.First = s.number + 1
		}
	}
}

// resume ends what cannot be read, before the commit of a number.
func (s *scan) resume(next uint64) {
	if s.bad == nil {
		return
	}
	if s.bad.Last = next - 1; s.bad.First == 0 {
		s.bad.First = next // how many were before is not known
	}
	s.c.Damage = append(s.c.Damage, *s.bad)
	s.bad = nil
}

func (s *scan) segment(seg *Segment, last bool) (err error) {
	file, err := os.Open(seg.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	head := make([]byte, segmentHead)
	if n, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if !seg.parseHead(head[:n]) {
		s.damage(seg.Path, "its head is damaged")
		seg.Base, seg.Last, seg.End = s.number, s.number, int64(min(segmentHead, int(size)))
	} else {
		s.follow(seg)
	}
	at := seg.End
	for at < size {
		frame, next, err := s.frame(file, seg.Sequence, at, size)
		if err != nil {
			return err
		}
		if next == 0 { // no frame: look for one behind it
			place, err := s.search(file, seg.Sequence, at+1, size)
			if err != nil {
				return err
			}
			if last && s.bad == nil {
				if place < 0 {
					end, reading := endOfData(file, at, size)
					if reading != nil {
						return reading
					}
					if end == at { // the rest is reserved
						break
					}
					s.c.Torn, err = s.torn(file, seg.Sequence, at, end, size)
				} else {
					s.c.Torn, err = s.tornGroup(file, seg.Sequence, at, place, size)
				}
				if err != nil {
					return err
				}
				if s.c.Torn {
					break
				}
				if place < 0 {
					s.damage(seg.Path, "its last frame, of commit %d, is whole and was changed", s.number+1)
					s.bad.Changed = true
				}
			}
			s.damage(seg.Path, "from byte %d it is cut off or overwritten", at)
			if place < 0 {
				break
			}
			at = place
			continue
		}
		at = next
		s.take(seg, frame, at)
		if s.visit != nil {
			if err := s.visit(frame); err != nil {
				return err
			}
		}
	}
	s.c.Segments = append(s.c.Segments, *seg)
	if last && s.bad != nil {
		s.bad.Open = true
		s.resume(s.number + 1)
	}
	return nil
}

// follow goes on with a segment whose head is whole.
func (s *scan) follow(seg *Segment) {
	if n := len(s.c.Segments); n > 0 && s.bad == nil {
		switch before := s.c.Segments[n-1]; {
		case before.Sequence+1 != seg.Sequence:
			s.damage(seg.Path, "file %d of the journal is missing before it", before.Sequence+1)
		case s.number != seg.Base || before.End != seg.Before:
			s.damage(before.Path, "it ends with byte %d and commit %d, want byte %d and commit %d",
				before.End, s.number, seg.Before, seg.Base)
		}
	}
	s.resume(seg.Base + 1)
	s.number, s.known = seg.Base, true
}

// take notes a frame that ends at a place.
func (s *scan) take(seg *Segment, f Frame, end int64) {
	before := f.Number - 1 // commits before it
	if s.bad == nil && before != s.number {
		s.damage(seg.Path, "commit %d follows commit %d", f.Number, s.number)
	}
	if s.resume(before + 1); !s.known {
		seg.Base, s.known = before, true
	}
	s.number = before
	if f.Kind == Commit {
		s.number = f.Number
	}
	seg.Last, seg.End = s.number, end
}

// frame reads the frame at a place; next is where it ends, zero if there is none.
func (s *scan) frame(file io.ReaderAt, sequence uint64, at, size int64) (f Frame, next int64, err error) {
	if size-at < frameHead {
		return f, 0, nil
	}
	if _, err := file.ReadAt(s.head[:], at); err != nil {
		return f, 0, err
	}
	length := int64(binary.BigEndian.Uint32(s.head[4:]))
	if binary.BigEndian.Uint32(s.head[:]) != frameMark || length > largestFrame || length > size-at-frameHead {
		return f, 0, nil
	}
	total := int(length) + frameHead
	if cap(s.buf) < total {
		s.buf = make([]byte, total)
	}
	s.buf = s.buf[:total]
	if _, err := file.ReadAt(s.buf, at); err != nil {
		return f, 0, err
	}
	f, ok := parseFrame(s.buf, sequence, at)
	if !ok {
		return f, 0, nil
	}
	return f, at + int64(total), nil
}

// sector is the least that a disk writes at once, in bytes.
const sector = 512

// torn says whether what is not zeros at the end of a file, up to end, in which there is no frame, is one that a power cut left half
// written: the file ends inside it, or a sector of it is zeros. Otherwise all of it was written, and then changed.
func (s *scan) torn(file io.ReaderAt, sequence uint64, at, end, size int64) (bool, error) {
	if size-at < frameHead {
		return true, nil
	}
	end = max(end, at+frameHead)
	if _, err := file.ReadAt(s.head[:], at); err != nil {
		return false, err
	}
	if binary.BigEndian.Uint32(s.head[:]) != frameMark {
		return hasZeros(file, at, end)
	}
	if whole, err := wholeButForLength(file, sequence, at, end, size); err != nil || whole {
		return false, err
	}
	told := at + frameHead + int64(binary.BigEndian.Uint32(s.head[4:]))
	if told > size {
		return true, nil
	}
	return hasZeros(file, at, max(end, told))
}

// mostZeros bounds the zeros that a frame ends with, as far as wholeButForLength looks: the last entry of a commit is its number.
const mostZeros = 16

// wholeButForLength says whether the last frame of a file is whole if its length is taken from where what is not zeros ends.
func wholeButForLength(file io.ReaderAt, sequence uint64, at, end, size int64) (bool, error) {
	most := min(size, end+mostZeros) - at
	if end-at > frameHead+largestFrame {
		return false, nil
	}
	b := make([]byte, most)
	if _, err := file.ReadAt(b, at); err != nil {
		return false, err
	}
	for length := end - at; length <= most; length++ {
		binary.BigEndian.PutUint32(b[4:], uint32(length-frameHead))
		if _, whole := parseFrame(b[:length], sequence, at); whole {
			return true, nil
		}
	}
	return false, nil
}

// tornGroup says whether what lies from at on, before the frame at place, and all frames that follow were to be made durable by one sync,
// and a power cut left them half written. So were data and the commit that they precede, and the commits joined to that: the numbers of
// the frames say that no other commit lay between.
func (s *scan) tornGroup(file io.ReaderAt, sequence uint64, at, place, size int64) (bool, error) {
	if torn, err := hasZeros(file, at, place); err != nil || !torn {
		return false, err
	}
	for at = place; at < size; {
		f, next, err := s.frame(file, sequence, at, size)
		if err != nil || next > 0 && !f.joined && f.Number != s.number+1 {
			return false, err
		}
		if at = next; next == 0 {
			if at, err = s.search(file, sequence, place+1, size); err != nil || at < 0 {
				return err == nil, err
			}
		}
		place = at
	}
	return true, nil
}

// endOfData is where what is not zeros ends in a part of a file: at if there is nothing else.
func endOfData(file io.ReaderAt, at, size int64) (end int64, err error) {
	end = at
	window := make([]byte, min(searchWindow, size-at))
	for ; at < size; at += int64(len(window)) {
		window = window[:min(int64(len(window)), size-at)]
		if _, err := file.ReadAt(window, at); err != nil {
			return 0, err
		}
		if text := bytes.TrimRight(window, "\x00"); len(text) > 0 {
			end = at + int64(len(text))
		}
	}
	return end, nil
}

// hasZeros says whether a sector of a part of a file is zeros.
func hasZeros(file io.ReaderAt, at, end int64) (bool, error) {
	var zeros, b [sector]byte
	for at < end {
		part := b[:min(sector-at%sector, end-at)]
		if _, err := file.ReadAt(part, at); err != nil {
			return false, err
		}
		if bytes.Equal(part, zeros[:len(part)]) {
			return true, nil
		}
		at += int64(len(part))
	}
	return false, nil
}

// parseFrame reads a frame with its body.
func parseFrame(b []byte, sequence uint64, at int64) (f Frame, ok bool) {
	if binary.BigEndian.Uint32(b[17:]) != frameSum(sequence, at, b) {
		return f, false
	}
	f = Frame{Number: binary.BigEndian.Uint64(b[8:]), Kind: Kind(b[16]), Body: b[frameHead:]}
	if f.Kind == joined {
		f.Kind, f.joined = Commit, true
	}
	return f, f.Number > 0 && f.Kind <= Data
}

// searchWindow is how many bytes search looks at once.
const searchWindow = 1 << 20

// search returns the place of the first whole frame from a place on, -1 if there is none.
func (s *scan) search(file io.ReaderAt, sequence uint64, from, size int64) (int64, error) {
	mark := binary.BigEndian.AppendUint32(nil, frameMark)
	window := make([]byte, min(searchWindow, max(0, size-from)))
	for ; size-from >= frameHead; from += int64(len(window) - len(mark) + 1) {
		window = window[:min(int64(len(window)), size-from)]
		if _, err := file.ReadAt(window, from); err != nil {
			return 0, err
		}
		for i := 0; i+len(mark) <= len(window); i++ {
			if window[i] != mark[0] || string(window[i:i+len(mark)]) != string(mark) {
				continue
			}
			_, next, err := s.frame(file, sequence, from+int64(i), size)
			if err != nil || next > 0 {
				return from + int64(i), err
			}
		}
		if len(window) < len(mark) {
			break
		}
	}
	return -1, nil
}

// ScanTail is Scan of the last segment alone.
func ScanTail(dir, name string, visit func(Frame) error) (*Contents, error) {
	segments, err := list(dir, name)
	if err != nil {
		return nil, err
	}
	s := scan{c: &Contents{}, visit: visit}
	if n := len(segments); n > 0 {
		err = s.segment(&segments[n-1], true)
	}
	return s.c, err
}
