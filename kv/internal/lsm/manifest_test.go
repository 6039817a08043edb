package lsm

import "testing"

// FuzzManifest holds that a manifest is read, or refused.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifestMagic))
	f.Add([]byte(manifestMagic + "\x00\x00\x00\x02\x00\x00\x00\x00\x0a\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, left, err := parseManifest(text); err == nil && 8*m.records+left > len(text) {
			t.Fatalf("got %d records and %d more bytes of %d", m.records, left, len(text))
		}
	})
}
