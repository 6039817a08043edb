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

// FuzzCatalogFile holds that a damaged file of the catalogue is refused, or read within its bounds.
func FuzzCatalogFile(f *testing.F) {
	f.Add([]byte("\x01a\x05\x01\x01\x01\x01\x01\x01k"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseCatalogFile(text); err == nil && len(c.body)+7*len(c.packs) > len(text) {
			t.Errorf("got %d packs of %d bytes", len(c.packs), len(text))
		}
	})
}
