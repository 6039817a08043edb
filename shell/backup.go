package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// backupCommand writes a backup.
type backupCommand struct {
	DB      string `arg:"" name:"DB" help:"Directory of the store."`
	File    string `arg:"" file:"write" private:"" name:"FILE" help:"File to write, or - for standard output."`
	Since   string `file:"read" placeholder:"FILE" help:"The last backup of the store: write only the changes since then."`
	Replace bool   `help:"Replace FILE if it is there. The old backup stays until the new one is complete."`
	resources
}

func (*backupCommand) Help() string {
	return `One file, compressed, with a checksum over every part and over the whole. The file has another name until ` +
		`it is complete. --since FILE writes only the changes since that backup, and checks it. restore then needs all ` +
		`files, in order.

The backup leaves out the directory work, which has finished stages of interrupted jobs. A damaged record ends the ` +
		`backup.

    graphcleaner backup my.graph monday.backup
    graphcleaner backup my.graph nightly.backup --replace
    graphcleaner backup my.graph tuesday.backup --since monday.backup
    graphcleaner backup my.graph - | ssh far 'cat > my.backup'`
}

func (c *backupCommand) Run(ctx context.Context, s *streams) (err error) {
	if c.File == "-" && print.IsTerminal(s.out) {
		return usagef("backup: want standard output in a file or a pipe, not on a terminal")
	}
	if c.File == c.Since {
		return usagef("backup: --since %s is the file to write: want two files", c.Since)
	}
	target, err := stream.Stat(s.ctx, c.File)
	isSpecial := err == nil && !target.Mode().IsRegular() // a pipe or a device, which takes no room
	if err == nil && !isSpecial && !c.Replace {
		return usagef("backup: %s is there already: want another name, or --replace", c.File)
	}
	opt := kv.BackupOptions{Progress: s.progress.report}
	if c.File != "-" && !isSpecial && s.asked == nil { // the place is that of the process that asks
		if path, err := realpath.Of(c.File); err == nil { // else the file cannot be made
			opt.Dir = filepath.Dir(path)
		}
	}
	if c.Since != "" {
		since, failed := stream.Open(ctx, c.Since)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, since.Close()) }()
		opt.Since = since
	}
	var info kv.BackupInfo
	err = c.use(s, c.DB, toReadLong, func(store *kv.Store) error {
		return s.writeFileOf(privateMode, c.File, func(out *bufio.Writer) (err error) {
			info, err = store.Backup(ctx, out, opt)
			return err
		})
	})
	if err != nil {
		left := "there is no %s"
		if c.Replace {
			left = "%s is what it was"
		}
		return leaving(namedBackup(err, []string{c.Since}), left, c.File)
	}
	if c.File == "-" {
		s.say("%s: %d of %d records, %s", c.File, info.Changed, info.Records, byteSize(info.Stored))
		return nil
	}
	return s.printDone(c.File, "%d of %d records, %s", info.Changed, info.Records, byteSize(info.Stored))
}

// namedBackup says which of the files that were read is wrong.
func namedBackup(err error, files []string) error {
	wrong, ok := errors.AsType[*kv.BackupError](err)
	if !ok || wrong.File >= len(files) {
		return err
	}
	return fmt.Errorf("%s: %w", files[wrong.File], err)
}

// restoreCommand makes a store of backups.
type restoreCommand struct {
	Paths  []string `arg:"" name:"FILE… DB" file:"read" help:"A full backup, then its later backups in order (- is standard input), then the directory of the new store."`
	Verify bool     `help:"Only check the files, as a restore would read them. All arguments are files."`
	resources
}

func (*restoreCommand) Help() string {
	return `restore makes the store in another directory beside DB, and renames it at the end. So DB is never ` +
		`incomplete. Run an interrupted or killed restore again. DB must not exist. Every part of every file is compared ` +
		`with its checksum, and every record with its own.

    graphcleaner restore monday.backup my.graph
    graphcleaner restore monday.backup tuesday.backup my.graph
    graphcleaner restore - my.graph < my.backup
    graphcleaner restore --verify monday.backup tuesday.backup`
}

func (c *restoreCommand) Run(ctx context.Context, s *streams) (err error) {
	names, db := c.Paths, ""
	if !c.Verify {
		names, db = names[:len(names)-1], names[len(names)-1]
		if len(names) == 0 {
			return usagef("restore: want the files of a backup and then the directory of the store to be made")
		}
	}
	var files []io.Reader
	for _, name := range names {
		if name == "-" {
			if len(names) > 1 {
				return usagef("restore: - is one backup alone")
			}
			files = append(files, bufio.NewReader(stream.NewReader(ctx, s.in)))
			continue
		}
		f, failed := stream.Open(ctx, name)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		files = append(files, f)
	}
	var info kv.BackupInfo
	if c.Verify {
		info, err = kv.CheckBackup(ctx, files, s.progress.report)
	} else {
		info, err = kv.Restore(ctx, db, files, kv.Options{MemoryBudget: c.store()}, s.progress.report)
	}
	switch {
	case errors.Is(err, kv.ErrExists):
		return usagef("restore: %s is there already: want another directory (%v)", db, err)
	case err != nil && c.Verify:
		return namedBackup(err, names)
	case err != nil:
		return leaving(namedBackup(wayToOpen(err), names), "there is no %s; run restore again", db)
	}
	what, done := db, "restored"
	if c.Verify {
		what, done = names[len(names)-1], "no problems,"
	}
	return s.printDone(what, "%s %d records of store %s, commit %d", done, info.Records, info.Store, info.Snapshot)
}
