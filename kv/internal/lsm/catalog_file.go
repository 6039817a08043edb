package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// CatalogName is the file of a copy of the catalogue, with a list of the packs. It is replaced after each commit that
// changes the catalogue, and before the first pack goes. So if Badger loses such a commit, this file tells so. Of a
// crashed database it says which packs must be there. It also has what is to be known of a pack to read a closed
// database without a look at each pack.
const CatalogName = "catalog"

// catalogForm begins the file, as a line with the CRC-32C of what follows, in hexadecimal. Behind it are
//
//	length   uvarint  of the copy
//	the copy
//	an entry for each pack: its number, size and time of change, the number of its file, where its index begins, its newest version, the
//	length of its first key, all uvarint, and that key with its version
const catalogForm = "catalog-1"

// A catalogFile is what the file says. Who holds the writer's lock writes it.
type catalogFile struct {
	body  []byte                 // nil if there is no file
	packs map[uint64]pack.Listed // by their numbers
}

func catalogHead(body []byte) string { return fmt.Sprintf("%s %08x", catalogForm, crc32c.Of(body)) }

// readCatalogFile reads the file, which need not be there.
func readCatalogFile(dir string) (c catalogFile, err error) {
	path := filepath.Join(dir, CatalogName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	if string(head) != catalogHead(rest) {
		return c, record.CorruptFile(path, "its checksum does not match")
	}
	if c, err = parseCatalogFile(rest); err != nil {
		return c, record.CorruptFile(path, "%v", err)
	}
	return c, nil
}

func parseCatalogFile(text []byte) (c catalogFile, err error) {
	next := func() uint64 {
		n, size := binary.Uvarint(text)
		if size <= 0 {
			err = errors.New("it is cut short")
			return 0
		}
		text = text[size:]
		return n
	}
	cut := func(length uint64) (piece []byte) {
		if err != nil || length > uint64(len(text)) {
			err = errors.New("it is cut short")
			return nil
		}
		piece, text = text[:length:length], text[length:]
		return piece
	}
	c.body, c.packs = cut(next()), map[uint64]pack.Listed{}
	for err == nil && len(text) > 0 {
		number := next()
		l := pack.Listed{Mark: storedir.Mark{Size: int64(next()), Modified: int64(next()), Number: next()},
			Index: int64(next()), Newest: next()}
		l.First = cut(next())
		c.packs[number] = l
	}
	return c, err
}

// write replaces the file.
func (c *catalogFile) write(dir string, body []byte, packs []*heldPack) error {
	text := append(binary.AppendUvarint(nil, uint64(len(body))), body...)
	listed := map[uint64]pack.Listed{}
	for _, h := range packs {
		l := h.Listed
		for _, n := range []uint64{
			h.id.number, uint64(l.Size), uint64(l.Modified), l.Number, uint64(l.Index), l.Newest, uint64(len(l.First)),
		} {
			text = binary.AppendUvarint(text, n)
		}
		text = append(text, l.First...)
		listed[h.id.number] = l
	}
	whole := append([]byte(catalogHead(text)+"\n"), text...)
	if err := storedir.ReplaceFile(filepath.Join(dir, CatalogName), whole); err != nil {
		return err
	}
	c.body, c.packs = bytes.Clone(body), listed
	return nil
}

// has says whether the file lists these packs, and no others.
func (c *catalogFile) has(packs []*heldPack) bool {
	if c.body == nil && len(packs) > 0 || len(packs) != len(c.packs) {
		return false
	}
	return !slices.ContainsFunc(packs, func(h *heldPack) bool {
		_, listed := c.packs[h.id.number]
		return !listed
	})
}

// look is pack.Look of a pack, if the list does not say it.
func (c *catalogFile) look(number uint64, path string) (pack.Listed, error) {
	info, err := os.Stat(path)
	if err != nil {
		return pack.Listed{}, err
	}
	if listed, ok := c.packs[number]; ok && storedir.MarkOf(info) == listed.Mark {
		return listed, nil
	}
	return pack.Look(path)
}

// CatalogCopy is the copy of the catalogue that the file has; nil if there is none.
func (d *DB) CatalogCopy() []byte { return d.catalog.body }
