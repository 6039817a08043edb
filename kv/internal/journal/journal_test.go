package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

var testStore = Store{1, 2, 3}

// write makes a journal of three segments with commits 6 to 15, and data before every third; ends are where the frames of the
// last segment end.
func write(t testing.TB, dir string) (frames []string, ends []int64) {
	t.Helper()
	l := must.Get(Create(dir, "j", testStore, 5))(t)
	for i := range 10 {
		if i == 4 || i == 7 {
			must.Do(t, l.Rotate())
			ends = nil
		}
		entries := []Entry{{[]byte(fmt.Sprint("key ", i)), bytes.Repeat([]byte{byte(i)}, 100*i)}, {Key: []byte("deleted")}}
		if i%3 == 0 {
			must.Do(t, l.AppendData(entries[:1]))
			frames = append(frames, describe(Frame{Number: l.Last() + 1, Kind: Data}, entries[:1]))
			ends = append(ends, l.Size())
		}
		must.Do(t, l.AppendCommit(entries))
		frames = append(frames, describe(Frame{Number: l.Last(), Kind: Commit}, entries))
		ends = append(ends, l.Size())
	}
	if l.Last() != 15 || len(l.Segments()) != 3 {
		t.Fatalf("got commit %d and %d segments, want 15 and 3", l.Last(), len(l.Segments()))
	}
	must.Do(t, l.Close())
	return frames, ends
}

func describe(f Frame, entries []Entry) string {
	text := fmt.Sprint(f.Number, f.Kind)
	for _, e := range entries {
		text += fmt.Sprintf(" %s=%x,%t", e.Key, e.Value, e.Value == nil)
	}
	return text
}

func read(t testing.TB, dir string) (*Contents, []string) {
	t.Helper()
	var frames []string
	c := must.Get(Scan(dir, "j", func(f Frame) error {
		var entries []Entry
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
		frames = append(frames, describe(f, entries))
		return nil
	}))(t)
	return c, frames
}

func TestJournal(t *testing.T) {
	dir := t.TempDir()
	if c, err := Scan(dir, "j", nil); err != nil || len(c.Segments) != 0 {
		t.Fatalf("of nothing: got %v, %v", c, err)
	}
	want, _ := write(t, dir)
	c, got := read(t, dir)
	if !reflect.DeepEqual(got, want) || c.Base() != 5 || c.Last() != 15 || c.Torn || len(c.Damage) > 0 || c.Segments[2].Store != testStore {
		t.Errorf("got %+v and %d frames, want %d frames of commits 6 to 15", c, len(got), len(want))
	}
	l := must.Get(Continue(dir, "j", c))(t)
	must.Do(t, l.Remove(2))
	must.Do(t, l.AppendCommit([]Entry{{[]byte("more"), []byte{}}}))
	must.Do(t, l.Close())
	if c, got := read(t, dir); c.Base() != 12 || c.Last() != 16 || got[len(got)-1] != "16 0 more=,false" {
		t.Errorf("got %+v and %q after another commit", c, got[len(got)-1])
	}
}

// TestReservedEnd has a journal reserve what it writes later: that is no damage and no frame, and no file has it that is not the last, or
// was closed.
func TestReservedEnd(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Create(dir, "j", testStore, 0))(t)
	l.Ahead = 1 << 14
	entries := []Entry{{[]byte("key"), []byte("value")}}
	size := func(sequence uint64) int64 {
		t.Helper()
		info := must.Get(os.Stat(segmentPath(dir, "j", sequence)))(t)
		return info.Size()
	}
	look := func(commits uint64) *Contents {
		t.Helper()
		c, got := read(t, dir)
		if c.Last() != commits || len(got) != int(commits) || c.Torn || len(c.Damage) > 0 {
			t.Fatalf("got %+v and %d frames, want %d commits", c, len(got), commits)
		}
		return c
	}
	for commit := range uint64(1000) {
		must.Do(t, l.AppendCommit(entries))
		if commit%100 == 0 {
			look(commit + 1)
		}
	}
	if size(1) <= l.Size() {
		t.Errorf("the file has %d bytes, want some beside the %d of its frames", size(1), l.Size())
	}
	left, err := os.ReadFile(segmentPath(dir, "j", 1)) // by a crash
	must.Do(t, err)
	end := l.Size()
	must.Do(t, l.Rotate())
	if size(1) != end {
		t.Errorf("the file before the last has %d bytes, want the %d of its frames", size(1), end)
	}
	must.Do(t, l.AppendCommit(entries))
	must.Do(t, l.Close())
	if size(2) != l.Size() {
		t.Errorf("the file that was closed has %d bytes, want the %d of its frames", size(2), l.Size())
	}
	look(1001)
	for _, c := range []struct{ bytes, reserved int64 }{{smallCommits - 100, 1 << 14}, {smallCommits, 0}} {
		l := must.Get(Create(t.TempDir(), "j", testStore, 0))(t)
		defer l.Close()
		l.Ahead = 1 << 14
		must.Do(t, l.AppendCommit([]Entry{{[]byte("key"), make([]byte, c.bytes)}}))
		info := must.Get(os.Stat(l.last().Path))(t)
		if got := info.Size() - l.Size(); got != c.reserved {
			t.Errorf("a commit of %d bytes: got %d bytes reserved, want %d", c.bytes, got, c.reserved)
		}
	}
	must.Do(t, os.Remove(segmentPath(dir, "j", 2)))
	must.Do(t, os.WriteFile(segmentPath(dir, "j", 1), left, 0o600))
	again := must.Get(Continue(dir, "j", look(1000)))(t)
	defer again.Close()
	must.Do(t, again.AppendCommit(entries))
	look(1001)
}

