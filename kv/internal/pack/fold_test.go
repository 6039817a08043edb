package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4/y"
	"pgregory.net/rapid"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A versionOf is a version of a key.
type versionOf struct {
	key     string
	version uint64
}

// foldTable writes a table of values, in which "" is a deletion.
func foldTable(t testing.TB, path string, values map[versionOf]string) {
	t.Helper()
	order := slices.SortedFunc(maps.Keys(values), func(a, b versionOf) int {
		return y.CompareKeys(y.KeyWithTs([]byte(a.key), a.version), y.KeyWithTs([]byte(b.key), b.version))
	})
	w := NewWriter(path)
	for _, v := range order {
		var err error
		if value := values[v]; value == "" {
			err = w.AddEntry(Entry{Key: y.KeyWithTs([]byte(v.key), v.version), Value: y.ValueStruct{Meta: MarkDeleted}})
		} else {
			err = w.Add([]byte(v.key), []byte(value), v.version)
		}
		must.Do(t, err)
	}
	must.Do(t, errors.Join(w.End(), w.Sync()))
}

// readTable is what a table holds, as foldTable has it. Its blocks must be sound.
func readTable(t testing.TB, path string) (values map[versionOf]string, newest uint64) {
	t.Helper()
	r := must.Get(Open(path))(t)
	defer func() { must.Do(t, r.Close()) }()
	values = map[versionOf]string{}
	for i := range r.Blocks() {
		must.Do(t, r.Verify(i))
		from, to, err := r.Place(i)
		must.Do(t, err)
		entries, _ := Entries(r.Data[from:to])
		for _, e := range entries {
			if IsDeleted(e.Value) != (len(e.Value.Value) == 0) {
				t.Errorf("%s: a deletion with a value, or a value that is none", e.Key)
			}
			values[versionOf{string(y.ParseKey(e.Key)), y.ParseTs(e.Key)}] = string(e.Value.Value)
		}
	}
	return values, r.Index().MaxVersion()
}

// TestFold merges drawn tables, and expects exactly what snapshots and the newest commit see, by a look at every
// version of every key.
func TestFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "fold")
		must.Do(t, err)
		keys := rapid.SliceOfNDistinct(rapid.StringMatching("[a-c]{1,3}"), 1, 12, rapid.ID).Draw(r, "keys")
		key := rapid.SampledFrom(keys)
		covered := rapid.MapOf(key, rapid.Just(true)).Draw(r, "covered")
		dead := rapid.MapOfN(key, rapid.Just(true), 0, 2).Draw(r, "dead")
		long := strings.Repeat("long ", 200)
		f := &Fold{
			Seen:      rapid.SliceOfN(rapid.Uint64Range(1, 9), 0, 3).Draw(r, "seen"),
			Most:      rapid.SampledFrom([]int64{1, 3000, 1 << 20}).Draw(r, "most"),
			IsDead:    func(key []byte) bool { return dead[string(key)] },
			IsCovered: func(key []byte) (bool, error) { return covered[string(key)], nil },
		}
		names := 0
		f.Name = func() string {
			names++
			return filepath.Join(dir, fmt.Sprintf("made %d", names))
		}
		all := map[versionOf]string{}
		for i := range rapid.IntRange(1, 5).Draw(r, "tables") {
			values := map[versionOf]string{}
			for range rapid.IntRange(1, 15).Draw(r, "entries") {
				v := versionOf{key.Draw(r, "key"), rapid.Uint64Range(1, 9).Draw(r, "version")}
				values[v] = ""
				if rapid.IntRange(0, 2).Draw(r, "is deletion") > 0 {
					length := rapid.IntRange(0, len(long)).Draw(r, "length")
					values[v] = fmt.Sprintf("%d of %d %s", len(values), i, long[:length])
				}
			}
			values[versionOf{"!badger!txn", uint64(i + 1)}] = "of Badger"
			f.From = append(f.From, filepath.Join(dir, fmt.Sprintf("table %d", i)))
			foldTable(t, f.From[i], values)
			maps.Copy(all, values)
		}
		newest := uint64(0)
		for v := range all {
			newest = max(newest, v.version)
		}

		made := must.Get(f.Run(t.Context()))(t)

		got, last := map[versionOf]string{}, ""
		for _, path := range made {
			values, version := readTable(t, path)
			if version != newest {
				t.Errorf("a table says that its newest version is %d, want %d", version, newest)
			}
			byKey := func(a, b versionOf) int { return strings.Compare(a.key, b.key) }
			order := slices.SortedFunc(maps.Keys(values), byKey)
			if order[0].key <= last {
				t.Errorf("a table begins with %q, and the one before ends with %q", order[0].key, last)
			}
			last = order[len(order)-1].key
			maps.Copy(got, values)
		}
		if want := seenOf(all, append(f.Seen, 1<<60), covered, dead); !maps.Equal(got, want) {
			t.Fatalf("seen at %v: got %v of %v, want %v", f.Seen, got, all, want)
		}
	})
}

