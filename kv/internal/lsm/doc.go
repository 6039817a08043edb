// Package lsm keeps records in Badger, by their keys, in a directory that the caller has locked. It loses no record
// without saying so. It alone opens Badger, and alone knows what Badger logs, how Badger names its files and which
// errors Badger hides. It knows the form of records, but not their meaning.
//
// A database that is opened to be read is read without Badger [read_only.go]. Badger merges nothing: packs
// [pack_set.go] are beside it while a database is open for writing, and the fold [fold.go] keeps its own tables few.
// Beside that, this package works around these faults of Badger 4.9.6, in the files in brackets. If you raise the
// version, run the tests of these files.
//
//   - A write in the background that fails is only logged. A memtable that cannot become a table is tried again for
//     ever, and Close waits for it. [log.go, write_failure.go]
//   - The manifest may go on naming a table that was removed, as the manifest itself could not be synced.
//     [write_failure.go]
//   - Its own merge of tables goes on after a damaged block, and after a table that it could not write, and loses the
//     records there without an error. [fold.go]
//   - With checksums on, an iterator ends before a damaged block, without an error. [options.go]
//   - Opening panics on a damaged table or log. [files.go]
//   - Opening removes every table that the manifest does not name, also if the manifest is cut short. [unnamed.go]
//   - A log is read up to the first entry that is damaged, and the rest is dropped, without an error. The caller says
//     so, and keeps what may not be lost a second time.
//   - A process that is killed while it makes or removes a log leaves one without a byte, which is not opened.
//     [files.go]
//   - If the file DISCARD cannot be made the process ends. [open.go]
//   - Files are written through mapped memory that has no room on the disk yet: a full disk kills the process.
//     [disk_space.go]
//   - Files are read through mapped memory: one that is cut short, or a page that the disk cannot read, kills the
//     process. [guard.go]
//   - A file is synced, and its name in the directory is not. File systems make the name of a new file durable with its
//     first sync.
//   - The builder of tables keeps a whole table in memory. [kv/internal/pack]
//   - A value is copied two or three times before it is handed out. [lookups.go]
//   - Errors of the system are not wrapped. [guard.go]
//   - The lock on the directory is given back by closing a file that a child process may have open.
//     [storedir/lock_unix.go]
package lsm
