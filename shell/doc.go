// Package shell is the program: its commands. Package query says what a statement means, and package print in which formats answers
// are printed.
//
// [Main] runs a command line.
//
// # Files of decisions
//
// The command export writes the history, an entry a row: seq, step, time, id, decision, from, to, who, why, run, score and
// undoes, the seq of the entry that it takes back. The command import reads such files again, .jsonl or a table, and any
// other with an id and the label that is right; only id and one of label, to and decision must be there. An entry about a
// node ends where a later one about it begins, or one that undoes it. What is left is compared with the store:
//
//	the store has it         accept, reject and relabel to the same label are one; nothing is done
//	it is older              than what the store has decided about the node itself: left out
//	it is about another      label, in from or original_label, than the store has: left out
//	label
//	all else                 is decided, as accept, reject or relabel by what the store suggests and has
//
// Entries of one step stay one, with their who, why and the time at which each was made, whatever the time of those that
// the store has; a file that has one more than five minutes ahead of the clock is refused. All that is taken of a file is
// written at once. As of a time before the import none of it is there.
//
// # Exit codes
//
// The program, and [Main], end with 0 when all is done, with 1 when something failed, with 2 when the command line is
// wrong, with 3 when gate does not let a store pass, and with 130 when Ctrl-C, SIGTERM or SIGHUP interrupted a command. A
// command is interrupted wherever it waits: for input, for the other end of a pipe, for an answer. At the prompt, SIGTERM and
// SIGHUP end the session; Ctrl-C does not. A second signal kills the process.
//
// A standard output that is closed before the program starts, as by >&- in a shell, counts as /dev/null: what is written is
// gone, and the exit code is 0.
package shell
