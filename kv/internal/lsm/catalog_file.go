package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// CatalogName is the file of a copy of the catalogue, with a list of the packs. It is replaced before a commit names
// new packs, after each commit that changes the catalogue, and before the first pack goes. So if Badger loses such a
// commit, this file tells so. Of a crashed database it says which packs must be there. It also has what is to be known
// of a pack to read a closed database without a look at each pack.
const CatalogName = "catalog"

// catalogForm begins the file, as a line with the CRC-32C of what follows, in hexadecimal: a catalogFile as msgpack.
const catalogForm = "catalog-1"

// A catalogFile is the content of the file. The holder of the writer's lock writes it.
type catalogFile struct {
	Body  []byte                 `msgpack:"body"`  // nil if there is no file
	Packs map[uint64]pack.Listed `msgpack:"packs"` // by their numbers
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
	if err := msgpack.Unmarshal(rest, &c); err != nil {
		return c, record.CorruptFile(path, "%v", err)
	}
	return c, nil
}

// write replaces the file.
func (c *catalogFile) write(dir string, next catalogFile) error {
	text, err := msgpack.Marshal(next)
	if err != nil {
		return err
	}
	text = append([]byte(catalogHead(text)+"\n"), text...)
	if err := storedir.ReplaceFile(filepath.Join(dir, CatalogName), text); err != nil {
		return fmt.Errorf("the file %s: %w", CatalogName, err)
	}
	*c = next
	return nil
}

// look is pack.Look of a table that must be there, unless the list says it.
func (c *catalogFile) look(id uint64, path string) (l pack.Listed, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = record.CorruptFile(path, "it is missing")
	}
	if err != nil {
		return l, err
	}
	if listed, ok := c.Packs[id]; ok && storedir.MarkOf(info) == listed.Mark {
		return listed, nil
	}
	return pack.Look(path)
}

// CatalogCopy is the copy of the catalogue that the file has; nil if there is none.
func (d *DB) CatalogCopy() []byte { return d.catalog.Body }