// TestTornData zeroes a sector of data that the sync of its commit was to make durable: it is no damage unless another sync followed.
func TestTornData(t *testing.T) {
	entries := []Entry{{[]byte("key"), bytes.Repeat([]byte{1}, 5*sector)}}
	for _, c := range []struct {
		name   string
		commit int // that follow the data
		torn   bool
		last   uint64
	}{
		{"without its commit", 0, true, 1},
		{"with its commit", 1, true, 1},
		{"another sync has followed", 2, false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := must.Get(Create(dir, "j", testStore, 0))(t)
			defer l.Close()
			l.Ahead = 1 << 16
			must.Do(t, l.AppendCommit(entries))
			at := l.Size() + 2*sector
			at -= at % sector
			for range 3 {
				must.Do(t, l.AppendData(entries))
			}
			for range c.commit {
				must.Do(t, l.AppendCommit(entries))
			}
			file := must.Get(os.OpenFile(segmentPath(dir, "j", 1), os.O_RDWR, 0))(t)
			defer file.Close()
			must.Get(file.WriteAt(make([]byte, sector), at))(t)
			if found, _ := read(t, dir); found.Torn != c.torn || (len(found.Damage) > 0) == c.torn || found.Last() != c.last {
				t.Errorf("got %+v, want torn: %t, the last commit %d", found, c.torn, c.last)
			}
		})
	}
}

// TestTornGroup zeroes sectors of commits that were synced together: nothing of them is damage, as none of them had returned.
func TestTornGroup(t *testing.T) {
	entries := func(b byte) []Entry { return []Entry{{[]byte("key"), bytes.Repeat([]byte{b}, 5*sector)}} }
	for _, c := range []struct {
		name        string
		zeroed      int // frame, of four: the last three are synced together
		after, flip bool
		ahead       int64
		torn        bool
		last        uint64
	}{
		{name: "the last of them, of a file that is longer", zeroed: 3, ahead: 1 << 16, torn: true, last: 3},
		{name: "a byte of the last is changed, of a file that is longer", zeroed: 3, flip: true, ahead: 1 << 16, last: 3},
		{name: "the first of them", zeroed: 1, torn: true, last: 1},
		{name: "the second of them", zeroed: 2, torn: true, last: 2},
		{name: "the last of them", zeroed: 3, torn: true, last: 3},
		{name: "one that another sync followed", zeroed: 0, last: 4},
		{name: "another sync has followed them", zeroed: 2, after: true, last: 5},
		{name: "a byte is changed", zeroed: 2, flip: true, last: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := must.Get(Create(dir, "j", testStore, 0))(t)
			defer l.Close()
			l.Ahead = c.ahead
			must.Do(t, l.AppendCommit(entries(1)))
			length := l.Size() - int64(segmentHead)
			must.Do(t, l.AppendCommits([][]Entry{entries(2), entries(3), entries(4)}))
			if c.after {
				must.Do(t, l.AppendCommit(entries(5)))
			}
			path := segmentPath(dir, "j", 1)
			text := must.Get(os.ReadFile(path))(t)
			at := segmentHead + c.zeroed*int(length) + 2*sector
			if c.flip {
				text[at] ^= 1
			} else {
				at -= at % sector
				clear(text[at : at+sector])
			}
			must.Do(t, os.WriteFile(path, text, 0o600))
			found, _ := read(t, dir)
			if found.Torn != c.torn || (len(found.Damage) > 0) == c.torn || found.Last() != c.last {
				t.Fatalf("got %+v, want torn: %t, the last commit %d", found, c.torn, c.last)
			}
			if !c.torn {
				return
			}
			again := must.Get(Continue(dir, "j", found))(t)
			defer again.Close()
			must.Do(t, again.AppendCommit(entries(9)))
			if found, _ = read(t, dir); found.Torn || len(found.Damage) > 0 || found.Last() != c.last+1 {
				t.Errorf("gone on: got %+v, want commit %d", found, c.last+1)
			}
		})
	}
}

