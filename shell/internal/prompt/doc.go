// Package prompt answers statements in turn: those of a file or a pipe, or of a person at a terminal, with a history
// and dot commands. It knows statements and terminals. It knows no command and no flag.
//
// # Dot commands
//
// A line that begins with a dot is for the session: .help, .mode FORMAT, .timing on|off, .output FILE, .read FILE,
// .quit. Their names cannot be shortened.
//
// The file of .output takes the place of an earlier file at the next .output, or when the session ends, and not where
// the session ends by an error. Devices and pipes are written to at once. No file is written into a store.
//
// A statement has at most 1 MiB: what is longer is asked as several, and many equalities of one property as in (…). The
// file of .read may be a named pipe.
//
// # The prompt
//
// A line that is a whole statement runs at once; one that is not yet goes on in the next line, until it is, or until a
// semicolon or an empty line. Ctrl-C drops what was typed, or stops the statement that runs, also clean, and keeps the
// prompt; Ctrl-D leaves.
package prompt
