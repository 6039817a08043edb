package lsm

import "testing"

// FuzzManifest holds that the changes of a manifest are read, or refused.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifestMagic))
	f.Add([]byte(manifestMagic + "\x00\x00\x00\x02\x00\x00\x00\x00\x0a\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if sets, err := manifestChanges(text); err == nil && 8*len(sets) > len(text) {
			t.Fatalf("got %d changes of %d bytes", len(sets), len(text))
		}
	})
}
