// Package kv keeps a labelled graph on disk: nodes and their external ids, adjacency, property columns, matrices, and
// whatever upper rooms store in lent key ranges and small documents. It is built on Badger, which only its package
// kv/internal/lsm imports. Where directories have locks, a store that is opened to be read is read without Badger, from the same files.
//
// # Use
//
// [NewLoader] loads a whole graph into a fresh directory; [Create] makes an empty store. [Open] opens one, for writing by
// one process or, with Options.ReadOnly, for reading by many. Then
//
//	Store.View, Store.Begin   a snapshot to read from: it does not change while others write
//	Store.Update              one transaction: all of it is on disk when it returns, or nothing
//	Store.NewPatch            any number of nodes and edges, by their ids, added, changed and removed at once
//	Store.Bulk                whole columns, matrices and spaces, written beside the live ones and switched at once
//	Store.Compact             folds what Updates changed into the blocks
//	Store.Check               looks for damage
//	Store.Backup              writes a snapshot, or what changed since an earlier one, to one file
//	Tx.ChangesSince           the nodes that were written to since an earlier commit, if Tx.TrackChanges was called by then
//	Options.Observe           is called at each Event; Options.Logger logs it
//
// [Repair] makes a damaged store usable again, without the lost parts. [Restore] makes a store from backups.
//
// Nodes are numbered densely, 0 ≤ v < [Tx.NumNodes], by descending degree at the load; nodes added later follow. Every
// node has the columns of the store, each value of which may be null. The column "label" holds the given labels; id and
// degree are read like columns. [Tx.RemoveNode] leaves a number without a node, for ever: [Tx.Removed] has these numbers,
// and [Tx.NumPresent] counts the nodes that are there. What reads ranges of nodes, such as Tx.ReadDegrees, reads a removed
// node as one without edges and values.
//
// # Promises
//
// The tests of each promise are in brackets. A test of another package has the name of that package before it.
//
//   - Once Update or Bulk.Commit has returned, its writes survive a crash and a power cut. A crash leaves a prefix of the
//     commits: no part of a commit, and no commit without all earlier ones (TestCrashKeepsPrefix, TestCrashInBulk,
//     TestModel; shell TestKilledJobs).
//   - The store knows how many commits there were. If one of Badger's logs is damaged or missing after a crash, Open writes
//     its commits again from the journal. If the journal is damaged, missing or of another time, or the tables are older
//     than the journal, Open returns an [ErrCorrupt] that names the file and the doubtful commits, even if a log has later
//     commits (TestDamagedLogLosesNothing, TestDamagedJournalIsTold, TestLostTablesAreTold, TestLostTableBelowTheLog). Open
//     also returns ErrCorrupt if the second copy is of another store, or of a later commit than the tables and the journal
//     (TestLaterCopyIsToldAtOpen, TestCopyOfAnotherStore).
//   - If both Badger's log and the journal are damaged, commits may be lost. Open and Check may not notice: a journal that
//     was cut short looks complete if the log has no later commits. If the journal or its end is missing or damaged, nobody
//     knows how many commits there were. Repair then reports an unknown number of lost commits (TestUnknownCommitsAreLost).
//   - A power cut may leave the last frame of the journal half written, or any frame that its sync was to make durable: those of
//     the same group, and the data of a Bulk before its commit. If the file ends inside such a frame, or a sector of 512 bytes in
//     the frame is zero, Open takes its commit for unfinished and drops these frames. If Badger has the commit, Open returns
//     [ErrCorrupt] instead, and Repair loses nothing. If the last frame is whole and its checksum is wrong, Open returns an
//     ErrCorrupt that names its commit. Repair then reports that commits may be lost, unless Badger has the commit. So a commit
//     that had returned is lost without an error in one case only: the end of one of these frames is missing, or a sector of one
//     is zero, and Badger's log does not have the commit (TestChangedEndOfJournal, TestCrashKeepsPrefix; journal TestTornGroup,
//     TestTornData).
//   - If the journal is damaged and Badger would not open its log, Open changes nothing and names both files. Repair reads
//     the log (TestDamagedLogBesideADamagedJournal).
//   - Check finds a missing entry of a space that is kept twice ([Space.KeepTwice]), and [Repair] puts the entry back
//     (TestLostEntriesAreBroughtBack, TestLostTableOfDecisions, TestDamagedCopyIsTold, TestCopyFollowsBulks).
//     Repair uses a whole copy even if it is of an earlier or a later commit than the store
//     (TestSoundCopyIsUsed, TestEarlierCopyIsUsed). Some later commits may be in neither the copy nor the journal. Then a
//     readable entry stays as it is, and an entry that these commits deleted may come back.
//   - If a record is empty, damaged, missing although it must be there, or under another key, a read of it returns
//     [ErrCorrupt], never an empty answer (TestRecordDamage, TestDamagedRecordIsCorrupt, TestCheckFindsDamage).
//   - One number, Options.MemoryBudget, bounds the memory of the store at any size of the graph. The bytes stored do not
//     depend on it (lsm TestBudgets, TestLoadIsTheSameAtAnyBudget; shell TestHostileFiles). Exception: Badger builds
//     several tables at once in a merge. A store with many writes held 155 MiB with a budget of 64 MiB. Once, on a busy
//     machine, a store held 183 MiB with 128 MiB.
//   - A removed node leaves nothing that can be read, also after Compact, backup and restore. No part of a removal is ever
//     seen (TestPatchWays, TestHubIsNotHalfRemoved, TestModel). If Repair does not know of a removal any more, the node is
//     there again, without edges and values (TestRepairOfRemovals).
//   - [Tx.ChangesSince] leaves out no node that a commit touched: also not after Compact, a crash, backup and restore. If the
//     store does not know all of them, it returns [ErrNotTracked]. Each commit has a record of its changes, so that a read or
//     Check finds that one is missing. If Repair finds one damaged or missing, or loses anything else, the store forgets its
//     changes (TestModel, TestCrashKeepsPrefix, TestForgottenChanges, TestChangesBesideAWriter, TestCheckFindsDamage,
//     TestRepairOfRecords, TestRepairOfOneByte).
//   - A Patch makes the same store whether one transaction makes its changes or the graph is written again. All of it is seen
//     at once, and after an error nothing of it (TestPatchWays, TestModel; index TestPatchKeepsIndexes).
//   - A snapshot sees the store as it was when it began, also while a Bulk commits. It may be used by many goroutines
//     (TestModel, TestBulkIsInvisibleUntilCommit, TestConcurrentReads; cleaner TestReadersDuringClean).
//   - Before each write the store asks whether the disk has room for it ([ErrNoSpace]). If another process takes that room
//     before the write, the system kills this process. The store survives that like any other crash (TestFullDisk; shell
//     TestFullDisk).
//   - If a file of a closed store is missing or cut short, or the manifest is damaged, Open returns [ErrCorrupt] and
//     deletes no file. If the end of the second copy of spaces is damaged, the store opens for reading only. If a writer
//     has the store open already, its writes fail before the journal exceeds its bound. Check reports all damage to the
//     copy (TestCopyDamagedBelowAWriter, TestDamageNamesItsFile, TestOpenWithoutManifest,
//     TestDamagedJournalIsTold, TestDamagedCopyIsTold).
//   - After a crash there may be tables that the manifest does not name. Open removes such a table if each of its records
//     is in another table or in the log, or was dropped by a merge. If the table has the only copy of a record, Open
//     returns [ErrCorrupt]. Open moves an unreadable table into the quarantine if the other tables and the journal have
//     every commit. Otherwise it returns ErrCorrupt. So no table is lost if the manifest is cut short, or older than the
//     tables (TestRepairOfManifest, TestRepairBesideMergedTables, TestDamagedUnnamedTable).
//   - If the catalogue of a commit is lost, Open for writing returns [ErrCorrupt], and the records of that commit stay
//     (TestRepairOfALostCatalogue).
//   - If a byte in any file of a closed store is changed, Open, a read or Store.Check finds it, or it changes nothing that
//     can be read. Only Check finds that a change, document or entry is missing; it may miss an entry of a space without a
//     second copy. Tables from before Open are compared with their checksums before they are merged, so that a merge hides
//     no damage (TestFlippedBytes; shell TestDamagedStores). Each table is compared once. The file "verified" lists the tables,
//     each with the size, the times and the inode number of its file. If one of them changes, the table is compared again
//     (TestTablesAreVerifiedOnce). The disk may change a byte of a table after the comparison. If that byte is outside the
//     body of a record, a merge may hide the change. Open for reading compares the index and the last block of every table
//     that is not listed; the index of a listed one is compared when a read first needs the table (lsm
//     TestReadOnlyIndexIsComparedLater). Close of a store that was open for writing writes the list. In a copy of a store no
//     table is listed until then, so each Open for reading compares all of them.
//   - If a table is cut short while the store is open, or the disk cannot read a page of it, reads of the table return
//     [ErrCorrupt], and the process goes on (TestTablesCutShortBelowAStore). Compact compares the sizes of the tables before it
//     merges them. Once tables have come or gone, the next write after which a merge may follow does so too. One risk remains:
//     Badger merges tables and writes its logs through mapped files, in goroutines of its own. If a file is cut short or a page
//     cannot be read while Badger itself uses it, the system ends the process. The store survives that like any other crash.
//   - A store that is open to be read stays the one that was opened, also if its directory is moved and another store lies under
//     its path. If a file is put in the place of a table, reads of the table return [ErrCorrupt] (lsm
//     TestReadOnlyStaysWithItsTables).
//   - Close may run at the same time as everything else. It waits for a running Compact. A running Check or
//     Backup, and every snapshot, ends with [ErrClosed] (TestOperationsBesideClose, TestClosedSnapshotsSaySo). At its
//     beginning Check compares the second copy of spaces. An Update waits only for that part (TestUpdatesBesideCheck,
//     TestCheckHoldsTheJournal).
//   - If a Loader or a writer of a Bulk returns an error for a row, Commit returns that error too, even if the caller
//     ignored it (TestRowErrorsEndTheLoad, TestRowErrorsEndTheBulk).
//   - If one byte of a closed store was changed, [Repair] reports its losses. It loses nothing if the byte is outside the
//     blocks of tables. It does not change an undamaged store (TestRepairOfOneByte, TestRepairLeavesAnUndamagedStoreAlone).
//   - If the journal has a gap, Repair keeps the values that Badger has of the same commits. It replaces none by an earlier
//     value, and brings no deleted value back (TestRepairKeepsLaterValues). It reports two groups of commits of the gap and
//     of lost tables: those that no file has, and those that may be lost (TestLostCommits). If Repair restores a catalogue,
//     or an entry from a whole second copy, and found no damage that explains its absence, it reports an unknown loss
//     (TestLostCatalogueIsALoss).
//   - If only the manifest is lost, old or damaged, Repair loses no record. It brings back no deleted record of a table
//     that a merge replaced. Exception: a deleted record may come back if its key is outside the range of keys that the
//     merge wrote (TestRepairOfManifest, TestRepairBesideMergedTables).
//   - Repair returns its losses by kind. Each number is exact, or marked as a bound, or unknown. If a table or a block of a
//     table is lost, its changes are lost too; Repair counts them as records of tables (TestLosses, TestRepairOfTables,
//     TestRepairOfRecords, TestRepairOfLists; shell TestDamagedStores).
//   - After a Repair the quarantine has every file of the store as it was, byte for byte. A Repair that fails changes
//     nothing. If Repair is killed at any moment, run it again: the result is the same. Until then a store that is partly
//     the old one and partly the new one does not open (TestRepairOfManifest, TestRepairOfTables, TestKilledRepair,
//     quarantine TestKilledExchange; shell TestCheckRepairAfterCrash).
//   - A backup is one snapshot, whatever is written meanwhile. Backup compares every record with its checksum, also the
//     records that an earlier backup has. Restore of a damaged backup, or of one that is cut short, returns [ErrBackup]. A store
//     from whole backups has the records, the commits and the ID of the original. If [Restore] is killed, it
//     leaves no incomplete store (TestBackupWhileWriting, TestModel, TestFlippedBackups, TestTruncatedBackups,
//     shell TestKilledJobs).
//   - If the disk fails a write, also one in the background, every later write returns [ErrFailed]. All commits are there
//     when the store is opened again. If Badger 4.9.6 cannot make a table in a merge, it removes the merged tables all the
//     same. The store keeps them until all new tables are there; if one is lacking, reads fail too, and the next Open has the
//     merged tables. Exception: a merge that begins while Badger closes is not kept. Then reads return [ErrCorrupt]: records
//     are lost (TestCompactKeepsWhatItCannotMerge, TestLostTablesAreTold, lsm TestUndoMerges, TestRefusedCommitIsThereLater;
//     shell TestFailedJobs).
//   - Every error that data of a user can cause names the thing, its value and the expected form; see the sentinels (shell
//     TestHostileFiles and TestImportErrors, and the fuzz targets of every decoder and reader of files).
//
// TestModel, and decide TestDecisionsModel, hold all that is written and read against a plain model. The command
// docs/durability/run runs the tests of crashes and damage for long.
//
// [Store.Work] lends the directory "work" of a store to long jobs, which keep finished stages there. It is no part of the
// store, and may be deleted while no process has the store open. The directory "quarantine" is no part of the store either.
// In it Repair keeps the old files of the store, those of its first repair in quarantine/1/before, which is a store of its
// own; each repair takes as much room as the store. Delete the directory, or a numbered one in it, to free that room. If a
// numbered directory contains two of the directories before, after and incoming, a repair was stopped while it exchanged
// files. Then run Repair again first (TestKilledRepair).
//
// The lock on a store is the flock of its directory, which Open takes and Close gives back: one process has it alone, to
// write, or many share it, to read (TestLockIsThatOfBadger, TestLockBesideChildren). If a system has no such locks, Badger
// locks the file LOCK.
//
// There is one writer at a time: an Update, a Bulk or a Compact waits for the one before it, readers for none of them. A
// transaction holds some megabytes ([ErrTxTooBig]); what is larger goes through Bulk or a [Loader].
//
// # File modes
//
// A store is its owner's alone: its directory, and those that a load or a Restore works in, are made with the mode 0700.
// The files in the directory of a store have its mode without the bits to execute, so 0600, whatever the umask is; they are
// given it when the store is opened for writing and when it is closed. To share a store, change the mode of its directory;
// the files follow. A store that is loaded or restored into an empty directory keeps the mode of that directory.
//
// # Records
//
// Every value is one msgpack record, an array of three:
//
//	[version uint8, checksum uint32, body bin]
//
// The checksum is the CRC-32C of the key, the version and the body. A body is at most 64 KiB or little more, so that no
// value reaches Badger's value log. Longer bodies are stored in parts. The first part begins with the number of parts. The
// bodies of documents and of the catalogue are themselves msgpack; those of blocks are packed by the encodings described
// beside their code.
//
// A load writes the tables of the last level itself, each byte once, without Badger's log and merges. The bytes depend on
// the graph alone. Badger then opens the tables.
//
// # Files
//
//	MANIFEST, KEYREGISTRY, DISCARD         of Badger
//	LOCK                                   the number of the process that writes; there after a crash too
//	000001.sst …                           tables
//	00001.mem …                            Badger's logs, of what is in no table yet; not synced
//	journal-000001.log …                   the journal: the commits that may be in no table yet, synced with each
//	copy-000001.log …                      the second copy of spaces that are kept twice
//	verified                               the tables that were compared; may be deleted
//	work, quarantine                       no part of the store
//
// A transaction is numbered, appended to the journal, synced, and only then given to Badger; so each costs one sync, or less:
// those that wait for the disk at the same time share one. What a Bulk writes is in the journal too, and is synced by the
// transaction that makes it visible. A file of the journal is removed once all that is in it is in tables, at the latest by
// Close; it takes some four memtables at most. The last file ends with zeros, which are written ahead of small commits: their
// sync is faster if their blocks were written before. Package kv/internal/journal describes its form.
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
//	26 generation block           removed nodes of 8192 numbers
//	30 generation block part      column: the values of 4096 consecutive nodes, with least and greatest
//	31 generation node            value changed since
//	40 generation tile block      matrix: columns of up to 1024 consecutive rows, dense, sparse or with one value in most cells
//	41 generation node part       row changed since
//	50 generation key             entry of a space
//	51 generation commit part     nodes that the commit touched
//
// The lists hold the neighbours of the undirected graph, whatever the direction of the arcs, so that an undirected and
// unweighted graph has no records of arcs; [Tx.Along] puts both together.
//
// Kind 1 byte; generation, block, tile, chunk, bucket and node 4 bytes; commit 8; part 2, of adjacency 4; the rest as it is.
//
// The catalogue has the classes, and names the current generation of the graph, of each column, matrix and space, and of what
// is kept of changes. The numbers of nodes and edges are a small record of their own, so that adding some does not write the
// whole catalogue. A generation is written once, as a whole. Afterwards it only gets small delta records, which all reads merge
// in. A new generation replaces the old one: one transaction makes the catalogue name the new one. Then the records of
// generations without a name are deleted; after a crash, the next Open for writing deletes them.
//
// # Format version
//
// A store has format version 4. One of another version is refused with a [*VersionError].
package kv
