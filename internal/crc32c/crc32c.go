// Package crc32c computes the CRC-32C of bytes. It knows nothing of the files and records that have it.
package crc32c

import "hash/crc32"

// Size is the number of bytes of a checksum.
const Size = crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Of is the checksum of b.
func Of(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Update is the checksum of bytes that have the checksum sum, 0 of none, followed by b.
func Update(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }
