package decisions

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

const store = "a store"

// frameOf is the decision of a commit, with something else in it.
func frameOf(first, last int) Frame {
	return Frame{uint64(first), uint64(last), []Entry{
		{Key: []byte{9}, Value: fmt.Append(nil, "with ", last)},
		{Key: fmt.Append(nil, "key ", last), Value: fmt.Append(nil, "decision ", last)},
		{Key: fmt.Append(nil, "key ", last-1)},
	}}
}

// base yields what a file is written anew with.
func base(n int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for i := range n {
			if !yield(Entry{Key: fmt.Append(nil, "base ", i), Value: make([]byte, 1000)}, nil) {
				return
			}
		}
	}
}

// newLog makes a file that was written anew with commit 7 and so many entries, and has five commits since; ends are
// where their frames end.
func newLog(t *testing.T, n int) (dir string, ends []int64) {
	t.Helper()
	dir = t.TempDir()
	l := must.Get(Create(dir, store, 7, base(n)))(t)
	ends = append(ends, l.end)
	for i := range 5 {
		must.Do(t, l.Append(frameOf(8+i, 8+i)))
		ends = append(ends, l.end)
	}
	must.Do(t, l.Close())
	return dir, ends
}

// contents are the entries of a file, in words, up to where it is damaged.
func contents(t *testing.T, dir string) (entries []string, damage error) {
	t.Helper()
	l, err := Open(dir, store, true)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	damage = l.Scan(true, func(f Frame) error {
		for _, e := range f.Entries {
			entries = append(entries, fmt.Sprintf("%d to %d: %q %q %t", f.First, f.Last, e.Key, e.Value, e.Value == nil))
		}
		return nil
	})
	return entries, damage
}

// since opens a file, and reads the frames that end with a commit or later. If cut is set, what is torn off is cut off.
func since(dir string, commit uint64, cut bool) (l *Log, later []Frame, err error) {
	if l, err = Open(dir, store, !cut); err != nil {
		return l, later, err
	}
	err = l.Scan(false, func(f Frame) error {
		if f.Last >= commit {
			later = append(later, f)
		}
		return nil
	})
	if cut && errors.Is(err, ErrTorn) {
		err = l.Cut()
	}
	if err != nil {
		err = errors.Join(err, l.Close())
	}
	return l, later, err
}

func copyOf(t *testing.T, dir string) (copied string, text []byte) {
	t.Helper()
	text = must.Get(os.ReadFile(filepath.Join(dir, FileName)))(t)
	copied = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(copied, FileName), text, 0o600))
	return copied, text
}

// TestLog appends, goes on after it was closed, finds the frames after a commit, and writes the file anew.
func TestLog(t *testing.T) {
	t.Parallel()
	dir, _ := newLog(t, 600)
	l, _, err := since(dir, 0, true)
	must.Do(t, errors.Join(err, l.Append(frameOf(13, 15))))
	for commit, want := range map[uint64]int{0: 6, 8: 6, 11: 3, 15: 1, 16: 0, 20: 0} {
		read, frames, err := since(dir, commit, false)
		must.Do(t, errors.Join(err, read.Close()))
		if len(frames) != want || want > 0 && frames[want-1].Last != 15 || read.Last() != 15 {
			t.Errorf("since %d: got %d frames, want %d", commit, len(frames), want)
		}
	}
	got, damage := contents(t, dir)
	const last = `13 to 15: "key 15" "decision 15" false`
	if len(got) != 600+6*3 || damage != nil || !slices.Contains(got, last) {
		t.Errorf("got %d entries and %v, want %d, and %s", len(got), damage, 600+6*3, last)
	}
	must.Do(t, l.Renew(15, base(3)))
	must.Do(t, errors.Join(l.Append(frameOf(16, 16)), l.Close()))
	if got, damage := contents(t, dir); len(got) != 3+3 || damage != nil {
		t.Errorf("written anew: got %d entries and %v", len(got), damage)
	}
	if _, err := Open(dir, "another store", true); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("of another store: got %v, want ErrCorrupt", err)
	}
}