// TestTornEnd cuts the last segment to every length: what is left is a prefix, and the journal goes on after it.
func TestTornEnd(t *testing.T) {
	dir := t.TempDir()
	want, ends := write(t, dir)
	path := segmentPath(dir, "j", 3)
	text := must.Get(os.ReadFile(path))(t)
	for length := segmentHead; length < len(text); length += 7 {
		must.Do(t, os.WriteFile(path, text[:length], 0o600))
		cut := 0
		for _, end := range ends {
			if end > int64(length) {
				cut++
			}
		}
		c, got := read(t, dir)
		if !reflect.DeepEqual(got, want[:len(want)-cut]) || len(c.Damage) > 0 {
			t.Fatalf("cut to %d: got %d frames and %v, want %d", length, len(got), c.Damage, len(want)-cut)
		}
		l := must.Get(Continue(dir, "j", c))(t)
		must.Do(t, l.AppendCommit(nil))
		must.Do(t, l.Close())
		if c, after := read(t, dir); c.Torn || len(c.Damage) > 0 || len(after) != len(got)+1 {
			t.Fatalf("cut to %d, and continued: got %d frames, %+v", length, len(after), c)
		}
	}
}

// TestDamage changes every byte of a journal but for those of the last frame: it is damage, and names commits that cover
// those which are not read.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	want, ends := write(t, dir)
	for sequence := uint64(1); sequence <= 3; sequence++ {
		path := segmentPath(dir, "j", sequence)
		text := must.Get(os.ReadFile(path))(t)
		last := int64(len(text))
		if sequence == 3 {
			last = ends[len(ends)-2]
		}
		for at := int64(0); at < last; at += 11 {
			text[at] ^= 8
			must.Do(t, os.WriteFile(path, text, 0o600))
			text[at] ^= 8
			c, got := read(t, dir)
			if len(c.Damage) != 1 || c.Damage[0].Path != path || c.Torn {
				t.Fatalf("byte %d of segment %d changed: got %+v", at, sequence, c)
			}
			if missing := len(want) - len(got); missing > 1 || c.Last() != 15 {
				t.Fatalf("byte %d of segment %d changed: %d frames are not read, want at most one", at, sequence, missing)
			}
		}
		must.Do(t, os.WriteFile(path, text, 0o600))
	}
	for sequence, commits := range map[uint64][2]uint64{2: {10, 12}, 1: {0, 0}} {
		copied := t.TempDir()
		must.Do(t, os.CopyFS(copied, os.DirFS(dir)))
		must.Do(t, os.Remove(segmentPath(copied, "j", sequence)))
		c, _ := read(t, copied)
		if sequence == 1 && (c.Base() != 9 || len(c.Damage) > 0) {
			t.Errorf("without the first segment: got base %d and %v, want 9", c.Base(), c.Damage)
		}
		if sequence == 2 && (len(c.Damage) != 1 || c.Damage[0].First != commits[0] || c.Damage[0].Last != commits[1]) {
			t.Errorf("without the second segment: got %+v, want commits 10 to 12", c.Damage)
		}
	}
}

// TestChangedEnd changes every byte of the last frame, and makes sectors of it zeros: the first is damage that names the
// commit, the second a frame that was not written to its end. So it is if the file is longer than its frames.
func TestChangedEnd(t *testing.T) {
	for _, reserved := range []int{0, 100, 1 << 13} {
		t.Run(fmt.Sprint(reserved), func(t *testing.T) { testChangedEnd(t, reserved) })
	}
}

