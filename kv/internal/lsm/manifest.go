package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Names of files that every database has.
const (
	ManifestName    = badger.ManifestFilename
	KeyRegistryName = badger.KeyRegistryFileName
)

// manifestMagic begins Badger's manifest: a mark, no version of ours, and the version of its form. Records
// follow, each its length, its CRC-32C, both big-endian, and changes of the tables there are.
const manifestMagic = "Bdgr\x00\x00\x00\x08"

// A manifest is the content of Badger's file.
type manifest struct {
	levels  map[uint64]uint8 // of the tables, by their numbers
	records int
	cut     error // an ErrCorrupt if the last record is not complete, else nil
}

// foreign is why a manifest is refused that this package did not write, nor Badger with its options.
const foreign = "another program has written to the store with Badger"

// readManifest reads the manifest of a directory. With an ErrCorrupt it returns what is before the damage.
func readManifest(dir string) (m manifest, err error) {
	path := filepath.Join(dir, ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	m, left, err := parseManifest(text)
	if err != nil {
		return m, record.CorruptFile(path, "%v", err)
	}
	if left > 0 {
		m.cut = record.CorruptFile(path, "its last record is cut off after %d bytes", left)
	}
	return m, nil
}

// parseManifest returns what a manifest says, and how many bytes its last record has if that is not complete.
func parseManifest(text []byte) (m manifest, left int, err error) {
	m.levels = map[uint64]uint8{}
	rest, ok := bytes.CutPrefix(text, []byte(manifestMagic))
	if !ok {
		return m, 0, errors.New("it does not begin as a manifest")
	}
	const head = 8
	for len(rest) >= head {
		length, sum := int64(binary.BigEndian.Uint32(rest)), binary.BigEndian.Uint32(rest[4:])
		if length > int64(len(text)) {
			return m, 0, fmt.Errorf("a record says that it has %d bytes", length)
		}
		if length > int64(len(rest)-head) {
			break
		}
		body := rest[head : head+length]
		if crc32c.Of(body) != sum {
			return m, 0, errors.New("the checksum of a record is wrong")
		}
		var changes pb.ManifestChangeSet
		if err := proto.Unmarshal(body, &changes); err != nil {
			return m, 0, err
		}
		for _, change := range changes.Changes {
			if err := m.apply(change); err != nil {
				return m, 0, err
			}
		}
		m.records++
		rest = rest[head+length:]
	}
	return m, len(rest), nil
}

func (m *manifest) apply(change *pb.ManifestChange) error {
	if change.Op == pb.ManifestChange_DELETE {
		delete(m.levels, change.Id)
		return nil
	}
	switch _, there := m.levels[change.Id]; {
	case change.Op != pb.ManifestChange_CREATE || change.Level > lastLevel:
		return fmt.Errorf("it has a change %v of table %d, level %d", change.Op, change.Id, change.Level)
	case there:
		return fmt.Errorf("it names table %d twice", change.Id)
	case change.Compression != 0 || change.KeyId != 0:
		return fmt.Errorf("%s: table %d is compressed or encrypted", foreign, change.Id)
	}
	m.levels[change.Id] = uint8(change.Level)
	return nil
}

// own are the numbers of the tables that are Badger's own, ascending.
func (m manifest) own() []uint64 {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.levels)), isPack)
}

// lacks are those of some tables that the manifest does not name.
func (m manifest) lacks(tables []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(tables), func(id uint64) bool {
		_, named := m.levels[id]
		return named
	})
}

// packs are the numbers of the tables that are packs.
func (m manifest) packs() []uint64 {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.levels)), func(id uint64) bool { return !isPack(id) })
}

// write replaces the manifest of a directory by one of a single record, which names the tables that are Badger's own,
// and the given packs.
func (m manifest) write(dir string, packs []uint64) error {
	var changes pb.ManifestChangeSet
	for _, id := range m.own() {
		changes.Changes = append(changes.Changes, &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE,
			Level: uint32(m.levels[id])})
	}
	for _, id := range slices.Sorted(slices.Values(packs)) {
		changes.Changes = append(changes.Changes, &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE, Level: packLevel})
	}
	body, err := proto.Marshal(&changes)
	if err != nil {
		return err
	}
	text := binary.BigEndian.AppendUint32([]byte(manifestMagic), uint32(len(body)))
	text = binary.BigEndian.AppendUint32(text, crc32c.Of(body))
	return storedir.ReplaceFile(filepath.Join(dir, ManifestName), append(text, body...))
}

// CheckManifest returns ErrNotStore for a directory that has no manifest, and ErrCorrupt if tables say that it had one.
func CheckManifest(dir string) error {
	path := filepath.Join(dir, ManifestName)
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := list(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if tables := slices.Concat(f.tables, f.closed, f.open); len(tables) > 0 {
		return record.CorruptFile(path, "it is missing, and table %d is there", tables[0])
	}
	return fmt.Errorf("%s: %w", dir, ErrNotStore)
}
