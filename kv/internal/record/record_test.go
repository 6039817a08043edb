package record

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestRecordRoundTrip(t *testing.T) {
	key := NumberKey(KindColumn, 7, 3)
	for _, size := range []int{0, 1, 255, 256, 65535, 65536, 100_000} {
		body := bytes.Repeat([]byte{0xa5}, size)
		got, err := Decode(key, Encode(key, body))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("body of %d bytes: got %d bytes, %v", size, len(got), err)
		}
	}
}

func TestRecordIsMsgpack(t *testing.T) {
	key := NumberKey(KindColumn, 7, 3)
	var got []any
	must.Do(t, msgpack.Unmarshal(Encode(key, []byte("body")), &got))
	if len(got) != 3 || fmt.Sprint(got[0]) != "1" || string(got[2].([]byte)) != "body" {
		t.Errorf("got %v, want version 1, a checksum and the body", got)
	}
}

func TestRecordDamage(t *testing.T) {
	key := NumberKey(KindColumn, 7, 3)
	good := Encode(key, []byte("some bytes of a body"))
	for at := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[at] ^= 1 << bit
			if _, err := Decode(key, bad); !errors.Is(err, ErrCorrupt) {
				t.Errorf("bit %d of byte %d flipped: got %v, want ErrCorrupt", bit, at, err)
			}
		}
	}
	for size := range good {
		if _, err := Decode(key, good[:size]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: got %v, want ErrCorrupt", size, err)
		}
	}
	if _, err := Decode(NumberKey(KindColumn, 7, 4), good); !errors.Is(err, ErrCorrupt) {
		t.Errorf("under another key: got %v, want ErrCorrupt", err)
	}
	_, err := Decode(key, nil)
	if got, want := fmt.Sprint(err),
		"column block 3 of generation 7: kv: corrupt record: the value is empty"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	key := []byte("key")
	f.Add(Encode(key, nil))
	f.Add(Encode(key, make([]byte, 300)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if body, err := Decode(key, b); err == nil && len(body) >= len(b) {
			t.Errorf("a body of %d bytes from %d", len(body), len(b))
		}
		if body, err := Decode(key, Encode(key, b)); err != nil || !bytes.Equal(body, b) {
			t.Errorf("round trip of %d bytes: %v", len(b), err)
		}
	})
}
