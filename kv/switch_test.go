package kv

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file of a switch that names other files than those of a store, or is damaged, moves and removes nothing.
func TestForgedSwitch(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"another directory to remove": `{"repair":1,"out_to":"before","out":[],"in_from":"../../../victim","in":[]}`,
		"another directory to fill":   `{"repair":1,"out_to":"../../../victim","out":["MANIFEST"],"in_from":"after","in":[]}`,
		"a file elsewhere":            `{"repair":1,"out_to":"before","out":["../victim/kept"],"in_from":"after","in":[]}`,
		"a place elsewhere":           `{"repair":1,"out_to":"before","out":[],"in_from":"after","in":["../victim/kept"]}`,
		"no number":                   `{"out_to":"before","out":[],"in_from":"after","in":[]}`,
		"no text":                     ``,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Options{})
			closeStore(t, s)
			victim := filepath.Join(filepath.Dir(s.Dir()), "victim")
			kept := filepath.Join(victim, "kept")
			err := errors.Join(os.MkdirAll(victim, 0o700), os.WriteFile(kept, nil, 0o600),
				os.MkdirAll(filepath.Join(s.Dir(), quarantineName, "1", afterName), 0o700), os.WriteFile(switchPath(s.Dir()), []byte(text), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			files := fileNames(t, s.Dir(), "*")
			if _, err := Repair(t.Context(), s.Dir(), Options{MemoryBudget: minMemoryBudget}, nil, func(Mend) {}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("repair: got %v, want ErrCorrupt", err)
			}
			if _, err := os.Stat(kept); err != nil {
				t.Error(err)
			}
			if now := fileNames(t, s.Dir(), "*"); len(now) != len(files) {
				t.Errorf("the store has the files %q, want %q", now, files)
			}
		})
	}
}