func testChangedEnd(t *testing.T, reserved int) {
	dir := t.TempDir()
	want, ends := write(t, dir)
	path := segmentPath(dir, "j", 3)
	text := must.Get(os.ReadFile(path))(t)
	first, end := int(ends[len(ends)-2]), len(text)
	look := func(what string, changed []byte) *Contents {
		must.Do(t, os.WriteFile(path, append(changed, make([]byte, reserved)...), 0o600))
		c, got := read(t, dir)
		if !reflect.DeepEqual(got, want[:len(want)-1]) || c.Last() != 14 {
			t.Fatalf("%s: got %d frames up to commit %d, want %d", what, len(got), c.Last(), len(want)-1)
		}
		return c
	}
	for at := first; at < end; at++ {
		for _, flip := range []byte{1, 0x40} {
			changed := bytes.Clone(text)
			changed[at] ^= flip
			what := fmt.Sprintf("byte %d changed", at)
			c := look(what, changed)
			if len(c.Damage) != 1 || !c.Damage[0].Open || !strings.Contains(c.Damage[0].What, "commit 15") || c.Torn {
				t.Fatalf("%s: got %+v", what, c)
			}
		}
	}
	for at := first; at < end; at = (at/sector + 1) * sector {
		changed := bytes.Clone(text)
		clear(changed[at:min(end, (at/sector+1)*sector)])
		if c := look(fmt.Sprintf("zeros at %d", at), changed); len(c.Damage) > 0 || !c.Torn {
			t.Fatalf("zeros at %d: got %+v", at, c)
		}
	}
}

// FuzzScan reads a segment of any bytes: it neither fails nor reads a frame that was not written.
func FuzzScan(f *testing.F) {
	dir := f.TempDir()
	want, _ := write(f, dir)
	for sequence := uint64(1); sequence <= 3; sequence++ {
		text, err := os.ReadFile(segmentPath(dir, "j", sequence))
		must.Do(f, err)
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	known := map[string]bool{}
	for _, frame := range want {
		known[frame] = true
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "j-000003.log"), text, 0o600))
		c, got := read(t, dir)
		for _, frame := range got {
			if !known[frame] {
				t.Errorf("read %q, which was never written", frame)
			}
		}
		if c.Segments[0].End > int64(len(text)) && len(text) > 0 {
			t.Errorf("the segment ends at %d of %d bytes", c.Segments[0].End, len(text))
		}
	})
}

// FuzzEntries decodes bodies of any bytes.
func FuzzEntries(f *testing.F) {
	frame, err := appendFrame(nil, 1, 0, 1, Commit, []Entry{{[]byte("key"), []byte("value")}, {Key: []byte("gone")}})
	must.Do(f, err)
	f.Add(frame[frameHead:])
	f.Fuzz(func(t *testing.T, body []byte) {
		var entries []Entry
		for e, err := range (Frame{Body: body}).Entries() {
			if err != nil {
				return
			}
			entries = append(entries, e)
		}
		again := must.Get(appendFrame(nil, 1, 0, 1, Commit, entries))(t)
		var second []Entry
		for e, err := range (Frame{Body: again[frameHead:]}).Entries() {
			must.Do(t, err)
			second = append(second, e)
		}
		if !reflect.DeepEqual(entries, second) {
			t.Errorf("got %v, want %v", second, entries)
		}
	})
}

// TestRotateFails has no segment begun where its file cannot be made: the journal goes on in the one before.
func TestRotateFails(t *testing.T) {
	dir := t.TempDir()
	l := must.Get(Create(dir, "j", testStore, 0))(t)
	must.Do(t, os.MkdirAll(filepath.Join(segmentPath(dir, "j", 2), "in the way"), 0o700))
	if err := l.Rotate(); err == nil {
		t.Fatal("got no error where a directory is in the way")
	}
	must.Do(t, os.RemoveAll(segmentPath(dir, "j", 2)))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v; want one segment", entries, err)
	}
	for range 2 {
		must.Do(t, l.AppendCommit([]Entry{{[]byte("k"), []byte("v")}}))
		must.Do(t, l.Rotate())
	}
	must.Do(t, l.Close())
	if c, frames := read(t, dir); c.Last() != 2 || len(frames) != 2 || len(c.Damage) > 0 || len(c.Segments) != 3 {
		t.Errorf("got %+v", c)
	}
}