// seenOf is what must stay of values.
func seenOf(all map[versionOf]string, snapshots []uint64, covered, dead map[string]bool) map[versionOf]string {
	seen := map[versionOf]string{}
	for v := range all {
		if dead[v.key] || v.key == "!badger!txn" {
			continue
		}
		for _, snapshot := range snapshots {
			sees := versionOf{key: v.key}
			for other := range all {
				if other.key == v.key && other.version <= snapshot && other.version > sees.version {
					sees = other
				}
			}
			if sees.version > 0 {
				seen[sees] = all[sees]
			}
		}
	}
	for v, value := range seen {
		covers := covered[v.key]
		for other, below := range seen {
			covers = covers || other.key == v.key && other.version < v.version && below != ""
		}
		if value == "" && !covers {
			delete(seen, v)
		}
	}
	return seen
}

// foldOf is a fold of two tables of some blocks each.
func foldOf(t *testing.T) *Fold {
	dir := t.TempDir()
	f := &Fold{
		Most:      16 << 10,
		IsDead:    func([]byte) bool { return false },
		IsCovered: func([]byte) (bool, error) { return false, nil },
	}
	for i := range 2 {
		values := map[versionOf]string{}
		for n := range 400 {
			values[versionOf{string(testKey(2*n + i)), uint64(i + 1)}] = strings.Repeat("body ", 20)
		}
		f.From = append(f.From, filepath.Join(dir, fmt.Sprintf("%06d.sst", i+1)))
		foldTable(t, f.From[i], values)
	}
	names := 0
	f.Name = func() string {
		names++
		return filepath.Join(dir, fmt.Sprintf("made-%d.tmp", names))
	}
	return f
}

// TestFoldOfDamage changes each block, and the index, of a table: the fold is an ErrCorrupt that names the table, no
// new table is left, and the tables stay as they are.
func TestFoldOfDamage(t *testing.T) {
	t.Parallel()
	f := foldOf(t)
	dir, path := filepath.Dir(f.From[1]), f.From[1]
	whole := must.Get(os.ReadFile(path))(t)
	r := must.Get(Open(path))(t)
	places := []int{len(whole) - 40}
	for i := range r.Blocks() {
		from, to, err := r.Place(i)
		must.Do(t, err)
		places = append(places, (from+to)/2)
	}
	must.Do(t, r.Close())
	damages := map[string]func(text []byte) []byte{
		"cut short": func(text []byte) []byte { return text[:len(text)/2] },
		"empty":     func([]byte) []byte { return nil },
	}
	for _, at := range places {
		damages[fmt.Sprintf("byte %d", at)] = func(text []byte) []byte {
			text[at] ^= 1
			return text
		}
	}
	for what, damage := range damages {
		text := damage(bytes.Clone(whole))
		must.Do(t, os.WriteFile(path, text, 0o600))
		made, err := f.Run(t.Context())
		if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(path)) || made != nil {
			t.Errorf("%s: got %v, %v, want ErrCorrupt that names %s", what, made, err, path)
		}
		entries := must.Get(os.ReadDir(dir))(t)
		if after := must.Get(os.ReadFile(path))(t); len(entries) != 2 || !bytes.Equal(after, text) {
			t.Errorf("%s: %d files are left, want the two tables as they were", what, len(entries))
		}
	}
	must.Do(t, os.WriteFile(path, whole, 0o600))
	if made := must.Get(f.Run(t.Context()))(t); len(made) < 2 {
		t.Errorf("of sound tables it makes %d, want some", len(made))
	}
}

// TestFoldEnds has a fold end early: by its context, and as it cannot tell what a deletion covers. No new table is
// left.
func TestFoldEnds(t *testing.T) {
	t.Parallel()
	f := foldOf(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	deletion := filepath.Join(filepath.Dir(f.From[0]), "000003.sst")
	foldTable(t, deletion, map[versionOf]string{{string(testKey(799)), 3}: ""})
	f.From = append(f.From, deletion)
	unknown := errors.New("unknown")
	f.IsCovered = func([]byte) (bool, error) { return false, unknown }
	if _, err := f.Run(t.Context()); !errors.Is(err, unknown) {
		t.Errorf("got %v, want %v", err, unknown)
	}
	if entries := must.Get(os.ReadDir(filepath.Dir(deletion)))(t); len(entries) != 3 {
		t.Errorf("%d files are left, want 3", len(entries))
	}
}