// TestCutLog cuts the file to every length. After a crash it goes on from the last whole frame. In a store that was
// closed, all but a cut between frames is an ErrCorrupt.
func TestCutLog(t *testing.T) {
	t.Parallel()
	dir, ends := newLog(t, 3)
	copied, text := copyOf(t, dir)
	path := filepath.Join(copied, FileName)
	for length := ends[0]; length < int64(len(text)); length++ {
		for _, tail := range [][]byte{nil, bytes.Repeat([]byte{0xff}, 40), text[:40]} {
			must.Do(t, os.WriteFile(path, append(text[:length:length], tail...), 0o600))
			n, _ := slices.BinarySearch(ends, length+1)
			between := ends[n-1] == length && len(tail) == 0
			l, _, err := since(copied, 0, false)
			if between {
				must.Do(t, errors.Join(err, l.Close()))
			} else if !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("cut to %d: got %v, want ErrCorrupt", length, err)
			}
			l, later, err := since(copied, 0, true)
			must.Do(t, err)
			if len(later) != n-1 || l.end != ends[n-1] || l.Last() != uint64(6+n) {
				t.Fatalf("cut to %d: it goes on from byte %d after commit %d, want %d and %d", length, l.end, l.Last(), ends[n-1],
					6+n)
			}
			must.Do(t, errors.Join(l.Append(frameOf(99, 99)), l.Close()))
			if got, damage := contents(t, copied); len(got) != 3+3*n || damage != nil {
				t.Fatalf("cut to %d: got %d entries and %v", length, len(got), damage)
			}
		}
	}
}

// TestDamagedLog changes bytes all over the file: the parts before and after are read, and the damage is told.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir, ends := newLog(t, 3)
	whole, err := contents(t, dir)
	head := must.Get(Open(dir, store, true))(t)
	must.Do(t, errors.Join(err, head.Close()))
	copied, text := copyOf(t, dir)
	path := filepath.Join(copied, FileName)
	for at := 0; at < len(text); at++ {
		if int64(at) > 200 && int64(at) < ends[0]-100 && at%997 != 0 {
			continue
		}
		text[at] ^= 0x20
		must.Do(t, os.WriteFile(path, text, 0o600))
		got, damage := contents(t, copied)
		if !errors.Is(damage, record.ErrCorrupt) {
			t.Fatalf("byte %d: got %v, want ErrCorrupt", at, damage)
		}
		before := 0
		for before < len(got) && got[before] == whole[before] {
			before++
		}
		if behind := len(whole) - (len(got) - before); len(got) >= len(whole) || !slices.Equal(got[before:], whole[behind:]) {
			t.Fatalf("byte %d: got %d entries, want %d but for some that follow each other", at, len(got), len(whole))
		}
		// An open finds damage of the head and of the frames since the file was written anew.
		l, _, err := since(copied, 0, false)
		if inside := int64(at) < head.begin || int64(at) >= ends[0]; inside != errors.Is(err, record.ErrCorrupt) {
			t.Fatalf("byte %d: open: got %v", at, err)
		} else if !inside {
			must.Do(t, l.Close())
		} else if int64(at) >= head.begin {
			// What follows is left alone, unless it is torn off.
			last := int64(at) >= ends[len(ends)-2]
			l, _, err := since(copied, 0, true)
			if last {
				must.Do(t, errors.Join(err, l.Close()))
			} else if size := must.Get(os.Stat(path))(t).Size(); !errors.Is(err, record.ErrCorrupt) ||
				errors.Is(err, ErrTorn) || size != int64(len(text)) {
				t.Fatalf("byte %d: got %v and %d bytes, want ErrCorrupt and %d", at, err, size, len(text))
			}
		}
		text[at] ^= 0x20
	}
}

// TestFailedAppend has no room on the disk, or no file: what failed is not there.
func TestFailedAppend(t *testing.T) {
	t.Parallel()
	dir, ends := newLog(t, 3)
	l, _, err := since(dir, 0, true)
	must.Do(t, errors.Join(err, l.file.Close()))
	if err := l.Append(frameOf(13, 13)); err == nil || l.Failed() == nil || l.end != ends[len(ends)-1] {
		t.Errorf("got %v, and failed: %v", err, l.Failed())
	}
	if err := l.Append(frameOf(13, 13)); err == nil {
		t.Error("it goes on")
	}
	if err := l.Renew(13, func(yield func(Entry, error) bool) { yield(Entry{}, os.ErrInvalid) }); !errors.Is(err,
		os.ErrInvalid) {
		t.Errorf("got %v, want the error of what is written", err)
	}
	if got, damage := contents(t, dir); len(got) != 3+5*3 || damage != nil {
		t.Errorf("got %d entries and %v", len(got), damage)
	}
	if left := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
}
