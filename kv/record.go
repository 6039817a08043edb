package kv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Every value in the store is one msgpack record, an array of three:
//
//	[version uint8, checksum uint32, body bin]
//
//	0x93  version  0xce c c c c  0xc4|0xc5|0xc6 length  body …
//
// The checksum is the CRC-32C of the key, the version and everything after the checksum, so that a record is damaged
// also when it turns up under a key it was not written to.
const recordVersion = 1

const (
	msgpackArray3 = 0x93
	msgpackUint32 = 0xce
	msgpackBin8   = 0xc4
	msgpackBin16  = 0xc5
	msgpackBin32  = 0xc6

	recordHeader = 7 // bytes before the bin
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes the record of a body under a key, in memory of its own.
func encode(key, body []byte) []byte {
	return appendRecord(make([]byte, 0, recordHeader+5+len(body)), key, body)
}

// appendRecord appends the record of a body under a key to dst.
func appendRecord(dst, key, body []byte) []byte {
	begin := len(dst)
	dst = append(dst, msgpackArray3, recordVersion, msgpackUint32, 0, 0, 0, 0)
	switch {
	case len(body) <= math.MaxUint8:
		dst = append(dst, msgpackBin8, byte(len(body)))
	case len(body) <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, msgpackBin16), uint16(len(body)))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, msgpackBin32), uint32(len(body)))
	}
	dst = append(dst, body...)
	record := dst[begin:]
	binary.BigEndian.PutUint32(record[3:], recordChecksum(key, record))
	return dst
}

func recordChecksum(key, b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, b[1:2])
	return crc32.Update(sum, castagnoli, b[recordHeader:])
}

// decode checks a record read under key and returns its body, which is a part of b.
func decode(key, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, corrupt(key, "the value is empty")
	}
	if len(b) < recordHeader+2 || b[0] != msgpackArray3 || b[2] != msgpackUint32 {
		return nil, corrupt(key, "the value is not a record")
	}
	if binary.BigEndian.Uint32(b[3:]) != recordChecksum(key, b) {
		return nil, corrupt(key, "the checksum does not match")
	}
	if b[1] != recordVersion {
		return nil, fmt.Errorf("%s: %w: record version %d, want %d", describeKey(key), ErrVersion, b[1], recordVersion)
	}
	length, body := -1, []byte(nil)
	switch rest := b[recordHeader:]; {
	case rest[0] == msgpackBin8:
		length, body = int(rest[1]), rest[2:]
	case rest[0] == msgpackBin16 && len(rest) >= 3:
		length, body = int(binary.BigEndian.Uint16(rest[1:])), rest[3:]
	case rest[0] == msgpackBin32 && len(rest) >= 5:
		length, body = int(binary.BigEndian.Uint32(rest[1:])), rest[5:]
	}
	if length != len(body) {
		return nil, corrupt(key, "the length does not match")
	}
	return body, nil
}

// corrupt is the error of a record under key.
func corrupt(key []byte, what string) error {
	return fmt.Errorf("%s: %w: %s", describeKey(key), ErrCorrupt, what)
}
