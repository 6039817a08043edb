// Package kv keeps a labelled graph on disk: nodes and their external ids, adjacency, property columns, matrices, and
// whatever upper rooms store in lent key ranges and small documents. It is built on Badger, and alone knows of it.
//
// # Use
//
// [NewLoader] loads a whole graph into a fresh directory; [Create] makes an empty store. [Open] opens one, for writing by
// one process or, with Options.ReadOnly, for reading by many. Then
//
//	Store.View, Store.Begin   a snapshot to read from: it does not change while others write
//	Store.Update              one transaction: all of it is on disk when it returns, or nothing
//	Store.Bulk                whole columns, matrices and spaces, written beside the live ones and switched at once
//	Store.Compact             folds what Updates changed into the blocks
//	Store.Check               looks for damage
//	Store.Backup              writes a snapshot, or what changed since an earlier one, to one file
//	Options.Observe           is told of each thing as it happens, and so is Options.Logger
//
// [Repair] makes a damaged store one that opens and answers for what is not lost, and [UndoRepair] puts back what the store
// was before. [Restore] makes a store of backups, and [Migrate] one of this format of one of an older format.
//
// Nodes are numbered densely, 0 ≤ v < [Tx.NumNodes], by descending degree at the load; nodes added later follow. Every
// node has the columns of the store, each value of which may be null. The column "label" holds the given labels; id and
// degree are read like columns.
//
// # Promises
//
// In brackets the tests that hold them; those of other packages with its name.
//
//   - What Update or Bulk.Commit wrote is there after a crash or a power cut once they have returned, and a crash leaves a
//     prefix of the commits: never a part of one, never a later one without an earlier
//     (TestCrashKeepsPrefix, TestCrashInBulk, TestUpdateIsAllOrNothing; shell TestKilledJobs).
//   - The store knows how many commits there were. Where one of Badger's logs is damaged or missing after a crash, the journal
//     has what it held, and Open writes it again. Where the journal is damaged, missing or of another time, or tables are
//     older than it, Open returns an [ErrCorrupt] that names the file and the commits in doubt, whatever later commits a log
//     has (TestDamagedLogLosesNothing, TestDamagedJournalIsTold, TestLostTablesAreTold, TestLostTableBelowTheLog). A second copy that is of a later commit than the tables and the
//     journal, or of another store, is ErrCorrupt too (TestLaterCopyIsToldAtOpen, TestCopyOfAnotherStore).
//   - Where both are damaged, Badger's log and the journal, commits may be lost. Open and Check may not notice: a journal that
//     is cut short, beside a log that holds no more than it, reads like one that ended there. Where the journal is missing, or
//     its end is damaged or missing, Repair tells an unknown number of lost commits, as nobody knows whether there were more
//     (TestUnknownCommitsAreLost).
//   - A power cut may leave the last frame of the journal half written. Open drops that frame where the file ends inside it, or
//     where one of its sectors of 512 bytes is zeros: its commit had not returned. Where Badger holds that commit it is an
//     [ErrCorrupt] instead, and Repair loses nothing. A last frame that is whole and has a wrong checksum is always an ErrCorrupt
//     that names its commit; Repair then says that commits may be lost, unless Badger holds it. So a commit that had returned
//     is dropped in silence only where its frame lost its end, or became zeros, and Badger's log does not have it either
//     (TestChangedEndOfJournal, TestCrashKeepsPrefix).
//   - Where a log of Badger that it would not open lies beside a damaged journal, Open changes nothing and names both. Repair
//     reads the log (TestDamagedLogBesideADamagedJournal).
//   - An entry that is gone from a space which is kept twice ([Space.KeepTwice]) is found by Check, and [Repair] puts it
//     back (TestLostEntriesAreBroughtBack, TestLostTableOfDecisions, TestDamagedCopyIsTold, TestCopyFollowsBulks; shell
//     TestCheckRepairOfDecisions). A copy that is whole is used also where it is of an earlier or a later commit than the store
//     (TestSoundCopyIsUsed, TestEarlierCopyIsUsed). Where commits after it are known to neither it nor the journal, an entry that
//     can be read stays as it is, and one that they deleted may come back. Decisions of package cleaner that were made before
//     there was KeepTwice are kept twice once the store was migrated, restored or opened for writing
//     (TestOldDecisionsAreKeptTwice).
//   - A record that is empty, damaged, or under another key is [ErrCorrupt], never an empty answer. So is a block that
//     should be there and is not (TestRecordDamage, TestDamagedRecordIsCorrupt, TestCheckFindsDamage).
//   - One number, Options.MemoryBudget, bounds what the store holds at any size of graph. The bytes stored do not depend
//     on it (lsm TestBudgets, TestLoadIsTheSameAtAnyBudget; shell TestHostileFiles). The exception is that Badger builds several
//     tables at once while it merges: with 64 MiB a store that is written much was seen to hold 155 MiB, and with 128 MiB
//     once, on a busy machine, 183 MiB.
//   - A snapshot sees the store as it was when it began, also while a Bulk commits. It may be used by many goroutines
//     (TestSnapshotsDoNotMove, TestBulkIsInvisibleUntilCommit, TestConcurrentReads; shell TestSoak; cleaner
//     TestReadersDuringClean).
//   - Before anything is written the disk is asked for the room it needs ([ErrNoSpace]). Only where another process takes
//     that room between the question and the write does the system kill this one, as by any crash (TestFullDisk,
//     TestLoadIntoFullDisk; shell TestFullDisk).
//   - Of a store that was closed, a file that is missing or cut short is [ErrCorrupt] when the store is opened, and so is a
//     manifest that is damaged; none is deleted for it. Where the end of the second copy of spaces is damaged
//     the store opens to read only, and a writer that has it open is refused before the journal grows beyond its bound; Check tells
//     of all damage to it (TestCopyDamagedBelowAWriter, TestDamagedFiles,
//     TestDamageNamesItsFile, TestOpenWithoutManifest, TestDamagedJournalIsTold, TestDamagedCopyIsTold).
//   - Of a store that crashed, tables that the manifest does not name are removed when it is opened, as Badger does, but
//     only where all of their records are in other tables or in the log, or were dropped by a merge. One that holds the only
//     copy of a record is [ErrCorrupt]. One that cannot be read is moved into the quarantine where the other tables and the
//     journal have every commit, and is ErrCorrupt otherwise. So a manifest that is cut short, or an old one beside newer
//     tables, loses no table (TestRepairOfManifest, TestRepairBesideMergedTables, TestDamagedUnnamedTable).
//   - Records that were committed with a catalogue which is lost are [ErrCorrupt] when the store is opened for writing, and
//     stay (TestRepairOfALostCatalogue).
//   - A changed byte, wherever it is in the files of a closed store, is found by Open, by a read or by Store.Check, or
//     changes nothing that can be read. Only Check finds a change, document or entry that is missing altogether; in a space
//     without a second copy it may miss one. Tables that were there when the store was opened are compared with their
//     checksums before they are merged, so that merging does not hide it (TestFlippedBytes; shell TestDamagedFiles). That
//     is done once for a table: the file
//     "verified" remembers the size, the times and the number of its file, and a file in which these have changed is compared
//     again (TestTablesAreVerifiedOnce). So a byte that the medium itself changes, after its table was compared, may be hidden
//     by merging where it is not in the body of a record.
//   - A table that is cut short below an open store, or a page of it that the disk cannot read, is [ErrCorrupt] to who reads
//     it; the process goes on (TestTablesCutShortBelowAStore). The sizes of the tables are compared before the store asks for
//     what may merge them. What remains: Badger merges tables, and writes its logs, through mapped files in goroutines of its
//     own, and has no other way to read them. Where a file is cut short or a page cannot be read while Badger itself touches it,
//     the system ends the process, as by any crash.
//   - Close may be called beside everything else. It waits for a Compact to its end; a Check or Backup that runs, and every
//     snapshot, ends with [ErrClosed] (TestOperationsBesideClose, TestClosedSnapshotsSaySo).
//     An Update waits for a Check only until that has begun and compared the second copy of spaces (TestUpdatesBesideCheck,
//     TestCheckHoldsTheJournal).
//   - An error of a row, of a Loader or of a writer of a Bulk, has Commit fail with it, also where the caller ignores it
//     (TestRowErrorsEndTheLoad, TestRowErrorsEndTheBulk). A row that LoadOptions.BadRow skips is no error.
//   - [Repair] of a closed store of which one byte was changed tells of what it loses, which is nothing where the byte is not
//     in a block of a table. A whole store it leaves alone (TestRepairOfOneByte, TestRepairLeavesAnUndamagedStoreAlone).
//   - Repair of a journal with a gap puts no earlier value, nor what was deleted, over what Badger holds of the same commits
//     (TestRepairKeepsLaterValues). It tells which commits of the gap, and of lost tables, no file has, and which may be lost
//     (TestLostCommits). Where it makes good a catalogue or an entry of a whole second copy, and found nothing that took
//     them, it tells an unknown loss (TestLostCatalogueIsALoss).
//   - Where only the manifest is lost, old or damaged, Repair loses no record, and brings none back that was deleted and
//     whose table a merge made another of. The exception is a record before the first or behind the last key of all that the
//     merge made (TestRepairOfManifest, TestRepairBesideMergedTables).
//   - Repair returns what it lost for good, by kind. A number is exact, or a bound that it calls so, or unknown. That a
//     change is gone altogether with the table, or the block of one, that held it is counted as records of tables
//     (TestLosses, TestRepairOfTables, TestRepairOfRecords, TestRepairOfFiles, TestRepairOfLists).
//   - Every file that the store had is in its quarantine after a Repair, as it was, and UndoRepair puts it back, byte for
//     byte. It refuses a store that was written to since, and files that were changed in the quarantine. [UndoRepairIf] sets
//     aside what was written since, as a store in the quarantine. A Repair that fails changes nothing. Killed at any moment,
//     Repair and UndoRepair come to the same end when they are run again; a store that is half of each does not open until
//     then (TestRepairOfManifest, TestRepairOfTables, TestKilledRepair,
//     TestUndoRepairOfWrittenStore, TestUndoRepairs, TestUndoRepairBesideAWriter, TestSwitchMissesAFile,
//     TestUndoRepairOfDamagedQuarantine; shell TestCheckRepairAfterCrash).
//   - A backup holds one snapshot, whatever is written meanwhile, and each record of it was compared with its checksum,
//     also one that an earlier backup has. One that is cut short or damaged is an [ErrBackup], and
//     what is restored of those that are whole has the records, the commits and the ID of the store that was backed up.
//     A [Restore] or [Migrate] that is killed leaves nothing half made (TestBackupWhileWriting, TestBackupChains,
//     TestFlippedBackups, TestTruncatedBackups, TestKilledBackups, TestMigrationIsAtomic).
//   - A write that the disk fails, in the background too, ends the writing with [ErrFailed]. What was committed is there
//     when the store is opened again. The exception is a table that cannot be made while Badger merges tables in the
//     background: version 4.9.6 removes what it merged all the same. The store then ends the reading as well, and says
//     with [ErrCorrupt] that records are lost. Compact keeps what it merges until the tables it made are all there
//     (TestCompactKeepsWhatItCannotMerge, TestLostTableIsTold, TestUndoMerges,
//     TestRefusedCommitIsThereLater; shell TestFailedJobs).
//   - What a user's data can cause is an error that names the thing, the value and what was wanted; see the sentinels
//     (shell TestHostileFiles and TestImportErrors, and the fuzz targets of every decoder and reader of files).
//
// TestModel, and cleaner TestStoreModel, hold all that is written and read against a plain model. The command
// docs/durability/run runs the tests of crashes and damage for long.
//
// The directory "work" in a store is lent to long jobs by [Store.Work] for what they have finished. It is no part of the
// store, and may be deleted while no process has the store open. Nor are the file "verified", which remembers the
// tables that were compared, and "quarantine", where Repair keeps the files that the
// store had before: as much as the store takes, for each repair. Delete it, or one of its numbered directories, to free that
// room; that repair can then not be undone. A numbered directory with two of before, after, repaired and incoming in it says
// that a repair was stopped while files changed places: then run Repair again first (TestStoppedSwitch).
//
// The lock on a store is the flock of its directory, which Open takes and Close gives back: one process has it alone, to
// write, or many share it, to read (TestLockIsThatOfBadger, TestLockBesideChildren). Where a system has no such locks,
// Badger locks the file LOCK.
//
// There is one writer at a time: an Update, a Bulk or a Compact waits for the one before it, readers for none of them. A
// transaction holds some megabytes ([ErrTxTooBig]); what is larger goes through Bulk or a [Loader].
//
// # File modes
//
// A store is its owner's alone: its directory, and those that a load or a Restore works in, are made with the mode 0700.
// The files in the directory of a store have its mode without the bits to execute, so 0600, whatever the umask is; they are
// given it when the store is opened for writing and when it is closed. Who wants to share a store changes the mode of its
// directory, and the files follow. One that is loaded or restored into an empty directory takes over that one's mode.
//
// # Records
//
// Every value is one msgpack record, an array of three:
//
//	[version uint8, checksum uint32, body bin]
//
// The checksum is the CRC-32C of the key, the version and the body. A body is at most 64 KiB or little more, so that no
// value reaches Badger's value log; longer ones are chains of parts, the first of which begins with their number.
// The bodies of documents and of the catalogue are themselves msgpack; those of blocks are packed by the encodings
// described beside their code.
//
// A load does not go through Badger's log and its merging: it writes tables of the last level itself, each byte once,
// whose bytes depend on the graph alone, and has Badger open them.
//
// # Files
//
//	MANIFEST, KEYREGISTRY, DISCARD         of Badger
//	LOCK                                   the number of the process that writes; there after a crash too
//	000001.sst …                           tables
//	00001.mem …                            Badger's logs, of what is in no table yet; not synced
//	journal-000001.log …                   the journal: the commits that may be in no table yet, synced with each
//	copy-000001.log …                      the second copy of spaces that are kept twice
//	work, quarantine                       no part of the store
//
// A transaction is numbered, appended to the journal, synced, and only then given to Badger; so each costs one sync. What
// a Bulk writes is in the journal too, and is synced by the transaction that makes it visible. A file of the journal is
// removed once all that is in it is in tables, at the latest by Close; it takes some four memtables at most. Package
// kv/internal/journal describes its form.
//
// # Keys
//
// A key is a kind, one byte, and big-endian fields of fixed width, so that byte order is the order of the numbers.
//
//	01                            header: format version, store id, creation
//	02 part                       catalogue
//	03 space 00 key part          document
//	04                            counts: what small writes change of the catalogue
//	05                            number of the last commit
//	10 generation block part      adjacency: the lists of consecutive nodes, gap-coded
//	11 generation chunk           adjacency directory: which nodes are in which block
//	12 generation node node       edge added, removed or changed since the load, under both ends
//	13 generation node            how many of each
//	14 generation block part      arcs: of a directed or weighted graph, what joins each neighbour in the lists
//	20 generation block           external ids, in file order
//	21 generation bucket          external id → place in the node file
//	22 generation block           place in the node file → node
//	23 generation block           node → place in the node file
//	24 generation node            external id of a node added since the load
//	25 generation id              its node
//	30 generation block part      column: the values of 4096 consecutive nodes, with least and greatest
//	31 generation node            value changed since
//	40 generation tile block      matrix: columns of up to 1024 consecutive rows, dense, sparse or with one value in most cells
//	41 generation node part       row changed since
//	50 generation key             entry of a space
//
// The lists hold the neighbours of the undirected graph, whatever the direction of the arcs, so that an undirected and
// unweighted graph has no records of arcs; [Tx.Along] puts both together.
//
// Kind 1 byte; generation, block, tile, chunk, bucket and node 4 bytes; part 2, of adjacency 4; the rest as it is.
//
// The catalogue holds the classes, and names the one generation of the graph and of each column, matrix
// and space that counts; how many nodes and edges there are is a small record beside it, so that adding some does not
// write the whole catalogue. A generation is written once, as a whole, and afterwards only gets small delta records, which
// all reads merge in. What replaces it is a new generation; a single transaction switches the catalogue over, and the
// records of generations no catalogue names are deleted after it, or, after a crash, when the store is next opened for
// writing.
//
// # Format version
//
// A store of another version is refused with a [*VersionError]. [Migrate] brings one of an earlier version to the present
// one; testdata keeps stores of each.
//
//	1   the first
//	2   the counts are a record of their own
//	3   there is a journal, commits are numbered, and spaces may be kept twice
package kv
