package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// A Log is a journal that is appended to. One goroutine at a time.
type Log struct {
	dir, name string
	segments  []Segment // the last is appended to
	file      *os.File
	buf       []byte
	failure   error // nothing more can be appended

	// Ahead is how many bytes of the last segment are reserved at once for small commits to come, none if it is 0. They are written, as
	// zeros: then a sync has only the frames to write. Of a file that grows, or that has a place on the disk and was not written there,
	// the file system must also write down which blocks it has.
	Ahead    int64
	zeros    []byte // as many
	reserved int64  // how far the last segment has them
}

// smallCommits is up to how many bytes of commits a sync is faster if they were reserved, although all is written twice.
const smallCommits = 64 << 10

// maxBuffer bounds a buffer that is kept.
const maxBuffer = 1 << 20

// Create begins a journal that follows a commit. Segments of this name that are there stay, and are not part of it.
func Create(dir, name string, store Store, base uint64) (*Log, error) {
	there, err := list(dir, name)
	if err != nil {
		return nil, err
	}
	sequence := uint64(1)
	if len(there) > 0 {
		sequence = there[len(there)-1].Sequence + 1
	}
	l := &Log{dir: dir, name: name}
	if err := l.begin(Segment{Sequence: sequence, Base: base, Store: store}); err != nil {
		return nil, err
	}
	return l, nil
}

// Continue appends to a journal that was scanned, and has no damage. A frame that is not complete is cut off, and what was reserved.
func Continue(dir, name string, c *Contents) (*Log, error) {
	l := &Log{dir: dir, name: name, segments: c.Segments}
	last := l.last()
	file, err := os.OpenFile(last.Path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > last.End {
		err = errors.Join(file.Truncate(last.End), file.Sync())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l.file = file
	return l, nil
}

func (l *Log) last() *Segment { return &l.segments[len(l.segments)-1] }

// begin begins a segment, durably.
func (l *Log) begin(s Segment) error {
	s.Path, s.Last = segmentPath(l.dir, l.name, s.Sequence), s.Base
	head := s.appendHead(nil)
	s.End = int64(len(head))
	draft := filepath.Join(l.dir, "spill-"+l.name+".tmp")
	if err := durable.WriteFile(draft, head); err != nil { // closed: some systems rename no file that is open
		return errors.Join(err, os.Remove(draft))
	}
	if err := os.Rename(draft, s.Path); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	var file *os.File
	err := durable.SyncDirectory(l.dir)
	if err == nil {
		file, err = os.OpenFile(s.Path, os.O_RDWR, 0)
	}
	if err != nil {
		l.failure = err // the segment is there, and the one before it must not grow
		return err
	}
	l.segments = append(l.segments, s)
	l.file, l.reserved = file, 0
	return nil
}

// Last is the number of the last commit.
func (l *Log) Last() uint64 { return l.last().Last }

// Segments are the segments, the last of which is appended to. The caller must not change them.
func (l *Log) Segments() []Segment { return l.segments }

// Empty says whether it has no frame, and one segment.
func (l *Log) Empty() bool { return len(l.segments) == 1 && l.last().End == int64(segmentHead) }

// Size is the number of bytes of the segment that is appended to.
func (l *Log) Size() int64 { return l.last().End }

// AppendData appends data that the next commit makes visible, or none. It is durable with that commit.
func (l *Log) AppendData(entries []Entry) error { return l.append(l.Last()+1, Data, entries) }

// AppendCommit is AppendCommits of one.
func (l *Log) AppendCommit(entries []Entry) error { return l.AppendCommits([][]Entry{entries}) }

// AppendCommits appends the next commits, and returns once they are durable. After an error none is in the journal; after one
// of syncing, nothing can be appended any more.
func (l *Log) AppendCommits(commits [][]Entry) error {
	s := *l.last()
	if err := l.append(s.Last+1, Commit, commits...); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return errors.Join(err, l.cut(s))
	}
	return nil
}

// append appends frames, the first of which has a number. Only commits are several; they have the numbers that follow.
func (l *Log) append(number uint64, kind Kind, frames ...[]Entry) error {
	if l.failure != nil {
		return l.failure
	}
	s := l.last()
	text := l.buf[:0]
	for i, entries := range frames {
		var err error
		of := kind
		if i > 0 {
			of = joined
		}
		text, err = appendFrame(text, s.Sequence, s.End+int64(len(text)), number+uint64(i), of, entries)
		if err != nil {
			return err
		}
	}
	if l.buf = text; cap(text) > maxBuffer {
		l.buf = nil
	}
	end := s.End + int64(len(text))
	if kind == Commit && l.Ahead > 0 && end > l.reserved && len(text) <= smallCommits {
		if l.zeros == nil {
			l.zeros = make([]byte, l.Ahead)
		}
		if _, err := l.file.WriteAt(l.zeros, end); err == nil {
			l.reserved = end + l.Ahead
		} else {
			l.Ahead, l.zeros = 0, nil // the file grows as it is written, into the room that is cut off here
			if err := l.cut(*s); err != nil {
				return err
			}
		}
	}
	if _, err := l.file.WriteAt(text, s.End); err != nil {
		return errors.Join(err, l.cut(*s))
	}
	s.End = end
	if kind == Commit {
		s.Last = number + uint64(len(frames)) - 1
	}
	return nil
}

// cut takes the last segment back to what it was.
func (l *Log) cut(s Segment) error {
	*l.last() = s
	err := l.file.Truncate(s.End)
	l.reserved = 0
	if err != nil {
		l.failure = fmt.Errorf("journal: what is not complete cannot be cut off: %w", err)
	}
	return err
}

// sync makes what was appended durable.
func (l *Log) sync() error {
	if l.failure != nil {
		return l.failure
	}
	if err := durable.SyncData(l.file); err != nil {
		l.failure = err // what was not written may be taken for written later
		return err
	}
	return nil
}

// Failed is the error after which nothing can be appended.
func (l *Log) Failed() error { return l.failure }

// Rotate makes what was appended durable, and begins another segment.
func (l *Log) Rotate() error {
	if l.failure == nil { // else sync says so
		if err := l.cut(*l.last()); err != nil { // what is reserved: only the last segment may have that
			return err
		}
	}
	if err := l.sync(); err != nil {
		return err
	}
	s, file := *l.last(), l.file
	if err := l.begin(Segment{Sequence: s.Sequence + 1, Base: s.Last, Before: s.End, Store: s.Store}); err != nil {
		return err
	}
	return file.Close()
}

// Remove removes the oldest n segments, of which there must be more.
func (l *Log) Remove(n int) error {
	for range n {
		if err := os.Remove(l.segments[0].Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.segments = l.segments[1:]
	}
	return nil
}

// Close closes the file. What was appended last is durable only if it was a commit.
func (l *Log) Close() error {
	var err error
	if l.reserved > 0 && l.failure == nil {
		err = l.cut(*l.last())
	}
	return errors.Join(err, l.file.Close())
}
