// Package holder lets the process that has a store open, the holder, do jobs for other processes of the same user, the askers. It
// carries a request and a result, the standard streams, progress and questions. It knows nothing of stores, commands and their
// requests.
//
// # The place
//
// A holder listens on a unix socket: the file socket in the directory holder of the store. If the path of the socket is too long for
// the system, the socket lies in a new directory for temporary files, and the file address names it. Neither file decides who holds a
// store: the lock on the store does. A holder that was killed leaves its files, and the next holder replaces them.
//
// # The protocol
//
// Each side begins with a greeting, which ends with the version of the protocol. Then come frames: one byte for the kind, four bytes for
// the length of the content, the content. The asker sends its request. The holder takes the job; or it refuses; or it closes the
// connection, and the asker can try again. The job begins when the asker says so, so that a job which an asker gave up never begins. A
// result ends the job.
//
// Output is as fast as the asker reads it: the job waits. Input comes in pieces, each after the job wants it. The asker confirms each
// report of progress, and the holder sends the next one after that. So neither side keeps more than a few frames.
package holder
