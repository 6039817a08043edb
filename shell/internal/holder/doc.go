// Package holder lets the process that has a store open, the holder, do jobs for other processes of the same user, the askers. It
// carries a request and its files, a result, output, progress and questions. It knows nothing of stores, commands and
// their requests.
//
// # The place
//
// A holder listens on a unix socket: the file socket in the directory holder of the store. If the path of the socket is too long for
// the system, the socket lies in a new directory for temporary files, and the file address names it. Neither file decides who holds a
// store: the lock on the store does. A holder that was killed leaves its files, and the next holder replaces them. A
// store may come from somebody else, so no link in it is followed, and only a socket of this program and this user is
// reached or removed.
//
// # The protocol
//
// An asker posts one request by HTTP. A header says which directory it asks about, as the system numbers it. The holder
// of another directory does not take the job. The descriptors of files go along with the first bytes. So a holder needs
// no path, and opens no file.
//
// The body of the request is a stream of gob: the call, the word that the job may begin, and later answers. The end of
// the body ends the job. The holder takes the job, which is the status 200, or does not. A job that an asker has given
// up never begins. The body of the response is a stream of events: output, progress, questions, and at last the result.
//
// Output is as fast as the asker reads it: the job waits. The asker confirms each report of progress, and the holder
// sends the next one after that. So neither side keeps more than a few events.
package holder
